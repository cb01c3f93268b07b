package credal

import (
	"fmt"
	"math"
	"slices"
)

// builder computes prior weights.
type builder struct {
	t       *Tree
	factors []factor
	at      []int      // clique of each factor
	base    []*message // by edge, pruned; nil until it is computed
}

// message is the mass behind an edge, for each state of its separator.
type message struct {
	set set
	box
	trivial bool    // one everywhere
	total   float64 // sum of a distribution; 0: not one
}

// set is a set of factors.
type set []bool

func (s set) empty() bool { return !slices.Contains(s, true) }

// add puts those of another set into a set.
func (s set) add(o set) {
	for i, in := range o {
		s[i] = s[i] || in
	}
}

// behind returns the factors at cliques of a set.
func (b *builder) behind(cliques uint64) set {
	s := make(set, len(b.factors))
	for i, c := range b.at {
		s[i] = cliques&(1<<c) != 0
	}
	return s
}

// prune removes conditional tables whose variable is summed out (it is not
// kept) and is in no other factor of the set: each of their rows sums to one.
func (b *builder) prune(s set, keep uint64) {
	var in [maxVariables]int // factors of s that each variable is in
	for i := range b.factors {
		if s[i] {
			for _, v := range b.factors[i].vars {
				in[v]++
			}
		}
	}
	for again := true; again; {
		again = false
		for i := range b.factors {
			f := &b.factors[i]
			if f.of < 0 || in[f.of] != 1 || keep&(1<<f.of) != 0 || !s[i] {
				continue
			}
			s[i] = false
			for _, v := range f.vars {
				in[v]--
			}
			again = true
		}
	}
}

// message sums the factors of s behind edge e over the variables outside its
// separator. A set that is pruned for an edge is pruned for those behind it.
func (b *builder) message(e int, s set) *message {
	ed := &b.t.edges[e]
	within := b.behind(ed.cliques)
	for i := range within {
		within[i] = within[i] && s[i]
	}
	if m := b.base[e]; m != nil && slices.Equal(m.set, within) {
		return m
	}
	m := &message{set: within, trivial: within.empty()}
	if m.trivial {
		return m
	}
	m.box = b.sum(ed.from, e^1, ed.sep, within)
	if b.sumsToOne(within) {
		// It does so for each state of the variables that it conditions on.
		given := mask(ed.sep)
		for i := range b.factors {
			if within[i] {
				given &^= 1 << b.factors[i].of
			}
		}
		m.total = float64(count(given, b.t.vars, 1<<30))
		m.box.simplex(m.total)
	}
	m.box.rescale()
	return m
}

// sumsToOne reports whether the factors of s are a distribution: if all variables
// are summed out, each factor in turn leaves one.
func (b *builder) sumsToOne(s set) bool {
	rest := slices.Clone(s)
	b.prune(rest, 0)
	return rest.empty()
}

