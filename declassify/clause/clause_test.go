package clause_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/rubric"
)

// atoms are a labelled one, and one of unknown field, for which all holds.
func atoms() []clause.Atom {
	return []clause.Atom{
		{Field: "dob", Necessity: rubric.Useful, Op: rubric.Generalize, Cost: 10, Least: 10, Label: 3, Claimed: "useful"},
		{Field: clause.Unknown, Op: rubric.Redact, Cost: 1, Label: -1},
	}
}

func TestEachClause(t *testing.T) {
	said := func(c evidence.Challenge, yes bool) []clause.Answer { return []clause.Answer{{Challenge: c, Yes: yes}} }
	for name, c := range map[string]struct {
		spoil   func(a []clause.Atom)
		answers []clause.Answer
		want    []clause.Failure
	}{
		"all holds":           {func([]clause.Atom) {}, nil, nil},
		"no field":            {func(a []clause.Atom) { a[0].Field = "star-sign" }, nil, []clause.Failure{{clause.Coverage, 0}}},
		"unknown and shown":   {func(a []clause.Atom) { a[1].Op = rubric.Substitute }, nil, []clause.Failure{{clause.Unlabelled, 1}}},
		"unknown and dropped": {func(a []clause.Atom) { a[1].Op = rubric.Drop }, nil, nil},
		"another necessity":   {func(a []clause.Atom) { a[0].Claimed = "required" }, nil, []clause.Failure{{clause.Necessity, 0}}},
		"no necessity":        {func(a []clause.Atom) { a[0].Claimed = "vital" }, nil, []clause.Failure{{clause.Necessity, 0}}},
		"no label":            {func(a []clause.Atom) { a[0].Label, a[0].Claimed = -1, "required" }, nil, nil},
		"unnecessary, as it is": {func(a []clause.Atom) {
			a[0].Necessity, a[0].Claimed, a[0].Op = rubric.Unnecessary, "unnecessary", rubric.Identity
		}, nil, []clause.Failure{{clause.Unnecessary, 0}}},
		"unnecessary, coarsened": {func(a []clause.Atom) { a[0].Necessity, a[0].Claimed = rubric.Unnecessary, "unnecessary" }, nil, nil},
		"too cheap":              {func(a []clause.Atom) { a[0].Cost-- }, nil, []clause.Failure{{clause.Operator, 0}}},
		"lost":                   {func(a []clause.Atom) { a[1].Lost = true }, nil, []clause.Failure{{clause.Utility, 1}}},
		"the field, yes":         {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 3, Field: "dob"}, true), nil},
		"the field, no":          {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 3, Field: "dob"}, false), []clause.Failure{{clause.Challenge, 0}}},
		"another field, yes":     {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 3, Field: "legal-name"}, true), []clause.Failure{{clause.Challenge, 0}}},
		"another field, no":      {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 3, Field: "legal-name"}, false), nil},
		"the necessity, no":      {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 3, Necessity: "useful"}, false), []clause.Failure{{clause.Challenge, 0}}},
		"the necessity, yes":     {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 3, Necessity: "useful"}, true), nil},
		"of no atom":             {func([]clause.Atom) {}, said(evidence.Challenge{Atom: 4, Field: "legal-name"}, true), nil},
		"two":                    {func(a []clause.Atom) { a[0].Cost, a[1].Lost = 0, true }, nil, []clause.Failure{{clause.Operator, 0}, {clause.Utility, 1}}},
	} {
		p := clause.Prover{By: &smt.Native{}}
		for range 2 { // the second time in the memory of the first
			a := atoms()
			c.spoil(a)
			got, err := p.Prove(context.Background(), []string{"dob", "legal-name"}, a, c.answers)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Validate(context.Context, *smt.Problem) (smt.Verdict, error) {
	return smt.Verdict{OK: true}, errBroken
}

// What can't be decided is not taken to hold.
func TestUndecided(t *testing.T) {
	p := clause.Prover{By: broken{}}
	if _, err := p.Prove(context.Background(), nil, nil, nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	native := clause.Prover{By: &smt.Native{}}
	if _, err := native.Prove(context.Background(), nil, make([]clause.Atom, smt.MaxAtoms+1), nil); !errors.Is(err, smt.ErrProblem) {
		t.Error(err)
	}
	if got, err := native.Prove(context.Background(), nil, nil, nil); err != nil || got != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
}
