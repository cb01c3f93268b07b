//go:build unix

package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if os.Getenv(childLedger) != "" {
			keepLedger(path) // does not return
		}
		child(path) // nor does this
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t,
		func(t *testing.T) storetest.Store {
			return open(t, filepath.Join(t.TempDir(), "sub", "a b%3f#?.db"), Options{})
		},
		storetest.Second(func(t *testing.T, s storetest.Store) storetest.Store {
			return open(t, s.(*Store).path, Options{})
		}),
		storetest.Reopen(func(t *testing.T, s storetest.Store) storetest.Store {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return open(t, s.(*Store).path, Options{})
		}),
	)
}

func decision(i int) audit.Entry {
	return audit.Entry{Decision: flow.Decision{ID: fmt.Sprintf("D%025d", i)}}
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// raw is a connection to the same file that knows nothing of this package.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func do(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func append1(s *Store, i int) error {
	return s.AppendDecisions(context.Background(), []audit.Entry{decision(i)})
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "margay.db")
	s := open(t, path, Options{})
	if err := append1(s, 1); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		fi, err := os.Stat(p)
		if err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", filepath.Base(p), fi.Mode(), err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) != 0 {
		t.Errorf("closing left %v", left)
	}
}

func TestPragmas(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{Busy: 123 * time.Millisecond})
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "secure_delete": "1", "trusted_schema": "0", "busy_timeout": "123",
	} {
		var got string
		if err := s.w.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s; %v", pragma, got, want, err)
		}
	}
	if _, err := s.r.Exec("DELETE FROM meta"); err == nil {
		t.Error("a reader could write")
	}
}

func TestOpenToOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	open(t, path, Options{})
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrOpen) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestBadPaths(t *testing.T) {
	dir := t.TempDir()
	file, link, loose := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "loose")
	open(t, file, Options{})
	for from, to := range map[string]string{link: file, loose: filepath.Join(dir, "nothing")} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	if s := open(t, link, Options{}); s.path != file {
		t.Errorf("a link of one's own leads to %s", s.path)
	}
	for _, path := range []string{"", dir, loose, filepath.Join(file, "below")} {
		if _, err := Open(context.Background(), path, Options{}); err == nil {
			t.Errorf("opened %q", path)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file was made through a link to nothing")
	}
	const other = 65534
	if err := os.Lchown(link, other, -1); err != nil {
		t.Skip("only root can make another user's link: run this as root")
	}
	if _, err := Open(context.Background(), link, Options{}); !errors.Is(err, ErrOwner) {
		t.Errorf("another user's link: %v", err)
	}
	if err := errors.Join(os.Lchown(link, os.Geteuid(), -1), os.Chown(file, other, -1)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), link, Options{}); !errors.Is(err, ErrOwner) {
		t.Errorf("a link to another user's file: %v", err)
	}
}

func TestForeign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	open(t, path, Options{}).Close()
	other := raw(t, path)
	do(t, other, "PRAGMA journal_mode = DELETE")
	do(t, other, "PRAGMA application_id = 7")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	before := bytesOf(t, path)
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
	if !bytes.Equal(before, bytesOf(t, path)) {
		t.Error("another program's database was changed")
	}
}

func TestNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{})
	do(t, s.w, "UPDATE meta SET value = 99 WHERE key = 'format'")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := bytesOf(t, path)
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "upgrade margay") {
		t.Error(err)
	}
	if !bytes.Equal(before, bytesOf(t, path)) {
		t.Error("a newer version's database was changed")
	}
}

