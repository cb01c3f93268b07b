package rubric

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/population"
)

// tie is a dependency component: fields with populations of their own whose
// values tell about each other.
type tie struct {
	fields []*field // roots, sorted by name
	levels []int    // whose cells the tables are about
	states []*population.States
	of     *population.Tie // nil where there are too many joint states to enumerate
	whole  flow.Bits       // what all of them tell as they are, whatever their dependence
	graph  Graph
	memo   memo // by the levels that are seen
}

// memo keeps what was computed once.
type memo struct {
	mu sync.RWMutex
	of map[string]flow.Bits
}

func (m *memo) get(key string, compute func() flow.Bits) flow.Bits {
	m.mu.RLock()
	b, ok := m.of[key]
	m.mu.RUnlock()
	if ok {
		return b
	}
	b = compute()
	const most = 1 << 14
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]flow.Bits{}
	}
	if len(m.of) < most {
		m.of[key] = b
	}
	return b
}

// compileTies makes the components of the dependencies.
func (r *Rubric) compileTies() error {
	type edge struct {
		doc    *dependencyDoc
		at     []string
		fields []*field
	}
	var edges []edge
	level := map[*field]int{}
	for i := range r.doc.Dependencies {
		e := edge{doc: &r.doc.Dependencies[i], at: []string{"dependencies", strconv.Itoa(i)}}
		for j, s := range e.doc.Between {
			name, word, _ := strings.Cut(s, "@")
			f := r.fields[name]
			at := append(slices.Clone(e.at), "between", strconv.Itoa(j))
			switch {
			case f == nil:
				return where(fmt.Errorf("there is no field %q", name), at...)
			case f.root != f:
				return where(fmt.Errorf("%s is a view of %s: declare the dependency of that", name, f.root.name), at...)
			case slices.Contains(e.fields, f):
				return where(fmt.Errorf("%s comes twice", name), at...)
			}
			l := slices.Index(f.levels, word) + 1
			if l == 0 {
				return where(fmt.Errorf("%q is no level of %s", word, name), at...)
			}
			if old, ok := level[f]; ok && old != l {
				return where(fmt.Errorf("another dependency is about the level %s of %s: use the finer one in both", f.levels[old-1], name), at...)
			}
			level[f] = l
			e.fields = append(e.fields, f)
		}
		edges = append(edges, e)
	}
	// Components: the smallest name of each.
	head := map[*field]*field{}
	for f := range level {
		head[f] = f
	}
	for range edges {
		for _, e := range edges {
			least := head[e.fields[0]]
			for _, f := range e.fields {
				if head[f].name < least.name {
					least = head[f]
				}
			}
			for _, f := range e.fields {
				head[f] = least
			}
		}
	}
	ties := map[*field]*tie{}
	for _, f := range slices.SortedFunc(maps.Keys(level), func(a, b *field) int { return strings.Compare(a.name, b.name) }) {
		t := ties[head[f]]
		if t == nil {
			t = &tie{}
			ties[head[f]] = t
			r.ties = append(r.ties, t)
		}
		s, err := f.chain.States(level[f], population.MaxTied)
		if err == nil && !s.Even() {
			err = errors.New("the values in a cell are not equally likely, so the cells can't be states")
		}
		if err != nil {
			return where(fmt.Errorf("the level %s of %s: %w", f.levels[level[f]-1], f.name, err), "dependencies")
		}
		t.fields, t.levels, t.states = append(t.fields, f), append(t.levels, level[f]), append(t.states, s)
		f.tie = t
	}
	r.nameGroups()
	factors := map[*tie][]population.Factor{}
	for _, e := range edges {
		t := e.fields[0].tie
		f, g, err := t.factor(e.doc, e.fields)
		if err != nil {
			return where(err, e.at...)
		}
		factors[t] = append(factors[t], f)
		t.graph.Factors = append(t.graph.Factors, g)
	}
	for _, t := range r.ties {
		if err := t.finish(factors[t]); err != nil {
			return where(err, "dependencies")
		}
	}
	return nil
}

// nameGroups names each component after the first of its fields.
func (r *Rubric) nameGroups() {
	same := func(a, b *field) bool {
		return a.root == b.root || a.root.tie != nil && a.root.tie == b.root.tie
	}
	for _, name := range r.names {
		f := r.fields[name]
		first := slices.IndexFunc(r.names, func(o string) bool { return same(r.fields[o], f) })
		f.group = r.names[first]
	}
}

