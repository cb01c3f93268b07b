package population

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/domain"
)

// merge makes the cells of a level so large that it discloses at most its bits.
// It merges only cells of the same coarser cell, so the coarser level stays a
// function of this one. This is always possible, since a coarser cell as a
// whole discloses no more than its own level may.
func (p *Population) merge(base, coarser View, limit flow.Bits, rest string) (View, error) {
	if rest == "" {
		rest = "other"
	}
	out := slices.Clone(base)
	n := len(p.parts)
	now, floor := make([]*big.Rat, n), make([]*big.Rat, n)
	for i := range p.parts {
		q := part{p.parts[i]}
		now[i], floor[i] = q.ratio(base[i]), big.NewRat(1, 1)
		switch {
		case base[i].whole:
			floor[i] = q.ratio(base[i])
		case base[i].of != nil:
			// What is one cell there need not be one here; but two cells there
			// are two here.
			floor[i] = q.ratio(side{of: coarser[i].of, cells: coarser[i].cells})
		}
		if j := slices.Index(out[i].labels, domain.Rest); j >= 0 && !slices.Contains(out[i].labels, rest) {
			out[i].labels = slices.Clone(out[i].labels)
			out[i].labels[j] = rest
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
			return out, fmt.Errorf("it may disclose %s and can't be merged below %s", limit, BitsUp(product))
		}
		others := new(big.Rat).Quo(product, now[best])
		left := limit - BitsUp(others)
		for i := 0; i < 2 && left >= 0 && BitsUp(new(big.Rat).Mul(others, floor[best])) > limit; i++ {
			left-- // what rounding took
		}
		q := part{p.parts[best]}
		out[best] = q.merge(out[best], coarser[best], max(left, 0), rest)
		after := q.ratio(out[best])
		if after.Cmp(now[best]) >= 0 || BitsUp(after) > max(left, 0) {
			floor[best] = after // it gives no more
		}
		now[best] = after
	}
}

// group is a cell in the making.
type group struct {
	cells []int32
	mass  uint64
	rank  int
	label string
}

// merge merges a part's cells within those of the coarser level until each
// discloses at most limit.
func (p part) merge(fine, outer side, limit flow.Bits, rest string) side {
	masses, ranks := p.weights(fine.of, fine.cells)
	parent := make([]int32, fine.cells)
	for a, c := range fine.of {
		parent[c] = -1
		if outer.of != nil {
			parent[c] = outer.of[a]
		}
	}
	// Against the part's greatest prior, as in ratio.
	scale := p.scale()
	tells := func(g *group) *big.Rat { r := p.share(g.rank, g.mass); return r.Mul(r, scale) }
	families := map[int32][]*group{}
	var order []int32
	taken := map[string]bool{}
	for c, label := range fine.labels {
		k := parent[c]
		if families[k] == nil {
			order = append(order, k)
		}
		families[k] = append(families[k], &group{[]int32{int32(c)}, masses[c], ranks[c], label}) //nolint:gosec // few
		taken[label] = true
	}
	to := make([]int32, fine.cells)
	var names []string
	name := func(g *group) {
		for _, c := range g.cells {
			to[c] = int32(len(names)) //nolint:gosec // few
		}
		names = append(names, g.label)
	}
	for _, k := range order {
		sorted := families[k]
		key := make(map[*group]*big.Rat, len(sorted))
		for _, g := range sorted {
			key[g] = tells(g)
		}
		slices.SortStableFunc(sorted, func(a, b *group) int {
			return cmp.Or(key[b].Cmp(key[a]), cmp.Compare(a.label, b.label))
		})
		// Merged cells join a cell that has the rest's name already.
		if i := slices.IndexFunc(sorted, func(g *group) bool { return g.label == rest }); i > 0 && !tellsAtMost(key[sorted[0]], limit) {
			sorted = slices.Insert(slices.Delete(slices.Clone(sorted), i, i+1), 0, sorted[i])
		}
		var merged group
		n := 0
		for n < len(sorted) && (!tellsAtMost(key[sorted[n]], limit) || n == 0 && len(sorted) > 1 && !tellsAtMost(key[sorted[1]], limit) || n > 0 && !tellsAtMost(tells(&merged), limit)) {
			g := sorted[n]
			merged.cells, merged.mass, merged.rank = append(merged.cells, g.cells...), merged.mass+g.mass, max(merged.rank, g.rank)
			delete(taken, g.label)
			n++
		}
		if n > 0 {
			merged.label = unique(restName(k, outer.labels, rest, n == len(sorted)), taken)
			name(&merged)
		}
		for _, g := range sorted[n:] {
			name(g)
		}
	}
	out := side{of: make([]int32, len(fine.of)), cells: len(names), labels: names}
	for a, c := range fine.of {
		out.of[a] = to[c]
	}
	return out
}

// restName names merged cells: like the coarser cell where they are all of it.
func restName(parent int32, outer []string, rest string, all bool) string {
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
