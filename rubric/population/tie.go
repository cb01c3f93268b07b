package population

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/margaydev/margay/flow"
)

// MaxTied bounds the joint states of populations that are tied.
const MaxTied = 4096

// Tie makes populations dependent: the states of their values have a joint
// distribution, of which bounds are known. Given the states, the values are
// independent.
type Tie struct {
	states []*States
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

// NewTie ties populations by factors. A population that no joint factor is
// over and of which no conditional one is has its own prior.
func NewTie(states []*States, factors []Factor) (*Tie, error) {
	t := &Tie{states: states}
	n := 1
	for _, s := range states {
		if n *= len(s.mass); n > MaxTied {
			return nil, fmt.Errorf("fields that depend on each other have more than %d joint states: declare coarser levels", MaxTied)
		}
	}
	own := make([]bool, len(states))
	for i := range own {
		own[i] = true
	}
	for _, f := range factors {
		if f.Conditional {
			own[f.Of[len(f.Of)-1]] = false
			continue
		}
		for _, i := range f.Of {
			own[i] = false
		}
	}
	sum := new(big.Rat)
	var low, high []*big.Rat
	for x := range n {
		at := t.split(x)
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
				e = e*len(states[i].mass) + at[i]
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

func (t *Tie) split(x int) []int {
	out := make([]int, len(t.states))
	for i := len(out) - 1; i >= 0; i-- {
		n := len(t.states[i].mass)
		out[i] = x % n
		x /= n
	}
	return out
}

// sight is what a view of a population tells of its states: which it can't
// tell apart, and in each the share of its likeliest value.
type sight struct {
	group []int
	share []*big.Rat
}

func (s *States) sight(v View) sight {
	type side struct {
		group []int
		share []*big.Rat // nil: that of the state
	}
	sides := make([]side, len(s.cells))
	for i := range s.pop.parts {
		q := &s.pop.parts[i]
		of, n := s.of(i), s.cells[i]
		d := side{group: make([]int, n), share: make([]*big.Rat, n)}
		seen := v.cut(i)
		known := v.isWhole(i)
		if seen != nil && !known {
			// A cut that is coarser than the states groups them; any other is
			// taken to tell the state as well, which it may only overstate.
			first := make([]int, n)
			for a, k := range of {
				c := int(seen[a]) + 1
				if first[k] != 0 && first[k] != c {
					known = true
				}
				first[k] = c
			}
			for k := range n {
				d.group[k] = first[k]
			}
		}
		masses, ranks := q.weights(of, n)
		for k := range n {
			d.share[k] = q.share(ranks[k], masses[k])
		}
		if known {
			for k := range n {
				d.group[k] = k
			}
			if v.isWhole(i) {
				for k := range n {
					d.share[k] = big.NewRat(1, 1)
				}
			} else {
				fine, cells := refine(of, seen)
				m, r := q.weights(fine, cells)
				for k := range n {
					d.share[k] = new(big.Rat)
				}
				for a, k := range of {
					if w := q.share(r[fine[a]], m[fine[a]]); w.Cmp(d.share[k]) > 0 {
						d.share[k] = w
					}
				}
			}
		}
		sides[i] = d
	}
	out := sight{make([]int, len(s.mass)), make([]*big.Rat, len(s.mass))}
	index := map[string]int{}
	for x := range s.mass {
		share := big.NewRat(1, 1)
		key := ""
		for i, k := range s.split(x) {
			share.Mul(share, sides[i].share[k])
			key += fmt.Sprint(sides[i].group[k], " ")
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

// Joint is what views of the populations, one each, tell at most about any one
// of them, or about all together. It is exact where the tables give single
// numbers and no view crosses the states' cells, and otherwise an upper bound.
func (t *Tie) Joint(views []View) flow.Bits {
	n := len(t.states)
	before, after := make([]sight, n), make([]sight, n)
	for i, s := range t.states {
		before[i], after[i] = s.sight(View{}), s.sight(views[i])
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
	one := big.NewRat(1, 1)
	for x := range t.low {
		if t.high[x].Sign() == 0 {
			continue
		}
		key, id, share := 0, x, one
		for i, k := range t.split(x) {
			key = key*(len(t.states[i].mass)+1) + seen[i].group[k]
			if target == i {
				id, share = k, seen[i].share[k]
			}
		}
		g := groups[key]
		if g == nil {
			g = &group{map[int]*cell{}, new(big.Int), new(big.Int)}
			groups[key] = g
		}
		c := g.cells[id]
		if c == nil {
			if target < 0 {
				share = big.NewRat(1, 1)
				for i, k := range t.split(x) {
					share.Mul(share, seen[i].share[k])
				}
			}
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
