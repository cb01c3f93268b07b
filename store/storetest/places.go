package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/margaydev/margay/store"
)

// placed is what an engine keeps of the places of a machine.
type placed interface {
	PutPlaces(ctx context.Context, rows map[[32]byte][]byte) error
	DropPlaces(ctx context.Context, ids ...[32]byte) error
	Places(ctx context.Context, after int64) (rows map[[32]byte][]byte, all bool, version int64, err error)
}

type rowsByID = map[[32]byte][]byte

// places: rows come back once they are there, alone where only they are new, all
// where some were dropped; the first row of an id stays; no more than the bound.
func (u *suite) places(t *testing.T, s Store) {
	ctx := context.Background()
	kept, ok := s.(placed)
	if !ok {
		t.Fatal("the engine keeps no places")
	}
	expect := func(what string, after int64, wantAll bool, want rowsByID) int64 {
		t.Helper()
		rows, all, version, err := kept.Places(ctx, after)
		check(t, err)
		if all != wantAll || fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%s: %v, all %v; want %v, %v", what, rows, all, want, wantAll)
		}
		return version
	}
	epoch := epochOf(t, s)
	v := expect("nothing", 0, false, nil)
	a, b, c := [32]byte{1}, [32]byte{2}, [32]byte{3}
	first := rowsByID{a: {1}, b: {2}}
	check(t, kept.PutPlaces(ctx, first))
	first[a][0] = 9 // the engine keeps its own
	v1 := expect("the first", v, false, rowsByID{a: {1}, b: {2}})
	expect("nothing new", v1, false, nil)
	other := kept
	if u.second != nil {
		other = u.second(t, s).(placed)
	}
	check(t, other.PutPlaces(ctx, rowsByID{b: {7}, c: {3}}))
	v2 := expect("what another process added", v1, false, rowsByID{c: {3}})
	expect("all", 0, false, rowsByID{a: {1}, b: {2}, c: {3}})
	check(t, other.DropPlaces(ctx, a, [32]byte{77}))
	v3 := expect("after one was dropped", v2, true, rowsByID{b: {2}, c: {3}})
	check(t, kept.PutPlaces(ctx, rowsByID{a: {4}}))
	v4 := expect("added again", v3, false, rowsByID{a: {4}})
	expect("from before the drop", v1, true, rowsByID{a: {4}, b: {2}, c: {3}})
	expect("of another database", v4+100, true, rowsByID{a: {4}, b: {2}, c: {3}})
	if u.reopen != nil {
		s = u.reopen(t, s)
		kept = s.(placed)
		expect("opened again", v4, false, nil)
		expect("all, opened again", 0, true, rowsByID{a: {4}, b: {2}, c: {3}})
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if kept.PutPlaces(cancelled, rowsByID{{5}: {5}}) == nil || kept.DropPlaces(cancelled, a) == nil {
		t.Error("places changed for a context that had ended")
	}
	many := rowsByID{}
	for i := range store.MaxPlaces - 3 {
		many[[32]byte{4, byte(i), byte(i >> 8), byte(i >> 16)}] = []byte{1}
	}
	check(t, kept.PutPlaces(ctx, many))
	if err := kept.PutPlaces(ctx, rowsByID{{5}: {5}, {6}: {6}}); !errors.Is(err, store.ErrFull) {
		t.Errorf("one more than the bound: %v", err)
	}
	check(t, kept.PutPlaces(ctx, rowsByID{a: {8}})) // it is there
	maps.Copy(many, rowsByID{a: {4}, b: {2}, c: {3}})
	if rows, _, _, err := kept.Places(ctx, 0); err != nil || len(rows) != len(many) {
		t.Errorf("%d rows at the bound, want %d: %v", len(rows), len(many), err)
	}
	if e := epochOf(t, s); e != epoch {
		t.Errorf("the epoch went from %d to %d: no secret or allowance changed", epoch, e)
	}
}