// factor reads a dependency's table.
func (t *tie) factor(d *dependencyDoc, fields []*field) (population.Factor, Factor, error) {
	f := population.Factor{Conditional: d.Kind == "conditional"}
	var g Factor
	size := 1
	var index []map[string]int
	for _, fd := range fields {
		i := slices.Index(t.fields, fd)
		f.Of = append(f.Of, i)
		g.Vars = append(g.Vars, fd.name)
		labels := map[string]int{}
		for k, l := range t.states[i].Labels {
			labels[l] = k
		}
		index = append(index, labels)
		if size *= len(t.states[i].Labels); size > population.MaxTied {
			return f, g, fmt.Errorf("the table has more than %d cells: use coarser levels", population.MaxTied)
		}
	}
	if f.Conditional {
		g.Of = g.Vars[len(g.Vars)-1]
	}
	rest := population.Bounds{Low: new(big.Rat), High: new(big.Rat)}
	if d.Else != nil {
		var err error
		if rest, err = bounds(numbersOf(d.Else)); err != nil {
			return f, g, where(err, "else")
		}
	}
	f.Entries = slices.Repeat([]population.Bounds{rest}, size)
	seen := make([]bool, size)
	for i, row := range d.Table {
		at := []string{"table", strconv.Itoa(i)}
		if len(row) != len(fields)+1 && len(row) != len(fields)+2 {
			return f, g, where(fmt.Errorf("a row has a cell of each of %d fields, and one number or two", len(fields)), at...)
		}
		e := 0
		for j := range fields {
			label := fmt.Sprint(row[j])
			k, ok := index[j][label]
			if !ok {
				return f, g, where(fmt.Errorf("%s has no cell %q at this level", fields[j].name, label), at...)
			}
			e = e*len(index[j]) + k
		}
		if seen[e] {
			return f, g, where(errors.New("the row comes twice"), at...)
		}
		seen[e] = true
		b, err := bounds(row[len(fields):])
		if err != nil {
			return f, g, where(err, at...)
		}
		f.Entries[e] = b
	}
	if f.Conditional {
		if err := t.sums(&f); err != nil {
			return f, g, where(err, "table")
		}
	}
	for _, b := range f.Entries {
		lo, _ := b.Low.Float64()
		hi, _ := b.High.Float64()
		g.Low, g.High = append(g.Low, lo), append(g.High, hi)
	}
	return f, g, nil
}

// sums checks that each row of a conditional table can be probabilities.
func (t *tie) sums(f *population.Factor) error {
	last := len(t.states[f.Of[len(f.Of)-1]].Labels)
	one := big.NewRat(1, 1)
	for e := 0; e < len(f.Entries); e += last {
		lo, hi := new(big.Rat), new(big.Rat)
		for _, b := range f.Entries[e : e+last] {
			lo.Add(lo, b.Low)
			hi.Add(hi, b.High)
		}
		if lo.Cmp(one) <= 0 && hi.Cmp(one) >= 0 {
			continue
		}
		var given []string
		for i, x := len(f.Of)-2, e/last; i >= 0; i-- {
			labels := t.states[f.Of[i]].Labels
			given = append([]string{labels[x%len(labels)]}, given...)
			x /= len(labels)
		}
		return fmt.Errorf("the probabilities given %s do not sum to one: %s to %s", strings.Join(given, ", "), lo.FloatString(6), hi.FloatString(6))
	}
	return nil
}

func numbersOf(ns []json.Number) []any {
	out := make([]any, len(ns))
	for i, n := range ns {
		out[i] = n
	}
	return out
}

// bounds reads one number, or two.
func bounds(ns []any) (population.Bounds, error) {
	var out [2]*big.Rat
	for i, v := range ns {
		n, ok := v.(json.Number)
		if !ok {
			return population.Bounds{}, errors.New("after the cells come numbers")
		}
		r, ok := new(big.Rat).SetString(n.String())
		if !ok || r.Sign() < 0 {
			return population.Bounds{}, errors.New("a weight is not negative")
		}
		out[i] = r
	}
	if len(ns) == 1 {
		out[1] = out[0]
	}
	if out[0].Cmp(out[1]) > 0 {
		return population.Bounds{}, errors.New("the lower bound is above the upper one")
	}
	return population.Bounds{Low: out[0], High: out[1]}, nil
}

func (t *tie) finish(factors []population.Factor) error {
	n, all := 1, big.NewInt(1)
	known := map[int]bool{}
	for _, f := range factors {
		for j, i := range f.Of {
			if !f.Conditional || j == len(f.Of)-1 {
				known[i] = true
			}
		}
	}
	for i, f := range t.fields {
		s := t.states[i]
		if n *= len(s.Labels); n > population.MaxTied {
			n = population.MaxTied + 1
		}
		all.Mul(all, f.pop.Members())
		t.graph.Variables = append(t.graph.Variables, Variable{Name: f.name, States: len(s.Labels), Members: s.Members()})
		if !known[i] { // the population's own prior, which need not be uniform
			t.graph.Factors = append(t.graph.Factors, Factor{Vars: []string{f.name}, Low: s.Masses()})
		}
	}
	// No adversary gains more than all there is to know, were all values
	// equally likely.
	t.whole = population.BitsUp(new(big.Rat).SetInt(all))
	if n > population.MaxTied {
		return nil
	}
	var err error
	t.of, err = population.NewTie(t.states, factors)
	return err
}

// joint is what views tell, by root field of the component.
func (t *tie) joint(views map[*field]population.View) flow.Bits {
	if t.of == nil {
		return t.whole
	}
	vs := make([]population.View, len(t.fields))
	for i, f := range t.fields {
		vs[i] = views[f]
	}
	return min(t.whole, t.of.Joint(vs))
}
