package smt

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Limits of a problem. What exceeds one is an ErrProblem.
const (
	MaxAtoms     = 10_000
	MaxEnums     = 64
	MaxValues    = 1_024 // of one enumeration
	MaxFunctions = 64
	MaxClauses   = 1 << 16
	MaxTerms     = 1 << 20
	MaxSize      = 1 << 22 // terms of all clauses together, each counted as often as it is used
	MaxDepth     = 64      // of a term
	MaxName      = 1_024   // bytes
)

// ErrProblem says that a problem is malformed or beyond a limit; for
// Validate, also that it is not ground. Callers refuse.
var ErrProblem = errors.New("the problem can't be decided")

// Atom is an atom of the evidence, from 0.
type Atom int32

type (
	// Enum is an enumeration. Like the handles below it belongs to the problem
	// that returned it, until its Reset; no handle is zero.
	Enum int32
	// EnumFunc is a function whose values are members of an enumeration.
	EnumFunc int32
	// RealFunc is a function whose values are numbers.
	RealFunc int32
	// Formula is a term that is true or false.
	Formula int32
	// Term is a term whose value is a member of an enumeration.
	Term int32
	// Number is a term whose value is a number.
	Number int32
)

// Problem is a set of clauses over the facts of one release, or over free
// functions. The zero Problem is empty. The first mistake made in building
// one sticks: later calls do nothing, and whoever decides the problem returns
// it as an error.
//
// A Problem may be read concurrently, but not while it is changed.
type Problem struct {
	err     error
	enums   []enum
	funcs   []function
	atoms   int
	nodes   []node // the first is unused
	kids    []int32
	apps    []int32 // the nodes that apply a function, each application once
	clauses []clause
	size    int
}

type enum struct {
	name   string
	values []string
}

// function is a function of an atom.
type function struct {
	name  string
	enum  int32   // 0: its values are numbers
	facts []int64 // by atom; free where nothing is known
	app   []int32 // by atom: the node that applies it, 0 for none
}

type clause struct {
	name string
	node int32
}

// free marks, among facts, an unknown value.
const free = math.MinInt64

// Reset empties the problem and keeps its memory.
func (p *Problem) Reset() {
	*p = Problem{
		enums: p.enums[:0], funcs: p.funcs[:0], nodes: p.nodes[:0], kids: p.kids[:0],
		apps: p.apps[:0], clauses: p.clauses[:0],
	}
}

// fail notes the first mistake. It returns the zero handle.
func (p *Problem) fail(format string, args ...any) int32 {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %w", ErrProblem, fmt.Errorf(format, args...))
	}
	return 0
}

// named checks a name's length and reports whether to go on.
func (p *Problem) named(name string) bool {
	if p.err == nil && len(name) > MaxName {
		p.fail("a name has %d bytes, more than %d", len(name), MaxName)
	}
	return p.err == nil
}

// Enum adds an enumeration. Its values are also known by their index. It
// keeps the slice.
func (p *Problem) Enum(name string, values ...string) Enum {
	if !p.named(name) {
		return 0
	}
	if len(p.enums) == MaxEnums {
		return Enum(p.fail("more than %d enumerations", MaxEnums))
	}
	if len(values) == 0 || len(values) > MaxValues {
		return Enum(p.fail("enumeration %q has %d values, not 1 to %d", name, len(values), MaxValues))
	}
	if slices.ContainsFunc(p.enums, func(e enum) bool { return e.name == name }) {
		return Enum(p.fail("enumeration %q appears twice", name))
	}
	for i, v := range values {
		if !p.named(v) {
			return 0
		}
		if slices.Contains(values[:i], v) {
			return Enum(p.fail("enumeration %q has %q twice", name, v))
		}
	}
	p.enums = append(p.enums, enum{name: name, values: values})
	return Enum(len(p.enums))
}

// Atoms sets the number of atoms. It may be called again with more.
func (p *Problem) Atoms(n int) {
	switch {
	case p.err != nil:
	case n < p.atoms || n > MaxAtoms:
		p.fail("%d atoms, not %d to %d", n, p.atoms, MaxAtoms)
	default:
		p.atoms = n
		for i := range p.funcs {
			p.funcs[i].grow(n)
		}
	}
}

