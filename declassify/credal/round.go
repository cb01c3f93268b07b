package credal

import "math"

// Soundness in floating point. All quantities are sums of products of
// nonnegative numbers, whose relative error grows with the number of operations
// alone, and differences of two such sums, which are bounded with both errors
// against the result. Each stage widens what it hands on by gamma of its
// operation count. Products are converted explicitly (float64(a*b)), which by
// the language keeps compilers from fusing them into a sum, and the logarithm
// is our own: so the same graph and view give the same bits on every machine.

// gamma bounds the relative error of a sum of n products of up to eight
// factors, twice over: (n+8)·2u for the unit roundoff u = 2^-53.
func gamma(n int) float64 { return float64(float64(n+16) * 0x1p-52) }

// Entries of boxes are scaled so that the greatest is about one. An upper end
// below tiny becomes tiny, and a lower end 0. So products of two entries are
// never subnormal, where relative errors are not bounded.
const tiny = 0x1p-400

// tinyBits is tiny as math.Float64bits has it.
const tinyBits = (1023 - 400) << 52

// box is an interval for each entry of a table, in units of 2^exp.
type box struct {
	up, low []float64
	exp     int
}

func makeBox(n int) box {
	all := make([]float64, 2*n)
	return box{up: all[:n:n], low: all[n:]}
}

// fill sets all entries to one.
func (b *box) fill() {
	for i := range b.up {
		b.up[i], b.low[i] = 1, 1
	}
}

// widen moves the ends of all intervals outwards by g, relatively.
func (b *box) widen(g float64) {
	up, low := 1+g, 1-g
	for i := range b.up {
		b.up[i] *= up
		b.low[i] *= low
	}
}

// rescale divides by a power of two, so that the greatest entry is in [½,1),
// and clamps.
func (b *box) rescale() {
	top := 0.0
	for _, u := range b.up {
		if u > top {
			top = u
		}
	}
	if top == 0 {
		return
	}
	_, exp := math.Frexp(top)
	b.scale(-exp)
}

// scale multiplies by 2^exp what is kept, and divides the unit by it.
func (b *box) scale(exp int) {
	b.exp -= exp
	// Two steps, as 2^-exp may itself be out of range.
	h := exp / 2
	f1, f2 := math.Ldexp(1, h), math.Ldexp(1, exp-h)
	for i, u := range b.up {
		if u == 0 {
			continue
		}
		u = float64(u*f1) * f2
		l := float64(b.low[i]*f1) * f2
		if u < tiny {
			u = tiny
		}
		if l < tiny {
			l = 0
		}
		b.up[i], b.low[i] = u, l
	}
}

// multiply multiplies entry i by entry at[i] of o, whose greatest is at most 2.
// Entries that become too small are clamped; if all do, the box is rescaled.
func (b *box) multiply(o *box, at []int32) {
	top := uint64(0)
	up, low := b.up[:len(at)], b.low[:len(at)]
	for i, j := range at {
		u := up[i] * o.up[j]
		l := low[i] * o.low[j]
		// Greater than 0 and less than tiny; zeros are common, and no branch.
		if math.Float64bits(u)-1 < tinyBits-1 {
			u = tiny
		}
		if math.Float64bits(l)-1 < tinyBits-1 {
			l = 0
		}
		top = max(top, math.Float64bits(u))
		up[i], low[i] = u, l
	}
	b.exp += o.exp
	if t := math.Float64frombits(top); t != 0 && (t < 0x1p-100 || t > 1) {
		b.rescale()
	}
}

// others calls f with each entry and bounds on the sum of all others. They are
// summed from both sides: a difference to the whole would lose its precision.
func (b *box) others(f func(i int, up, low float64)) {
	n := len(b.up)
	g := gamma(n)
	after := makeBox(n + 1)
	for i := n - 1; i >= 0; i-- {
		after.up[i] = after.up[i+1] + b.up[i]
		after.low[i] = after.low[i+1] + b.low[i]
	}
	var up, low float64
	for i := range n {
		u, l := b.up[i], b.low[i]
		f(i, (up+after.up[i+1])*(1+g), (low+after.low[i+1])*(1-g))
		up += u
		low += l
	}
}

// width is how much greater the upper ends are than the lower.
func (b *box) width() float64 {
	var up, low float64
	for i := range b.up {
		up += b.up[i]
		low += b.low[i]
	}
	return up / low
}

// normalise divides by the sum of all entries.
func (b *box) normalise() {
	b.rescale()
	b.others(func(i int, up, low float64) {
		if u := b.up[i]; u > 0 {
			b.up[i] = u / (u + low) * (1 + gamma(1))
		}
		if l := b.low[i]; l > 0 {
			b.low[i] = l / (l + up) * (1 - gamma(1))
		}
	})
	b.exp = 0
}

// simplex narrows the box to what can sum to total.
func (b *box) simplex(total float64) {
	if b.exp != 0 {
		b.scale(b.exp)
	}
	b.others(func(i int, up, low float64) {
		slack := float64(gamma(1) * (total + up))
		b.up[i] = math.Max(b.low[i], math.Min(b.up[i], total-low+slack))
		b.low[i] = math.Min(b.up[i], math.Max(b.low[i], total-up-slack))
	})
}

// log2 returns the binary logarithm of x > 0, to within 2^-45. It uses
// operations alone that round the same everywhere.
func log2(x float64) float64 {
	f, exp := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f *= 2
		exp--
	}
	// ln f = 2·artanh z, |z| ≤ 0.1716; the rest of the series is < 2^-60.
	z := (f - 1) / (f + 1)
	zz := float64(z * z)
	sum := 0.0
	for k := 23; k >= 1; k -= 2 {
		sum = float64(sum*zz) + 1/float64(k)
	}
	return float64(float64(2/math.Ln2)*float64(z*sum)) + float64(exp)
}
