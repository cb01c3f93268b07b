package prism

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestHStar(t *testing.T) {
	for q, want := range map[float64]float64{0.8: 0.2482, 0.9: 0.1313, 1: 0, 1. / 32000: 1} {
		if got := hStar(q, 32000); math.Abs(got-want) > 5e-5 {
			t.Errorf("H*(%g) = %.5f, not %.4f", q, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.IntRange(2, 1_000_000).Draw(t, "v")
		q := rapid.Float64Range(1/float64(v), 1).Draw(t, "q")
		if back := hStar(qStar(hStar(q, v), v), v); math.Abs(back-hStar(q, v)) > 1e-9 {
			t.Errorf("H* of its inverse is %g, not %g", back, hStar(q, v))
		}
	})
}

// qStar is the inverse of hStar in q (Corollary 2): the fidelity that a token
// of normalised entropy h can have at most, by bisection.
func qStar(h float64, vocabulary int) float64 {
	low, high := 1/float64(max(vocabulary, 2)), 1.0
	switch {
	case h <= 0:
		return high
	case h >= 1:
		return low
	}
	for range 64 {
		if q := (low + high) / 2; hStar(q, vocabulary) > h {
			low = q
		} else {
			high = q
		}
	}
	return (low + high) / 2
}
