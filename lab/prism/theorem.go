package prism

import (
	"fmt"
	"math"

	"github.com/margaydev/margay/lab/results"
)

// theoremBins are the bounds of the likeliest token's probability.
var theoremBins = []float64{0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}

// theorem compares the exact entropies of recorded tokens with the most that a
// distribution has whose likeliest token has that probability (PRISM, Theorem 1).
func theorem(recorded []Recorded, vocabulary int) []results.Row {
	type bin struct{ n, above, entropy, bound float64 }
	bins := make([]bin, len(theoremBins)-1)
	at := -1
	for i, name := range columns {
		if name == "entropy" {
			at = i
		}
	}
	for i := range recorded {
		for _, t := range recorded[i].Tokens {
			if len(t.Telemetry) <= at || t.Telemetry[at] < 0 || len(t.Logprobs) == 0 {
				continue
			}
			q := math.Exp(t.Logprobs[0])
			for k := range bins {
				if q < theoremBins[k] || q >= theoremBins[k+1] && k+1 < len(bins) || q > 1 {
					continue
				}
				h, most := t.Telemetry[at]/math.Log(float64(vocabulary)), mostEntropy(q, vocabulary)
				b := &bins[k]
				b.n++
				b.entropy += h
				b.bound += most
				if h > most+rounded {
					b.above++
				}
			}
		}
	}
	var out []results.Row
	for k, b := range bins {
		if b.n > 0 {
			out = append(out, results.Row{Defence: "none", Slice: fmt.Sprintf("theorem,q=%g-%g", theoremBins[k], theoremBins[k+1]), Metrics: map[string]float64{
				"tokens": b.n, "above": b.above / b.n, "entropy_mean": b.entropy / b.n, "bound_mean": b.bound / b.n,
			}})
		}
	}
	return out
}

// rounded is what two decimals of a log-probability may change of a bound.
const rounded = 0.01

// mostEntropy is H*(q): the normalised entropy of one token of probability q and
// all others alike.
func mostEntropy(q float64, vocabulary int) float64 {
	h := (1 - q) * math.Log(float64(vocabulary-1))
	for _, p := range []float64{q, 1 - q} {
		if p > 0 {
			h -= p * math.Log(p)
		}
	}
	return h / math.Log(float64(vocabulary))
}
