package saliency

import (
	"math"
	"math/rand/v2"

	"github.com/margaydev/margay/screen/saliency"
)

const (
	hidden = saliency.Hidden
	gates  = 4 * hidden
	wide1  = saliency.Count + hidden + 1
	wide2  = hidden + hidden + 1
	at2    = gates * wide1
	atOut  = at2 + gates*wide2
)

// initial draws weights. Forget gates begin open.
func initial(rng *rand.Rand) []float64 {
	w := make([]float64, saliency.Params)
	fill := func(from, wide int) {
		scale := 1 / math.Sqrt(float64(wide))
		for r := range gates {
			row := w[from+r*wide : from+(r+1)*wide]
			for i := range wide - 1 {
				row[i] = (2*rng.Float64() - 1) * scale
			}
			if r >= hidden && r < 2*hidden {
				row[wide-1] = 1
			}
		}
	}
	fill(0, wide1)
	fill(at2, wide2)
	for i := range hidden {
		w[atOut+i] = (2*rng.Float64() - 1) / math.Sqrt(hidden)
	}
	return w
}

// moment is what a layer did at one step of a sequence.
type moment struct {
	x          []float64
	h0, c0     [hidden]float64 // before
	i, f, g, o [hidden]float64
	c, h       [hidden]float64
}

func (m *moment) forward(w []float64) {
	wide := len(m.x) + hidden + 1
	z := func(r int) float64 {
		row := w[r*wide : (r+1)*wide]
		sum := row[wide-1]
		for k, v := range m.x {
			sum += row[k] * v
		}
		for k, v := range m.h0 {
			sum += row[len(m.x)+k] * v
		}
		return sum
	}
	for k := range hidden {
		m.i[k], m.f[k] = sigmoid(z(k)), sigmoid(z(hidden+k))
		m.g[k], m.o[k] = math.Tanh(z(2*hidden+k)), sigmoid(z(3*hidden+k))
		m.c[k] = m.f[k]*m.c0[k] + m.i[k]*m.g[k]
		m.h[k] = m.o[k] * math.Tanh(m.c[k])
	}
}

// backward adds to the gradient of the weights. dh and dc are the loss's
// gradients by state and cell; they become those of the step before. dx, if
// given, gets that of the input.
func (m *moment) backward(w, grad []float64, dh, dc *[hidden]float64, dx []float64) {
	wide := len(m.x) + hidden + 1
	var before [hidden]float64
	for k := range hidden {
		t := math.Tanh(m.c[k])
		do := dh[k] * t
		cell := dc[k] + dh[k]*m.o[k]*(1-t*t)
		dz := [4]float64{
			cell * m.g[k] * m.i[k] * (1 - m.i[k]), cell * m.c0[k] * m.f[k] * (1 - m.f[k]),
			cell * m.i[k] * (1 - m.g[k]*m.g[k]), do * m.o[k] * (1 - m.o[k]),
		}
		dc[k] = cell * m.f[k]
		for q, d := range dz {
			r := q*hidden + k
			row, to := w[r*wide:(r+1)*wide], grad[r*wide:(r+1)*wide]
			for j, v := range m.x {
				to[j] += d * v
				if dx != nil {
					dx[j] += d * row[j]
				}
			}
			for j, v := range m.h0 {
				to[len(m.x)+j] += d * v
				before[j] += d * row[len(m.x)+j]
			}
			to[wide-1] += d
		}
	}
	*dh = before
}

// pass computes the weighted loss of a sequence and adds its gradient to grad,
// if that is not nil. It returns the probabilities.
func pass(w []float64, s *sequence, weight [2]float64, grad []float64) (loss float64, p []float64) {
	n := len(s.x)
	one, two := make([]moment, n), make([]moment, n)
	p = make([]float64, n)
	for t := range n {
		one[t].x = s.x[t][:]
		if t > 0 {
			one[t].h0, one[t].c0 = one[t-1].h, one[t-1].c
			two[t].h0, two[t].c0 = two[t-1].h, two[t-1].c
		}
		one[t].forward(w[:at2])
		two[t].x = one[t].h[:]
		two[t].forward(w[at2:atOut])
		z := w[atOut+hidden]
		for k, v := range two[t].h {
			z += w[atOut+k] * v
		}
		p[t] = sigmoid(z)
		if y := s.y[t]; y != Open {
			loss += weight[y] * (softplus(z) - float64(y)*z)
		}
	}
	if grad == nil {
		return loss, p
	}
	var dh1, dc1, dh2, dc2 [hidden]float64
	for t := n - 1; t >= 0; t-- {
		if y := s.y[t]; y != Open {
			d := weight[y] * (p[t] - float64(y))
			for k, v := range two[t].h {
				grad[atOut+k] += d * v
				dh2[k] += d * w[atOut+k]
			}
			grad[atOut+hidden] += d
		}
		dx := make([]float64, hidden)
		two[t].backward(w[at2:atOut], grad[at2:atOut], &dh2, &dc2, dx)
		for k, v := range dx {
			dh1[k] += v
		}
		one[t].backward(w[:at2], grad[:at2], &dh1, &dc1, nil)
	}
	return loss, p
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// adam moves weights against a gradient.
type adam struct {
	m, v []float64
	step int
}

const (
	beta1, beta2 = 0.9, 0.999
	clip         = 5.0 // greatest length of a gradient
)

func (a *adam) apply(w, grad []float64, rate, decay float64) {
	if a.m == nil {
		a.m, a.v = make([]float64, len(w)), make([]float64, len(w))
	}
	a.step++
	length := 0.0
	for _, g := range grad {
		length += g * g
	}
	scale := min(1, clip/math.Sqrt(length+1e-12))
	step := rate * math.Sqrt(1-math.Pow(beta2, float64(a.step))) / (1 - math.Pow(beta1, float64(a.step)))
	for i, g := range grad {
		g *= scale
		a.m[i] += (1 - beta1) * (g - a.m[i])
		a.v[i] += (1 - beta2) * (g*g - a.v[i])
		w[i] -= step*a.m[i]/(math.Sqrt(a.v[i])+1e-8) + rate*decay*w[i]
	}
}
