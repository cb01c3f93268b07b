package storetest

import (
	"context"
	"errors"
	"testing"
)

// pins is what an engine keeps of the tools of MCP servers.
type pins interface {
	Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error)
	Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error
	Unpin(ctx context.Context, server [32]byte) (int, error)
}

type pinned = map[[32]byte][32]byte

// toolPins: each server has its own tools; one that is pinned again is
// replaced, the others stay; the caller's maps are its own.
func (u *suite) toolPins(t *testing.T, s Store) {
	ctx := context.Background()
	kept, ok := s.(pins)
	if !ok {
		t.Fatal("the engine keeps no pins")
	}
	a, b := [32]byte{1}, [32]byte{2}
	one, two, three := [32]byte{1, 1}, [32]byte{2, 2}, [32]byte{3, 3}
	expect := func(server [32]byte, want pinned) {
		t.Helper()
		got, err := kept.Pinned(ctx, server)
		check(t, err)
		if len(got) != len(want) || len(want) > 0 && !same(got, want) {
			t.Errorf("%d tools are pinned, want %d", len(got), len(want))
		}
		clear(got) // the store keeps its own
	}
	epoch := epochOf(t, s)
	expect(a, nil)
	check(t, kept.Pin(ctx, a, nil))
	given := pinned{one: two, two: two}
	check(t, kept.Pin(ctx, a, given))
	clear(given)
	check(t, kept.Pin(ctx, b, pinned{one: three}))
	expect(a, pinned{one: two, two: two})
	check(t, kept.Pin(ctx, a, pinned{two: three, three: one}))
	expect(a, pinned{one: two, two: three, three: one})
	expect(b, pinned{one: three})
	if u.reopen != nil {
		s = u.reopen(t, s)
		kept = s.(pins)
	}
	expect(a, pinned{one: two, two: three, three: one})
	if n, err := kept.Unpin(ctx, a); n != 3 || err != nil {
		t.Errorf("forgot %d tools, %v; want 3", n, err)
	}
	expect(a, nil)
	expect(b, pinned{one: three})
	if e := epochOf(t, s); e != epoch {
		t.Error("pinning tools changed the epoch of the secrets")
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err := kept.Pinned(gone, b)
	_, unpin := kept.Unpin(gone, b)
	for name, err := range map[string]error{"Pinned": err, "Pin": kept.Pin(gone, b, pinned{two: two}), "Unpin": unpin} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v", name, err)
		}
	}
	expect(b, pinned{one: three})
}