// table multiplies the factors of s at clique c with the messages into it, except
// those of two edges.
func (b *builder) table(c, skip, without int, s set) box {
	cl := &b.t.cliques[c]
	m := makeBox(cl.states)
	m.fill()
	n := 0
	for i := range b.factors {
		if b.at[i] != c || !s[i] {
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
		if in == skip || in == without {
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

// sum sums the factors of s at and behind clique c, except those behind edge skip,
// over all but the kept variables. Variables without a factor in s were pruned,
// and are not summed over.
//
// The sum of products of the ends is one box. Another comes from each message
// F(y) into the clique, as
//
//	Σ_y F(y)·ψ(x,y) = Σ_y F(y) · average of ψ(x,y) over y with weights F(y),
//
// where y are the states of its separator that agree with x. The average stays
// in the range of ψ, however wide F is, and the sum is known where F is a
// distribution, and a common factor where x and y share nothing.
func (b *builder) sum(c, skip int, keep []int, s set) box {
	out := b.sumOut(b.table(c, skip, -1, s), b.t.cliques[c].vars, keep)
	var others []box
	for _, in := range b.t.cliques[c].in {
		if in == skip {
			continue
		}
		m := b.message(in, s)
		if m.trivial {
			continue
		}
		alt, same := b.averaged(c, in, keep, m, b.table(c, skip, in, s))
		if !same {
			others = append(others, alt)
			continue
		}
		alt.scale(alt.exp - out.exp)
		for i := range out.up {
			out.up[i] = math.Min(out.up[i], alt.up[i])
			out.low[i] = math.Min(out.up[i], math.Max(out.low[i], alt.low[i]))
		}
	}
	for _, alt := range others {
		if alt.width() < out.width() {
			out = alt
		}
	}
	times := float64(count(b.t.cliques[c].set&^mask(keep)&^b.about(s), b.t.vars, 1<<30))
	for i := range out.up {
		out.up[i] /= times
		out.low[i] /= times
	}
	out.widen(gamma(1))
	return out
}

// averaged is sum by averaging over the message m of edge in; rest is the table
// without it. If same is false, the result is known up to a common factor.
func (b *builder) averaged(c, in int, keep []int, m *message, rest box) (out box, same bool) {
	vars := b.t.vars
	sep := b.t.edges[in].sep
	both := members(mask(keep) | mask(sep))
	rest = b.sumOut(rest, b.t.cliques[c].vars, both)

	shared := members(mask(keep) & mask(sep))
	mass := b.sumOut(m.box, sep, shared)
	if m.total > 0 {
		mass.simplex(m.total)
	}
	same = len(shared) > 0 || m.total > 0
	if !same {
		mass.up[0], mass.low[0], mass.exp = 1, 1, 0
	}

	n := count(mask(keep), vars, 1<<30)
	list := make([][]entry, n)
	weight := project(both, sep, vars)
	for x, row := range project(both, keep, vars) {
		if w := weight[x]; m.up[w] > 0 {
			list[row] = append(list[row], entry{m.up[w], m.low[w], x})
		}
	}
	out = makeBox(n)
	spans := make([]span, len(weight))
	for row, of := range project(keep, shared, vars) {
		if len(list[row]) == 0 {
			continue
		}
		var up, low float64
		for _, e := range list[row] {
			up += e.up
			low += e.low
		}
		sum := totals(up, low, len(list[row]))
		hi, lo := average(list[row], spans, rest.load(list[row], spans), &sum)
		out.up[row], out.low[row] = hi*mass.up[of], lo*mass.low[of]
	}
	out.exp = rest.exp + mass.exp
	out.widen(gamma(1))
	return out, same
}

// sumOut adds up the entries of a table by the state of the kept variables.
func (b *builder) sumOut(m box, from, keep []int) box {
	out := makeBox(count(mask(keep), b.t.vars, 1<<30))
	out.exp = m.exp
	for x, r := range project(from, keep, b.t.vars) {
		out.up[r] += m.up[x]
		out.low[r] += m.low[x]
	}
	out.widen(gamma(len(m.up)))
	return out
}

// about is the set of variables of the factors of s.
func (b *builder) about(s set) uint64 {
	all := uint64(0)
	for i := range b.factors {
		if s[i] {
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
		ed.out = t.group(ed.from, ed.sep, ed.states, b.weights(ed.from, e^1, mask(ed.sep)))
	}
	for v := range t.targets {
		if err := b.target(v); err != nil {
			return err
		}
	}
	return nil
}

// weights is the table of clique c with the prior, without the factors behind edge
// skip, and without those of the kept variables alone: they are the same for all
// states of a row, so they cancel in averages.
func (b *builder) weights(c, skip int, keep uint64) box {
	cl := &b.t.cliques[c]
	s := make(set, len(b.factors))
	for i := range b.factors {
		s[i] = b.at[i] == c && b.factors[i].scope&^keep != 0
	}
	for _, in := range cl.in {
		if in != skip && mask(b.t.edges[in].sep)&^keep != 0 {
			s.add(b.base[in].set)
		}
	}
	return b.table(c, skip, -1, s)
}

// target computes the weights and the prior of variable v.
func (b *builder) target(v int) error {
	t := b.t
	tg := &t.targets[v]
	n := t.vars[v].States
	tg.rows = t.group(tg.home, []int{v}, n, b.weights(tg.home, -1, 1<<v))

	cliques := uint64(1) << tg.home
	for _, in := range t.cliques[tg.home].in {
		cliques |= t.edges[in].cliques
	}
	s := b.behind(cliques)
	b.prune(s, 1<<v)
	m := b.sum(tg.home, -1, []int{v}, s)
	if b.sumsToOne(s) {
		m.simplex(1)
	} else {
		m.normalise()
	}
	tg.prior = m
	total := 0.0
	for st := range n {
		total += weight(&t.vars[v], st)
		tg.modeLow = max(tg.modeLow, tg.prior.low[st]/weight(&t.vars[v], st))
		if tg.prior.up[st] == 0 {
			return fmt.Errorf("credal: state %d of variable %q has probability zero", st, t.vars[v].Name)
		}
	}
	// The most probable of n values has 1/n at least.
	tg.modeLow = max(tg.modeLow, 1/total) * (1 - gamma(n))
	return nil
}
