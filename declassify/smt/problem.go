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
var ErrProblem = errors.New("not a problem that can be decided")

// Atom is an atom of the evidence, from 0.
type Atom int32

// Global stands in an atom's place for functions of nothing.
const Global Atom = -1

type (
	// Enum is an enumeration. Like the handles below it belongs to the problem
	// that gave it out, until its Reset; the zero value of each is none.
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
// one sticks: later calls do nothing, and Err, and whoever is asked to decide
// the problem, reports it.
//
// A Problem may be read by many at once, but not while it is changed.
type Problem struct {
	err     error
	enums   []enum
	funcs   []function
	atoms   int
	nodes   []node // of which the first is none
	kids    []int32
	apps    []int32 // the nodes that apply a function, each application once
	clauses []clause
	size    int
}

type enum struct {
	name   string
	values []string
}

// function is a function of an atom, or of nothing. Its tables have a place
// for each atom, or a single one.
type function struct {
	name   string
	enum   int32 // 0: its values are numbers
	global bool
	facts  []int64 // free where nothing is known
	app    []int32 // the node that applies it, 0 if there is none
}

type clause struct {
	name string
	node int32
}

// free marks, among facts, what has no value.
const free = math.MinInt64

// Reset empties the problem and keeps its memory.
func (p *Problem) Reset() {
	*p = Problem{
		enums: p.enums[:0], funcs: p.funcs[:0], nodes: p.nodes[:0], kids: p.kids[:0],
		apps: p.apps[:0], clauses: p.clauses[:0],
	}
}

// Err is the first mistake made in building the problem.
func (p *Problem) Err() error { return p.err }

// fail notes the first mistake.
func (p *Problem) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %w", ErrProblem, fmt.Errorf(format, args...))
	}
}

// named checks a name's length and says whether to go on.
func (p *Problem) named(name string) bool {
	if p.err == nil && len(name) > MaxName {
		p.fail("a name of %d bytes", len(name))
	}
	return p.err == nil
}

// Enum adds an enumeration; its values are known by their index as well. It
// keeps the slice.
func (p *Problem) Enum(name string, values ...string) Enum {
	if !p.named(name) {
		return 0
	}
	if len(p.enums) == MaxEnums {
		p.fail("more than %d enumerations", MaxEnums)
		return 0
	}
	if len(values) == 0 || len(values) > MaxValues {
		p.fail("enumeration %q has %d values", name, len(values))
		return 0
	}
	for i := range p.enums {
		if p.enums[i].name == name {
			p.fail("enumeration %q comes twice", name)
			return 0
		}
	}
	for i, v := range values {
		if !p.named(v) {
			return 0
		}
		if slices.Contains(values[:i], v) {
			p.fail("enumeration %q has %q twice", name, v)
			return 0
		}
	}
	p.enums = append(p.enums, enum{name: name, values: values})
	return Enum(len(p.enums))
}

// Atoms says how many atoms there are. It may be called again, with more.
func (p *Problem) Atoms(n int) {
	switch {
	case p.err != nil:
	case n < p.atoms || n > MaxAtoms:
		p.fail("%d atoms", n)
	default:
		p.atoms = n
		for i := range p.funcs {
			p.funcs[i].grow(n)
		}
	}
}

// EnumFunc adds a function from atoms to members of an enumeration.
func (p *Problem) EnumFunc(name string, e Enum) EnumFunc {
	return EnumFunc(p.function(name, int32(e), false, true))
}

// EnumVar adds a function of nothing, whose value is a member of an
// enumeration.
func (p *Problem) EnumVar(name string, e Enum) EnumFunc {
	return EnumFunc(p.function(name, int32(e), true, true))
}

// RealFunc adds a function from atoms to numbers.
func (p *Problem) RealFunc(name string) RealFunc {
	return RealFunc(p.function(name, 0, false, false))
}

// RealVar adds a function of nothing, whose value is a number.
func (p *Problem) RealVar(name string) RealFunc { return RealFunc(p.function(name, 0, true, false)) }

