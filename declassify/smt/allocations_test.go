//go:build !race

// Under the race detector a sync.Pool drops values at random.

package smt_test

import (
	"testing"

	"github.com/margaydev/margay/declassify/smt"
)

// TestAllocations: a release that passes, as the verifier states it, costs no
// memory once its problem's has been used before.
func TestAllocations(t *testing.T) {
	var p smt.Problem
	native, r, ctx := new(smt.Native), seeded(1), t.Context()
	state := func() { stated(r, &p, 20, false) }
	decide := func() {
		state()
		if v, err := native.Validate(ctx, &p); err != nil || !v.OK {
			t.Fatalf("%v, %v", v, err)
		}
	}
	decide()
	if own, all := testing.AllocsPerRun(50, state), testing.AllocsPerRun(50, decide); all > own {
		t.Errorf("%v allocations, %v of them the generator's", all, own)
	}
}
