// Package rubriclint proves with a solver what package lint can't check case
// by case: every combination of fields that a sink needs can be released within
// the limits, alone and together with every rubric whose signature overlaps; no
// operator is useless; and costs are monotone. [Audit]
// bounds, without a solver, what dependent fields disclose together.
package rubriclint

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/lint"
)

// maxAll bounds the fields whose combinations are all checked. Of more fields,
// single ones, pairs and all together are.
const maxAll = 5

var classes = [...]flow.Class{flow.RequiredService, flow.SemiTrusted, flow.Adversarial}

// Check proves rubrics in order, each alone and all pairs that overlap. An error
// means that the solver did not decide.
func Check(ctx context.Context, s smt.Solver, rs ...*rubric.Rubric) ([]lint.Finding, error) {
	var out []lint.Finding
	for i, r := range rs {
		f, err := one(ctx, s, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		out = append(out, f...)
		for _, o := range rs[i+1:] {
			if !lint.Overlap(r, o) {
				continue
			}
			f, err := both(ctx, s, r, o)
			if err != nil {
				return nil, fmt.Errorf("%s and %s: %w", r, o, err)
			}
			out = append(out, f...)
		}
	}
	return out, nil
}

// one checks a rubric alone.
func one(ctx context.Context, s smt.Solver, r *rubric.Rubric) ([]lint.Finding, error) {
	res := rubric.Combine(r)
	var out []lint.Finding
	for _, class := range classes {
		bad, err := newProblem(res, class, true).stuck(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, b := range bad {
			out = append(out, lint.At(r, "no-labelling", b, "utility", class.String()))
		}
		dead, err := newProblem(res, class, false).dead(ctx, s, r)
		if err != nil {
			return nil, err
		}
		out = append(out, dead...)
	}
	field, detail, err := monotone(ctx, s, res)
	if err != nil {
		return nil, err
	}
	if detail != "" {
		out = append(out, lint.At(r, "not-monotone", detail, "fields", field))
	}
	return out, nil
}

// both checks two rubrics together.
func both(ctx context.Context, s smt.Solver, a, b *rubric.Rubric) ([]lint.Finding, error) {
	res := rubric.Combine(a, b)
	var out []lint.Finding
	for _, class := range classes {
		bad, err := newProblem(res, class, true).stuck(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, detail := range bad {
			out = append(out, lint.At(a, "no-labelling", fmt.Sprintf("together with %s: %s", b, detail), "signature"))
		}
	}
	return out, nil
}

// problem states what may be released to sinks of a class: for each field, whether
// a value is there, the operator on it, and its cost.
type problem struct {
	smt.Problem
	res    *rubric.Resolved
	class  flow.Class
	fields []string
	ops    []rubric.Op // all, in disclosure order
	needed []int       // fields that the sinks need
	there  []smt.Formula
	term   []smt.Term
}

// newProblem states the clauses; those of what sinks need only if needs is set.
func newProblem(res *rubric.Resolved, class flow.Class, needs bool) *problem {
	p := &problem{res: res, class: class, fields: res.Fields()}
	for _, f := range p.fields {
		p.ops = append(p.ops, res.Operators(f, class)...)
	}
	var names []string
	p.ops, names = distinct(p.ops)
	p.Atoms(len(p.fields))
	ops, yes := p.Enum("operator", names...), p.Enum("there", "no", "yes")
	op, there, cost := p.EnumFunc("op", ops), p.EnumFunc("present", yes), p.RealFunc("cost")
	sum := make([]smt.Number, len(p.fields))
	levels := map[string]int{}
	for _, n := range res.Utility(class) {
		levels[n.Field] = n.Level
	}
	for i, f := range p.fields {
		x := smt.Atom(i)
		w, is, c := p.Apply(op, x), p.Is(p.Apply(there, x), 1), p.Amount(cost, x)
		p.term, p.there, sum[i] = append(p.term, w), append(p.there, is), c
		admitted := res.Operators(f, class)
		p.Clause("operators of "+f, p.In(w, p.indices(admitted, func(rubric.Op) bool { return true })...))
		p.Clause("absence of "+f, p.Implies(p.Not(is), p.Is(w, p.index(rubric.Op{Kind: rubric.Drop}))))
		for _, o := range admitted {
			p.Clause("cost of "+f, p.Implies(p.Is(w, p.index(o)), p.Equal(c, p.Int(int64(res.Cost(f, o))))))
		}
		level, survives := levels[f]
		required := res.Necessity(f, class) == rubric.Required
		if !needs || !survives && !required {
			continue
		}
		p.needed = append(p.needed, i)
		if survives {
			p.need("utility of "+f, is, w, admitted, func(o rubric.Op) bool {
				return o.Kind == rubric.Identity || o.Kind == rubric.Generalize && o.Level <= level
			})
		}
		if required {
			p.need("necessity of "+f, is, w, admitted, func(o rubric.Op) bool { return o.Kind >= rubric.Substitute })
		}
	}
	l := res.Limits()
	if len(sum) > 0 {
		all := p.Sum(sum...)
		p.Clause("cap of "+class.String(), p.LessEq(all, p.Int(int64(l.Cap[class]))))
		p.Clause("budget", p.LessEq(p.Scale(all, l.Lambda[class], 1000), p.Int(int64(l.B))))
	}
	return p
}

// distinct returns operators in disclosure order, each once, and their names.
func distinct(ops []rubric.Op) ([]rubric.Op, []string) {
	slices.SortFunc(ops, rubric.Op.Compare)
	ops = slices.Compact(ops)
	names := make([]string, len(ops))
	for i, o := range ops {
		names[i] = o.String()
	}
	return ops, names
}

// need states that a field that is there is released with one of some
// operators.
func (p *problem) need(name string, is smt.Formula, w smt.Term, admitted []rubric.Op, ok func(rubric.Op) bool) {
	p.Clause(name, p.Implies(is, p.In(w, p.indices(admitted, ok)...)))
}

func (p *problem) index(o rubric.Op) int { return slices.Index(p.ops, o) }

func (p *problem) indices(ops []rubric.Op, ok func(rubric.Op) bool) []int {
	var out []int
	for _, o := range ops {
		if ok(o) {
			out = append(out, p.index(o))
		}
	}
	return out
}

// stuck finds combinations of needed fields that have no admissible labelling
// within the limits. A combination that contains another is not reported.
func (p *problem) stuck(ctx context.Context, s smt.Solver) ([]string, error) {
	if len(p.needed) == 0 {
		return nil, nil
	}
	// A labelling of all needed fields gives one of each combination: without
	// the fields that are not there it costs no more, and less is asked.
	all, err := s.Satisfiable(ctx, &p.Problem, p.only(p.needed...)...)
	if err != nil || all.Satisfiable {
		return nil, err
	}
	var out []string
	var bad [][]int
	for _, c := range p.combinations() {
		if slices.ContainsFunc(bad, func(o []int) bool { return within(o, c) }) {
			continue
		}
		a, err := s.Satisfiable(ctx, &p.Problem, p.only(c...)...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.names(c), err)
		}
		if a.Satisfiable {
			continue
		}
		bad = append(bad, c)
		out = append(out, fmt.Sprintf("%s can't be released to %s sinks: %s contradict each other", p.names(c), p.class, p.clauses(a.Core)))
	}
	return out, nil
}

// only assumes that some fields are there, and no others.
func (p *problem) only(fields ...int) []smt.Formula {
	out := slices.Clone(p.there)
	for i := range out {
		if !slices.Contains(fields, i) {
			out[i] = p.Not(out[i])
		}
	}
	return out
}

func within(a, b []int) bool {
	return !slices.ContainsFunc(a, func(i int) bool { return !slices.Contains(b, i) })
}

// combinations of needed fields, the smaller ones first.
func (p *problem) combinations() [][]int {
	var out [][]int
	n := len(p.needed)
	if n > maxAll {
		for i, a := range p.needed {
			out = append(out, []int{a})
			for _, b := range p.needed[i+1:] {
				out = append(out, []int{a, b})
			}
		}
		out = append(out, p.needed)
	} else {
		for set := 1; set < 1<<n; set++ {
			var c []int
			for i, a := range p.needed {
				if set>>i&1 == 1 {
					c = append(c, a)
				}
			}
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b []int) int { return len(a) - len(b) })
	return out
}

func (p *problem) names(c []int) string {
	out := make([]string, len(c))
	for i, k := range c {
		out[i] = p.fields[k]
	}
	return strings.Join(out, ", ")
}

func (p *problem) clauses(core []int) string {
	var out []string
	for _, i := range core {
		if n := p.ClauseName(i); !slices.Contains(out, n) && !strings.HasPrefix(n, "absence") && !strings.HasPrefix(n, "cost") {
			out = append(out, n)
		}
	}
	return strings.Join(out, ", ")
}

// fits reports whether a release that costs so much is within the limits.
func (p *problem) fits(c flow.Bits) bool {
	l := p.res.Limits()
	hi, lo := bits.Mul64(uint64(max(c, 0)), uint64(max(l.Lambda[p.class], 0))) //nolint:gosec // not negative
	if hi >= 1000 {
		return false
	}
	weighted, rest := bits.Div64(hi, lo, 1000)
	if rest > 0 {
		weighted++
	}
	return c <= l.Cap[p.class] && weighted <= uint64(max(l.B, 0)) //nolint:gosec // not negative
}

// dead finds operators of a rubric that are admitted and never fit the limits, even alone.
// The needs of sinks may rule an operator out, and that is not a mistake in a rubric:
// escalation skips it. So p must be a problem without them.
func (p *problem) dead(ctx context.Context, s smt.Solver, r *rubric.Rubric) ([]lint.Finding, error) {
	var out []lint.Finding
	for i, f := range p.fields {
		for _, o := range p.res.Operators(f, p.class) {
			if o.Kind <= rubric.Redact || p.fits(p.res.Cost(f, o)) {
				continue // a release of it alone is the witness
			}
			assume := append(p.only(i), p.Is(p.term[i], p.index(o)))
			a, err := s.Satisfiable(ctx, &p.Problem, assume...)
			if err != nil {
				return nil, err
			}
			if !a.Satisfiable {
				detail := fmt.Sprintf("%v of %s is admitted for %s sinks and never fits: it costs %v, against %s", o, f, p.class, p.res.Cost(f, o), p.clauses(a.Core))
				out = append(out, lint.At(r, "dead-operator", detail, "operators", f, p.class.String()))
			}
		}
	}
	return out, nil
}

// monotone looks for a field with two operators of which the one that shows
// more costs less.
func monotone(ctx context.Context, s smt.Solver, res *rubric.Resolved) (field, detail string, err error) {
	var p smt.Problem
	fields := res.Fields()
	p.Atoms(2 * len(fields))
	all := make([][]rubric.Op, len(fields))
	for i, f := range fields {
		for _, class := range classes {
			for _, o := range res.Operators(f, class) {
				if !slices.Contains(all[i], o) {
					all[i] = append(all[i], o)
				}
			}
		}
	}
	listed, names := distinct(slices.Concat(all...))
	op, rank, cost := p.EnumFunc("op", p.Enum("operator", names...)), p.RealFunc("rank"), p.RealFunc("cost")
	var goals []smt.Formula
	for i, f := range fields {
		x, y := smt.Atom(2*i), smt.Atom(2*i+1) //nolint:gosec // few
		for _, z := range []smt.Atom{x, y} {
			w := p.Apply(op, z)
			var in []int
			for _, o := range all[i] {
				n := slices.Index(listed, o)
				in = append(in, n)
				p.Clause(names[n], p.Implies(p.Is(w, n), p.And(
					p.Equal(p.Amount(rank, z), p.Int(int64(n))), p.Equal(p.Amount(cost, z), p.Int(int64(res.Cost(f, o)))))))
			}
			p.Clause("operators of "+f, p.In(w, in...))
		}
		goals = append(goals, p.Implies(p.Less(p.Amount(rank, x), p.Amount(rank, y)), p.LessEq(p.Amount(cost, x), p.Amount(cost, y))))
	}
	found, err := s.Satisfiable(ctx, &p, p.Not(p.And(goals...)))
	if err != nil || !found.Satisfiable {
		return "", "", err
	}
	for i, f := range fields {
		a, _ := found.Model.Enum(op, smt.Atom(2*i))   //nolint:gosec // few
		b, _ := found.Model.Enum(op, smt.Atom(2*i+1)) //nolint:gosec // few
		if less, more := listed[a], listed[b]; a < b && res.Cost(f, less) > res.Cost(f, more) {
			return f, fmt.Sprintf("%v of %s costs %v, and %v, which shows more, %v", less, f, res.Cost(f, less), more, res.Cost(f, more)), nil
		}
	}
	return "", "", fmt.Errorf("%w: the model is not a counterexample", smt.ErrAnswer)
}
