package tagger

import (
	"math"

	"github.com/margaydev/margay/defend/tagger"
)

// adam holds the moments of every weight. Those of an embedding move only when a
// batch has it.
type adam struct {
	Step         int
	Rows1, Rows2 []float32
	Den1, Den2   tagger.Dense
}

func newAdam() *adam {
	return &adam{Rows1: make([]float32, tagger.Buckets*tagger.Dim), Rows2: make([]float32, tagger.Buckets*tagger.Dim)}
}

const (
	beta1, beta2 = 0.9, 0.999
	decay        = 0.01 // of a weight, by the step and the rate
)

// apply moves the weights against the sum of the shares' gradients.
func (a *adam) apply(n *network, shares []*gradient, rate float64) {
	a.Step++
	sum := shares[0]
	for _, g := range shares[1:] { // in order, so that sums are the same each time
		for _, row := range g.touched {
			axpy(sum.touch(row), 1, g.row(row))
		}
		to, from := flat(&sum.dense), flat(&g.dense)
		for i := range to {
			axpy(to[i], 1, from[i])
		}
		sum.tokens += g.tokens
		sum.loss += g.loss
	}
	scale := 1 / float32(max(1, sum.tokens))
	c1, c2 := 1-math.Pow(beta1, float64(a.Step)), 1-math.Pow(beta2, float64(a.Step))
	step := float32(rate * math.Sqrt(c2) / c1)
	move := func(w, g, m, v []float32) {
		for j := range w {
			d := g[j] * scale
			m[j] += (1 - beta1) * (d - m[j])
			v[j] += (1 - beta2) * (d*d - v[j])
			w[j] -= step*m[j]/(float32(math.Sqrt(float64(v[j])))+1e-8) + float32(rate)*decay*w[j]
		}
	}
	for _, row := range sum.touched {
		at := int(row) * tagger.Dim
		move(n.Rows[at:at+tagger.Dim], sum.row(row), a.Rows1[at:at+tagger.Dim], a.Rows2[at:at+tagger.Dim])
	}
	w, g, m, v := flat(&n.Dense), flat(&sum.dense), flat(&a.Den1), flat(&a.Den2)
	for i := range w {
		move(w[i], g[i], m[i], v[i])
	}
}
