//go:build unix

package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

// childLedger tells the test's own binary, run as a child, to write a ledger.
const childLedger = "MARGAY_TEST_STORE_LEDGER"

var ledgerKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{5}, ed25519.SeedSize))

func bookOf(s *Store) (*ledger.Book, charge.Hash, error) {
	b, err := ledger.NewBook(ledger.Config{Store: s, Key: ledgerKey})
	if err != nil {
		return nil, charge.Hash{}, err
	}
	h, err := b.KeepRubric(context.Background(), []byte("a rubric"))
	return b, h, err
}

// keyed is a fingerprint of a value, as the ledger has them.
func keyed(value []byte) (h charge.Hash) {
	m := hmac.New(sha256.New, testKeys.Fingerprint[:])
	m.Write(value)
	m.Sum(h[:0])
	return h
}

// spend makes one release of values that costs a millionth of a bit each.
func spend(ctx context.Context, b *ledger.Book, h charge.Hash, family flow.TrajectoryID, values ...[]byte) (*charge.Entry, error) {
	for {
		s, err := b.Head(ctx, family)
		if err != nil {
			return nil, err
		}
		e := &charge.Entry{
			Trajectory: family, Channel: flow.ChannelTool, Sink: "airline", Class: flow.RequiredService, Rubrics: []charge.Hash{h}, Outcome: flow.Rewrite,
			Variant: keyed(fmt.Append(nil, s.Seq)), Models: []charge.Model{{Name: "rules", Version: "1"}},
			Limits: charge.Limits{B: flow.MaxBits - 1, Cap: [4]flow.Bits{0, flow.MaxBits - 1}, Lambda: [4]int64{0, 1000, 2000, 4000}},
		}
		for _, v := range values {
			a := charge.Atom{Field: "email", Op: charge.Identity, Value: keyed(v), Cost: 1, After: s.After(keyed(v))}
			a.After[1]++
			e.Atoms = append(e.Atoms, a)
		}
		if err := s.Next(e); err != nil {
			return nil, err
		}
		if _, err := b.Commit(ctx, e); !errors.Is(err, charge.ErrConflict) {
			return e, err
		}
	}
}

// keepLedger releases from several goroutines, each to a family of its own and
// to one that all share, and prints each release once it is durable, until it
// is killed.
func keepLedger(path string) {
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Busy: time.Minute})
	if err != nil {
		fmt.Println("open:", err)
		os.Exit(1)
	}
	b, h, err := bookOf(s)
	if err != nil {
		fmt.Println("book:", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				family := fmt.Sprintf("F%d", w)
				if i%4 == 0 {
					family = "shared"
				}
				e, err := spend(ctx, b, h, flow.TrajectoryID(family), []byte(family), fmt.Append(nil, w, i%5))
				if err != nil {
					fmt.Println("failed:", err)
					return
				}
				fmt.Println("released:", e.Family, e.Seq, e.Hash())
			}
		})
	}
	wg.Wait()
	os.Exit(1)
}

// released is what a child said it let out.
type released struct {
	family flow.TrajectoryID
	seq    uint64
	hash   string
}

