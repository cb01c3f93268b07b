package declassify

import (
	"context"
	"slices"
	"sync"

	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// prover states what must hold of a release as clauses over its atoms.
type prover struct {
	by   smt.Validator
	pool sync.Pool // *smt.Problem
}

// Members of the enumerations of necessities and operators, by index.
var (
	necessities = []string{"unnecessary", "useful", "required"}
	operators   = []string{"drop", "redact", "substitute", "generalize", "identity"}
)

// answer is what the second pass said of one challenge.
type answer struct {
	Challenge
	Yes bool
}

// clauseOf says what a clause was about.
type clauseOf struct {
	rule Rule
	atom int // -1: all
}

// failed is a clause that does not hold.
type failed struct {
	Rule Rule
	Atom int // -1: none
}

// prove decides the clauses. Atoms are as planned; labels are those of the
// evidence, answers those of the challenges.
func (p *prover) prove(ctx context.Context, k *cutter, labels []Label, answers []answer) ([]failed, error) {
	q, _ := p.pool.Get().(*smt.Problem)
	if q == nil {
		q = &smt.Problem{}
	}
	defer p.pool.Put(q)
	q.Reset()
	n := len(k.atoms)
	q.Atoms(n)
	// Fields: 0 is none, 1 unknown, then those of the rubrics.
	names := make([]string, 0, len(k.fields)+2)
	names = append(append(names, None, Unknown), k.fields...)
	index := func(f string) int {
		if f == Unknown {
			return 1
		}
		if i, ok := slices.BinarySearch(k.fields, f); ok {
			return i + 2
		}
		return 0
	}
	fields, necs, ops := q.Enum("field", names...), q.Enum("necessity", necessities...), q.Enum("operator", operators...)
	field := q.EnumFunc("field", fields)
	nec, claimed, op := q.EnumFunc("nec", necs), q.EnumFunc("claimed", necs), q.EnumFunc("op", ops)
	cost, least := q.RealFunc("cost"), q.RealFunc("least")
	about := make([]clauseOf, 0, 4*n+8)
	clause := func(rule Rule, atom int, f smt.Formula) {
		q.Clause(string(rule), f)
		about = append(about, clauseOf{rule, atom})
	}
	covered := make([]smt.Formula, 0, n)
	needs := k.needs()
	for i := range k.atoms {
		a, x := &k.atoms[i], smt.Atom(i)
		o := a.ops[a.op]
		q.SetEnum(field, x, index(a.field))
		q.SetEnum(nec, x, int(a.nec))
		q.SetEnum(op, x, int(o.Kind))
		q.SetReal(cost, x, int64(a.kappa))
		q.SetReal(least, x, int64(min(k.rules.Cost(a.field, o), ledger.MaxAmount)))
		f, m, w := q.Apply(field, x), q.Apply(nec, x), q.Apply(op, x)
		// (i) What a predicate matches, and what a schema types, has a field.
		covered = append(covered, q.Not(q.Is(f, 0)))
		// Of unknown field and top risk: only redacted or dropped.
		clause(Unlabelled, i, q.Implies(q.Is(f, 1), q.In(w, int(rubric.Drop), int(rubric.Redact))))
		// (ii) A label's necessity is the rubrics'.
		if a.label >= 0 && a.field != Unknown {
			c, ok := necessityOf(labels[a.label].Necessity)
			if !ok {
				c = rubric.Unnecessary
			}
			q.SetEnum(claimed, x, int(c))
			clause(NecessityRule, i, q.Same(m, q.Apply(claimed, x)))
		}
		// (iii) What is unnecessary is not shown as it is.
		clause(Undisclosed, i, q.Implies(q.Is(m, int(rubric.Unnecessary)), q.Not(q.Is(w, int(rubric.Identity)))))
		// An operator costs no less than the field that is claimed.
		clause(OperatorRule, i, q.LessEq(q.Amount(least, x), q.Amount(cost, x)))
		// (v) What the sink needs survives.
		if l, ok := needs[a.need()]; ok && a.typed {
			clause(Utility, i, q.Bool(!a.lost && (shows(o) <= l || k.c.Tool.Channel == flow.ChannelModel && o == pseudonym)))
		} else if a.lost {
			clause(Utility, i, q.Bool(false))
		}
	}
	clause(Coverage, -1, q.And(covered...))
	// (iv) The second pass agrees with the first.
	for i := range answers {
		c := &answers[i]
		j := slices.IndexFunc(k.atoms, func(a atom) bool { return a.label == c.Atom && a.field != Unknown })
		if j < 0 {
			continue
		}
		x, same := smt.Atom(j), smt.Formula(0)
		if n, ok := necessityOf(c.Necessity); ok {
			same = q.Is(q.Apply(claimed, x), int(n))
		} else {
			same = q.Is(q.Apply(field, x), index(c.Field))
		}
		if !c.Yes {
			same = q.Not(same)
		}
		clause(ChallengeConflict, j, same)
	}
	v, err := p.by.Validate(ctx, q)
	if err != nil {
		return nil, ValidatorError.broken("%w", err)
	}
	if v.OK {
		return nil, nil
	}
	out := make([]failed, 0, len(v.Failures))
	for i := range v.Failures {
		c := about[v.Failures[i].Clause]
		if c.atom < 0 && len(v.Failures[i].Atoms) > 0 {
			for _, x := range v.Failures[i].Atoms {
				out = append(out, failed{c.rule, int(x)})
			}
			continue
		}
		out = append(out, failed{c.rule, c.atom})
	}
	return out, nil
}