func TestUpgrade(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	if err := append1(s, 1); err != nil {
		t.Fatal(err)
	}
	next := append(slices.Clone(migrations), "CREATE TABLE later (x INTEGER) STRICT;", "CREATE TABLE later (again INTEGER) STRICT;")
	if err := s.upgrade(ctx, next); err == nil {
		t.Fatal("a failing step was passed")
	}
	if v, err := formatOf(ctx, s.w, len(migrations)); err != nil || v != len(migrations) {
		t.Errorf("after a failed upgrade: format %d, %v", v, err)
	}
	if err := s.upgrade(ctx, next[:len(next)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := formatOf(ctx, s.w, len(migrations)); !errors.Is(err, ErrNewer) {
		t.Errorf("the version before: %v", err)
	}
	if _, err := s.Decision(ctx, decision(1).ID); err != nil {
		t.Errorf("after the upgrade: %v", err)
	}
}

func TestOpenedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "margay.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(context.Background(), path, Options{Busy: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(append1(s, i), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := open(t, path, Options{}).Decisions(context.Background(), "", 100)
	if err != nil || len(got) != 8 {
		t.Errorf("%d decisions of 8, %v", len(got), err)
	}
}

func TestClosed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var kept []string
	started := make(chan struct{}, 8)
	for w := range 8 {
		wg.Go(func() {
			for i := w * 1000; ; i++ {
				switch err := append1(s, i); {
				case err == nil:
					mu.Lock()
					kept = append(kept, decision(i).ID)
					mu.Unlock()
				case errors.Is(err, ErrClosed):
					return
				default:
					t.Error(err)
					return
				}
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 8 {
		<-started
	}
	for range 2 {
		wg.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, err1 := s.Epoch(ctx)
	_, err2 := s.Decision(ctx, "x")
	_, err3 := s.Allows(ctx)
	_, err4 := s.Decisions(ctx, "", 1)
	for i, err := range []error{err1, err2, err3, err4, s.PutSecrets(ctx, []secret.Record{planted(t, 1)}), s.DeleteAllow(ctx, "x"), append1(s, 1)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d on a closed store: %v", i, err)
		}
	}
	s = open(t, path, Options{})
	for _, id := range kept {
		if _, err := s.Decision(ctx, id); err != nil {
			t.Errorf("%s was acknowledged: %v", id, err)
		}
	}
}

func TestOneCallerCannotFailAnother(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	do(t, s.w, "CREATE TRIGGER bad BEFORE INSERT ON decisions WHEN new.id = 'bad' BEGIN SELECT raise(ABORT, 'refused'); END")
	done, cancel := context.WithCancel(context.Background())
	cancel()
	var batch []waiting[*decided]
	for i, id := range []string{"a", "bad", "b", "late"} {
		d := &decided{[]audit.Entry{{Decision: flow.Decision{ID: id}}}, []string{`{"id":"` + id + `"}`}}
		r := waiting[*decided]{context.Background(), d, make(chan error, 1)}
		if i == 3 {
			r.ctx = done
		}
		batch = append(batch, r)
	}
	answers := slices.Clone(batch)
	s.log.flush(batch)
	for i, fails := range []bool{false, true, false, true} {
		if err := <-answers[i].err; (err != nil) != fails {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	got, err := s.Decisions(context.Background(), "", 10)
	if err != nil || len(got) != 2 {
		t.Errorf("%d decisions, %v", len(got), err)
	}
}

func TestTrim(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{MaxDecisions: 40})
	count := func(table string) (n int) {
		if err := s.r.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i := range 200 {
		e := decision(i)
		e.Findings = []audit.Finding{{ID: "F" + e.ID}}
		if err := s.AppendDecisions(ctx, []audit.Entry{e}); err != nil {
			t.Fatal(err)
		}
		n := count("decisions")
		if n > 40 || i >= 40 && n < 35 || count("findings") != n {
			t.Fatalf("after %d: %d decisions, %d findings", i+1, n, count("findings"))
		}
	}
	var n int
	if err := s.r.QueryRow("SELECT value FROM meta WHERE key = 'decisions'").Scan(&n); err != nil || n != count("decisions") {
		t.Errorf("the count says %d of %d, %v", n, count("decisions"), err)
	}
	if _, err := s.Decision(ctx, decision(199).ID); err != nil {
		t.Errorf("the newest: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{MaxDecisions: 10})
	if err := append1(s, 200); err != nil {
		t.Fatal(err)
	}
	if n := count("decisions"); n > 10 {
		t.Errorf("with a lower bound: %d decisions", n)
	}
}

// planted makes a record of a value that occurs nowhere else.
func planted(t testing.TB, i int) secret.Record {
	t.Helper()
	rec, _, err := match.Prepare(&testKeys, fmt.Sprintf("%026d", i), fmt.Sprintf("NAME_OF_%d_qzx", i), secret.KindToken, secret.SourceRegistered,
		"env:X", plantedValue(i), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

var testKeys = secret.NewKeys()

func plantedValue(i int) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "planted %d", i))
	return fmt.Appendf(nil, "kQ8-%x", sum[:16])
}

func TestNothingOfAValue(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "margay.db"), Options{Busy: time.Millisecond})
	const n = 50
	var recs []secret.Record
	for i := range n {
		rec := planted(t, i)
		sealed, err := testKeys.SealValue(plantedValue(i), "x")
		if err != nil {
			t.Fatal(err)
		}
		rec.Sealed = sealed
		recs = append(recs, rec)
		e := decision(i)
		e.Findings = []audit.Finding{{ID: "F" + e.ID, Name: rec.Name, Kind: rec.Kind, Fingerprint: rec.Fingerprint, Length: rec.Length}}
		if err := errors.Join(
			s.AppendDecisions(ctx, []audit.Entry{e}),
			s.PutAllow(ctx, secret.Allow{ID: rec.ID, Fingerprint: rec.Fingerprint}),
		); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutSecrets(ctx, recs); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteSecret(ctx, recs[0].ID); err != nil {
		t.Fatal(err)
	}
	// Errors name neither values nor what people call them.
	do(t, s.w, "CREATE TRIGGER bad BEFORE INSERT ON secrets BEGIN SELECT raise(ABORT, 'refused'); END")
	errs := []error{s.PutSecrets(ctx, recs), s.PutSecrets(ctx, append(slices.Clone(recs), secret.Record{Name: recs[1].Name}))}
	other := raw(t, s.path)
	do(t, other, "BEGIN IMMEDIATE")
	errs = append(errs, s.PutSecrets(ctx, recs), s.PutAllow(ctx, secret.Allow{ID: "x", Rule: recs[1].Name}))
	do(t, other, "ROLLBACK")
	grep := func() {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		for i := range n {
			v := plantedValue(i)
			for _, f := range files {
				b := bytesOf(t, f)
				for what, form := range map[string][]byte{
					"value": v, "head": v[:12], "tail": v[len(v)-12:], "hex": hex.AppendEncode(nil, v), "base64": base64.StdEncoding.AppendEncode(nil, v)[:40],
				} {
					if bytes.Contains(b, form) {
						t.Errorf("%s of value %d is in %s", what, i, filepath.Base(f))
					}
				}
			}
			for j, err := range errs {
				if err == nil {
					t.Fatalf("call %d did not fail", j)
				}
				if strings.Contains(err.Error(), string(v)) || strings.Contains(err.Error(), recs[i].Name) {
					t.Errorf("error %d tells value or name %d", j, i)
				}
			}
		}
		if len(files) == 0 {
			t.Error("nothing to look at")
		}
	}
	grep()
	if err := errors.Join(other.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	grep()
}

// The process that made the database was killed before it was done: half of it is in the
// file, and what takes it back beside it.
func TestKilledWhileMaking(t *testing.T) {
	ctx := context.Background()
	from := filepath.Join(t.TempDir(), "half.db")
	db, err := sql.Open("sqlite", "file:"+from+"?_pragma=journal_mode(DELETE)&_pragma=cache_size(1)&_pragma=cache_spill(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, q := range []string{"CREATE TABLE half (x BLOB)", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 500) INSERT INTO half SELECT zeroblob(2000) FROM n"} {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "margay.db")
	for _, end := range []string{"", "-journal"} {
		b, err := os.ReadFile(from + end)
		if err != nil || len(b) == 0 {
			t.Fatalf("%d bytes of half.db%s: %v", len(b), end, err)
		}
		if err := os.WriteFile(path+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(append1(s, 1), s.Close()); err != nil {
		t.Error(err)
	}
}

// Writable does write, and where another process holds the lock it says so.
func TestWritable(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "margay.db")
	s, err := Open(ctx, path, Options{Busy: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	size := func() int64 {
		wal, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return wal.Size()
	}
	before := size()
	if err := s.Writable(ctx); err != nil {
		t.Fatal(err)
	}
	if size() <= before {
		t.Error("nothing was written")
	}
	var version int
	if err := s.r.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version != len(migrations) {
		t.Errorf("version %d, %v", version, err)
	}
	other, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	tx, err := other.w.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Writable(ctx); err == nil {
		t.Error("it can be written to, they say, while it is locked")
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Writable(ctx); err != nil {
		t.Error(err)
	}
}