// killLedger runs a child and kills it behind so many releases, or at any time
// before if it is to be killed early.
func killLedger(t *testing.T, path string, behind int, early time.Duration) (out []released) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPath+"="+path, childLedger+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if early > 0 {
		timer := time.AfterFunc(early, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var r released
		if n, _ := fmt.Sscanf(lines.Text(), "released: %s %d %s", &r.family, &r.seq, &r.hash); n != 3 || len(r.hash) != 64 {
			if strings.HasPrefix(lines.Text(), "released:") {
				continue // cut off by the kill: nobody was told
			}
			t.Errorf("the child said %q", lines.Text())
			continue
		}
		if out = append(out, r); len(out) == behind {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return out
}

// However it is killed, what was let out is in the ledger, the ledger is
// sound, and it has the history that it had. MARGAY_KILLS=500 kills as often.
func TestLedgerKilled(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 5
	}
	if text := os.Getenv("MARGAY_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal("MARGAY_KILLS is no number")
		}
	}
	ctx := context.Background()
	draw := rand.New(rand.NewPCG(uint64(kills), 11))
	var path string
	var head *ledger.Checkpoint
	var all []released
	total, early := 0, 0
	for round := range kills {
		if round%10 == 0 { // or checking takes longer and longer
			path, head, all = filepath.Join(t.TempDir(), "margay.db"), nil, nil
		}
		var soon time.Duration
		if draw.IntN(4) == 0 { // while it opens, begins or does not yet tell
			soon = time.Duration(1 + draw.IntN(60_000_000))
			early++
		}
		got := killLedger(t, path, 1+draw.IntN(200), soon)
		all, total = append(all, got...), total+len(got)
		s, err := Open(ctx, path, Options{})
		if err != nil {
			t.Fatalf("kill %d: %v", round, err)
		}
		for _, r := range all {
			stored, err := s.Entries(ctx, r.family, r.seq-1, 1)
			if err != nil || len(stored) != 1 {
				t.Fatalf("kill %d: entry %d of %s was let out and is not there: %v", round, r.seq, r.family, err)
			}
			if e, err := charge.Decode(stored[0].Bytes); err != nil || e.Hash().String() != r.hash {
				t.Fatalf("kill %d: entry %d of %s is another: %v", round, r.seq, r.family, err)
			}
		}
		b, _, err := bookOf(s)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		next, err := b.Export(ctx, &out)
		if err != nil {
			t.Fatal(err)
		}
		report, err := ledger.Verify(ctx, &out, ledger.Check{Key: b.Public(), Head: head})
		if err != nil || len(report.Findings) > 0 || int(report.Entries) < len(all) {
			t.Fatalf("kill %d: %d entries, %v, %v", round, report.Entries, report.Findings, err)
		}
		head = next
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if total < kills*10 {
		t.Errorf("%d releases in %d kills are no load", total, kills)
	}
	t.Logf("%d kills, %d of them at a random time; %d releases were let out, and all are there", kills, early, total)
}

// What does not fit on the disk leaves nothing behind, and nothing is let out.
func TestLedgerFull(t *testing.T) {
	ctx := context.Background()
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	b, h, err := bookOf(s)
	if err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := s.w.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	do(t, s.w, fmt.Sprintf("PRAGMA max_page_count = %d", pages+8))
	n := uint64(0)
	for err == nil {
		if _, err = spend(ctx, b, h, "F", []byte("v")); err == nil {
			n++
		}
	}
	if !errors.Is(err, ErrFull) || n == 0 {
		t.Errorf("after %d releases: %v", n, err)
	}
	do(t, s.w, fmt.Sprintf("PRAGMA max_page_count = %d", pages+100))
	st, err := b.Head(ctx, "F")
	if err != nil || st.Seq != n || st.Total != flow.Bits(n) {
		t.Errorf("%d releases are there of %d, %v", st.Seq, n, err)
	}
	if _, err := spend(ctx, b, h, "F", []byte("v")); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

func TestLedgerLockedOrClosed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "margay.db")
	s := open(t, path, Options{Busy: 10 * time.Millisecond})
	b, h, err := bookOf(s)
	if err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	do(t, other, "BEGIN IMMEDIATE")
	if _, err := spend(ctx, b, h, "F", []byte("v")); !errors.Is(err, ErrLocked) {
		t.Errorf("while locked: %v", err)
	}
	do(t, other, "ROLLBACK")
	if e, err := spend(ctx, b, h, "F", []byte("v")); err != nil || e.Seq != 1 {
		t.Errorf("after: %v", err)
	}
	if err := s.AppendEntry(ctx, charge.Hash{}, charge.Head{Family: "F", Seq: 1}, nil); err == nil {
		t.Error("an entry of nothing was taken")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := spend(ctx, b, h, "F", []byte("v")); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Releases at the same time share a transaction, and neither one that comes
// too late nor one that can't be written fails another.
func TestLedgerBatch(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "margay.db"), Options{})
	do(t, s.w, "CREATE TRIGGER bad BEFORE INSERT ON ledger WHEN new.family = 'bad' BEGIN SELECT raise(ABORT, 'refused'); END")
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	first := func(family string, hash byte) waiting[*spent] {
		e := &spent{next: charge.Head{Family: flow.TrajectoryID(family), Seq: 1, Hash: charge.Hash{hash}}, entry: []byte{1}}
		return waiting[*spent]{context.Background(), e, make(chan error, 1)}
	}
	for _, bad := range []bool{false, true} {
		name := func(n string) string { return fmt.Sprint(n, bad) }
		batch := []waiting[*spent]{first(name("a"), 1), first(name("a"), 2), first(name("b"), 1), first(name("late"), 1), first(name("c"), 1)}
		batch[3].ctx = gone
		want := []error{nil, charge.ErrConflict, nil, context.Canceled, nil}
		if bad {
			batch = append(batch, first("bad", 1))
			want = append(want, errors.New("any"))
		}
		answers := slices.Clone(batch)
		s.book.flush(batch)
		for i, r := range answers {
			err := <-r.err
			if err == nil && !r.what.fits {
				err = charge.ErrConflict
			}
			if (err == nil) != (want[i] == nil) || want[i] != nil && i < 5 && !errors.Is(err, want[i]) {
				t.Errorf("bad %v: caller %d: %v, want %v", bad, i, err, want[i])
			}
		}
	}
	n := 0
	for _, err := range s.Heads(context.Background()) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 6 {
		t.Errorf("%d families of 6", n)
	}
}

