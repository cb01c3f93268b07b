// Package stats has the statistics that the benchmarks report: counts of
// right and wrong decisions, percentile bootstrap intervals paired by task,
// exact intervals if the bootstrap has no information, and McNemar's test
// with Cohen's h (the PRISM paper, Appendix F).
//
// Everything is a pure function of its arguments and the seed. An undefined
// value (a ratio over nothing) is NaN; writers of results leave it out.
package stats

import (
	"math"
	"slices"
)

// Confusion counts decisions against the truth.
type Confusion struct{ TP, FP, FN, TN int }

// Add counts one decision.
func (c *Confusion) Add(truth, flagged bool) {
	switch {
	case truth && flagged:
		c.TP++
	case flagged:
		c.FP++
	case truth:
		c.FN++
	default:
		c.TN++
	}
}

// Precision is the share of what was flagged that is true.
func (c Confusion) Precision() float64 { return ratio(float64(c.TP), float64(c.TP+c.FP)) }

// Recall is the share of what is true that was flagged.
func (c Confusion) Recall() float64 { return ratio(float64(c.TP), float64(c.TP+c.FN)) }

// F1 is the harmonic mean of precision and recall, 2TP/(2TP+FP+FN). It is
// defined, and 0, where nothing was flagged although something is true.
func (c Confusion) F1() float64 { return ratio(2*float64(c.TP), float64(2*c.TP+c.FP+c.FN)) }

// FPR is the share of what is false that was flagged.
func (c Confusion) FPR() float64 { return ratio(float64(c.FP), float64(c.FP+c.TN)) }

// Accuracy is the share of right decisions.
func (c Confusion) Accuracy() float64 {
	return ratio(float64(c.TP+c.TN), float64(c.TP+c.FP+c.FN+c.TN))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// Mean returns the arithmetic mean.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return ratio(sum, float64(len(x)))
}

// Quantile returns the q-quantile, 0 ≤ q ≤ 1, interpolated between order
// statistics (Hyndman and Fan's type 7). x need not be sorted and is not
// changed.
func Quantile(x []float64, q float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return sortedQuantile(x, q)
}

func sortedQuantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	at := q * float64(len(x)-1)
	i := min(int(at), len(x)-1)
	if i+1 >= len(x) {
		return x[i]
	}
	return x[i] + (at-float64(i))*(x[i+1]-x[i])
}

// AUC is the area under the ROC curve: the probability that a true case scores
// above a false one, ties counting half. It is NaN with one class only.
func AUC(score []float64, truth []bool) float64 {
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case score[a] < score[b]:
			return -1
		case score[a] > score[b]:
			return 1
		}
		return 0
	})
	var ranks, pos float64
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && score[order[j]] == score[order[i]] {
			j++
		}
		rank := float64(i+1+j) / 2 // mean of the ranks i+1..j
		for ; i < j; i++ {
			if truth[order[i]] {
				ranks += rank
				pos++
			}
		}
	}
	neg := float64(len(order)) - pos
	return ratio(ratio(ranks-pos*(pos+1)/2, pos), neg)
}
