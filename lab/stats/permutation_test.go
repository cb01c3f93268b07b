package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPermutation(t *testing.T) {
	// By hand: three differences of 1; of the eight assignments of signs two
	// are as extreme.
	x, y := []float64{1, 2, 3}, []float64{0, 1, 2}
	if got := Permutation(x, y, 1, 100_000); math.Abs(got-.25) > .01 {
		t.Errorf("three alike: %v, want 0.25", got)
	}
	if got := Permutation(x, x, 1, 100); got != 1 {
		t.Errorf("no difference: %v", got)
	}
	var a, b []float64
	for i := range 40 {
		a, b = append(a, float64(i)+1), append(b, float64(i))
	}
	if got := Permutation(a, b, 1, 0); got > 2e-4 {
		t.Errorf("forty alike: %v", got)
	}
	if Permutation(a, b, 3, 500) != Permutation(a, b, 3, 500) || Permutation(a, b, 3, 500) != Permutation(b, a, 3, 500) {
		t.Error("the same seed gives other values, or the order counts")
	}
}

func TestHolm(t *testing.T) {
	// Holm's own procedure, by hand.
	got := Holm([]float64{.01, .04, .03, .005})
	for i, want := range []float64{.03, .06, .06, .02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("p %d: %v, want %v", i, got[i], want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 20).Draw(t, "p")
		for i, v := range Holm(p) {
			if v < p[i] || v > 1 || v > p[i]*float64(len(p))+1e-12 && v > slices.Max(p)*float64(len(p)) {
				t.Fatalf("%v became %v", p, Holm(p))
			}
		}
	})
}
