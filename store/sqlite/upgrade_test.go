//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/store"
)

// A database of every earlier format is brought up to date when it is opened,
// with what it holds.
func TestEarlierFormats(t *testing.T) {
	ctx := context.Background()
	for v := 1; v < len(migrations); v++ {
		path := filepath.Join(t.TempDir(), "margay.db")
		target, err := prepare(path)
		if err != nil {
			t.Fatal(err)
		}
		old := &Store{path: target, opt: Options{Busy: DefaultBusy}}
		if old.w, err = old.connect(1, "_txlock=immediate", "journal_mode(WAL)"); err != nil {
			t.Fatal(err)
		}
		if err := old.upgrade(ctx, migrations[:v]); err != nil {
			t.Fatal(err)
		}
		do(t, old.w, fmt.Sprintf(`INSERT INTO allows VALUES ('A%d', NULL, 'rule', '', 'why', '', 1, NULL)`, v))
		if err := old.closeAll(); err != nil {
			t.Fatal(err)
		}
		s := open(t, path, Options{})
		if got, err := formatOf(ctx, s.w, len(migrations)); err != nil || got != len(migrations) {
			t.Errorf("format %d is now %d, %v", v, got, err)
		}
		if all, err := s.Allows(ctx); err != nil || len(all) != 1 || all[0].Reason != "why" {
			t.Errorf("from format %d: %+v, %v", v, all, err)
		}
		if err := s.Pin(ctx, [32]byte{1}, map[[32]byte][32]byte{{2}: {3}}); err != nil {
			t.Errorf("from format %d: %v", v, err)
		}
		if err := s.PutValues(ctx, [32]byte{1}, map[string][]byte{"margay-token-a": {1}}, time.Now()); err != nil {
			t.Errorf("from format %d: %v", v, err)
		}
		if err := s.PutSaid(ctx, [32]byte{1}, [][]byte{{1}}); err != nil {
			t.Errorf("from format %d: %v", v, err)
		}
		if err := s.PutPlaces(ctx, map[[32]byte][]byte{{1}: {1}}); err != nil {
			t.Errorf("from format %d: %v", v, err)
		}
		if err := s.AppendEntry(ctx, charge.Hash{}, charge.Head{Family: "F", Seq: 1, Hash: charge.Hash{1}}, []byte{1}); err != nil {
			t.Errorf("from format %d: %v", v, err)
		}
		if err := s.AppendEvents(ctx, []audit.Event{{ID: "E", Trajectory: "T", Kind: audit.KindStep, At: time.Now()}}); err != nil {
			t.Errorf("from format %d: %v", v, err)
		}
	}
}

// The values used longest ago go when there are too many.
func TestValuesBounded(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	do(t, s.w, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO pseudonyms SELECT zeroblob(32), 'P' || i, x'01', i FROM n`, store.MaxValues))
	if err := s.PutValues(ctx, [32]byte{}, map[string][]byte{"new": {1}, "P1": {2}}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"new": true, "P1": true, "P2": false, "P3": true} {
		if _, err := s.Value(ctx, [32]byte{}, name); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The oldest rows of what models said go when all callers have too many.
func TestSaidBounded(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	do(t, s.w, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO said (caller, sealed) SELECT randomblob(32), x'01' FROM n`, store.MaxSaid))
	do(t, s.w, `UPDATE said SET caller = zeroblob(32) WHERE seq <= 3`)
	if err := s.PutSaid(ctx, [32]byte{1}, [][]byte{{1}, {2}}); err != nil {
		t.Fatal(err)
	}
	if rows, last, err := s.Said(ctx, [32]byte{}, 0); err != nil || len(rows) != 1 || last != 3 {
		t.Errorf("%d rows up to %d, %v", len(rows), last, err)
	}
}
