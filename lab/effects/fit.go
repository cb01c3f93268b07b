package effects

import (
	"math"

	"github.com/margaydev/margay/taint/suggest"
)

// sample is an example to fit to.
type sample struct {
	x      []suggest.Feature
	y      int
	weight float64
}

// linear is a softmax, or with one output a logistic, over sparse features.
type linear struct {
	k    int
	w    []float64 // feature-major
	bias []float64
}

const (
	steps = 240  // of Adam, over all examples each
	rate  = 0.05 // of the first half; it then falls to 0
)

// fitLinear minimises the weighted log-loss plus the squared weights times half of
// lambda, from zero: the same examples give the same weights.
func fitLinear(data []sample, k int, lambda float64) *linear {
	m := &linear{k: k, w: make([]float64, suggest.Size*k), bias: make([]float64, k)}
	// Only features that are there have a weight.
	used := map[uint16]bool{}
	var at []int
	total := 0.0
	for i := range data {
		total += data[i].weight
		for _, f := range data[i].x {
			if !used[f.At] {
				used[f.At] = true
				at = append(at, int(f.At))
			}
		}
	}
	n := len(m.w) + k
	g, m1, m2 := make([]float64, n), make([]float64, n), make([]float64, n)
	p := make([]float64, k)
	beta1, beta2 := 1.0, 1.0
	for step := range steps {
		for _, a := range at {
			for c := range k {
				g[a*k+c] = lambda * m.w[a*k+c]
			}
		}
		for c := range k {
			g[len(m.w)+c] = 0
		}
		for i := range data {
			s := &data[i]
			m.scores(s.x, p)
			probabilities(p)
			for c := range k {
				d := p[c]
				if c == s.y && k > 1 || k == 1 && s.y == 1 {
					d--
				}
				d *= s.weight / total
				p[c] = d
				g[len(m.w)+c] += d
			}
			for _, f := range s.x {
				v := float64(f.Value)
				row := g[int(f.At)*k : int(f.At)*k+k]
				for c := range row {
					row[c] += v * p[c]
				}
			}
		}
		beta1, beta2 = beta1*0.9, beta2*0.999
		r := rate * min(1, 2*float64(steps-step)/steps)
		update := func(i int, w *float64) {
			m1[i] = 0.9*m1[i] + 0.1*g[i]
			m2[i] = 0.999*m2[i] + 0.001*g[i]*g[i]
			*w -= r * (m1[i] / (1 - beta1)) / (math.Sqrt(m2[i]/(1-beta2)) + 1e-8)
		}
		for _, a := range at {
			for c := range k {
				update(a*k+c, &m.w[a*k+c])
			}
		}
		for c := range k {
			update(len(m.w)+c, &m.bias[c])
		}
	}
	return m
}

func (m *linear) scores(x []suggest.Feature, z []float64) {
	copy(z, m.bias)
	for _, f := range x {
		v := float64(f.Value)
		row := m.w[int(f.At)*m.k : int(f.At)*m.k+m.k]
		for c := range row {
			z[c] += v * row[c]
		}
	}
}

func probabilities(z []float64) {
	if len(z) == 1 {
		z[0] = 1 / (1 + math.Exp(-z[0]))
		return
	}
	most, sum := math.Inf(-1), 0.0
	for _, v := range z {
		most = max(most, v)
	}
	for i, v := range z {
		z[i] = math.Exp(v - most)
		sum += z[i]
	}
	for i := range z {
		z[i] /= sum
	}
}

// quantise puts the weights of a fit into a model, from an output on.
func quantise(into *suggest.Model, from int, m *linear) {
	for c := range m.k {
		most := 0.0
		for i := c; i < len(m.w); i += m.k {
			most = max(most, math.Abs(m.w[i]))
		}
		step := most / 127
		if step == 0 {
			step = 1
		}
		into.Step[from+c], into.Bias[from+c] = step, m.bias[c]
		for i := range suggest.Size {
			into.Weights[from+c][i] = int8(math.Round(m.w[i*m.k+c] / step))
		}
	}
}
