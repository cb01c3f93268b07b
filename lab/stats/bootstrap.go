package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Ratio is a metric that is a ratio of two sums over tasks: Num[i] and Den[i]
// are what task i adds to each. Rates, means, precision, recall and F1 all are
// (F1 with Num = 2TP and Den = 2TP+FP+FN).
type Ratio struct{ Num, Den []float64 }

// Value returns the ratio over all tasks.
func (r Ratio) Value() float64 {
	var num, den float64
	for i := range r.Num {
		num += r.Num[i]
		den += r.Den[i]
	}
	return ratio(num, den)
}

// Bootstrap draws tasks with replacement. The draws depend on Seed and the
// number of tasks alone, so that all methods and metrics are resampled with
// the same tasks: intervals of differences are paired.
type Bootstrap struct {
	Seed      uint64
	Resamples int     // 10,000 where 0, as in the paper
	Level     float64 // of confidence; 0.95 where 0
}

func (b Bootstrap) norm() Bootstrap {
	if b.Resamples <= 0 {
		b.Resamples = 10000
	}
	if b.Level <= 0 || b.Level >= 1 {
		b.Level = 0.95
	}
	return b
}

// Intervals returns percentile intervals of ratios over the same n tasks. A
// resample over which a ratio is not defined is left out of its distribution.
//
// A bootstrap of tasks that all agree has no width, although another sample
// might disagree: where every task adds 0 or 1 to 1 and all are equal, the
// interval is ClopperPearson's.
func (b Bootstrap) Intervals(n int, ratios ...Ratio) [][2]float64 {
	stats := b.resample(n, len(ratios), func(count []int32, out []float64) {
		for k := range ratios {
			out[k] = ratios[k].weighted(count)
		}
	})
	for k := range ratios {
		if c, of, ok := ratios[k].constant(); ok {
			stats[k] = ClopperPearson(c, of, b.norm().Level)
		}
	}
	return stats
}

// Difference returns percentile intervals of a[k]−b[k], paired by task.
func (b Bootstrap) Difference(n int, x, y []Ratio) [][2]float64 {
	return b.resample(n, len(x), func(count []int32, out []float64) {
		for k := range x {
			out[k] = x[k].weighted(count) - y[k].weighted(count)
		}
	})
}

// Statistic returns the percentile interval of any statistic of n tasks. It is
// called with how often each task was drawn.
func (b Bootstrap) Statistic(n int, stat func(count []int32) float64) [2]float64 {
	return b.resample(n, 1, func(count []int32, out []float64) { out[0] = stat(count) })[0]
}

func (b Bootstrap) resample(n, k int, stat func(count []int32, out []float64)) [][2]float64 {
	b = b.norm()
	dist := make([][]float64, k)
	count := make([]int32, n)
	out := make([]float64, k)
	for s := range b.Resamples {
		if n == 0 {
			break
		}
		clear(count)
		rng := rand.New(rand.NewPCG(b.Seed, uint64(s)))
		for range n {
			count[rng.IntN(n)]++
		}
		stat(count, out)
		for j, v := range out {
			if !math.IsNaN(v) {
				dist[j] = append(dist[j], v)
			}
		}
	}
	res := make([][2]float64, k)
	for j := range dist {
		slices.Sort(dist[j])
		tail := (1 - b.Level) / 2
		res[j] = [2]float64{sortedQuantile(dist[j], tail), sortedQuantile(dist[j], 1-tail)}
	}
	return res
}

func (r Ratio) weighted(count []int32) float64 {
	var num, den float64
	for i, c := range count {
		num += float64(c) * r.Num[i]
		den += float64(c) * r.Den[i]
	}
	return ratio(num, den)
}

// constant reports whether r is a share of tasks that is 0 or 1.
func (r Ratio) constant() (k, n int, ok bool) {
	for i := range r.Num {
		num, den := r.Num[i], r.Den[i]
		if den != 0 && den != 1 || num != 0 && num != 1 || num > den {
			return 0, 0, false
		}
		k += int(num)
		n += int(den)
	}
	return k, n, n > 0 && (k == 0 || k == n)
}

// ClopperPearson returns the exact interval of a proportion of which k of n
// cases were seen.
func ClopperPearson(k, n int, level float64) [2]float64 {
	if n <= 0 {
		return [2]float64{math.NaN(), math.NaN()}
	}
	tail := (1 - level) / 2
	out := [2]float64{0, 1}
	if k > 0 { // P(X ≥ k; p) = tail
		out[0] = bisect(func(p float64) bool { return 1-binomialCDF(k-1, n, p) > tail })
	}
	if k < n { // P(X ≤ k; p) = tail
		out[1] = bisect(func(p float64) bool { return binomialCDF(k, n, p) < tail })
	}
	return out
}

// bisect returns where above, false below some p and true from there on,
// changes in [0, 1].
func bisect(above func(float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 60 {
		if mid := (lo + hi) / 2; above(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return (lo + hi) / 2
}

// binomialCDF is P(X ≤ k), X ~ Bin(n, p).
func binomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n || p <= 0:
		return 1
	case p >= 1:
		return 0
	}
	sum := 0.0
	for i := range k + 1 {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// logChoose is ln(n choose k).
func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