func (p *Problem) function(name string, e int32, global, enumerated bool) int32 {
	if !p.named(name) {
		return 0
	}
	if len(p.funcs) == MaxFunctions {
		p.fail("more than %d functions", MaxFunctions)
		return 0
	}
	if enumerated && (e < 1 || int(e) > len(p.enums)) {
		p.fail("function %q has values of no enumeration", name)
		return 0
	}
	for i := range p.funcs {
		if p.funcs[i].name == name {
			p.fail("function %q comes twice", name)
			return 0
		}
	}
	f := function{name: name, enum: e, global: global}
	if n := len(p.funcs); n < cap(p.funcs) { // the tables of before a Reset
		old := &p.funcs[:n+1][n]
		f.facts, f.app = old.facts[:0], old.app[:0]
	}
	f.grow(p.atoms)
	p.funcs = append(p.funcs, f)
	return int32(len(p.funcs))
}

func (f *function) grow(atoms int) {
	if f.global {
		atoms = 1
	}
	for len(f.facts) < atoms {
		f.facts = append(f.facts, free)
		f.app = append(f.app, 0)
	}
}

// place finds a function's place for an atom, or for Global.
func (p *Problem) place(f int32, a Atom, enumerated bool) (*function, int, bool) {
	if p.err != nil {
		return nil, 0, false
	}
	if f < 1 || int(f) > len(p.funcs) || (p.funcs[f-1].enum != 0) != enumerated {
		p.fail("there is no such function")
		return nil, 0, false
	}
	fn := &p.funcs[f-1]
	switch {
	case fn.global && a == Global:
		return fn, 0, true
	case fn.global || a < 0 || int(a) >= p.atoms:
		p.fail("function %q of atom %d, of %d", fn.name, a, p.atoms)
		return nil, 0, false
	}
	return fn, int(a), true
}

// SetEnum says what a function's value is, by its index. Said again, the last
// counts.
func (p *Problem) SetEnum(f EnumFunc, a Atom, value int) {
	fn, i, ok := p.place(int32(f), a, true)
	if !ok {
		return
	}
	if n := len(p.enums[fn.enum-1].values); value < 0 || value >= n {
		p.fail("function %q has value %d, of %d", fn.name, value, n)
		return
	}
	fn.facts[i] = int64(value)
}

// SetReal says what a function's value is, in the caller's unit. Said again,
// the last counts. The least int64 is refused.
func (p *Problem) SetReal(f RealFunc, a Atom, value int64) {
	fn, i, ok := p.place(int32(f), a, false)
	if !ok {
		return
	}
	if value == free {
		p.fail("function %q has a value out of range", fn.name)
		return
	}
	fn.facts[i] = value
}

// FreeEnum takes a fact back.
func (p *Problem) FreeEnum(f EnumFunc, a Atom) {
	if fn, i, ok := p.place(int32(f), a, true); ok {
		fn.facts[i] = free
	}
}

// FreeReal takes a fact back.
func (p *Problem) FreeReal(f RealFunc, a Atom) {
	if fn, i, ok := p.place(int32(f), a, false); ok {
		fn.facts[i] = free
	}
}

// Clause adds a clause and returns its index. Names are for people; several
// clauses may share one.
func (p *Problem) Clause(name string, f Formula) int {
	if !p.named(name) {
		return -1
	}
	if !p.sorted(int32(f), sortBool, 0) {
		return -1
	}
	if len(p.clauses) == MaxClauses {
		p.fail("more than %d clauses", MaxClauses)
		return -1
	}
	if p.size += int(p.nodes[f].size); p.size > MaxSize {
		p.fail("the clauses have more than %d terms", MaxSize)
		return -1
	}
	p.clauses = append(p.clauses, clause{name: name, node: int32(f)})
	return len(p.clauses) - 1
}

// Clauses is the number of clauses.
func (p *Problem) Clauses() int { return len(p.clauses) }

// ClauseName is the name of a clause, by its index; empty if there is none.
func (p *Problem) ClauseName(i int) string {
	if i < 0 || i >= len(p.clauses) {
		return ""
	}
	return p.clauses[i].name
}

// Ground says, by an error, what keeps the problem from being decided without
// a search: it is malformed, or a function that occurs has no value.
func (p *Problem) Ground() error {
	if p.err != nil {
		return p.err
	}
	for _, i := range p.apps {
		n := &p.nodes[i]
		if f := &p.funcs[n.a-1]; f.facts[n.b] == free {
			if f.global {
				return fmt.Errorf("%w: %q has no value", ErrProblem, f.name)
			}
			return fmt.Errorf("%w: %q of atom %d has no value", ErrProblem, f.name, n.b)
		}
	}
	return nil
}
