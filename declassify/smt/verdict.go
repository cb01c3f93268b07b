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
	// Atoms at fault, in order: those that the clause speaks of, without those
	// in parts of it that hold.
	Atoms []Atom
}

// Failed makes the Verdict that a solver reports by the failing clauses'
// indices. Which atoms are at fault is found by the native pass; of a clause
// that holds in its eyes, every atom is. An index that is none makes an error.
func (p *Problem) Failed(clauses ...int) (Verdict, error) {
	if len(clauses) == 0 {
		return Verdict{OK: true}, nil
	}
	if err := p.Ground(); err != nil {
		return Verdict{}, err
	}
	val := make([]int64, len(p.nodes))
	if !p.fast(val) {
		if err := p.exact(val, p.fact); err != nil {
			return Verdict{}, err
		}
	}
	var v Verdict
	for _, i := range slices.Compact(slices.Sorted(slices.Values(clauses))) {
		if i < 0 || i >= len(p.clauses) {
			return Verdict{}, fmt.Errorf("%w: there is no clause %d", ErrAnswer, i)
		}
		c := &p.clauses[i]
		f := Failure{Clause: i, Name: c.name}
		if val[c.node] == 0 {
			f.Atoms = p.blame(val, c.node)
		} else {
			f.Atoms = p.mentioned(c.node)
		}
		v.Failures = append(v.Failures, f)
	}
	return v, nil
}

// Validator decides whether all clauses of a ground problem hold. An error
// means that it is not known, and callers refuse. Implementations are safe for
// concurrent use.
type Validator interface {
	Validate(ctx context.Context, p *Problem) (Verdict, error)
}

// ErrDisagree says that two validators came to different verdicts, or that a
// solver's model does not bear out its answer: a defect in one of them.
// Callers refuse.
var ErrDisagree = errors.New("validators disagree")

// Both asks two validators and errs with ErrDisagree unless they name the same
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
