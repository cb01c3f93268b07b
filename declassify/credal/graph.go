package credal

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/margaydev/margay/rubric/dependency"
)

// Bounds of a graph.
const (
	maxWidth     = 4     // variables of a clique, less one: the treewidth
	maxStates    = 4_096 // joint states of a clique
	maxVariables = 64
	maxFactors   = 256
	// Entries and members outside of these make products that doubles can't
	// hold. No real graph has them.
	minEntry = 0x1p-300
	maxEntry = 0x1p300
)

// weight returns how many values state s of a variable stands for.
func weight(v *dependency.Variable, s int) float64 {
	if v.Members == nil {
		return 1
	}
	return v.Members[s]
}

// factor is a checked dependency.Factor with sorted scope and reachable entries.
type factor struct {
	vars      []int  // ascending
	scope     uint64 // of vars
	of        int    // -1: a plain potential
	low, high []float64
}

// check validates g and returns its factors, implicit priors included.
func check(g *dependency.Graph) ([]factor, error) {
	if len(g.Variables) == 0 {
		return nil, errors.New("credal: a graph without variables")
	}
	if len(g.Variables) > maxVariables {
		return nil, fmt.Errorf("credal: too many variables: %d, at most %d", len(g.Variables), maxVariables)
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
		if err := checkVariable(v); err != nil {
			return nil, err
		}
	}
	var (
		factors = make([]factor, 0, len(g.Factors)+len(g.Variables))
		known   uint64 // variables that have a prior of their own
		of      uint64
	)
	for i := range g.Factors {
		f, err := checkFactor(g, i, index)
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

func checkVariable(v *dependency.Variable) error {
	if v.States < 1 {
		return fmt.Errorf("credal: variable %q has no states", v.Name)
	}
	if v.States > maxStates {
		return fmt.Errorf("credal: variable %q has %d states, at most %d", v.Name, v.States, maxStates)
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

// checkFactor checks the i-th factor of g.
func checkFactor(g *dependency.Graph, i int, index map[string]int) (factor, error) {
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
		if size *= g.Variables[v].States; size > maxStates {
			return fail("more than %d states", maxStates)
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
	f.low, f.high = make([]float64, size), make([]float64, size)
	for e, o := range project(f.vars, order, g.Variables) {
		f.low[e], f.high[e] = in.Low[o], high[o]
	}
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

// zeroRow finds a state of a variable that the factor makes impossible.
func (f *factor) zeroRow(vars []dependency.Variable) (v, s int, zero bool) {
	for _, v := range f.vars {
		seen := make([]bool, vars[v].States)
		for e, s := range project(f.vars, []int{v}, vars) {
			seen[s] = seen[s] || f.high[e] > 0
		}
		if s := slices.Index(seen, false); s >= 0 {
			return v, s, true
		}
	}
	return 0, 0, false
}

// sumSlack is how far the sum of a declared row of probabilities may be from one:
// authors write decimal fractions. The row is widened by the difference, so that
// the row scaled to one lies within it.
const sumSlack = 1e-9

// reach narrows the intervals of a conditional table to what rows that sum to one
// can reach, and returns a row that can't sum to one.
func (f *factor) reach(vars []dependency.Variable) (row int, ok bool) {
	stride, n := strides(f.vars, vars)[slices.Index(f.vars, f.of)], vars[f.of].States
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
func uniform(v *dependency.Variable, i int) factor {
	f := factor{vars: []int{i}, scope: 1 << i, of: i, low: make([]float64, v.States), high: make([]float64, v.States)}
	sum := 0.0
	for s := range v.States {
		sum += weight(v, s)
	}
	g := gamma(v.States)
	for s := range f.low {
		f.low[s] = weight(v, s) / sum * (1 - g)
		f.high[s] = weight(v, s) / sum * (1 + g)
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
func strides(of []int, vars []dependency.Variable) []int {
	s := make([]int, len(of))
	n := 1
	for k := len(of) - 1; k >= 0; k-- {
		s[k] = n
		n *= vars[of[k]].States
	}
	return s
}

// next counts states on by one.
func next(states, of []int, vars []dependency.Variable) {
	for k := len(states) - 1; k >= 0; k-- {
		if states[k]++; states[k] < vars[of[k]].States {
			return
		}
		states[k] = 0
	}
}
