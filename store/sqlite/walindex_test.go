//go:build unix

package sqlite

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
)

// A change by any handle is seen at once, and what changes no secret leaves the
// epoch as it is. Where nothing changes, the database is not asked.
func TestEpochIsNeverOld(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "margay.db"), context.Background()
	a, b := open(t, path, Options{}), open(t, path, Options{})
	epochOf := func(s *Store) uint64 {
		t.Helper()
		e, err := s.Epoch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for i, r := range records(200) {
		before := epochOf(a)
		if runtime.GOOS == "linux" {
			if kept, _, ok := a.changes.since(); !ok || kept != before {
				t.Fatalf("round %d: the epoch was not kept", i)
			}
		}
		if i%3 == 0 {
			if err := b.Writable(ctx); err != nil {
				t.Fatal(err)
			}
		} else if err := []*Store{a, b}[i%2].PutSecrets(ctx, records(i + 1)[i:]); err != nil {
			t.Fatal(err, r.ID)
		}
		if after := epochOf(a); (after == before) != (i%3 == 0) || after != epochOf(b) {
			t.Fatalf("round %d: the epoch is %d, then %d, and %d to another", i, before, after, epochOf(b))
		}
		if i%50 == 49 { // the log of writes begins anew
			if _, err := b.w.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Epoch(ctx); err == nil {
		t.Error("a closed store has an epoch")
	}
}