// Of the values that releases tell of there are keyed hashes alone: in the
// file, its log of writes and an export, also after a crash's worth of writes.
func TestNothingOfAValueInLedger(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "margay.db"), Options{})
	b, h, err := bookOf(s)
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	for i := range n {
		if _, err := spend(ctx, b, h, flow.TrajectoryID(fmt.Sprintf("F%d", i%3)), plantedValue(i), plantedValue(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(dir, "ledger.mgl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Export(ctx, f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	grep := func(least int) {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(files) < least {
			t.Fatalf("%d files to look at", len(files))
		}
		seen := false
		for _, file := range files {
			text := bytesOf(t, file)
			print := keyed(plantedValue(1))
			seen = seen || bytes.Contains(text, print[:])
			for i := range n + 1 {
				v := plantedValue(i)
				sum := sha256.Sum256(v)
				for what, form := range map[string][]byte{
					"value": v, "head": v[:12], "tail": v[len(v)-12:], "hex": hex.AppendEncode(nil, v), "base64": base64.StdEncoding.AppendEncode(nil, v)[:40],
					"plain hash": sum[:],
				} {
					if bytes.Contains(text, form) {
						t.Errorf("%s of value %d is in %s", what, i, filepath.Base(file))
					}
				}
			}
		}
		if !seen {
			t.Error("the fingerprints are not there either: nothing was looked at")
		}
	}
	grep(3) // with the log of writes
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	grep(2)
}

func BenchmarkLedger(b *testing.B) {
	for _, families := range []int{1, 64} {
		b.Run(fmt.Sprintf("families=%d", families), func(b *testing.B) {
			s := open(b, filepath.Join(b.TempDir(), "margay.db"), Options{})
			book, h, err := bookOf(s)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var wg sync.WaitGroup
			for f := range families {
				wg.Go(func() {
					family := flow.TrajectoryID(fmt.Sprintf("F%d", f))
					for range (b.N + families - 1) / families {
						if _, err := spend(context.Background(), book, h, family, []byte("a"), []byte("b"), []byte("c")); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "releases/s")
		})
	}
}
