// Package dependency computes what views of dependent fields disclose together.
//
// A rubric declares tables of fields whose values depend on each other, by the
// cells of one level each. Fields that tables connect form a [Component]. If its
// joint states can be enumerated, the disclosure is computed exactly, or from the
// worst of the bounds that the tables give. Otherwise any view counts as all that
// there is to know. The audit gets the same tables as a [Graph].
package dependency

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/population"
)

// Table declares how fields depend on each other.
type Table struct {
	Between []string `json:"between"` // field@level
	Kind    string   `json:"kind"`    // "joint", or "conditional": of the last field
	Why     string   `json:"why"`
	Else    []any    `json:"else"`
	Table   [][]any  `json:"table"`
}

// Field is a field with a population of its own.
type Field struct {
	Name       string
	Levels     []string // their names, the finest first
	Population *population.Population
	Chain      *population.Chain
}

// Component has fields whose values disclose something of each other. It is
// immutable and safe for concurrent use.
type Component struct {
	fields  []*Field // sorted by name
	names   []string
	states  []*population.States
	factors []population.Factor
	of      *population.Tie // nil where there are too many joint states to enumerate
	whole   flow.Bits
	graph   Graph
}

// edge is a table with the fields that it is about.
type edge struct {
	*Table

	fields []*Field
}

