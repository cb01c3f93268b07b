package train

import (
	"math"
	"slices"

	"github.com/margaydev/margay/monitor"
)

// scored is a risk with the truth.
type scored struct {
	risk float64
	leak bool
}

// classified are precision, recall, F1 and accuracy of risk >= tau; those
// without a denominator are absent.
func classified(all []scored, tau float64, into map[string]float64) {
	var tp, fp, fn, tn float64
	for _, s := range all {
		switch {
		case s.leak && s.risk >= tau:
			tp++
		case s.leak:
			fn++
		case s.risk >= tau:
			fp++
		default:
			tn++
		}
	}
	ratio(into, "precision", tp, tp+fp)
	ratio(into, "recall", tp, tp+fn)
	ratio(into, "f1", 2*tp, 2*tp+fp+fn)
	ratio(into, "fpr", fp, fp+tn)
	ratio(into, "accuracy", tp+tn, tp+tn+fp+fn)
}

func ratio(into map[string]float64, name string, a, b float64) {
	if b > 0 {
		into[name] = a / b
	}
}

// auc is the probability that a leak has a larger risk than what is clean,
// equal ones counting half; NaN with one class only. It sorts all.
func auc(all []scored) float64 {
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.risk < b.risk:
			return -1
		case a.risk > b.risk:
			return 1
		}
		return 0
	})
	var leaks, clean, above float64
	for i := 0; i < len(all); {
		j, l, c := i, 0.0, 0.0
		for ; j < len(all) && all[j].risk == all[i].risk; j++ {
			if all[j].leak {
				l++
			} else {
				c++
			}
		}
		above += l * (clean + c/2)
		leaks, clean, i = leaks+l, clean+c, j
	}
	if leaks == 0 || clean == 0 {
		return math.NaN()
	}
	return above / (leaks * clean)
}

// brier is the mean squared distance of risk and truth.
func brier(all []scored) float64 {
	sum := 0.0
	for _, s := range all {
		d := s.risk
		if s.leak {
			d--
		}
		sum += d * d
	}
	return sum / float64(len(all))
}

// calibration is the curve over ten equal bins of risk; empty ones are left
// out.
func calibration(all []scored) []monitor.Bin {
	var bins [10]monitor.Bin
	for _, s := range all {
		b := &bins[min(int(s.risk*10), 9)]
		b.N++
		b.Predicted += s.risk
		if s.leak {
			b.Observed++
		}
	}
	var out []monitor.Bin
	for _, b := range bins {
		if b.N > 0 {
			out = append(out, monitor.Bin{Predicted: b.Predicted / float64(b.N), Observed: b.Observed / float64(b.N), N: b.N})
		}
	}
	return out
}

// measure are all metrics of risks at a threshold.
func measure(all []scored, tau float64) map[string]float64 {
	m := map[string]float64{}
	if len(all) == 0 {
		return m
	}
	classified(all, tau, m)
	m["brier"] = brier(all)
	if a := auc(all); !math.IsNaN(a) {
		m["auc"] = a
	}
	return m
}
