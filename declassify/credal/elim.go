package credal

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/rubric/dependency"
)

// triangulate eliminates the variables in min-fill order (ties: the smaller
// clique, then the variable declared first) and returns the maximal cliques, in
// the order in which they came up. It stops at the first clique that is too
// large.
func triangulate(factors []factor, vars []dependency.Variable) ([]uint64, error) {
	adj := make([]uint64, len(vars))
	for i := range factors {
		for _, v := range factors[i].vars {
			adj[v] |= factors[i].scope
		}
	}
	for v := range adj {
		adj[v] &^= 1 << v
	}
	var cliques []uint64
	left := uint64(0)
	for v := range vars {
		left |= 1 << v
	}
	for left != 0 {
		v := pick(left, adj, vars)
		c := adj[v] | 1<<v
		if n := bits.OnesCount64(c); n > maxWidth+1 {
			return nil, fmt.Errorf("credal: the clique %s has %d variables, at most %d (treewidth %d): declare fewer dependencies",
				describe(c, vars), n, maxWidth+1, maxWidth)
		}
		if n := count(c, vars, maxStates); n > maxStates {
			return nil, fmt.Errorf("credal: the clique %s has more than %d states: declare coarser ones",
				describe(c, vars), maxStates)
		}
		for _, w := range members(adj[v]) {
			adj[w] |= c
			adj[w] &^= 1<<w | 1<<v
		}
		left &^= 1 << v
		if !slices.ContainsFunc(cliques, func(old uint64) bool { return c&^old == 0 }) {
			cliques = append(cliques, c)
		}
	}
	return cliques, nil
}

// pick chooses the variable to eliminate next.
func pick(left uint64, adj []uint64, vars []dependency.Variable) int {
	best, bestFill, bestStates := -1, 0, 0
	for _, v := range members(left) {
		fill := 0
		for _, w := range members(adj[v]) {
			fill += bits.OnesCount64(adj[v] &^ adj[w] &^ (1 << w))
		}
		states := count(adj[v]|1<<v, vars, 1<<30)
		if best < 0 || fill < bestFill || fill == bestFill && states < bestStates {
			best, bestFill, bestStates = v, fill, states
		}
	}
	return best
}

// count returns the number of joint states, or limit+1 if it is more.
func count(set uint64, vars []dependency.Variable, limit int) int {
	n := 1
	for _, v := range members(set) {
		if n *= vars[v].States; n > limit {
			return limit + 1
		}
	}
	return n
}

// describe names the variables of a clique.
func describe(set uint64, vars []dependency.Variable) string {
	var names []string
	for _, v := range members(set) {
		names = append(names, strconv.Quote(vars[v].Name))
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// link is an edge of the junction forest.
type link struct{ a, b int }

// join connects cliques to a forest with the running intersection property: a
// spanning forest of greatest separators (ties: cliques that came up first).
// Cliques without a variable in common stay apart.
func join(cliques []uint64) []link {
	var all []link
	for a := range cliques {
		for b := a + 1; b < len(cliques); b++ {
			if cliques[a]&cliques[b] != 0 {
				all = append(all, link{a, b})
			}
		}
	}
	size := func(l link) int { return bits.OnesCount64(cliques[l.a] & cliques[l.b]) }
	slices.SortStableFunc(all, func(x, y link) int { return size(y) - size(x) })
	group := make([]int, len(cliques))
	for i := range group {
		group[i] = i
	}
	var tree []link
	for _, l := range all {
		a, b := group[l.a], group[l.b]
		if a == b {
			continue
		}
		for i := range group {
			if group[i] == b {
				group[i] = a
			}
		}
		tree = append(tree, l)
	}
	return tree
}
