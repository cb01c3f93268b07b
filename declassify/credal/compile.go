package credal

import (
	"fmt"
	"slices"
)

// Tree is a compiled graph: a junction forest with the prior weights of every
// clique. It is immutable and safe for concurrent use; scratches are not.
type Tree struct {
	vars    []Variable
	cliques []clique
	edges   []edge
	order   []int // edges, so that each comes after those it depends on
	targets []target
	width   int
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

// target is a variable as what is asked about.
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
	start  []int32 // of each row; one more at the end
	states []int32
	box            // weights, in that order
	sum    []total // of each row
}

// Compile checks g and compiles it. It is deterministic, and takes time in
// proportion to the number of cliques, squared, times their states.
func Compile(g Graph, l Limits) (*Tree, error) {
	if l.Treewidth < 0 || l.CliqueStates < 0 || l.Variables < 0 || l.Variables > maxVariables || l.CliqueStates > 1<<24 {
		return nil, fmt.Errorf("credal: limits out of range: %+v", l)
	}
	if l.Treewidth == 0 {
		l.Treewidth = 4
	}
	if l.CliqueStates == 0 {
		l.CliqueStates = 4096
	}
	if l.Variables == 0 {
		l.Variables = maxVariables
	}
	factors, err := g.check(l)
	if err != nil {
		return nil, err
	}
	sets, err := triangulate(factors, g.Variables, l)
	if err != nil {
		return nil, err
	}
	t := &Tree{vars: copyVariables(g.Variables)}
	for _, set := range sets {
		c := clique{set: set, vars: members(set), states: count(set, t.vars, 1<<30)}
		t.cliques = append(t.cliques, c)
		t.width = max(t.width, len(c.vars)-1)
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

func copyVariables(vars []Variable) []Variable {
	vars = slices.Clone(vars)
	for i := range vars {
		vars[i].Members = slices.Clone(vars[i].Members)
	}
	return vars
}

// forest finds homes, and makes the edges and the order of messages from the
// links.
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
	// An edge depends on those into its start, but for its own way back: a
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
	cl := &t.cliques[c]
	stride := strides(onto, t.vars)
	by := make([]int, len(cl.vars))
	for k, v := range cl.vars {
		if j := slices.Index(onto, v); j >= 0 {
			by[k] = stride[j]
		}
	}
	at := make([]int32, cl.states)
	states := make([]int, len(cl.vars))
	for x := range at {
		n := 0
		for k, s := range states {
			n += s * by[k]
		}
		at[x] = int32(n)
		next(states, cl.vars, t.vars)
	}
	return at
}

// Len returns the number of variables.
func (t *Tree) Len() int { return len(t.vars) }

// Index finds a variable by name.
func (t *Tree) Index(name string) (int, bool) {
	i := slices.IndexFunc(t.vars, func(v Variable) bool { return v.Name == name })
	return i, i >= 0
}

// Treewidth returns the width of the tree: variables in its largest clique,
// less one.
func (t *Tree) Treewidth() int { return t.width }

// Components returns the dependency components: variables that tell about one
// another, ascending, by their first.
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

// builder computes prior weights.
type builder struct {
	t       *Tree
	factors []factor
	at      []int      // clique of each factor
	base    []*message // by edge, with what is barren left out; nil: not yet
}

// message is the mass behind an edge, for each state of its separator.
type message struct {
	set set
	box
	trivial bool // one everywhere
}

// set is a set of factors.
type set []uint64

func (s set) has(i int) bool  { return s[i/64]>>(i%64)&1 != 0 }
func (s set) add(i int)       { s[i/64] |= 1 << (i % 64) }
func (s set) remove(i int)    { s[i/64] &^= 1 << (i % 64) }
func (s set) empty() bool     { return !slices.ContainsFunc(s, func(w uint64) bool { return w != 0 }) }
func (b *builder) empty() set { return make(set, (len(b.factors)+63)/64) }

// behind returns the factors at cliques of a set.
func (b *builder) behind(cliques uint64) set {
	s := b.empty()
	for i, c := range b.at {
		if cliques&(1<<c) != 0 {
			s.add(i)
		}
	}
	return s
}

// prune removes conditional tables whose variable is summed out (it is not
// kept) and is in no other factor of the set: each of their rows sums to one.
func (b *builder) prune(s set, keep uint64) {
	var in [maxVariables]int // factors of s that each variable is in
	for i := range b.factors {
		if s.has(i) {
			for _, v := range b.factors[i].vars {
				in[v]++
			}
		}
	}
	for again := true; again; {
		again = false
		for i := range b.factors {
			f := &b.factors[i]
			if f.of < 0 || in[f.of] != 1 || keep&(1<<f.of) != 0 || !s.has(i) {
				continue
			}
			s.remove(i)
			for _, v := range f.vars {
				in[v]--
			}
			again = true
		}
	}
}

// message sums the factors of s that lie behind edge e over what is not in its
// separator. A set that is pruned for an edge is so for the edges behind it.
func (b *builder) message(e int, s set) *message {
	ed := &b.t.edges[e]
	within := b.behind(ed.cliques)
	for i := range within {
		within[i] &= s[i]
	}
	if m := b.base[e]; m != nil && slices.Equal(m.set, within) {
		return m
	}
	m := &message{set: within, trivial: within.empty()}
	if m.trivial {
		return m
	}
	table := b.table(ed.from, e^1, within)
	m.box = b.sumOut(table, ed.from, ed.sep, within)
	if b.sumsToOne(within) {
		// It does so for each state of what it is given, not of.
		given := mask(ed.sep)
		for i := range b.factors {
			if within.has(i) {
				given &^= 1 << b.factors[i].of
			}
		}
		m.box.simplex(float64(count(given, b.t.vars, 1<<30)))
	}
	m.box.rescale()
	return m
}

// sumsToOne reports whether the factors of s are a distribution: summing
// everything out, what is kept included, each in turn leaves one.
func (b *builder) sumsToOne(s set) bool {
	rest := slices.Clone(s)
	b.prune(rest, 0)
	return rest.empty()
}

// table multiplies the factors of s at clique c with the messages into it, but
// for that of edge skip.
func (b *builder) table(c, skip int, s set) box {
	cl := &b.t.cliques[c]
	m := makeBox(cl.states)
	m.fill()
	n := 0
	for i := range b.factors {
		if b.at[i] != c || !s.has(i) {
			continue
		}
		f := &b.factors[i]
		fb := makeBox(len(f.low))
		copy(fb.up, f.high)
		copy(fb.low, f.low)
		fb.rescale()
		m.multiply(&fb, b.t.project(c, f.vars))
		n++
	}
	for _, in := range cl.in {
		if in == skip {
			continue
		}
		if msg := b.message(in, s); !msg.trivial {
			m.multiply(&msg.box, b.t.edges[in].at)
			n++
		}
	}
	m.widen(gamma(n))
	return m
}

// sumOut adds up the entries of a table over clique c by the state of the kept
// variables. What no factor of s is about was pruned, and is not summed over.
func (b *builder) sumOut(m box, c int, keep []int, s set) box {
	out := makeBox(count(mask(keep), b.t.vars, 1<<30))
	out.exp = m.exp
	for x, r := range b.t.project(c, keep) {
		out.up[r] += m.up[x]
		out.low[r] += m.low[x]
	}
	times := float64(count(b.t.cliques[c].set&^mask(keep)&^b.about(s), b.t.vars, 1<<30))
	for i := range out.up {
		out.up[i] /= times
		out.low[i] /= times
	}
	out.widen(gamma(len(m.up)))
	return out
}

// about is the set of variables of the factors of s.
func (b *builder) about(s set) uint64 {
	all := uint64(0)
	for i := range b.factors {
		if s.has(i) {
			all |= b.factors[i].scope
		}
	}
	return all
}

// weigh computes the weights of all edges and targets, and the priors.
func (b *builder) weigh() error {
	t := b.t
	for _, e := range t.order {
		ed := &t.edges[e]
		s := b.behind(ed.cliques)
		b.prune(s, mask(ed.sep))
		b.base[e] = b.message(e, s)
	}
	for _, e := range t.order {
		ed := &t.edges[e]
		ed.out = t.group(ed.from, ed.sep, ed.states, b.weights(ed.from, e^1))
	}
	for v := range t.targets {
		if err := b.target(v); err != nil {
			return err
		}
	}
	return nil
}

// weights is the table of clique c with the whole prior, but for what is behind
// edge skip.
func (b *builder) weights(c, skip int) box {
	cl := &b.t.cliques[c]
	s := b.empty()
	for i := range b.factors {
		if b.at[i] == c {
			s.add(i)
		}
	}
	for _, in := range cl.in {
		if in != skip {
			for i, w := range b.base[in].set {
				s[i] |= w
			}
		}
	}
	return b.table(c, skip, s)
}

// target computes the weights and the prior of variable v.
func (b *builder) target(v int) error {
	t := b.t
	tg := &t.targets[v]
	n := t.vars[v].States
	tg.rows = t.group(tg.home, []int{v}, n, b.weights(tg.home, -1))

	s := b.behind(1 << tg.home)
	for _, in := range t.cliques[tg.home].in {
		for i, w := range b.behind(t.edges[in].cliques) {
			s[i] |= w
		}
	}
	b.prune(s, 1<<v)
	m := b.sumOut(b.table(tg.home, -1, s), tg.home, []int{v}, s)
	if b.sumsToOne(s) {
		m.simplex(1)
	} else {
		m.normalise()
	}
	tg.prior = m
	total := 0.0
	for st := range n {
		total += t.vars[v].members(st)
		tg.modeLow = max(tg.modeLow, tg.prior.low[st]/t.vars[v].members(st))
		if tg.prior.up[st] == 0 {
			return fmt.Errorf("credal: state %d of variable %q has probability zero", st, t.vars[v].Name)
		}
	}
	// The most probable of n values has 1/n at least.
	tg.modeLow = max(tg.modeLow, 1/total) * (1 - gamma(n))
	return nil
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
	r.states = make([]int32, r.start[n])
	r.box = makeBox(len(r.states))
	for x, row := range at {
		if w.up[x] > 0 {
			i := fill[row]
			fill[row]++
			r.states[i], r.up[i], r.low[i] = int32(x), w.up[x], w.low[x]
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
