package charge_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/store/memory"
)

// try makes one release of a value in a family, anew until nobody was faster.
func try(ctx context.Context, b *ledger.Book, family flow.TrajectoryID, h charge.Hash, v byte, grow flow.Bits) (conflicts int, err error) {
	for {
		s, err := b.Head(ctx, family)
		if err != nil {
			return conflicts, err
		}
		e := release(1, atom(v, grow, s.After(charge.Hash{v})[1]+grow))
		e.Rubrics = []charge.Hash{h}
		if err := s.Next(e); err != nil {
			return conflicts, err
		}
		if _, err := b.Commit(ctx, e); !errors.Is(err, charge.ErrConflict) {
			return conflicts, err
		}
		conflicts++
	}
}

// Whoever releases at the same time, through whatever book, spends no more
// than there is, and all of it.
func TestConcurrentReleases(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	books := []*ledger.Book{newBook(t, store), newBook(t, store)} // as two processes
	h, err := books[0].KeepRubric(ctx, []byte("a rubric"))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var done, over atomic.Int64
	for w := range 16 {
		wg.Go(func() {
			for i := range 4 {
				switch _, err := try(ctx, books[w%2], flow.TrajectoryID(fmt.Sprintf("F%d", i%2)), h, byte(1+w), bit); {
				case err == nil:
					done.Add(1)
				case errors.Is(err, charge.Cap):
					over.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if done.Load() != 2*20 || over.Load() != 64-2*20 {
		t.Errorf("%d releases of a bit each in two families of 20 bits, %d refused", done.Load(), over.Load())
	}
	for _, b := range append(books, newBook(t, store)) {
		for f := range 2 {
			for { // a book may learn late
				s, err := b.Head(ctx, flow.TrajectoryID(fmt.Sprintf("F%d", f)))
				if err != nil {
					t.Fatal(err)
				}
				if s.Seq == 20 {
					if s.Total != 20*bit || s.Caps != [4]flow.Bits{0, 20 * bit} {
						t.Errorf("family %d: %v after %d entries", f, s.Total, s.Seq)
					}
					break
				}
				stale := release(1)
				stale.Rubrics = []charge.Hash{h}
				if err := s.Next(stale); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Commit(ctx, stale); !errors.Is(err, charge.ErrConflict) {
					t.Fatalf("an entry behind an old head: %v", err)
				}
			}
		}
	}
	if r := check(t, export(t, books[0]), ledger.Check{}); len(r.Findings) > 0 || r.Entries != 40 {
		t.Errorf("%+v", r)
	}
}

func TestCommitRefuses(t *testing.T) {
	ctx := context.Background()
	b := newBook(t, memory.New())
	h, err := b.KeepRubric(ctx, []byte("a rubric"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *charge.Entry {
		e := release(1, atom(1, bit, bit))
		e.Rubrics = []charge.Hash{h}
		if err := charge.NewState("F").Next(e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	for want, spoil := range map[error]func(*charge.Entry){
		charge.ErrRubric:   func(e *charge.Entry) { e.Rubrics = []charge.Hash{{1}} },
		charge.ErrConflict: func(e *charge.Entry) { e.Prev = charge.Hash{1} },
		charge.Charge:      func(e *charge.Entry) { e.Charge-- },
		charge.Cap:         func(e *charge.Entry) { e.Limits.Cap[1] = bit - 1; e.Limits.Cap[2], e.Limits.Cap[3] = 0, 0 },
		charge.Shape:       func(e *charge.Entry) { e.Sink = "" },
	} {
		e := fresh()
		spoil(e)
		if _, err := b.Commit(ctx, e); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	e := fresh()
	e.Seq = 2
	if _, err := b.Commit(ctx, e); !errors.Is(err, charge.ErrConflict) {
		t.Error(err)
	}
	reader, err := ledger.NewBook(ledger.Config{Store: memory.New(), Public: public()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Commit(ctx, fresh()); err == nil {
		t.Error("committed without a key")
	}
	if s, err := b.Head(ctx, "F"); err != nil || s.Seq != 0 {
		t.Errorf("after refusals: %+v, %v", s, err)
	}
	if _, err := b.Commit(ctx, fresh()); err != nil {
		t.Error(err)
	}
	if _, err := b.KeepRubric(ctx, make([]byte, ledger.MaxRubric+1)); err == nil {
		t.Error("a rubric that can't be exported was kept")
	}
	for _, c := range []ledger.Config{{}, {Store: memory.New()}, {Store: memory.New(), Key: ed25519.PrivateKey{1}}} {
		if _, err := ledger.NewBook(c); err == nil {
			t.Errorf("%+v made a book", c)
		}
	}
}

// failing is a store whose next append fails, having been done or not.
type failing struct {
	*memory.Store
	done bool
	err  error
}

func (f *failing) AppendEntry(ctx context.Context, prev charge.Hash, next charge.Head, encoded []byte) error {
	if f.err == nil || f.done {
		if err := f.Store.AppendEntry(ctx, prev, next, encoded); err != nil {
			return err
		}
	}
	return f.err
}

// After a failure of the store nobody knows whether the entry is there. The
// book asks, and what is wasted is charged.
func TestStoreFails(t *testing.T) {
	ctx := context.Background()
	for _, done := range []bool{false, true} {
		f := &failing{Store: memory.New(), done: done}
		b := newBook(t, f)
		h, err := b.KeepRubric(ctx, []byte("a rubric"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := try(ctx, b, "F", h, 1, bit); err != nil {
			t.Fatal(err)
		}
		f.err = errors.New("no room")
		if _, err := try(ctx, b, "F", h, 1, bit); !errors.Is(err, f.err) {
			t.Fatal(err)
		}
		f.err = nil
		if _, err := try(ctx, b, "F", h, 1, bit); err != nil {
			t.Fatal(err)
		}
		want := map[bool]flow.Bits{false: 2 * bit, true: 3 * bit}[done]
		if s, err := b.Head(ctx, "F"); err != nil || s.Total != want {
			t.Errorf("done: %v: %+v, %v", done, s, err)
		}
	}
}

// tampered is a store that somebody wrote to.
type tampered struct {
	*memory.Store
	spoil func([]charge.Stored) []charge.Stored
}

func (s *tampered) Entries(ctx context.Context, f flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	got, err := s.Store.Entries(ctx, f, after, limit)
	return s.spoil(got), err
}

// A ledger that was changed in the store is not written on.
func TestTamperedStore(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	b := newBook(t, store)
	grow(t, b, 0, 5, 1)
	for name, c := range map[string]struct {
		rule  charge.Rule
		spoil func([]charge.Stored) []charge.Stored
	}{
		"bit":      {charge.Previous, func(g []charge.Stored) []charge.Stored { g[2].Bytes[110] ^= 1; return g }},
		"last":     {charge.Signature, func(g []charge.Stored) []charge.Stored { g[4].Bytes[len(g[4].Bytes)-1] ^= 1; return g }},
		"deleted":  {charge.Sequence, func(g []charge.Stored) []charge.Stored { return append(g[:1], g[2:]...) }},
		"no entry": {charge.Encoding, func(g []charge.Stored) []charge.Stored { g[0].Bytes = nil; return g }},
	} {
		_, err := newBook(t, &tampered{store, c.spoil}).Head(ctx, "F000")
		if !errors.Is(err, c.rule) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "deleted" && !strings.Contains(err.Error(), "entry 2:") {
			t.Errorf("another entry is named: %v", err)
		}
	}
	other, err := ledger.NewBook(ledger.Config{Store: store, Key: ed25519.NewKeyFromSeed(make([]byte, 32))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Head(ctx, "F000"); !errors.Is(err, charge.Signature) {
		t.Errorf("under another key: %v", err)
	}
}

// A book remembers a bounded number of families, and reads the others again.
func TestManyFamilies(t *testing.T) {
	ctx := context.Background()
	b := newBook(t, memory.New())
	h, err := b.KeepRubric(ctx, []byte("a rubric"))
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	for round := range 2 {
		for i := range n {
			if _, err := try(ctx, b, flow.TrajectoryID(fmt.Sprintf("F%d", i)), h, 1, bit); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := b.Head(ctx, "F0"); err != nil || s.Total != flow.Bits(round+1)*bit {
			t.Fatalf("%+v, %v", s, err)
		}
	}
}

// An entry's time is the book's, and never before that of the entry before.
func TestBookClock(t *testing.T) {
	ctx := context.Background()
	now := at
	b, err := ledger.NewBook(ledger.Config{Store: memory.New(), Key: key, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.KeepRubric(ctx, []byte("a rubric"))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ now, want time.Time }{{at, at}, {at.Add(-time.Hour), at}, {at.Add(1500 * time.Microsecond), at.Add(time.Millisecond)}} {
		now = c.now
		if _, err := try(ctx, b, "F", h, 1, bit); err != nil {
			t.Fatal(err)
		}
		if s, err := b.Head(ctx, "F"); err != nil || !s.At.Equal(c.want) {
			t.Errorf("release %d: %v, %v", i, s.At, err)
		}
	}
	if r := check(t, export(t, b), ledger.Check{}); len(r.Findings) > 0 {
		t.Error(r.Findings)
	}
}

// A state stays as it was, whatever becomes of its clones, however many values
// there are.
func TestClones(t *testing.T) {
	s := charge.NewState("F")
	var states []*charge.State
	for i := range 300 {
		e := release(1, charge.Atom{Field: "dob", Op: charge.Identity, Value: charge.Hash{1, byte(i), byte(i >> 8)}, Cost: 1, After: [4]flow.Bits{0, 1}})
		c := s.Clone()
		next(t, c, e)
		states, s = append(states, s), c
	}
	for i, s := range states {
		if s.Values() != i || s.Total != flow.Bits(i) || s.After(charge.Hash{1, byte(i), byte(i >> 8)}) != [4]flow.Bits{} {
			t.Fatalf("state %d: %d values, total %v", i, s.Values(), s.Total)
		}
		if i > 0 && s.After(charge.Hash{1, byte(i - 1), byte((i - 1) >> 8)}) != [4]flow.Bits{0, 1} {
			t.Fatalf("state %d forgot its last value", i)
		}
	}
}
