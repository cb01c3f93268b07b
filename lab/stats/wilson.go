package stats

import "math"

// Wilson returns the score interval of a proportion of which k of n cases were
// seen, at a level of confidence such as 0.95. Of no cases it is NaN.
func Wilson(k, n int, level float64) [2]float64 {
	if n <= 0 {
		return [2]float64{math.NaN(), math.NaN()}
	}
	z := math.Sqrt2 * math.Erfinv(level)
	p, size := float64(k)/float64(n), float64(n)
	mid := p + z*z/(2*size)
	half := z * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	scale := 1 + z*z/size
	out := [2]float64{(mid - half) / scale, (mid + half) / scale}
	if k == 0 { // exactly, whatever rounding says
		out[0] = 0
	}
	if k == n {
		out[1] = 1
	}
	return out
}
