package smt

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Verdict is what validation found. The zero Verdict does not pass.
type Verdict struct {
	OK       bool
	Failures []Failure // in order of clauses; empty if and only if OK
}

// Failure is a clause that does not hold.
type Failure struct {
	Clause int    // its index
	Name   string // as the clause was named
	// Atoms at fault, in order: the atoms of the clause, without those in
	// parts of it that hold.
	Atoms []Atom
}

// verdict names the clauses that fail, by their indices, ascending.
func (p *Problem) verdict(v *values, failing []int) Verdict {
	out := Verdict{OK: len(failing) == 0}
	for _, i := range failing {
		c := &p.clauses[i]
		out.Failures = append(out.Failures, Failure{Clause: i, Name: c.name, Atoms: p.blame(v.of, c.node)})
	}
	return out
}

// Failed makes the Verdict of a solver from the indices of the failing clauses.
// The native pass finds the atoms at fault. An unknown index is an error.
func (p *Problem) Failed(clauses ...int) (Verdict, error) {
	if err := p.Ground(); err != nil {
		return Verdict{}, err
	}
	clauses = slices.Compact(slices.Sorted(slices.Values(clauses)))
	if n := len(clauses); n > 0 && (clauses[0] < 0 || clauses[n-1] >= len(p.clauses)) {
		return Verdict{}, fmt.Errorf("%w: clauses %d to %d fail, of %d", ErrAnswer, clauses[0], clauses[n-1], len(p.clauses))
	}
	var v values
	v.reset(len(p.nodes))
	p.evaluate(&v)
	return p.verdict(&v, clauses), nil
}

// Validator decides whether all clauses of a ground problem hold. An error
// means that the answer is not known, and callers refuse. Implementations are
// safe for concurrent use.
type Validator interface {
	Validate(ctx context.Context, p *Problem) (Verdict, error)
}

// ErrDisagree says that two validators came to different verdicts, or that a
// solver's model contradicts its answer: a defect in one of them. Callers
// refuse.
var ErrDisagree = errors.New("validators disagree")

// Both asks two validators and returns ErrDisagree unless they name the same
// clauses. The verdict is the first one's.
type Both struct{ First, Second Validator }

var _ Validator = Both{}

// Validate asks both, one after the other.
func (b Both) Validate(ctx context.Context, p *Problem) (Verdict, error) {
	v, err := b.First.Validate(ctx, p)
	if err != nil {
		return Verdict{}, err
	}
	w, err := b.Second.Validate(ctx, p)
	if err != nil {
		return Verdict{}, err
	}
	same := v.OK == w.OK && slices.EqualFunc(v.Failures, w.Failures, func(x, y Failure) bool { return x.Clause == y.Clause })
	if !same {
		return Verdict{}, fmt.Errorf("%w: %s, and %s", ErrDisagree, v, w)
	}
	return v, nil
}

// String names the first failing clause.
func (v Verdict) String() string {
	switch {
	case v.OK:
		return "every clause holds"
	case len(v.Failures) == 0:
		return "no verdict"
	}
	f := &v.Failures[0]
	return fmt.Sprintf("%d clauses fail, the first being %d, %q", len(v.Failures), f.Clause, f.Name)
}
