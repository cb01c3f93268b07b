package smt_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/margaydev/margay/declassify/smt"
)

// Members of a release's enumerations, by index. Of fields, 0 is none.
const (
	required = iota
	useful
	unnecessary
)

const (
	identity = iota
	generalize
	substitute
	redact
	drop
)

const bits = 1_000_000 // of the unit of costs

var (
	fieldNames = func() []string {
		names := []string{"none"}
		for i := range 17 {
			names = append(names, fmt.Sprintf("field-%d", i+1))
		}
		return names
	}()
	necessities = []string{"required", "useful", "unnecessary"}
	operators   = []string{"identity", "generalize", "substitute", "redact", "drop"}
	// fieldsOf are the fields of each necessity.
	fieldsOf = func() (of [3][]int) {
		for f := 1; f < len(fieldNames); f++ {
			of[f%3] = append(of[f%3], f)
		}
		return of
	}()
)

// stated fills p with the clauses that the verifier of package declassify
// states: the rubrics are merged there, and what needs no solver is not put to
// one. Every clause holds, or if spoilt, one does not.
func stated(r *rand.Rand, p *smt.Problem, atoms int, spoilt bool) {
	p.Reset()
	p.Atoms(atoms)
	fields, necs, ops := p.Enum("field", fieldNames...), p.Enum("necessity", necessities...), p.Enum("operator", operators...)
	field, nec, claimed, op := p.EnumFunc("field", fields), p.EnumFunc("nec", necs), p.EnumFunc("claimed", necs), p.EnumFunc("op", ops)
	cost, least := p.RealFunc("cost"), p.RealFunc("least")
	var covered []smt.Formula
	for a := range smt.Atom(atoms) {
		f := 2 + r.IntN(len(fieldNames)-2)
		if spoilt && a == 0 {
			f = 0
		}
		p.SetEnum(field, a, f)
		p.SetEnum(nec, a, f%3)
		p.SetEnum(claimed, a, f%3)
		p.SetEnum(op, a, []int{identity, generalize, redact}[f%3])
		p.SetReal(cost, a, int64(f*bits))
		p.SetReal(least, a, int64(f*bits))
		v, n, o := p.Apply(field, a), p.Apply(nec, a), p.Apply(op, a)
		covered = append(covered, p.Not(p.Is(v, 0)))
		p.Clause("unlabelled", p.Implies(p.Is(v, 1), p.In(o, redact, drop)))
		p.Clause("necessity", p.Same(n, p.Apply(claimed, a)))
		p.Clause("undisclosed", p.Implies(p.Is(n, unnecessary), p.Not(p.Is(o, identity))))
		p.Clause("operator", p.LessEq(p.Amount(least, a), p.Amount(cost, a)))
		p.Clause("utility", p.Bool(true))
		p.Clause("challenge", p.Is(v, f))
	}
	p.Clause("coverage", p.And(covered...))
}

// labels are the functions of a release.
type labels struct {
	field, answer, nec, op smt.EnumFunc
	cost, charge, limit    smt.RealFunc // of the last two, the first atom's is of all
}

// release fills p as a verifier would: atoms with their labels, and for each
// rubric two clauses an atom and six about all. Every clause holds.
func release(r *rand.Rand, p *smt.Problem, atoms, rubrics int) labels {
	p.Reset()
	p.Atoms(atoms)
	fields, necs, ops := p.Enum("field", fieldNames...), p.Enum("necessity", necessities...), p.Enum("operator", operators...)
	l := labels{
		field: p.EnumFunc("field", fields), answer: p.EnumFunc("answer", fields), nec: p.EnumFunc("nec", necs),
		op: p.EnumFunc("op", ops), cost: p.RealFunc("cost"), charge: p.RealFunc("charge"), limit: p.RealFunc("cap"),
	}
	sum := int64(0)
	for a := range smt.Atom(atoms) {
		f := 1 + r.IntN(len(fieldNames)-1)
		if a == 0 {
			f = 3
		}
		o, c := []int{identity, generalize, redact + r.IntN(2)}[f%3], []int64{4 * bits, bits / 2, 0}[f%3]
		p.SetEnum(l.field, a, f)
		p.SetEnum(l.answer, a, f)
		p.SetEnum(l.nec, a, f%3)
		p.SetEnum(l.op, a, o)
		p.SetReal(l.cost, a, c)
		sum += c
	}
	p.SetReal(l.charge, 0, sum*5/4)
	p.SetReal(l.limit, 0, sum)
	for range rubrics {
		l.clauses(p, atoms)
	}
	return l
}

func (l *labels) clauses(p *smt.Problem, atoms int) {
	const most = 64
	var covered, disclosed, consistent, survives [most]smt.Formula
	var costs [most]smt.Number
	for i := range atoms {
		a := smt.Atom(i)
		f, n, o, c := p.Apply(l.field, a), p.Apply(l.nec, a), p.Apply(l.op, a), p.Amount(l.cost, a)
		covered[i] = p.Not(p.Is(f, 0))
		consistent[i] = p.Same(f, p.Apply(l.answer, a))
		disclosed[i] = p.Implies(p.Is(n, unnecessary), p.In(o, generalize, substitute, redact, drop))
		survives[i] = p.And(p.Is(f, 3), p.In(o, identity, generalize))
		costs[i] = c
		p.Clause("necessity", p.And(
			p.Implies(p.In(f, fieldsOf[required]...), p.Is(n, required)),
			p.Implies(p.In(f, fieldsOf[useful]...), p.Is(n, useful)),
			p.Implies(p.In(f, fieldsOf[unnecessary]...), p.Is(n, unnecessary))))
		p.Clause("operators", p.And(
			p.Implies(p.In(f, fieldsOf[useful]...), p.In(o, generalize, substitute, redact, drop)),
			p.Implies(p.In(f, fieldsOf[unnecessary]...), p.In(o, redact, drop)),
			p.Implies(p.In(o, redact, drop), p.Equal(c, p.Int(0)))))
	}
	total := p.Sum(costs[:atoms]...)
	p.Clause("coverage", p.And(covered[:atoms]...))
	p.Clause("challenge", p.And(consistent[:atoms]...))
	p.Clause("disclosure", p.And(disclosed[:atoms]...))
	p.Clause("cap", p.LessEq(total, p.Amount(l.limit, 0)))
	p.Clause("charge", p.Less(p.Scale(total, 5, 4), p.Sum(p.Amount(l.charge, 0), p.Int(1))))
	p.Clause("utility", or(p, survives[:atoms]...))
}
