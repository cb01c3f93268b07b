package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWilson(t *testing.T) {
	// By hand: p = 0.4, n = 10, z = 1.959964.
	if got := Wilson(4, 10, 0.95); math.Abs(got[0]-0.16818) > 1e-4 || math.Abs(got[1]-0.68733) > 1e-4 {
		t.Errorf("4 of 10: %v", got)
	}
	if got := Wilson(0, 0, 0.95); !math.IsNaN(got[0]) {
		t.Errorf("nothing of nothing: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		got, p := Wilson(k, n, 0.95), float64(k)/float64(n)
		if got[0] < 0 || got[1] > 1 || got[0] > p || got[1] < p {
			t.Fatalf("%d of %d: %v", k, n, got)
		}
		other := Wilson(n-k, n, 0.95)
		if math.Abs(got[0]-(1-other[1])) > 1e-12 {
			t.Fatalf("not symmetrical: %v %v", got, other)
		}
	})
}
