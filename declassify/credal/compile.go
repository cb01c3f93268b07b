package credal

import (
	"slices"

	"github.com/margaydev/margay/rubric/dependency"
)

// Tree is a compiled graph: a junction forest with the prior weights of every
// clique. It is immutable and safe for concurrent use; scratches are not.
type Tree struct {
	vars    []dependency.Variable
	cliques []clique
	edges   []edge
	order   []int // edges, so that each comes after those it depends on
	targets []target
	largest int // states of the largest clique
	widest  int // states of the variable that has most
}

// clique is a node of the forest.
type clique struct {
	set    uint64
	vars   []int
	states int
	in     []int // edges that end here
	home   []int // variables whose observations are applied here
}

// edge carries messages from one clique to a neighbour over their separator.
// The edge back is its number with the last bit flipped.
type edge struct {
	from, to int
	sep      []int
	states   int
	at       []int32 // separator state of each state of clique to
	behind   uint64  // variables whose homes lie on the side of from
	out      rows
	cliques  uint64 // on the side of from
}

// target is a variable that bounds are computed for.
type target struct {
	home     int
	at       []int32 // state of the variable for each state of its home
	rows     rows
	prior    box // bounds on π(s), absolute
	modeLow  float64
	treeVars uint64 // variables of its component
}

// rows groups the states of a clique by the state of some of its variables,
// with the prior weight of each. States of weight zero are left out.
type rows struct {
	start   []int32 // of each row; one more at the end
	entries []entry
	sum     []total // of each row
}

// Compile checks g and compiles it. It is deterministic. Its time is
// proportional to the number of cliques, squared, times their states.
func Compile(g dependency.Graph) (*Tree, error) {
	factors, err := check(&g)
	if err != nil {
		return nil, err
	}
	sets, err := triangulate(factors, g.Variables)
	if err != nil {
		return nil, err
	}
	t := &Tree{vars: slices.Clone(g.Variables)}
	for i := range t.vars {
		t.vars[i].Members = slices.Clone(t.vars[i].Members)
	}
	for _, set := range sets {
		c := clique{set: set, vars: members(set), states: count(set, t.vars, 1<<30)}
		t.cliques = append(t.cliques, c)
		t.largest = max(t.largest, c.states)
	}
	t.forest(join(sets))
	b := builder{t: t, factors: factors, at: make([]int, len(factors)), base: make([]*message, len(t.edges))}
	for i := range factors {
		b.at[i] = slices.IndexFunc(t.cliques, func(c clique) bool { return factors[i].scope&^c.set == 0 })
	}
	if err := b.weigh(); err != nil {
		return nil, err
	}
	return t, nil
}

// forest finds the homes of variables, and makes the edges and the order of
// messages from the links.
func (t *Tree) forest(links []link) {
	t.targets = make([]target, len(t.vars))
	for v := range t.vars {
		home := -1
		for c := range t.cliques {
			if t.cliques[c].set&(1<<v) != 0 && (home < 0 || t.cliques[c].states < t.cliques[home].states) {
				home = c
			}
		}
		t.targets[v] = target{home: home, at: t.project(home, []int{v})}
		t.cliques[home].home = append(t.cliques[home].home, v)
		t.widest = max(t.widest, t.vars[v].States)
	}
	for _, l := range links {
		sep := members(t.cliques[l.a].set & t.cliques[l.b].set)
		n := count(t.cliques[l.a].set&t.cliques[l.b].set, t.vars, 1<<30)
		for _, e := range [2]edge{{from: l.a, to: l.b}, {from: l.b, to: l.a}} {
			e.sep, e.states, e.at = sep, n, t.project(e.to, sep)
			t.cliques[e.to].in = append(t.cliques[e.to].in, len(t.edges))
			t.edges = append(t.edges, e)
		}
	}
	// An edge depends on those into its start, except its own reverse: a
	// depth-first walk from every edge puts them first.
	done := make([]bool, len(t.edges))
	var visit func(e int)
	visit = func(e int) {
		if done[e] {
			return
		}
		done[e] = true
		ed := &t.edges[e]
		ed.cliques = 1 << ed.from
		for _, v := range t.cliques[ed.from].home {
			ed.behind |= 1 << v
		}
		for _, in := range t.cliques[ed.from].in {
			if in != e^1 {
				visit(in)
				ed.behind |= t.edges[in].behind
				ed.cliques |= t.edges[in].cliques
			}
		}
		t.order = append(t.order, e)
	}
	for e := range t.edges {
		visit(e)
	}
	for v := range t.targets {
		c := &t.cliques[t.targets[v].home]
		for _, h := range c.home {
			t.targets[v].treeVars |= 1 << h
		}
		for _, in := range c.in {
			t.targets[v].treeVars |= t.edges[in].behind
		}
	}
}

// project maps each state of clique c to the state of some of its variables.
func (t *Tree) project(c int, onto []int) []int32 {
	return project(t.cliques[c].vars, onto, t.vars)
}

// project maps each joint state of some variables to that of some of them.
func project(from, onto []int, vars []dependency.Variable) []int32 {
	stride := strides(onto, vars)
	by := make([]int, len(from))
	for k, v := range from {
		if j := slices.Index(onto, v); j >= 0 {
			by[k] = stride[j]
		}
	}
	at := make([]int32, count(mask(from), vars, 1<<30))
	states := make([]int, len(from))
	for x := range at {
		n := 0
		for k, s := range states {
			n += s * by[k]
		}
		at[x] = int32(n)
		next(states, from, vars)
	}
	return at
}

// Index finds a variable by name.
func (t *Tree) Index(name string) (int, bool) {
	i := slices.IndexFunc(t.vars, func(v dependency.Variable) bool { return v.Name == name })
	return i, i >= 0
}

// Components returns the dependency components, sets of variables that depend on
// one another, ordered by their first variable.
func (t *Tree) Components() [][]int {
	var all [][]int
	seen := uint64(0)
	for v := range t.targets {
		if seen&(1<<v) == 0 {
			seen |= t.targets[v].treeVars
			all = append(all, members(t.targets[v].treeVars))
		}
	}
	return all
}

// group sorts the weights of clique c by the state of some of its variables.
func (t *Tree) group(c int, onto []int, n int, w box) rows {
	at := t.project(c, onto)
	r := rows{start: make([]int32, n+1), sum: make([]total, n)}
	for x, row := range at {
		if w.up[x] > 0 {
			r.start[row+1]++
		}
	}
	for i := range n {
		r.start[i+1] += r.start[i]
	}
	fill := slices.Clone(r.start)
	r.entries = make([]entry, r.start[n])
	for x, row := range at {
		if w.up[x] > 0 {
			r.entries[fill[row]] = entry{w.up[x], w.low[x], x}
			fill[row]++
			r.sum[row].most += w.up[x]
			r.sum[row].least += w.low[x]
		}
	}
	for i, s := range r.sum {
		r.sum[i] = totals(s.most, s.least, len(at))
	}
	return r
}

// mask is the set of some variables.
func mask(vars []int) uint64 {
	m := uint64(0)
	for _, v := range vars {
		m |= 1 << v
	}
	return m
}
