package population

import (
	"math"
	"math/big"

	"github.com/margaydev/margay/flow"
)

// BitsUp is the binary logarithm of a ratio that is at least one, rounded up
// to the next whole unit of flow.Bits. It is exact where the ratio is a power
// of two.
func BitsUp(ratio *big.Rat) flow.Bits {
	if ratio.Cmp(one) <= 0 {
		return 0
	}
	const prec, digits = 320, 64
	up := func() *big.Float { return new(big.Float).SetPrec(prec).SetMode(big.ToPositiveInf) }
	m := up().Quo(up().SetInt(ratio.Num()), new(big.Float).SetPrec(prec).SetMode(big.ToNegativeInf).SetInt(ratio.Denom()))
	// m = y · 2^whole with 1 ≤ y < 2; squaring y reads the digits of its
	// logarithm off. Each square doubles the relative error, all of which is
	// upwards: 2^64 · 2^-319 is far below the last digit.
	whole := int64(m.MantExp(m)) - 1
	m.SetMantExp(m, 1)
	two := big.NewFloat(2)
	log := new(big.Int).SetInt64(whole)
	for range digits {
		log.Lsh(log, 1)
		m.Mul(m, m)
		if m.Cmp(two) >= 0 {
			m.SetMantExp(m, -1)
			log.SetBit(log, 0, 1)
		}
	}
	if m.Cmp(big.NewFloat(1)) > 0 {
		log.Add(log, big.NewInt(1))
	}
	// ⌈log · 10^6 / 2^64⌉
	log.Mul(log, big.NewInt(int64(flow.Bit)))
	log.Add(log, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), digits), big.NewInt(1)))
	log.Rsh(log, digits)
	if !log.IsInt64() {
		return flow.MaxBits
	}
	return flow.Bits(log.Int64())
}

var one = big.NewRat(1, 1)

// tellsAtMost reports whether BitsUp of a ratio is within a limit. Most ratios
// are so far from it that doubles can tell.
func tellsAtMost(ratio *big.Rat, limit flow.Bits) bool {
	const far = 4 // millionths of a bit, against an error of the double below 10^-9
	f, _ := ratio.Float64()
	switch est := math.Log2(f) * float64(flow.Bit); {
	case est < float64(limit)-far:
		return true
	case est > float64(limit)+far && f < math.MaxFloat64:
		return false
	}
	return BitsUp(ratio) <= limit
}

// View is what is known of a value: for each part nothing, all, or its cell.
// The zero View is nothing.
type View struct {
	whole []bool
	of    [][]int32 // a cell for each atom; nil for nothing
	cells []int
}

func (p *Population) nothing() View {
	n := len(p.parts)
	return View{whole: make([]bool, n), of: make([][]int32, n), cells: make([]int, n)}
}

// All is the view of a value as it is.
func (p *Population) All() View {
	v := p.nothing()
	for i := range v.whole {
		v.whole[i] = true
	}
	return v
}

// meet is what both views tell together.
func (p *Population) meet(a, b View) View {
	out := p.nothing()
	for i := range p.parts {
		switch {
		case a.isWhole(i) || b.isWhole(i):
			out.whole[i] = true
		case a.cut(i) == nil:
			out.of[i], out.cells[i] = b.cut(i), b.count(i)
		case b.cut(i) == nil:
			out.of[i], out.cells[i] = a.cut(i), a.count(i)
		default:
			out.of[i], out.cells[i] = refine(a.of[i], b.of[i])
		}
	}
	return out
}

func (v *View) isWhole(part int) bool { return v.whole != nil && v.whole[part] }

func (v *View) cut(part int) []int32 {
	if v.of == nil {
		return nil
	}
	return v.of[part]
}

func (v *View) count(part int) int {
	if v.cells == nil {
		return 0
	}
	return v.cells[part]
}

// refine numbers the pairs of two cuts' cells.
func refine(a, b []int32) (of []int32, cells int) {
	index := map[[2]int32]int32{}
	of = make([]int32, len(a))
	for i := range a {
		k := [2]int32{a[i], b[i]}
		n, ok := index[k]
		if !ok {
			n = int32(len(index)) //nolint:gosec // at most MaxAtoms
			index[k] = n
		}
		of[i] = n
	}
	return of, len(index)
}

// Meet is what views of one value tell together.
func (p *Population) Meet(views ...View) View {
	all := p.nothing()
	for _, v := range views {
		all = p.meet(all, v)
	}
	return all
}

// Joint is the dynamic min-entropy leakage of views of one value together: the
// logarithm of the greatest posterior of a value over the greatest prior, in
// the worst cell. It is exact, and rounded up.
func (p *Population) Joint(views ...View) flow.Bits {
	return BitsUp(p.ratio(p.Meet(views...)))
}

// ratio is the joint view's worst posterior over the greatest prior. Parts are
// independent, so the worst of a product is the product of the worst.
func (p *Population) ratio(v View) *big.Rat {
	r := big.NewRat(1, 1)
	for i := range p.parts {
		one := p.parts[i].ratio(v.isWhole(i), v.cut(i), v.count(i))
		r.Mul(r, one)
	}
	return r
}

// ratio of a part: for a cell with mass w whose likeliest value has the prior
// peak/total, peak/w over the part's own greatest prior.
func (p *part) ratio(whole bool, of []int32, cells int) *big.Rat {
	greatest := p.peaks[len(p.peaks)-1]
	switch {
	case whole:
		return new(big.Rat).Quo(new(big.Rat).SetFrac(new(big.Int).SetUint64(p.total), big.NewInt(1)), greatest)
	case of == nil:
		return big.NewRat(1, 1)
	}
	masses, ranks := p.weights(of, cells)
	worst := p.worst(masses, ranks)
	worst.Mul(worst, new(big.Rat).SetInt(new(big.Int).SetUint64(p.total)))
	return worst.Quo(worst, greatest)
}

// weights are the mass of each cell, and the rank of its likeliest value.
func (p *part) weights(of []int32, cells int) (masses []uint64, ranks []int) {
	masses, ranks = make([]uint64, cells), make([]int, cells)
	for i := range p.atoms {
		c := of[i]
		masses[c] += p.atoms[i].mass
		ranks[c] = max(ranks[c], p.atoms[i].rank)
	}
	return masses, ranks
}

// worst is the greatest peak over mass of a cell.
func (p *part) worst(masses []uint64, ranks []int) *big.Rat {
	least := make([]uint64, len(p.peaks)) // mass of a cell with each peak
	for c, w := range masses {
		if k := ranks[c]; w > 0 && (least[k] == 0 || w < least[k]) {
			least[k] = w
		}
	}
	worst := new(big.Rat)
	for k, w := range least {
		if w == 0 {
			continue
		}
		if r := p.share(k, w); r.Cmp(worst) > 0 {
			worst = r
		}
	}
	return worst
}

// share is the posterior of a value of a rank in a cell of a mass.
func (p *part) share(rank int, mass uint64) *big.Rat {
	return new(big.Rat).Quo(p.peaks[rank], new(big.Rat).SetInt(new(big.Int).SetUint64(mass)))
}
