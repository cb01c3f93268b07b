package population

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
)

// merge makes the cells of a level so large that it tells at most its bits.
// Cells are merged with others of the same coarser cell alone, so the coarser
// level stays a function of this one; it is always possible, since a coarser
// cell as a whole tells no more than its own level may.
func (p *Population) merge(base, coarser cut, limit flow.Bits, rest string) (cut, error) {
	if rest == "" {
		rest = "other"
	}
	out := cut{view: p.nothing(), labels: make([][]string, len(p.parts)), as: base.as}
	n := len(p.parts)
	now, floor := make([]*big.Rat, n), make([]*big.Rat, n)
	for i := range p.parts {
		out.view.whole[i] = base.view.whole[i]
		out.view.of[i], out.view.cells[i], out.labels[i] = base.view.of[i], base.view.cells[i], base.labels[i]
		q := &p.parts[i]
		if c := coarser.view.of[i]; c != nil && base.view.of[i] != nil {
			// What is one cell there need not be one here; but two cells there
			// are two here.
			floor[i] = q.ratio(false, c, coarser.view.cells[i])
		} else {
			floor[i] = big.NewRat(1, 1)
		}
		if base.view.whole[i] {
			floor[i] = q.ratio(true, nil, 0)
		}
		now[i] = q.ratio(base.view.whole[i], base.view.of[i], base.view.cells[i])
	}
	for i := range p.parts {
		if j := slices.Index(out.labels[i], Rest); j >= 0 && !slices.Contains(out.labels[i], rest) {
			out.labels[i] = slices.Clone(out.labels[i])
			out.labels[i][j] = rest
		}
	}
	for {
		product := big.NewRat(1, 1)
		for _, r := range now {
			product.Mul(product, r)
		}
		if BitsUp(product) <= limit {
			return out, nil
		}
		// The part with most to give.
		best := -1
		var most *big.Rat
		for i := range now {
			if gain := new(big.Rat).Quo(now[i], floor[i]); gain.Cmp(one) > 0 && (best < 0 || gain.Cmp(most) > 0) {
				best, most = i, gain
			}
		}
		if best < 0 {
			return out, errTooFew(limit, BitsUp(product))
		}
		others := new(big.Rat).Quo(product, now[best])
		left := limit - BitsUp(others)
		for i := 0; i < 2 && left >= 0 && BitsUp(new(big.Rat).Mul(others, floor[best])) > limit; i++ {
			left-- // what rounding took
		}
		of, labels := p.parts[best].merge(out.view.of[best], out.labels[best], coarser.view.of[best], coarser.labels[best], max(left, 0), rest)
		out.view.of[best], out.view.cells[best], out.labels[best] = of, len(labels), labels
		after := p.parts[best].ratio(false, of, len(labels))
		if after.Cmp(now[best]) >= 0 || BitsUp(after) > max(left, 0) {
			floor[best] = after // it gives no more
		}
		now[best] = after
	}
}

type tooFew struct{ limit, is flow.Bits }

func errTooFew(limit, is flow.Bits) error { return &tooFew{limit, is} }

func (e *tooFew) Error() string {
	return "it may tell " + e.limit.String() + " and can't be merged below " + e.is.String()
}

// group is a cell in the making.
type group struct {
	cells []int32
	mass  uint64
	rank  int
	label string
}

// merge merges a part's cells within those of the coarser level until each
// tells at most limit.
func (p *part) merge(of []int32, labels []string, outer []int32, outerLabels []string, limit flow.Bits, rest string) ([]int32, []string) {
	masses, ranks := p.weights(of, len(labels))
	parent := make([]int32, len(labels))
	for a, c := range of {
		parent[c] = -1
		if outer != nil {
			parent[c] = outer[a]
		}
	}
	// Against the part's greatest prior, as in ratio.
	scale := new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(p.total)), p.peaks[len(p.peaks)-1])
	tells := func(g *group) *big.Rat { r := p.share(g.rank, g.mass); return r.Mul(r, scale) }
	families := map[int32][]group{}
	var order []int32
	for c := range labels {
		k := parent[c]
		if families[k] == nil {
			order = append(order, k)
		}
		families[k] = append(families[k], group{[]int32{int32(c)}, masses[c], ranks[c], labels[c]}) //nolint:gosec // few
	}
	taken := map[string]bool{}
	for _, l := range labels {
		taken[l] = true
	}
	to := make([]int32, len(labels))
	var names []string
	for _, k := range order {
		gs := families[k]
		key := make(map[*group]*big.Rat, len(gs))
		for i := range gs {
			key[&gs[i]] = tells(&gs[i])
		}
		sorted := make([]*group, len(gs))
		for i := range gs {
			sorted[i] = &gs[i]
		}
		slices.SortStableFunc(sorted, func(a, b *group) int {
			return cmp.Or(key[b].Cmp(key[a]), cmp.Compare(a.label, b.label))
		})
		// What is merged joins what is called the rest already.
		if i := slices.IndexFunc(sorted, func(g *group) bool { return g.label == rest }); i > 0 && !tellsAtMost(key[sorted[0]], limit) {
			r := sorted[i]
			copy(sorted[1:i+1], sorted[:i])
			sorted[0] = r
		}
		var merged group
		n := 0
		for n < len(sorted) && (!tellsAtMost(key[sorted[n]], limit) || n == 0 && len(sorted) > 1 && !tellsAtMost(key[sorted[1]], limit) || n > 0 && !tellsAtMost(tells(&merged), limit)) {
			g := sorted[n]
			merged.cells, merged.mass, merged.rank = append(merged.cells, g.cells...), merged.mass+g.mass, max(merged.rank, g.rank)
			n++
		}
		if n > 0 {
			for _, c := range merged.cells {
				delete(taken, labels[c])
			}
			merged.label = unique(p.restName(k, outerLabels, rest, n == len(sorted)), taken)
			names = append(names, merged.label)
			for _, c := range merged.cells {
				to[c] = int32(len(names) - 1) //nolint:gosec // few
			}
		}
		for _, g := range sorted[n:] {
			names = append(names, g.label)
			to[g.cells[0]] = int32(len(names) - 1) //nolint:gosec // few
		}
	}
	out := make([]int32, len(of))
	for a, c := range of {
		out[a] = to[c]
	}
	return out, names
}

// restName names merged cells: like the coarser cell where they are all of it.
func (p *part) restName(parent int32, outer []string, rest string, all bool) string {
	switch {
	case parent < 0:
		return rest
	case all:
		return outer[parent]
	default:
		return outer[parent] + ", " + rest
	}
}

func unique(name string, taken map[string]bool) string {
	out := name
	for i := 2; taken[out]; i++ {
		out = name + " " + strconv.Itoa(i)
	}
	taken[out] = true
	return out
}
