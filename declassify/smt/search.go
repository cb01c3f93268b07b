package smt

import (
	"context"
	"errors"
	"fmt"
	"math/big"
)

// Query says what is asked besides the clauses.
type Query struct {
	Assume []Formula // are true
	Refute []Formula // are false
	Omit   []int     // clauses that are left out
}

// Answer to a Query.
type Answer struct {
	// Satisfiable says that the free functions can be chosen so that all that
	// is asked holds; Model is such a choice, and has been checked.
	Satisfiable bool
	Model       *Model
	// Core is, if not, what can't hold together: indices of clauses and of the
	// query's formulas, in order. It need not be the least. It is empty where
	// the facts alone can't be, which no problem's can.
	Core Core
}

// Core names clauses, and formulas of a query.
type Core struct{ Clauses, Assume, Refute []int }

// Solver searches for values of free functions. An error means that it is not
// known whether there are any. Implementations are safe for concurrent use.
type Solver interface {
	Satisfiable(ctx context.Context, p *Problem, q Query) (Answer, error)
}

// ErrUnknown says that a solver gave up.
var ErrUnknown = errors.New("the solver does not know")

// check looks at a query, and at the problem.
func (p *Problem) check(q Query) error {
	if p.err != nil {
		return p.err
	}
	size := p.size
	for _, fs := range [][]Formula{q.Assume, q.Refute} {
		for _, f := range fs {
			if f < 1 || int(f) >= len(p.nodes) || p.nodes[f].sort != sortBool {
				return fmt.Errorf("%w: the query has no such formula", ErrProblem)
			}
			if size += int(p.nodes[f].size); size > MaxSize {
				return fmt.Errorf("%w: the query has more than %d terms", ErrProblem, MaxSize)
			}
		}
	}
	for _, i := range q.Omit {
		if i < 0 || i >= len(p.clauses) {
			return fmt.Errorf("%w: the query omits clause %d, of %d", ErrProblem, i, len(p.clauses))
		}
	}
	return nil
}

// Model gives free functions values.
type Model struct {
	enums map[place]int
	reals map[place]*big.Rat
}

type place struct {
	f int32
	a Atom
}

// Enum is the index of a free function's value; false where the function has a
// fact, or does not occur, so that any value does.
func (m *Model) Enum(f EnumFunc, a Atom) (int, bool) {
	v, ok := m.enums[place{int32(f), a}]
	return v, ok
}

// Real is a free function's value; see Enum.
func (m *Model) Real(f RealFunc, a Atom) (*big.Rat, bool) {
	v, ok := m.reals[place{int32(f), a}]
	if !ok {
		return nil, false
	}
	return new(big.Rat).Set(v), true
}

// at finds the place that a node applies a function at.
func (p *Problem) at(n *node) place {
	if p.funcs[n.a-1].global {
		return place{n.a, Global}
	}
	return place{n.a, Atom(n.b)}
}

// bears says by an error if a model is none of the problem and the query.
func (p *Problem) bears(q Query, m *Model) error {
	val := make([]int64, len(p.nodes))
	err := p.exact(val, func(n *node) (int64, *big.Rat, bool) {
		if v, r, ok := p.fact(n); ok {
			return v, r, true
		}
		if n.op == opApply {
			v, ok := m.enums[p.at(n)]
			return int64(v), nil, ok
		}
		r, ok := m.reals[p.at(n)]
		return 0, r, ok
	})
	if err != nil {
		return err
	}
	out := make(map[int]bool, len(q.Omit))
	for _, i := range q.Omit {
		out[i] = true
	}
	for i := range p.clauses {
		if val[p.clauses[i].node] != 1 && !out[i] {
			return fmt.Errorf("%w: a model under which clause %d, %q, fails", ErrDisagree, i, p.clauses[i].name)
		}
	}
	for _, f := range q.Assume {
		if val[f] != 1 {
			return fmt.Errorf("%w: a model under which an assumption fails", ErrDisagree)
		}
	}
	for _, f := range q.Refute {
		if val[f] != 0 {
			return fmt.Errorf("%w: a model under which what is refuted holds", ErrDisagree)
		}
	}
	return nil
}

// Dead finds the clauses, by index, that can't fail while all others hold, so
// that they say nothing. Of two that say the same, both are found; where
// clauses contradict each other, so are all that are not needed for that.
func Dead(ctx context.Context, s Solver, p *Problem) ([]int, error) {
	var dead []int
	for i := range p.clauses {
		a, err := s.Satisfiable(ctx, p, Query{Omit: []int{i}, Refute: []Formula{Formula(p.clauses[i].node)}})
		if err != nil {
			return nil, fmt.Errorf("clause %d, %q: %w", i, p.clauses[i].name, err)
		}
		if !a.Satisfiable {
			dead = append(dead, i)
		}
	}
	return dead, nil
}

// Case is a combination that must be possible, such as of required fields.
type Case struct {
	Name   string
	Assume []Formula
}

// Inadmissible is a case that the clauses rule out.
type Inadmissible struct {
	Case int // its index
	Core Core
}

// Admissible finds the cases for which the free functions can't be chosen so
// that all clauses hold.
func Admissible(ctx context.Context, s Solver, p *Problem, cases []Case) ([]Inadmissible, error) {
	var bad []Inadmissible
	for i, c := range cases {
		a, err := s.Satisfiable(ctx, p, Query{Assume: c.Assume})
		if err != nil {
			return nil, fmt.Errorf("case %q: %w", c.Name, err)
		}
		if !a.Satisfiable {
			bad = append(bad, Inadmissible{Case: i, Core: a.Core})
		}
	}
	return bad, nil
}

// Counterexample looks for a way that all clauses hold and a goal does not. It
// is nil if there is none: the clauses imply the goal.
func Counterexample(ctx context.Context, s Solver, p *Problem, goal Formula) (*Model, error) {
	a, err := s.Satisfiable(ctx, p, Query{Refute: []Formula{goal}})
	if err != nil {
		return nil, err
	}
	if a.Satisfiable && a.Model == nil {
		return nil, fmt.Errorf("%w: satisfiable, without a model", ErrAnswer)
	}
	return a.Model, nil
}
