package credal

import (
	"errors"
	"fmt"
	"math"
)

// Limits of what is compiled; a zero field stands for its default.
type Limits struct {
	Treewidth    int // most variables of a clique, less one; default 4
	CliqueStates int // most joint states of a clique; default 4096
	Variables    int // default and maximum 64
}

// Most of what a graph may hold, whatever the limits say.
const (
	maxVariables = 64
	maxFactors   = 256
	// Entries and members outside of these make products that doubles can't
	// hold; nobody means them.
	minEntry = 0x1p-300
	maxEntry = 0x1p300
)

// Variable is a secret field with finitely many states.
type Variable struct {
	Name   string
	States int
	// Members says how many values of the population each state stands for,
	// all equally likely given the state and independent of all else given it;
	// nil for one each, so that the state is the value.
	Members []float64
}

// members returns how many values state s stands for.
func (v *Variable) members(s int) float64 {
	if v.Members == nil {
		return 1
	}
	return v.Members[s]
}

// Factor is an interval potential: Low and High hold one entry for each joint
// state of Vars, the last of them changing fastest. Entries are of states, not
// of the members in them.
//
// With Of, the factor is a credal conditional table: Of is one of Vars, and for
// each state of the others, the entries over Of are probabilities that sum to
// one. Such tables are bounded far more tightly than plain potentials, since
// what follows from a variable and was not seen says nothing about it.
type Factor struct {
	Vars      []string
	Of        string
	Low, High []float64 // nil High: the same as Low
}

// Graph declares which secret fields tell about which. A variable that is in no
// plain potential and that no table is Of has the uniform prior over its
// members.
type Graph struct {
	Variables []Variable
	Factors   []Factor
}

// factor is a checked Factor with sorted scope and reachable entries.
type factor struct {
	vars      []int  // ascending
	scope     uint64 // of vars
	of        int    // -1: a plain potential
	low, high []float64
}

// check validates g and returns its factors, implicit priors included.
func (g *Graph) check(l Limits) ([]factor, error) {
	if len(g.Variables) == 0 {
		return nil, errors.New("credal: a graph without variables")
	}
	if len(g.Variables) > l.Variables {
		return nil, fmt.Errorf("credal: too many variables: %d, at most %d", len(g.Variables), l.Variables)
	}
	if len(g.Factors) > maxFactors {
		return nil, fmt.Errorf("credal: too many factors: %d, at most %d", len(g.Factors), maxFactors)
	}
	index := make(map[string]int, len(g.Variables))
	for i := range g.Variables {
		v := &g.Variables[i]
		if v.Name == "" {
			return nil, fmt.Errorf("credal: variable %d has no name", i)
		}
		if _, ok := index[v.Name]; ok {
			return nil, fmt.Errorf("credal: variable %q is declared twice", v.Name)
		}
		index[v.Name] = i
		if err := v.check(l); err != nil {
			return nil, err
		}
	}
	var (
		factors = make([]factor, 0, len(g.Factors)+len(g.Variables))
		known   uint64 // variables that have a prior of their own
		of      uint64
	)
	for i := range g.Factors {
		f, err := g.factor(i, index, l)
		if err != nil {
			return nil, err
		}
		if f.of < 0 {
			known |= f.scope
		} else {
			if of&(1<<f.of) != 0 {
				return nil, fmt.Errorf("credal: factor %d: a second table of variable %q", i, g.Variables[f.of].Name)
			}
			of |= 1 << f.of
		}
		factors = append(factors, f)
	}
	known |= of
	for i := range g.Variables {
		if known&(1<<i) == 0 {
			factors = append(factors, uniform(&g.Variables[i], i))
		}
	}
	return factors, nil
}

func (v *Variable) check(l Limits) error {
	if v.States < 1 {
		return fmt.Errorf("credal: variable %q has no states", v.Name)
	}
	if v.States > l.CliqueStates {
		return fmt.Errorf("credal: variable %q has %d states, at most %d", v.Name, v.States, l.CliqueStates)
	}
	if v.Members != nil && len(v.Members) != v.States {
		return fmt.Errorf("credal: variable %q has %d states and members of %d", v.Name, v.States, len(v.Members))
	}
	for s, m := range v.Members {
		if !(m >= 1 && m <= maxEntry) {
			return fmt.Errorf("credal: variable %q: state %d has %v members", v.Name, s, m)
		}
	}
	return nil
}

