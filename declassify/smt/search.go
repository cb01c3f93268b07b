package smt

import (
	"context"
	"errors"
	"fmt"
)

// Answer to a search.
type Answer struct {
	// Satisfiable says that the free functions can be chosen so that all
	// clauses and assumptions hold; Model is such a choice, and has been
	// checked.
	Satisfiable bool
	Model       Model
	// Core is, if not, the indices of clauses that can't hold together under
	// the assumptions, in order. It need not be the smallest.
	Core []int
}

// Solver searches for values of free functions under which all clauses hold,
// and the formulas that it is asked to assume. An error means that it is not
// known whether there are any. Implementations are safe for concurrent use.
type Solver interface {
	Satisfiable(ctx context.Context, p *Problem, assume ...Formula) (Answer, error)
}

// ErrUnknown says that a solver gave up.
var ErrUnknown = errors.New("the solver does not know")

// Model gives free functions of members values.
type Model map[place]int

// place is a function applied to an atom.
type place struct {
	f EnumFunc
	a Atom
}

// Enum is the index of a free function's value. It is false where the function
// has a fact, or does not occur, so that it may have any value.
func (m Model) Enum(f EnumFunc, a Atom) (int, bool) {
	v, ok := m[place{f, a}]
	return v, ok
}

// assumable reports, as an error, what keeps formulas from being assumed.
func (p *Problem) assumable(fs []Formula) error {
	size := p.size
	for _, f := range fs {
		if f < 1 || int(f) >= len(p.nodes) || p.nodes[f].sort != sortBool {
			return fmt.Errorf("%w: an assumption is not a formula of the problem", ErrProblem)
		}
		if size += int(p.nodes[f].size); size > MaxSize {
			return fmt.Errorf("%w: the assumptions have more than %d terms", ErrProblem, MaxSize)
		}
	}
	return nil
}

// satisfied reports, as an error, a clause or an assumption that fails under
// the values of a model.
func (p *Problem) satisfied(v *values, assume []Formula) error {
	p.evaluate(v)
	for i, c := range p.clauses {
		if v.of[c.node] != 1 {
			return fmt.Errorf("%w: clause %d, %q, fails under the model", ErrDisagree, i, c.name)
		}
	}
	for i, f := range assume {
		if v.of[f] != 1 {
			return fmt.Errorf("%w: assumption %d fails under the model", ErrDisagree, i)
		}
	}
	return nil
}
