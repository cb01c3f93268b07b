package population

import (
	"math"
	"math/big"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/domain"
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

// View is what is known of a value, by part. Nil is nothing.
type View []side

// side is what is known of a part: nothing, all, or the cell.
type side struct {
	whole  bool
	of     []int32 // a cell for each atom; nil for nothing
	cells  int
	labels []string // of cells; nil where they have no names
}

func (p *Population) nothing() View { return make(View, len(p.parts)) }

// All is the view of a value as it is.
func (p *Population) All() View { return slices.Repeat(View{{whole: true}}, len(p.parts)) }

// meet is what both sides disclose together.
func (s side) meet(o side) side {
	switch {
	case s.whole || o.of == nil && !o.whole:
		return s
	case o.whole || s.of == nil:
		return o
	}
	of, cells := refine(s.of, o.of)
	return side{of: of, cells: cells}
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

// Meet is what views of one value disclose together.
func (p *Population) Meet(views ...View) View {
	all := p.nothing()
	for _, v := range views {
		for i := range v {
			all[i] = all[i].meet(v[i])
		}
	}
	return all
}

// Joint is the dynamic min-entropy leakage of views of one value together: the
// logarithm of the greatest posterior of a value over the greatest prior, in
// the worst cell. It is exact, and rounded up. Parts are independent, so the
// worst of a product is the product of the worst.
func (p *Population) Joint(views ...View) flow.Bits {
	r := big.NewRat(1, 1)
	for i, known := range p.Meet(views...) {
		r.Mul(r, part{p.parts[i]}.ratio(known))
	}
	return BitsUp(r)
}

// part is a part of a population whose cells are weighed.
type part struct{ *domain.Part }

// scale is one over the greatest prior of a value.
func (p part) scale() *big.Rat {
	return new(big.Rat).Quo(new(big.Rat).SetUint64(p.Total), p.Peaks[len(p.Peaks)-1])
}

// ratio of a part: for a cell with mass w whose likeliest value has the prior
// peak/total, peak/w over the part's own greatest prior.
func (p part) ratio(known side) *big.Rat {
	switch {
	case known.whole:
		return p.scale()
	case known.of == nil:
		return big.NewRat(1, 1)
	}
	worst := p.worst(p.weights(known.of, known.cells))
	return worst.Mul(worst, p.scale())
}

// weights are the mass of each cell, and the rank of its likeliest value.
func (p part) weights(of []int32, cells int) (masses []uint64, ranks []int) {
	masses, ranks = make([]uint64, cells), make([]int, cells)
	for i := range p.Atoms {
		c := of[i]
		masses[c] += p.Atoms[i].Mass
		ranks[c] = max(ranks[c], p.Atoms[i].Rank)
	}
	return masses, ranks
}

// worst is the greatest peak over mass of a cell.
func (p part) worst(masses []uint64, ranks []int) *big.Rat {
	least := make([]uint64, len(p.Peaks)) // mass of a cell with each peak
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
func (p part) share(rank int, mass uint64) *big.Rat {
	return new(big.Rat).Quo(p.Peaks[rank], new(big.Rat).SetUint64(mass))
}