// factor checks the i-th factor of g.
func (g *Graph) factor(i int, index map[string]int, l Limits) (factor, error) {
	in := &g.Factors[i]
	fail := func(format string, args ...any) (factor, error) {
		return factor{}, fmt.Errorf("credal: factor %d %q: %s", i, in.Vars, fmt.Sprintf(format, args...))
	}
	if len(in.Vars) == 0 {
		return fail("no variables")
	}
	f := factor{of: -1}
	order := make([]int, len(in.Vars)) // variables as declared
	size := 1
	for k, name := range in.Vars {
		v, ok := index[name]
		if !ok {
			return fail("unknown variable %q", name)
		}
		if f.scope&(1<<v) != 0 {
			return fail("variable %q twice", name)
		}
		f.scope |= 1 << v
		order[k] = v
		if size *= g.Variables[v].States; size > l.CliqueStates {
			return fail("more than %d states", l.CliqueStates)
		}
		if name == in.Of {
			f.of = v
		}
	}
	if in.Of != "" && f.of < 0 {
		return fail("a table of %q, which is not in it", in.Of)
	}
	high := in.High
	if high == nil {
		high = in.Low
	}
	if len(in.Low) != size || len(high) != size {
		return fail("%d low and %d high entries, want %d", len(in.Low), len(high), size)
	}
	for e := range in.Low {
		lo, hi := in.Low[e], high[e]
		switch {
		case math.IsNaN(lo) || math.IsNaN(hi):
			return fail("entry %d is not a number", e)
		case lo < 0 || hi < 0:
			return fail("entry %d is negative", e)
		case lo > hi:
			return fail("entry %d: low is greater than high", e)
		case hi > maxEntry || hi != 0 && hi < minEntry:
			return fail("entry %d: high is out of range", e)
		}
	}
	f.vars = members(f.scope)
	f.low, f.high = permute(in.Low, high, order, f.vars, g.Variables)
	if v, s, zero := f.zeroRow(g.Variables); zero {
		return fail("all entries are zero for state %d of %q", s, g.Variables[v].Name)
	}
	if f.of >= 0 {
		if row, ok := f.reach(g.Variables); !ok {
			return fail("row %d can't sum to one", row)
		}
	}
	return f, nil
}

// permute brings entries from the declared order of variables into ascending
// order.
func permute(low, high []float64, from, to []int, vars []Variable) ([]float64, []float64) {
	stride := strides(from, vars)
	at := make([]int, len(to)) // stride, in the old order, of each variable of the new
	for k, v := range to {
		for j, w := range from {
			if v == w {
				at[k] = stride[j]
			}
		}
	}
	l, h := make([]float64, len(low)), make([]float64, len(low))
	states := make([]int, len(to))
	for e := range l {
		o := 0
		for k := range to {
			o += states[k] * at[k]
		}
		l[e], h[e] = low[o], high[o]
		next(states, to, vars)
	}
	return l, h
}

// zeroRow finds a state of a variable that the factor makes impossible.
func (f *factor) zeroRow(vars []Variable) (v, s int, zero bool) {
	for k, v := range f.vars {
		stride := strides(f.vars, vars)[k]
		seen := make([]bool, vars[v].States)
		for e, hi := range f.high {
			if hi > 0 {
				seen[e/stride%vars[v].States] = true
			}
		}
		for s, ok := range seen {
			if !ok {
				return v, s, true
			}
		}
	}
	return 0, 0, false
}

// sumSlack is how far the sum of a declared row of probabilities may be from
// one: authors write decimal fractions. What is off is made up by widening the
// row by as much, so that the row scaled to one lies within it.
const sumSlack = 1e-9

// reach narrows the intervals of a conditional table to what rows that sum to
// one can reach, and says which row has none.
func (f *factor) reach(vars []Variable) (row int, ok bool) {
	k := 0
	for f.vars[k] != f.of {
		k++
	}
	stride, n := strides(f.vars, vars)[k], vars[f.of].States
	g := gamma(n)
	for e := range f.low {
		if e/stride%n != 0 {
			continue
		}
		var low, high float64
		for s := range n {
			low += f.low[e+s*stride]
			high += f.high[e+s*stride]
		}
		if low > 1+sumSlack || high < 1-sumSlack {
			return row, false
		}
		row++
		down, up := 1.0, 1.0
		if low > 1 {
			down = 1 - float64(2*(low-1)) - g
		}
		if high < 1 {
			up = 1 + float64(2*(1-high)) + g
		}
		low, high = float64(low*down), float64(high*up)
		slack := float64(4 * g * math.Max(1, high))
		for s := range n {
			at := e + s*stride
			lo, hi := float64(f.low[at]*down), float64(f.high[at]*up)
			f.high[at] = math.Max(lo, math.Min(hi, 1-(low-lo)+slack))
			f.low[at] = math.Min(hi, math.Max(lo, 1-(high-hi)-slack))
		}
	}
	return 0, true
}

// uniform is the prior of a variable that has no other.
func uniform(v *Variable, i int) factor {
	f := factor{vars: []int{i}, scope: 1 << i, of: i, low: make([]float64, v.States), high: make([]float64, v.States)}
	sum := 0.0
	for s := range v.States {
		sum += v.members(s)
	}
	g := gamma(v.States)
	for s := range f.low {
		f.low[s] = v.members(s) / sum * (1 - g)
		f.high[s] = v.members(s) / sum * (1 + g)
	}
	return f
}

// members lists the variables of a set, ascending.
func members(set uint64) []int {
	var all []int
	for v := range maxVariables {
		if set&(1<<v) != 0 {
			all = append(all, v)
		}
	}
	return all
}

// strides of a table over the variables, the last changing fastest.
func strides(of []int, vars []Variable) []int {
	s := make([]int, len(of))
	n := 1
	for k := len(of) - 1; k >= 0; k-- {
		s[k] = n
		n *= vars[of[k]].States
	}
	return s
}

// next counts states on by one.
func next(states, of []int, vars []Variable) {
	for k := len(states) - 1; k >= 0; k-- {
		if states[k]++; states[k] < vars[of[k]].States {
			return
		}
		states[k] = 0
	}
}
