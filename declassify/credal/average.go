package credal

import "math"

// The core: the range of an average Σ w·g / Σ w over all weights w in a box.
// It is a linear-fractional problem, whose optimum is at a threshold λ: weights
// of entries above it at one end, of entries below it at the other. Dinkelbach's
// iteration finds λ in a few rounds; how it was found does not matter, since
// the bound that is returned holds for every λ:
//
//	F(λ) = max_w Σ w(g−λ)  ⇒  max_w Σ w·g / Σ w ≤ λ + max(0, F(λ)) / min_w Σ w.

const (
	// rounds of iteration at most. Later ones gain next to nothing.
	rounds = 5
	// near is when the iteration stops: what is left to gain, relatively; in
	// bits, about one and a half times as much.
	near = 1e-5
)

// total is what is known of the sum of some weights: a lower bound, an inverse
// that is not less than its own, and an upper bound.
type total struct{ least, inverse, most float64 }

// totals rounds the sums of n weights.
func totals(up, low float64, n int) total {
	e := gamma(n)
	t := total{least: low * (1 - e), most: up * (1 + e)}
	// A least sum of 0 has the inverse +Inf.
	t.inverse = 1 / t.least * (1 + gamma(0))
	return t
}

// average returns an upper bound on the average of gUp and a lower bound on that
// of gLow, gLow ≤ gUp, with weights in [low,up].
func average(up, low, gUp, gLow []float64, sum *total) (hi, lo float64) {
	n := len(gUp)
	up, low, gLow = up[:n], low[:n], gLow[:n]
	// Of nonnegative numbers, the bits have the order of the numbers.
	top, bottom := uint64(0), uint64(math.MaxUint64)
	first, last := math.Float64bits(gUp[0]), math.Float64bits(gLow[0])
	var numUp, numLow float64
	differ := uint64(0)
	for i, u := range gUp {
		l := gLow[i]
		a, b := math.Float64bits(u), math.Float64bits(l)
		top, bottom = max(top, a), min(bottom, b)
		differ |= (a ^ first) | (b ^ last)
		numUp += float64(up[i] * u)
		numLow += float64(up[i] * l)
	}
	hi, lo = math.Float64frombits(top), math.Float64frombits(bottom)
	if differ == 0 || sum.least <= 0 {
		return hi, lo
	}
	e := gamma(n)
	// What rounding may have taken from F: no difference is above the greatest
	// of g, but for rounding.
	slack := float64(2*e*hi) * sum.most
	lu, ll := numUp/sum.most, numLow/sum.most
	for round := 1; ; round++ {
		// Ends are chosen by the sign bit: a branch would be mispredicted every
		// other time.
		var fu, fl, wu, wl float64
		for i, u := range gUp {
			du, dl := u-lu, ll-gLow[i]
			a, b := math.Float64bits(up[i]), math.Float64bits(low[i])
			su, sl := uint64(int64(math.Float64bits(du))>>63), uint64(int64(math.Float64bits(dl))>>63)
			xu, xl := math.Float64frombits(a&^su|b&su), math.Float64frombits(a&^sl|b&sl)
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