// EnumFunc adds a function from atoms to members of an enumeration.
func (p *Problem) EnumFunc(name string, e Enum) EnumFunc {
	if p.err == nil && (e < 1 || int(e) > len(p.enums)) {
		return EnumFunc(p.fail("function %q: unknown enumeration %d", name, e))
	}
	return EnumFunc(p.function(name, int32(e)))
}

// RealFunc adds a function from atoms to numbers.
func (p *Problem) RealFunc(name string) RealFunc { return RealFunc(p.function(name, 0)) }

func (p *Problem) function(name string, e int32) int32 {
	if !p.named(name) {
		return 0
	}
	if len(p.funcs) == MaxFunctions {
		return p.fail("more than %d functions", MaxFunctions)
	}
	if slices.ContainsFunc(p.funcs, func(f function) bool { return f.name == name }) {
		return p.fail("function %q appears twice", name)
	}
	f := function{name: name, enum: e}
	if n := len(p.funcs); n < cap(p.funcs) { // the tables of before a Reset
		old := &p.funcs[:n+1][n]
		f.facts, f.app = old.facts[:0], old.app[:0]
	}
	f.grow(p.atoms)
	p.funcs = append(p.funcs, f)
	return int32(len(p.funcs))
}

func (f *function) grow(atoms int) {
	for len(f.facts) < atoms {
		f.facts = append(f.facts, free)
		f.app = append(f.app, 0)
	}
}

// at returns a function of members or of numbers that is applied to an atom;
// nil after a mistake.
func (p *Problem) at(f int32, a Atom, members bool) *function {
	switch {
	case p.err != nil:
	case f < 1 || int(f) > len(p.funcs) || (p.funcs[f-1].enum != 0) != members:
		p.fail("unknown function")
	case a < 0 || int(a) >= p.atoms:
		p.fail("function %q of atom %d, of %d", p.funcs[f-1].name, a, p.atoms)
	default:
		return &p.funcs[f-1]
	}
	return nil
}

// SetEnum sets a function's value, by its index. A later call replaces it.
func (p *Problem) SetEnum(f EnumFunc, a Atom, value int) {
	fn := p.at(int32(f), a, true)
	if fn == nil {
		return
	}
	if n := len(p.enums[fn.enum-1].values); value < 0 || value >= n {
		p.fail("function %q has value %d, of %d", fn.name, value, n)
		return
	}
	fn.facts[a] = int64(value)
}

// SetReal sets a function's value, in the caller's unit. A later call replaces
// it. The least int64 is refused.
func (p *Problem) SetReal(f RealFunc, a Atom, value int64) {
	fn := p.at(int32(f), a, false)
	if fn == nil {
		return
	}
	if value == free {
		p.fail("function %q has a value out of range", fn.name)
		return
	}
	fn.facts[a] = value
}

// Clause adds a clause. Names are for people; several clauses may share one.
func (p *Problem) Clause(name string, f Formula) {
	if !p.named(name) || !p.sorted(int32(f), sortBool) {
		return
	}
	if len(p.clauses) == MaxClauses {
		p.fail("more than %d clauses", MaxClauses)
		return
	}
	if p.size += int(p.nodes[f].size); p.size > MaxSize {
		p.fail("the clauses have more than %d terms", MaxSize)
		return
	}
	p.clauses = append(p.clauses, clause{name: name, node: int32(f)})
}

// Clauses is the number of clauses.
func (p *Problem) Clauses() int { return len(p.clauses) }

// ClauseName is the name of a clause, by its index.
func (p *Problem) ClauseName(i int) string { return p.clauses[i].name }

// unknown returns the nodes that apply a function where it has no value.
func (p *Problem) unknown() []int32 {
	var out []int32
	for _, i := range p.apps {
		if n := &p.nodes[i]; p.funcs[n.a-1].facts[n.b] == free {
			out = append(out, i)
		}
	}
	return out
}

// Ground returns, as an error, what keeps the problem from being decided
// without a search: it is malformed, or a function that occurs has no value.
func (p *Problem) Ground() error {
	if p.err != nil {
		return p.err
	}
	if nodes := p.unknown(); len(nodes) > 0 {
		n := &p.nodes[nodes[0]]
		return fmt.Errorf("%w: %q of atom %d has no value", ErrProblem, p.funcs[n.a-1].name, n.b)
	}
	return nil
}