// New makes the components of a rubric's tables, by the first of their fields.
// Find returns a field, or why there is none. Errors have their place in the
// list of tables.
func New(tables []Table, find func(name string) (*Field, error)) ([]*Component, error) {
	edges := make([]edge, len(tables))
	level := map[*Field]int{}
	of := map[*Field]*Component{}
	for i := range tables {
		e := &edges[i]
		e.Table = &tables[i]
		for j, s := range e.Between {
			if err := e.join(s, level, find); err != nil {
				return nil, yamldoc.Where(err, strconv.Itoa(i), "between", strconv.Itoa(j))
			}
		}
		// One component instead of all that have one of the fields.
		c := &Component{}
		for _, f := range e.fields {
			old := of[f]
			for g := range of {
				if of[g] == old {
					of[g] = c
				}
			}
			of[f] = c
		}
	}
	var out []*Component
	for _, f := range slices.SortedFunc(maps.Keys(level), func(a, b *Field) int { return strings.Compare(a.Name, b.Name) }) {
		c := of[f]
		if c.fields == nil {
			out = append(out, c)
		}
		s, err := f.Chain.States(level[f], population.MaxTied)
		if err == nil && !s.Even() {
			err = errors.New("the values in a cell are not equally likely, so the cells can't be states")
		}
		if err != nil {
			return nil, fmt.Errorf("the level %s of %s: %w", f.Levels[level[f]-1], f.Name, err)
		}
		c.fields, c.names, c.states = append(c.fields, f), append(c.names, f.Name), append(c.states, s)
	}
	for i := range edges {
		c := of[edges[i].fields[0]]
		f, g, err := c.factor(edges[i].Table, edges[i].fields)
		if err != nil {
			return nil, yamldoc.Where(err, strconv.Itoa(i))
		}
		c.factors, c.graph.Factors = append(c.factors, f), append(c.graph.Factors, g)
	}
	for _, c := range out {
		if err := c.finish(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// join adds a field@level to a table's.
func (e *edge) join(s string, level map[*Field]int, find func(string) (*Field, error)) error {
	name, word, _ := strings.Cut(s, "@")
	f, err := find(name)
	if err != nil {
		return err
	}
	if slices.Contains(e.fields, f) {
		return fmt.Errorf("%s comes twice", name)
	}
	l := slices.Index(f.Levels, word) + 1
	if l == 0 {
		return fmt.Errorf("unknown level %q of %s; its levels are %s", word, name, strings.Join(f.Levels, ", "))
	}
	if old, ok := level[f]; ok && old != l {
		return fmt.Errorf("another dependency is about the level %s of %s: use the finer one in both", f.Levels[old-1], name)
	}
	level[f] = l
	e.fields = append(e.fields, f)
	return nil
}

// Fields names the fields, sorted.
func (c *Component) Fields() []string { return slices.Clone(c.names) }

// Whole is what all of them disclose as they are, whatever their dependence.
func (c *Component) Whole() flow.Bits { return c.whole }

// Graph returns the component for the audit.
func (c *Component) Graph() Graph { return c.graph }

// Same reports whether two components say the same of the same fields; nil is
// one that says nothing.
func Same(a, b *Component) bool {
	return a == b || a != nil && b != nil && reflect.DeepEqual(a.graph, b.graph)
}

// Left says what a view of a value of a field leaves of its variable of the
// graph. The chain is over the field's population. It wraps
// population.ErrOutside.
func (c *Component) Left(field string, chain *population.Chain, level int, value string) (Seen, error) {
	left, err := c.states[slices.Index(c.names, field)].Left(chain, level, value)
	return Seen{field, left}, err
}

// Kinds says what a level may leave of a field's variable, as
// population.States.Kinds does.
func (c *Component) Kinds(field string, chain *population.Chain, level int) [][]float64 {
	return c.states[slices.Index(c.names, field)].Kinds(chain, level)
}

// Joint is what views of the fields, by name, disclose together at most.
func (c *Component) Joint(views map[string]population.View) flow.Bits {
	if c.of == nil {
		return c.whole
	}
	vs := make([]population.View, len(c.fields))
	for i, name := range c.names {
		vs[i] = views[name]
	}
	return min(c.whole, c.of.Joint(vs))
}

// factor reads a dependency's table.
func (c *Component) factor(d *Table, fields []*Field) (population.Factor, Factor, error) {
	f := population.Factor{Conditional: d.Kind == "conditional"}
	var g Factor
	size := 1
	var index []map[string]int
	for _, fd := range fields {
		i := slices.Index(c.fields, fd)
		f.Of = append(f.Of, i)
		g.Vars = append(g.Vars, fd.Name)
		labels := map[string]int{}
		for k, l := range c.states[i].Labels {
			labels[l] = k
		}
		index = append(index, labels)
		if size *= len(c.states[i].Labels); size > population.MaxTied {
			return f, g, fmt.Errorf("the table has more than %d cells: use coarser levels", population.MaxTied)
		}
	}
	if f.Conditional {
		g.Of = g.Vars[len(g.Vars)-1]
	}
	rest := population.Bounds{Low: new(big.Rat), High: new(big.Rat)}
	if d.Else != nil {
		var err error
		if rest, err = bounds(d.Else); err != nil {
			return f, g, yamldoc.Where(err, "else")
		}
	}
	f.Entries = slices.Repeat([]population.Bounds{rest}, size)
	seen := make([]bool, size)
	for i, row := range d.Table {
		e, b, err := readRow(row, fields, index)
		if err == nil && seen[e] {
			err = errors.New("the row comes twice")
		}
		if err != nil {
			return f, g, yamldoc.Where(err, "table", strconv.Itoa(i))
		}
		seen[e], f.Entries[e] = true, b
	}
	if f.Conditional {
		if err := c.sums(&f); err != nil {
			return f, g, yamldoc.Where(err, "table")
		}
	}
	for _, b := range f.Entries {
		lo, _ := b.Low.Float64()
		hi, _ := b.High.Float64()
		g.Low, g.High = append(g.Low, lo), append(g.High, hi)
	}
	return f, g, nil
}

// readRow reads a row: the joint state of its cells, by the index of their labels,
// and its bounds.
func readRow(row []any, fields []*Field, index []map[string]int) (entry int, b population.Bounds, err error) {
	n := len(fields)
	if len(row) != n+1 && len(row) != n+2 {
		return 0, b, fmt.Errorf("a row has a cell of each of %d fields, and one number or two", n)
	}
	for j, label := range row[:n] {
		k, ok := index[j][fmt.Sprint(label)]
		if !ok {
			return 0, b, fmt.Errorf("%s has no cell %q at this level", fields[j].Name, fmt.Sprint(label))
		}
		entry = entry*len(index[j]) + k
	}
	b, err = bounds(row[n:])
	return entry, b, err
}

// sums checks that each row of a conditional table can be probabilities.
func (c *Component) sums(f *population.Factor) error {
	last := len(c.states[f.Of[len(f.Of)-1]].Labels)
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
			labels := c.states[f.Of[i]].Labels
			given = append([]string{labels[x%len(labels)]}, given...)
			x /= len(labels)
		}
		return fmt.Errorf("the probabilities given %s do not sum to one: %s to %s", strings.Join(given, ", "), lo.FloatString(6), hi.FloatString(6))
	}
	return nil
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

func (c *Component) finish() (err error) {
	all := big.NewInt(1)
	own := population.Own(len(c.fields), c.factors)
	for i, f := range c.fields {
		s := c.states[i]
		all.Mul(all, f.Population.Members())
		c.graph.Variables = append(c.graph.Variables, Variable{Name: f.Name, States: len(s.Labels), Members: s.Members()})
		if own[i] { // its prior need not be uniform
			c.graph.Factors = append(c.graph.Factors, Factor{Vars: []string{f.Name}, Low: s.Masses()})
		}
	}
	// No adversary gains more than all there is to know, were all values
	// equally likely.
	c.whole = population.BitsUp(new(big.Rat).SetInt(all))
	c.of, err = population.NewTie(c.states, c.factors)
	return err
}

// Graph says which secret fields depend on which, for the audit. A variable that
// is in no plain potential and is Of no table has the uniform prior over its
// members.
type Graph struct {
	Variables []Variable
	Factors   []Factor
}

// Variable is a secret whose values fall into finitely many states.
type Variable struct {
	Name   string
	States int
	// Members is how many values of the population each state stands for, all
	// equally likely given the state and independent of all else given it; nil
	// for one each, so that the state is the value.
	Members []float64
}

// Factor is an interval potential: Low and High hold one entry for each joint
// state of Vars, the last of them changing fastest. Entries are of states, not
// of the members in them.
//
// With Of, the factor is a credal conditional table: Of is one of Vars, and for
// each state of the others, the entries over Of are probabilities that sum to
// one. Such tables have far tighter bounds than plain potentials, since an
// unobserved consequence of a variable discloses nothing about it.
type Factor struct {
	Vars      []string
	Of        string
	Low, High []float64 // nil High: the same as Low
}

// Seen is what a view of a value leaves of a variable of the graph: how many
// members of each state it may still be.
type Seen struct {
	Variable string
	Left     []float64
}
