package storetest

import (
	"context"
	"fmt"
	"testing"
)

// quotes is what an engine keeps of what models said.
type quotes interface {
	PutSaid(ctx context.Context, caller [32]byte, rows [][]byte) error
	Said(ctx context.Context, caller [32]byte, after int64) (rows [][]byte, last int64, err error)
}

// rowsKept is how many rows of one caller engines keep.
const rowsKept = 4096

// said: rows come back to their caller alone, in order, after any number; the
// oldest go first.
func (u *suite) said(t *testing.T, s Store) {
	ctx := context.Background()
	kept, ok := s.(quotes)
	if !ok {
		t.Fatal("the engine keeps nothing of what models said")
	}
	a, b := [32]byte{1}, [32]byte{2}
	epoch := epochOf(t, s)
	rows := func(from, n int) (out [][]byte) {
		for i := range n {
			out = append(out, fmt.Appendf(nil, "row %d", from+i))
		}
		return out
	}
	expect := func(what string, caller [32]byte, after int64, from, n int) int64 {
		t.Helper()
		got, last, err := kept.Said(ctx, caller, after)
		check(t, err)
		if want := rows(from, n); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s: %d rows, want %d, or others", what, len(got), n)
		}
		for _, r := range got {
			clear(r) // the store keeps its own
		}
		return last
	}
	expect("nothing", a, 0, 0, 0)
	check(t, kept.PutSaid(ctx, a, nil))
	mine := rows(0, 3)
	check(t, kept.PutSaid(ctx, a, mine))
	clear(mine[0])
	check(t, kept.PutSaid(ctx, b, rows(50, 2)))
	last := expect("one caller's", a, 0, 0, 3)
	expect("the other's", b, 0, 50, 2)
	if again := expect("nothing new", a, last, 0, 0); again != last {
		t.Errorf("the last row is %d, then %d", last, again)
	}
	if u.second != nil {
		check(t, u.second(t, s).(quotes).PutSaid(ctx, a, rows(3, 1)))
	} else {
		check(t, kept.PutSaid(ctx, a, rows(3, 1)))
	}
	expect("only what is new", a, last, 3, 1)
	expect("all", a, 0, 0, 4)
	if u.reopen != nil {
		s = u.reopen(t, s)
		kept = s.(quotes)
		expect("opened again", a, 0, 0, 4)
		expect("after a number, opened again", a, last, 3, 1)
	}
	check(t, kept.PutSaid(ctx, a, rows(4, rowsKept)))
	expect("too many", a, 0, 4, rowsKept)
	expect("another's", b, 0, 50, 2)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if kept.PutSaid(cancelled, b, rows(0, 1)) == nil {
		t.Error("a row was put for a context that had ended")
	}
	expect("after that", b, 0, 50, 2)
	if e := epochOf(t, s); e != epoch {
		t.Errorf("the epoch went from %d to %d: no secret or allowance changed", epoch, e)
	}
}
