package credal

import "math"

// The core: the range of an average Σ w·g / Σ w over all weights w in a box.
// It is a linear-fractional problem, whose optimum is at a threshold λ: weights
// of entries above it at one end, of entries below it at the other. Dinkelbach's
// iteration finds λ in a few rounds. The bound that is returned holds for every λ:
//
//	F(λ) = max_w Σ w(g−λ)  ⇒  max_w Σ w·g / Σ w ≤ λ + max(0, F(λ)) / min_w Σ w.

const (
	// rounds of iteration at most. Later ones gain next to nothing.
	rounds = 5
	// near is the relative gain below which the iteration stops; in bits it is
	// about one and a half times as much.
	near = 1e-5
)

// total bounds the sum of some weights: from below, its inverse from above, and
// from above.
type total struct{ least, inverse, most float64 }

// totals rounds the sums of n weights.
func totals(up, low float64, n int) total {
	e := gamma(n)
	t := total{least: low * (1 - e), most: up * (1 + e)}
	// A least sum of 0 has the inverse +Inf.
	t.inverse = 1 / t.least * (1 + gamma(0))
	return t
}

// entry is a weight of a row and its state of the clique.
type entry struct {
	up, low float64
	state   int
}

// span is an interval that is averaged.
type span struct{ up, low float64 }

// spread summarises spans before their average is bounded.
type spread struct {
	top, bottom uint64  // bits of the greatest up and the least low
	differ      uint64  // bits in which any differ
	up, low     float64 // sums, with the upper weights
}

// load fills g with the spans of the entries.
func (b *box) load(row []entry, g []span) (r spread) {
	g = g[:len(row)]
	up, low := b.up, b.low
	low = low[:len(up)]
	// Of nonnegative numbers, the bits have the order of the numbers.
	first, last := math.Float64bits(up[row[0].state]), math.Float64bits(low[row[0].state])
	r.bottom = last
	for i := range row {
		e := &row[i]
		u, l := up[e.state], low[e.state]
		g[i] = span{u, l}
		high, least := math.Float64bits(u), math.Float64bits(l)
		r.top, r.bottom = max(r.top, high), min(r.bottom, least)
		r.differ |= (high ^ first) | (least ^ last)
		r.up += float64(e.up * u)
		r.low += float64(e.up * l)
	}
	return r
}

// average returns an upper bound on the average of the ups and a lower bound on
// that of the lows, with weights in the intervals of the entries.
func average(row []entry, g []span, r spread, sum *total) (hi, lo float64) {
	hi, lo = math.Float64frombits(r.top), math.Float64frombits(r.bottom)
	if r.differ == 0 || sum.least <= 0 {
		return hi, lo
	}
	g = g[:len(row)]
	e := gamma(len(row))
	// The most that rounding may have taken from F: no difference is above the
	// greatest of g, except for rounding.
	slack := float64(2 * e * hi * sum.most)
	lu, ll := r.up/sum.most, r.low/sum.most
	for round := 1; ; round++ {
		// Ends are chosen by the sign bit: a branch would be mispredicted every
		// other time.
		var fu, fl, wu, wl float64
		for i := range row {
			w, x := &row[i], &g[i]
			du, dl := x.up-lu, ll-x.low
			a, b := math.Float64bits(w.up), math.Float64bits(w.low)
			c := a ^ b
			su, sl := uint64(int64(math.Float64bits(du))>>63), uint64(int64(math.Float64bits(dl))>>63)
			xu, xl := math.Float64frombits(a^(c&su)), math.Float64frombits(a^(c&sl))
			fu += float64(xu * du)
			fl += float64(xl * dl)
			wu += xu
			wl += xl
		}
		more := fu > float64(near*float64(lu*sum.least)) || fl > float64(near*float64(ll*sum.least))
		if more && round < rounds {
			if fu > 0 {
				lu += fu / wu
			}
			if fl > 0 {
				ll -= fl / wl
			}
			continue
		}
		fu, fl = max(0, fu+slack), max(0, fl+slack)
		hi = min(hi, (lu+float64(fu*sum.inverse))*(1+0x1p-48))
		lo = max(lo, (ll-float64(fl*sum.inverse))*(1-0x1p-48))
		return hi, lo
	}
}
