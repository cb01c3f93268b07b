// Package rubriclint proves of rubrics, with a solver, what [rubric.Lint] can't
// look at case by case: that every combination of fields that a sink needs can
// be released within the limits, alone and together with every rubric whose
// signature overlaps; that no operator is there in vain; and that costs are
// monotone. [Graph] says without one whether dependencies can be audited.
package rubriclint

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify/credal"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// maxAll bounds the fields of which every combination is looked at to say which
// can't be released; of more, all of them, single ones and pairs are.
const maxAll = 5

var classes = [...]flow.Class{flow.RequiredService, flow.SemiTrusted, flow.Adversarial}

// Check proves rubrics in order, each alone and all pairs that overlap. An
// error means that the solver could not tell.
func Check(ctx context.Context, s smt.Solver, rs ...*rubric.Rubric) ([]rubric.Finding, error) {
	var out []rubric.Finding
	for i, r := range rs {
		f, err := one(ctx, s, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r, err)
		}
		out = append(out, f...)
		for _, o := range rs[i+1:] {
			if !rubric.Overlap(r, o) {
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
func one(ctx context.Context, s smt.Solver, r *rubric.Rubric) ([]rubric.Finding, error) {
	res := rubric.Combine(r)
	var out []rubric.Finding
	for _, class := range classes {
		p := newProblem(res, class)
		bad, err := p.stuck(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, b := range bad {
			out = append(out, r.Finding("no-labelling", b, "utility", class.String()))
		}
		dead, err := p.dead(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, d := range dead {
			out = append(out, r.Finding("dead-operator", d.detail, "operators", d.field, class.String()))
		}
	}
	field, detail, err := monotone(ctx, s, res)
	if err != nil {
		return nil, err
	}
	if detail != "" {
		out = append(out, r.Finding("not-monotone", detail, "fields", field))
	}
	return out, nil
}

// both checks what two rubrics leave together.
func both(ctx context.Context, s smt.Solver, a, b *rubric.Rubric) ([]rubric.Finding, error) {
	res := rubric.Combine(a, b)
	var out []rubric.Finding
	for _, class := range classes {
		bad, err := newProblem(res, class).stuck(ctx, s)
		if err != nil {
			return nil, err
		}
		for _, detail := range bad {
			out = append(out, a.Finding("no-labelling", fmt.Sprintf("together with %s: %s", b, detail), "signature"))
		}
	}
	return out, nil
}

// Graph reports, by an error, whether the dependency graph is too wide to be
// audited: treewidth above 4, or cliques of more than 4,096 states.
func Graph(res *rubric.Resolved) error {
	_, err := compile(res)
	return err
}

// compile makes the audit's tree, nil where nothing depends on anything.
func compile(res *rubric.Resolved) (*credal.Tree, error) {
	g := res.Graph()
	if len(g.Variables) == 0 {
		return nil, nil //nolint:nilnil // nothing to audit
	}
	var in credal.Graph
	for _, v := range g.Variables {
		in.Variables = append(in.Variables, credal.Variable(v))
	}
	for _, f := range g.Factors {
		in.Factors = append(in.Factors, credal.Factor(f))
	}
	return credal.Compile(in, credal.Limits{})
}

// problem says what may be released to sinks of a class: for each field a
// value that is there or not, an operator on it, and its cost.
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

func newProblem(res *rubric.Resolved, class flow.Class) *problem {
	p := &problem{res: res, class: class, fields: res.Fields()}
	for _, f := range p.fields {
		for _, o := range res.Operators(f, class) {
			if !slices.Contains(p.ops, o) {
				p.ops = append(p.ops, o)
			}
		}
	}
	slices.SortFunc(p.ops, rubric.Op.Compare)
	names := make([]string, len(p.ops))
	for i, o := range p.ops {
		names[i] = o.String()
	}
	p.Atoms(len(p.fields))
	ops, yes := p.Enum("operator", names...), p.Enum("there", "no", "yes")
	op, there, cost := p.EnumFunc("op", ops), p.EnumFunc("present", yes), p.RealFunc("cost")
	sum := make([]smt.Number, len(p.fields))
	needs := map[string]int{}
	for _, n := range res.Utility(class) {
		needs[n.Field] = n.Level
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
		level, must := needs[f]
		if must {
			p.need("utility of "+f, is, w, admitted, func(o rubric.Op) bool {
				return o.Kind == rubric.Identity || o.Kind == rubric.Generalize && o.Level <= level
			})
		}
		if required := res.Necessity(f, class) == rubric.Required; required {
			p.need("necessity of "+f, is, w, admitted, func(o rubric.Op) bool { return o.Kind >= rubric.Substitute })
			must = true
		}
		if must {
			p.needed = append(p.needed, i)
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

// need says that of a field that is there one of some operators is used.
func (p *problem) need(name string, is smt.Formula, w smt.Term, admitted []rubric.Op, ok func(rubric.Op) bool) {
	var f smt.Formula
	if in := p.indices(admitted, ok); len(in) > 0 {
		f = p.In(w, in...)
	} else {
		f = p.Bool(false)
	}
	p.Clause(name, p.Implies(is, f))
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

// stuck finds combinations of needed fields for which there is no admissible
// labelling within the limits. Of those that contain another, the smaller is
// told alone.
func (p *problem) stuck(ctx context.Context, s smt.Solver) ([]string, error) {
	if len(p.needed) == 0 {
		return nil, nil
	}
	// What is possible for all of them is for each combination: the labelling
	// without the fields that are not there costs no more, and less is asked.
	all, err := smt.Admissible(ctx, s, &p.Problem, p.cases([][]int{p.needed}))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	combos := p.combinations()
	bad, err := smt.Admissible(ctx, s, &p.Problem, p.cases(combos))
	if err != nil {
		return nil, err
	}
	var out []string
	for i, b := range bad {
		c := combos[b.Case]
		if slices.ContainsFunc(bad[:i], func(o smt.Inadmissible) bool { return within(combos[o.Case], c) }) {
			continue
		}
		out = append(out, fmt.Sprintf("%s can't be released to %s sinks: %s contradict each other", p.names(c), p.class, p.clauses(b.Core.Clauses)))
	}
	return out, nil
}

// cases of fields that are there, and all others not.
func (p *problem) cases(combos [][]int) []smt.Case {
	var cases []smt.Case
	for _, c := range combos {
		k := smt.Case{Name: p.names(c)}
		for i, f := range p.there {
			if !slices.Contains(c, i) {
				f = p.Not(f)
			}
			k.Assume = append(k.Assume, f)
		}
		cases = append(cases, k)
	}
	return cases
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

// deadOp is an operator that no release can use.
type deadOp struct{ field, detail string }

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

// dead finds operators that are admitted and never fit the limits, even alone.
func (p *problem) dead(ctx context.Context, s smt.Solver) ([]deadOp, error) {
	var out []deadOp
	for i, f := range p.fields {
		for _, o := range p.res.Operators(f, p.class) {
			if o.Kind <= rubric.Redact || p.fits(p.res.Cost(f, o)) {
				continue // a release of it alone is the witness
			}
			assume := []smt.Formula{p.Is(p.term[i], p.index(o))}
			for j, is := range p.there {
				if j != i {
					is = p.Not(is)
				}
				assume = append(assume, is)
			}
			// What the sink needs may rule the operator out, which is no fault
			// of a rubric: escalation passes by it.
			var needs []int
			for c := range p.Clauses() {
				if n := p.ClauseName(c); strings.HasPrefix(n, "utility") || strings.HasPrefix(n, "necessity") {
					needs = append(needs, c)
				}
			}
			a, err := s.Satisfiable(ctx, &p.Problem, smt.Query{Assume: assume, Omit: needs})
			if err != nil {
				return nil, err
			}
			if !a.Satisfiable {
				out = append(out, deadOp{f, fmt.Sprintf("%v of %s is admitted for %s sinks and never fits: it costs %v, against %s", o, f, p.class, p.res.Cost(f, o), p.clauses(a.Core.Clauses))})
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
	var names []string
	var listed []rubric.Op
	for i, f := range fields {
		for _, class := range classes {
			for _, o := range res.Operators(f, class) {
				if !slices.Contains(all[i], o) {
					all[i] = append(all[i], o)
				}
				if !slices.Contains(listed, o) {
					listed = append(listed, o)
				}
			}
		}
	}
	slices.SortFunc(listed, rubric.Op.Compare)
	for _, o := range listed {
		names = append(names, o.String())
	}
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
	m, err := smt.Counterexample(ctx, s, &p, p.And(goals...))
	if err != nil || m == nil {
		return "", "", err
	}
	for i, f := range fields {
		a, _ := m.Enum(op, smt.Atom(2*i))   //nolint:gosec // few
		b, _ := m.Enum(op, smt.Atom(2*i+1)) //nolint:gosec // few
		if less, more := listed[a], listed[b]; a < b && res.Cost(f, less) > res.Cost(f, more) {
			return f, fmt.Sprintf("%v of %s costs %v, and %v, which shows more, %v", less, f, res.Cost(f, less), more, res.Cost(f, more)), nil
		}
	}
	return "", "", fmt.Errorf("%w: a counterexample that is none", smt.ErrAnswer)
}
