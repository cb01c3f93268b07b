package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

// asLedger returns the part of an engine that keeps the ledger.
func asLedger(t fatalf, s Store) ledger.Store {
	t.Helper()
	l, ok := s.(ledger.Store)
	if !ok {
		t.Fatalf("the engine keeps no ledger")
	}
	return l
}

// link is an entry of a chain as a store sees it: bytes, and hashes of them.
func link(family flow.TrajectoryID, seq uint64, variant byte) (charge.Head, []byte) {
	text := fmt.Appendf(nil, "%s/%d/%d \x00\xff", family, seq, variant)
	h := charge.Head{Family: family, Seq: seq, Hash: charge.Hash{1, byte(seq), byte(seq >> 8), variant}}
	for i := range family {
		h.Hash[4+i%28] ^= family[i]
	}
	return h, text
}

func headsOf(t fatalf, l ledger.Store) (out []charge.Head) {
	t.Helper()
	for h, err := range l.Heads(context.Background()) {
		if err != nil {
			t.Fatalf("heads: %v", err)
		}
		out = append(out, h)
	}
	return out
}

// chains: an entry is added behind its family's last one and nowhere else, and
// what is there stays as it is.
func (u *suite) chains(t *testing.T, s Store) {
	ctx := context.Background()
	l := asLedger(t, s)
	if got := headsOf(t, l); len(got) != 0 {
		t.Errorf("a new store has %d families", len(got))
	}
	a1, a1text := link("A", 1, 0)
	a2, a2text := link("A", 2, 0)
	b1, b1text := link("B", 1, 0)
	fork, forkText := link("A", 2, 1)
	gap, gapText := link("A", 4, 0)
	conflict := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, charge.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	conflict("a second entry of nothing", l.AppendEntry(ctx, a1.Hash, a2, a2text))
	conflict("a first entry that follows one", l.AppendEntry(ctx, b1.Hash, a1, a1text))
	given := bytes.Clone(a1text)
	check(t, l.AppendEntry(ctx, charge.Hash{}, a1, given))
	clear(given) // the store has its own
	conflict("the same again", l.AppendEntry(ctx, charge.Hash{}, a1, a1text))
	check(t, l.AppendEntry(ctx, charge.Hash{}, b1, b1text))
	check(t, l.AppendEntry(ctx, a1.Hash, a2, a2text))
	conflict("a fork", l.AppendEntry(ctx, a1.Hash, fork, forkText))
	conflict("a gap", l.AppendEntry(ctx, a2.Hash, gap, gapText))
	conflict("a gap from nothing", l.AppendEntry(ctx, charge.Hash{}, gap, gapText))
	conflict("another family's hash", l.AppendEntry(ctx, a2.Hash, charge.Head{Family: "B", Seq: 2, Hash: charge.Hash{9}}, a1text))
	if u.reopen != nil {
		s = u.reopen(t, s)
		l = asLedger(t, s)
	}
	for _, c := range []struct {
		family flow.TrajectoryID
		after  uint64
		limit  int
		want   []string
	}{
		{"A", 0, 10, []string{string(a1text), string(a2text)}},
		{"A", 0, 1, []string{string(a1text)}},
		{"A", 1, 10, []string{string(a2text)}},
		{"A", 2, 10, nil},
		{"A", 0, 0, nil},
		{"A", 0, -1, nil},
		{"B", 0, 10, []string{string(b1text)}},
		{"C", 0, 10, nil},
	} {
		got, err := l.Entries(ctx, c.family, c.after, c.limit)
		check(t, err)
		var texts []string
		for _, e := range got {
			texts = append(texts, string(e.Bytes))
			clear(e.Bytes)
		}
		if !slices.Equal(texts, c.want) {
			t.Errorf("entries of %s after %d, at most %d: %q, want %q", c.family, c.after, c.limit, texts, c.want)
		}
	}
	a2.Arrival, b1.Arrival = 3, 2
	if got := headsOf(t, l); !slices.Equal(got, []charge.Head{a2, b1}) {
		t.Errorf("heads are %v", got)
	}

	// Rubrics.
	r := charge.Hash{7}
	if _, err := l.Rubric(ctx, r); !errors.Is(err, charge.ErrNotFound) {
		t.Errorf("no rubric: %v", err)
	}
	text := []byte("rubric \x00")
	for range 2 {
		check(t, l.PutRubric(ctx, r, text))
	}
	clear(text)
	if u.reopen != nil {
		l = asLedger(t, u.reopen(t, s))
	}
	if got, err := l.Rubric(ctx, r); err != nil || string(got) != "rubric \x00" {
		t.Errorf("rubric is %q, %v", got, err)
	}

	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, e1 := l.Entries(gone, "A", 0, 1)
	_, e2 := l.Rubric(gone, r)
	var e3 error
	for _, e3 = range l.Heads(gone) {
		continue
	}
	for name, err := range map[string]error{
		"Entries": e1, "Rubric": e2, "Heads": e3,
		"PutRubric": l.PutRubric(gone, charge.Hash{8}, nil), "AppendEntry": l.AppendEntry(gone, b1.Hash, charge.Head{Family: "B", Seq: 2}, a1text),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	if got, err := l.Entries(ctx, "B", 1, 10); err != nil || len(got) != 0 {
		t.Errorf("a cancelled append is there: %v", err)
	}
}

// race: of all who append behind one entry at the same time, through whatever
// handle, exactly one does, and everybody sees which.
func (u *suite) race(t *testing.T, s Store) {
	ctx := context.Background()
	handles := []ledger.Store{asLedger(t, s)}
	if u.second != nil {
		handles = append(handles, asLedger(t, u.second(t, s)))
	}
	const families, workers, length = 4, 8, 10
	var wg sync.WaitGroup
	for f := range families {
		family := flow.TrajectoryID(fmt.Sprintf("F%d", f))
		prev := make([]atomic.Pointer[charge.Hash], length+1)
		prev[0].Store(&charge.Hash{})
		// is says that somebody saw h as the hash of an entry.
		is := func(seq uint64, h charge.Hash) {
			if !prev[seq].CompareAndSwap(nil, &h) && *prev[seq].Load() != h {
				t.Errorf("two entries %d of %s", seq, family)
			}
		}
		won := make([]atomic.Int32, length+1)
		for w := range workers {
			l := handles[w%len(handles)]
			wg.Go(func() {
				for seq := uint64(1); seq <= length; seq++ {
					next, text := link(family, seq, byte(w))
					switch err := l.AppendEntry(ctx, *prev[seq-1].Load(), next, text); {
					case err == nil:
						is(seq, next.Hash)
						if won[seq].Add(1) > 1 {
							t.Errorf("two callers appended entry %d of %s", seq, family)
						}
					case !errors.Is(err, charge.ErrConflict):
						t.Error(err)
						return
					}
					// Somebody won; what they wrote is there for all.
					got, err := l.Entries(ctx, family, seq-1, 1)
					if err != nil || len(got) != 1 {
						t.Errorf("entry %d of %s is not there: %v", seq, family, err)
						return
					}
					for winner := range workers {
						if h, text := link(family, seq, byte(winner)); bytes.Equal(text, got[0].Bytes) {
							is(seq, h.Hash)
						}
					}
				}
			})
		}
	}
	wg.Wait()
	seen := map[int64]bool{}
	for f := range families {
		got, err := handles[0].Entries(ctx, flow.TrajectoryID(fmt.Sprintf("F%d", f)), 0, 100)
		check(t, err)
		if len(got) != length {
			t.Errorf("family %d has %d entries", f, len(got))
		}
		var last int64
		for _, e := range got {
			if e.Arrival <= last || e.Arrival > families*length || seen[e.Arrival] {
				t.Errorf("an entry arrived as %d after %d", e.Arrival, last)
			}
			last, seen[e.Arrival] = e.Arrival, true
		}
	}
}

// ledgerModel appends any entries, right and wrong ones, to a store and to
// plain slices, and compares the two after each step.
func (u *suite) ledgerModel(t *testing.T, open func(t *testing.T) Store) {
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		s := open(t)
		defer func() { _ = s.Close() }()
		chains, texts := map[string][]charge.Head{}, map[string][]string{}
		var arrived int64
		actions := map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				family := rapid.SampledFrom([]string{"A", "AA", "B"}).Draw(r, "family")
				chain := chains[family]
				seq := uint64(len(chain) + rapid.IntRange(0, 2).Draw(r, "seq"))
				var prev charge.Hash
				if i := len(chain) - rapid.IntRange(0, 2).Draw(r, "back"); i > 0 {
					prev = chain[i-1].Hash
				}
				next, text := link(flow.TrajectoryID(family), max(1, seq), rapid.Byte().Draw(r, "variant"))
				var head charge.Hash
				if len(chain) > 0 {
					head = chain[len(chain)-1].Hash
				}
				fits := next.Seq == uint64(len(chain)+1) && prev == head
				err := asLedger(r, s).AppendEntry(ctx, prev, next, text)
				if fits != (err == nil) || err != nil && !errors.Is(err, charge.ErrConflict) {
					r.Fatalf("entry %d of %s: %v", next.Seq, family, err)
				}
				if fits {
					arrived++
					next.Arrival = arrived
					chains[family], texts[family] = append(chain, next), append(texts[family], string(text))
				}
			},
			"": func(r *rapid.T) {
				l := asLedger(r, s)
				var want []charge.Head
				for _, c := range sorted(chains) {
					want = append(want, c[len(c)-1])
				}
				if got := headsOf(r, l); !equal(got, want) {
					r.Fatalf("heads are %v, want %v", got, want)
				}
				for family, c := range chains {
					got, err := l.Entries(ctx, flow.TrajectoryID(family), 0, 1000)
					if err != nil || len(got) != len(c) {
						r.Fatalf("%d entries, %v; want %d", len(got), err, len(c))
					}
					for i, e := range got {
						if e.Arrival != c[i].Arrival || string(e.Bytes) != texts[family][i] {
							r.Fatalf("entry %d of %s is another", i+1, family)
						}
					}
				}
			},
		}
		if u.reopen != nil {
			actions["reopen"] = func(r *rapid.T) {
				if rapid.IntRange(0, 5).Draw(r, "reopen") == 0 { // it is slow
					s = u.reopen(t, s)
				}
			}
		}
		r.Repeat(actions)
	})
}
