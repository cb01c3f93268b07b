package population

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/margaydev/margay/flow"
)

// MaxTied bounds the joint states of populations that are tied.
const MaxTied = 4096

// Tie makes populations dependent: the states of their values have a joint
// distribution, of which bounds are known. Given the states, the values are
// independent.
type Tie struct {
	states []*States
	sizes  []int      // numbers of states
	low    []*big.Int // by joint state, the last population changing fastest; not normalised
	high   []*big.Int
}

// Bounds are an interval.
type Bounds struct{ Low, High *big.Rat }

// Factor is a table over some of a tie's populations, by index.
type Factor struct {
	Of          []int
	Conditional bool     // of the last given those before it
	Entries     []Bounds // by joint state, the last changing fastest
}

// Own reports which of n populations have their own prior: no joint factor is
// over them, and no conditional factor is of them.
func Own(n int, factors []Factor) []bool {
	own := slices.Repeat([]bool{true}, n)
	for _, f := range factors {
		of := f.Of
		if f.Conditional {
			of = of[len(of)-1:]
		}
		for _, i := range of {
			own[i] = false
		}
	}
	return own
}

// NewTie ties populations by factors. It is nil where there are more than
// MaxTied joint states.
func NewTie(states []*States, factors []Factor) (*Tie, error) {
	t := &Tie{states: states}
	n := 1
	for _, s := range states {
		t.sizes = append(t.sizes, len(s.mass))
		if n *= len(s.mass); n > MaxTied {
			return nil, nil //nolint:nilnil // not an error: the fields are not enumerated
		}
	}
	own := Own(len(states), factors)
	sum := new(big.Rat)
	var low, high []*big.Rat
	for x := range n {
		at := split(x, t.sizes)
		lo, hi := big.NewRat(1, 1), big.NewRat(1, 1)
		for i, k := range at {
			if own[i] {
				lo.Mul(lo, states[i].mass[k])
				hi.Mul(hi, states[i].mass[k])
			}
		}
		for _, f := range factors {
			e := 0
			for _, i := range f.Of {
				e = e*t.sizes[i] + at[i]
			}
			lo.Mul(lo, f.Entries[e].Low)
			hi.Mul(hi, f.Entries[e].High)
		}
		low, high = append(low, lo), append(high, hi)
		sum.Add(sum, lo)
	}
	t.low, t.high = whole(low, high)
	if sum.Sign() <= 0 {
		return nil, errors.New("the tables leave no state possible for certain")
	}
	return t, nil
}

// whole brings fractions to one denominator, which it leaves out.
func whole(low, high []*big.Rat) (lows, highs []*big.Int) {
	den := big.NewInt(1)
	for _, list := range [][]*big.Rat{low, high} {
		for _, r := range list {
			gcd := new(big.Int).GCD(nil, nil, den, r.Denom())
			den.Mul(den, new(big.Int).Quo(r.Denom(), gcd))
		}
	}
	scale := func(r *big.Rat) *big.Int {
		n := new(big.Int).Quo(den, r.Denom())
		return n.Mul(n, r.Num())
	}
	for i := range low {
		lows, highs = append(lows, scale(low[i])), append(highs, scale(high[i]))
	}
	return lows, highs
}

// sight is what a view of a population discloses of its states: which of them it
// can't distinguish, and in each the share of its likeliest value.
type sight struct {
	group []int
	share []*big.Rat
}

func (s *States) sight(v View) sight {
	parts := make([]sight, len(s.cells))
	for i := range parts {
		parts[i] = s.partSight(i, v[i])
	}
	out := sight{make([]int, len(s.mass)), make([]*big.Rat, len(s.mass))}
	index := map[string]int{}
	for x := range s.mass {
		share := big.NewRat(1, 1)
		key := ""
		for i, k := range split(x, s.cells) {
			share.Mul(share, parts[i].share[k])
			key += fmt.Sprint(parts[i].group[k], " ")
		}
		g, ok := index[key]
		if !ok {
			g = len(index)
			index[key] = g
		}
		out.group[x], out.share[x] = g, share
	}
	return out
}

