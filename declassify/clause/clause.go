// Package clause states the rubrics' conditions on a release as clauses over its
// atoms, and decides them: coverage, necessity, unnecessary disclosure,
// operators, utility, and the defender's second pass.
package clause

import (
	"context"
	"slices"
	"sync"

	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// Unknown is the field of an atom without a believed label.
const Unknown = "unknown"

// Names of clauses.
const (
	Unlabelled  = "unlabelled"         // an atom of unknown field is redacted or dropped
	Coverage    = "coverage"           // whatever a predicate matches or a schema types has a field
	Necessity   = "necessity"          // a label's necessity is that of the rubrics
	Unnecessary = "unnecessary"        // an unnecessary value is not shown unchanged
	Operator    = "operator"           // an atom is charged no less than its operator on its field costs
	Utility     = "utility"            // the fields that the sink needs survive
	Challenge   = "challenge-conflict" // the second pass agrees with the first
)

// Atom is the subject of clauses.
type Atom struct {
	Field     string
	Necessity rubric.Necessity // by the rubrics
	Op        rubric.OpKind
	Cost      flow.Bits // its charge
	Least     flow.Bits // the least cost of the operator on the field
	Label     int       // of the evidence; -1: none
	Claimed   string    // the necessity in the label
	// Lost: the sink needs it, and it does not survive.
	Lost bool
}

// Answer is the second pass's answer to one challenge.
type Answer struct {
	evidence.Challenge
	Yes bool
}

// Failure is a clause that does not hold.
type Failure struct {
	Clause string
	Atom   int // -1: none
}

// Prover decides clauses. It is safe for concurrent use.
type Prover struct {
	By smt.Validator

	pool sync.Pool // *smt.Problem
}

// Members of the enumerations of necessities and operators, by index.
var (
	necessities = []string{"unnecessary", "useful", "required"}
	operators   = []string{"drop", "redact", "substitute", "generalize", "identity"}
)

// problem is the clauses of one release.
type problem struct {
	*smt.Problem
	fields           []string
	field            smt.EnumFunc
	nec, claimed, op smt.EnumFunc
	cost, least      smt.RealFunc
	about            []Failure // the name and atom of each clause
}

// Prove returns the clauses that do not hold. The fields are those of the
// rubrics, sorted. An error means that the answer is not known.
func (p *Prover) Prove(ctx context.Context, fields []string, atoms []Atom, answers []Answer) ([]Failure, error) {
	s, _ := p.pool.Get().(*smt.Problem)
	if s == nil {
		s = &smt.Problem{}
	}
	defer p.pool.Put(s)
	s.Reset()
	q := problem{Problem: s, fields: fields, about: make([]Failure, 0, 4*len(atoms)+8)}
	q.declare(len(atoms))
	covered := make([]smt.Formula, len(atoms))
	for i := range atoms {
		covered[i] = q.atom(i, &atoms[i])
	}
	q.clause(Coverage, -1, q.And(covered...))
	for i := range answers {
		q.answer(atoms, &answers[i])
	}
	v, err := p.By.Validate(ctx, s)
	if err != nil || v.OK {
		return nil, err
	}
	out := make([]Failure, 0, len(v.Failures))
	for i := range v.Failures {
		f := q.about[v.Failures[i].Clause]
		if f.Atom < 0 && len(v.Failures[i].Atoms) > 0 {
			for _, x := range v.Failures[i].Atoms {
				out = append(out, Failure{f.Clause, int(x)})
			}
			continue
		}
		out = append(out, f)
	}
	return out, nil
}

func (q *problem) declare(atoms int) {
	q.Atoms(atoms)
	// Fields: 0 is none, 1 unknown, then those of the rubrics.
	names := append(append(make([]string, 0, len(q.fields)+2), evidence.None, Unknown), q.fields...)
	fields, necs, ops := q.Enum("field", names...), q.Enum("necessity", necessities...), q.Enum("operator", operators...)
	q.field = q.EnumFunc("field", fields)
	q.nec, q.claimed, q.op = q.EnumFunc("nec", necs), q.EnumFunc("claimed", necs), q.EnumFunc("op", ops)
	q.cost, q.least = q.RealFunc("cost"), q.RealFunc("least")
}

// index is a field's place in its enumeration.
func (q *problem) index(field string) int {
	if field == Unknown {
		return 1
	}
	if i, ok := slices.BinarySearch(q.fields, field); ok {
		return i + 2
	}
	return 0
}

func (q *problem) clause(name string, atom int, f smt.Formula) {
	q.Clause(name, f)
	q.about = append(q.about, Failure{name, atom})
}

// atom states the facts and the clauses of one atom, except that it has a field:
// it returns that for the clause of all atoms (i).
func (q *problem) atom(i int, a *Atom) (covered smt.Formula) {
	x := smt.Atom(i)
	q.SetEnum(q.field, x, q.index(a.Field))
	q.SetEnum(q.nec, x, int(a.Necessity))
	q.SetEnum(q.op, x, int(a.Op))
	q.SetReal(q.cost, x, int64(a.Cost))
	q.SetReal(q.least, x, int64(a.Least))
	f, m, w := q.Apply(q.field, x), q.Apply(q.nec, x), q.Apply(q.op, x)
	covered = q.Not(q.Is(f, 0))
	// Of unknown field and top risk: only redacted or dropped.
	q.clause(Unlabelled, i, q.Implies(q.Is(f, 1), q.In(w, int(rubric.Drop), int(rubric.Redact))))
	if a.Label >= 0 && a.Field != Unknown { // (ii)
		c, ok := evidence.Necessity(a.Claimed)
		if !ok {
			c = rubric.Unnecessary
		}
		q.SetEnum(q.claimed, x, int(c))
		q.clause(Necessity, i, q.Same(m, q.Apply(q.claimed, x)))
	}
	q.clause(Unnecessary, i, q.Implies(q.Is(m, int(rubric.Unnecessary)), q.Not(q.Is(w, int(rubric.Identity))))) // (iii)
	q.clause(Operator, i, q.LessEq(q.Amount(q.least, x), q.Amount(q.cost, x)))
	if a.Lost { // (v)
		q.clause(Utility, i, q.Bool(false))
	}
	return covered
}

// answer states that the second pass agrees with the first: (iv). It states nothing
// about an answer whose subject is not an atom with a label.
func (q *problem) answer(atoms []Atom, c *Answer) {
	i := slices.IndexFunc(atoms, func(a Atom) bool { return a.Label >= 0 && a.Label == c.Atom && a.Field != Unknown })
	if i < 0 {
		return
	}
	x, same := smt.Atom(i), smt.Formula(0)
	if n, ok := evidence.Necessity(c.Necessity); ok {
		same = q.Is(q.Apply(q.claimed, x), int(n))
	} else {
		same = q.Is(q.Apply(q.field, x), q.index(c.Field))
	}
	if !c.Yes {
		same = q.Not(same)
	}
	q.clause(Challenge, i, same)
}
