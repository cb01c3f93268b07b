package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Permutation is the two-sided paired permutation test of the hypothesis that
// two methods measured on the same tasks do not differ: the sign of each task's
// difference is then as likely to be the other. Draws is the number of random
// assignments of signs, 10,000 where 0. The p-value counts the observed one
// among them (Phipson and Smyth 2010), so it is never 0.
func Permutation(x, y []float64, seed uint64, draws int) float64 {
	if draws <= 0 {
		draws = 10000
	}
	var diff []float64
	observed := 0.0
	for i := range x {
		if d := x[i] - y[i]; d != 0 {
			diff = append(diff, d)
			observed += d
		}
	}
	observed = math.Abs(observed)
	rng := rand.New(rand.NewPCG(seed, 0x7065726d))
	extreme := 1
	for range draws {
		sum := 0.0
		var bits uint64
		for i, d := range diff {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits&1 == 0 {
				d = -d
			}
			sum += d
			bits >>= 1
		}
		if math.Abs(sum) >= observed*(1-1e-12) {
			extreme++
		}
	}
	return float64(extreme) / float64(draws+1)
}

// Holm adjusts p-values of a family of tests (Holm 1979): where an adjusted
// value is below a level, that hypothesis is rejected, and some true one among
// the family is rejected with at most that probability. The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	worst := 0.0
	for k, i := range order {
		worst = max(worst, min(1, p[i]*float64(len(p)-k)))
		out[i] = worst
	}
	return out
}
