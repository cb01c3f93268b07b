package train

import (
	"cmp"
	"math"
	"slices"
)

// rows are standardised feature vectors with labels, one after another.
type rows struct {
	x []float64 // width per row
	y []bool
}

func (r *rows) n() int             { return len(r.y) }
func (r *rows) at(i int) []float64 { return r.x[i*width : (i+1)*width] }
func (r *rows) add(x []float64, y bool) {
	r.x, r.y = append(r.x, x...), append(r.y, y)
}

const (
	width  = 16
	params = width + 1 // the bias is last
)

// theta are weights and bias.
type theta [params]float64

func (t *theta) logit(x []float64) float64 {
	z := t[width]
	for i, v := range x {
		z += t[i] * v
	}
	return z
}

// objective is the paper's loss (B.1) at t: the sum of the logistic losses
// plus lambda times the squared length of the weights, without the bias. It
// adds gradient and Hessian to g and h if they are not nil.
func objective(r *rows, lambda float64, t *theta, g *theta, h *[params][params]float64) float64 {
	loss := 0.0
	for i := range width {
		loss += lambda * t[i] * t[i]
		if g != nil {
			g[i] += 2 * lambda * t[i]
		}
		if h != nil {
			h[i][i] += 2 * lambda
		}
	}
	for i := range r.n() {
		x := r.at(i)
		z := t.logit(x)
		loss += softplus(z)
		p := sigmoid(z)
		e := p
		if r.y[i] {
			loss -= z
			e--
		}
		if g != nil {
			for j, v := range x {
				g[j] += e * v
			}
			g[width] += e
		}
		if h != nil {
			c := p * (1 - p)
			for j, v := range x {
				cv := c * v
				for k := 0; k <= j; k++ {
					h[j][k] += cv * x[k]
				}
				h[width][j] += cv
			}
			h[width][width] += c
		}
	}
	return loss
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// softplus is ln(1 + e^z).
func softplus(z float64) float64 {
	if z > 0 {
		return z + math.Log1p(math.Exp(-z))
	}
	return math.Log1p(math.Exp(z))
}

// fitLogistic minimises the objective by Newton's method with step halving;
// with lambda > 0 and both classes it is strictly convex, so the result does
// not depend on where it starts.
func fitLogistic(r *rows, lambda float64) theta {
	var t theta
	loss := objective(r, lambda, &t, nil, nil)
	for range 100 {
		var g theta
		var h [params][params]float64
		objective(r, lambda, &t, &g, &h)
		h[width][width] += 1e-9 // where all risks are 0 or 1
		d := solve(&h, &g)
		step, down := 1.0, false
		for range 40 {
			next := t
			for i := range next {
				next[i] -= step * d[i]
			}
			if l := objective(r, lambda, &next, nil, nil); l < loss {
				down = loss-l > 1e-10*(1+math.Abs(loss))
				t, loss = next, l
				break
			}
			step /= 2
		}
		if !down {
			break
		}
	}
	return t
}

// fitRising minimises the objective with the weights of some features held at 0
// or above: those of which the theory says that more of them is more risk. The
// weight that comes out furthest below is 0, and the rest is fitted anew.
func fitRising(r *rows, lambda float64, rising []int) theta {
	own := rows{x: slices.Clone(r.x), y: r.y}
	for {
		t := fitLogistic(&own, lambda)
		least := slices.MinFunc(rising, func(a, b int) int { return cmp.Compare(t[a], t[b]) })
		if t[least] >= 0 {
			return t
		}
		for i := range own.n() {
			own.at(i)[least] = 0
		}
	}
}

// fitSigned minimises the objective with weights of the signs that the theory says.
// It leaves silent features out of r.
func fitSigned(r *rows, lambda float64) theta {
	own := rows{x: slices.Clone(r.x), y: r.y}
	for i := range own.n() {
		x, from := own.at(i), r.at(i)
		for _, j := range falling {
			x[j] = -x[j]
		}
		for _, j := range silent {
			x[j], from[j] = 0, 0
		}
	}
	t := fitRising(&own, lambda, slices.Concat(rising, falling))
	for _, j := range falling {
		t[j] = -t[j]
	}
	return t
}

// solve returns h⁻¹g of a symmetric positive definite h, of which the lower
// half is given, by Cholesky decomposition in place.
func solve(h *[params][params]float64, g *theta) theta {
	for j := range params {
		for i := j; i < params; i++ {
			s := h[i][j]
			for k := range j {
				s -= h[i][k] * h[j][k]
			}
			if i == j {
				h[i][i] = math.Sqrt(math.Max(s, 1e-12))
			} else {
				h[i][j] = s / h[j][j]
			}
		}
	}
	x := *g
	for i := range params {
		for k := range i {
			x[i] -= h[i][k] * x[k]
		}
		x[i] /= h[i][i]
	}
	for i := params - 1; i >= 0; i-- {
		for k := i + 1; k < params; k++ {
			x[i] -= h[k][i] * x[k]
		}
		x[i] /= h[i][i]
	}
	return x
}

// scaler standardises features. What was never available, or never varies,
// has scale 0 and becomes 0.
type scaler struct{ mean, scale [width]float64 }

// vector is a feature vector before standardisation; NaN is unavailable.
type vector [width]float64

func newScaler(v []vector) (s scaler) {
	for i := range width {
		n, sum := 0.0, 0.0
		for j := range v {
			if x := v[j][i]; !math.IsNaN(x) {
				n++
				sum += x
			}
		}
		if n == 0 {
			continue
		}
		s.mean[i] = sum / n
		square := 0.0
		for j := range v {
			if x := v[j][i]; !math.IsNaN(x) {
				square += (x - s.mean[i]) * (x - s.mean[i])
			}
		}
		if sd := math.Sqrt(square / n); sd > 1e-9 {
			s.scale[i] = sd
		}
	}
	return s
}

func (s *scaler) apply(v *vector) (z [width]float64) {
	for i, x := range v {
		if s.scale[i] > 0 && !math.IsNaN(x) {
			z[i] = (x - s.mean[i]) / s.scale[i]
		}
	}
	return z
}