// partSight is the sight of the cells of a part.
func (s *States) partSight(i int, seen side) sight {
	q, of, n := part{s.pop.parts[i]}, s.sides[i].of, s.cells[i]
	out := sight{make([]int, n), make([]*big.Rat, n)}
	masses, ranks := q.weights(of, n)
	for k := range n {
		out.share[k] = q.share(ranks[k], masses[k])
	}
	// A cut that is coarser than the states groups them. Any other counts as if
	// it disclosed the state as well, which may only overstate.
	known := seen.whole
	if seen.of != nil {
		for a, k := range of {
			c := int(seen.of[a]) + 1
			known = known || out.group[k] != 0 && out.group[k] != c
			out.group[k] = c
		}
	}
	if !known {
		return out
	}
	for k := range n {
		out.group[k], out.share[k] = k, new(big.Rat)
		if seen.whole {
			out.share[k] = big.NewRat(1, 1)
		}
	}
	if seen.of != nil {
		fine, cells := refine(of, seen.of)
		m, r := q.weights(fine, cells)
		for a, k := range of {
			if w := q.share(r[fine[a]], m[fine[a]]); w.Cmp(out.share[k]) > 0 {
				out.share[k] = w
			}
		}
	}
	return out
}

// Joint is what views of the populations, one each, disclose at most about any
// one of them, or about all together. It is exact where the tables give single
// numbers and no view crosses the states' cells, and otherwise an upper bound.
func (t *Tie) Joint(views []View) flow.Bits {
	n := len(t.states)
	before, after := make([]sight, n), make([]sight, n)
	for i, s := range t.states {
		before[i], after[i] = s.sight(s.pop.nothing()), s.sight(s.pop.Meet(views[i]))
	}
	worst := flow.Bits(0)
	for target := -1; target < n; target++ {
		post := t.best(after, target, false)
		prior := t.best(before, target, true)
		if prior.Sign() <= 0 {
			return flow.MaxBits
		}
		worst = max(worst, BitsUp(post.Quo(post, prior)))
	}
	return worst
}

// best bounds the greatest probability of a guess of one population's value,
// or for -1 of all: from below over all states for the prior, from above in
// the worst group otherwise.
func (t *Tie) best(seen []sight, target int, below bool) *big.Rat {
	type cell struct {
		low, high *big.Int // weight of a guess
		share     *big.Rat
	}
	type group struct {
		cells     map[int]*cell
		low, high *big.Int
	}
	groups := map[int]*group{}
	for x := range t.low {
		if t.high[x].Sign() == 0 {
			continue
		}
		key, id, share := 0, x, big.NewRat(1, 1)
		for i, k := range split(x, t.sizes) {
			key = key*(t.sizes[i]+1) + seen[i].group[k]
			if target == i {
				id = k
			}
			if target == i || target < 0 {
				share.Mul(share, seen[i].share[k])
			}
		}
		g := groups[key]
		if g == nil {
			g = &group{map[int]*cell{}, new(big.Int), new(big.Int)}
			groups[key] = g
		}
		c := g.cells[id]
		if c == nil {
			c = &cell{new(big.Int), new(big.Int), share}
			g.cells[id] = c
		}
		c.low.Add(c.low, t.low[x])
		c.high.Add(c.high, t.high[x])
		g.low.Add(g.low, t.low[x])
		g.high.Add(g.high, t.high[x])
	}
	best := new(big.Rat)
	for _, g := range groups {
		for _, c := range g.cells {
			mine, others, all := c.high, c.low, g.low
			if below {
				mine, others, all = c.low, c.high, g.high
			}
			// mine / (mine + what the others weigh at the other bound)
			den := new(big.Int).Sub(all, others)
			if den.Add(den, mine); den.Sign() <= 0 {
				continue
			}
			p := new(big.Rat).SetFrac(mine, den)
			if p.Mul(p, c.share); p.Cmp(best) > 0 {
				best = p
			}
		}
	}
	return best
}
