package smt_test

import (
	"bytes"
	"errors"
	"os/exec"
	"slices"
	"testing"

	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/declassify/smt/z3"
)

// rubric is a small rubric over one atom whose labels are free.
func rubric(p *smt.Problem) (field, op smt.Term, cost smt.Number) {
	p.Atoms(1)
	field = p.Apply(p.EnumFunc("field", p.Enum("field", "none", "dob", "name")), 0)
	op = p.Apply(p.EnumFunc("op", p.Enum("operator", operators...)), 0)
	cost = p.Amount(p.RealFunc("cost"), 0)
	p.Clause("coverage", p.Not(p.Is(field, 0)))
	p.Clause("operators of dob", p.Implies(p.Is(field, 1), p.In(op, generalize, redact)))
	p.Clause("operators of name", p.Implies(p.Is(field, 2), p.In(op, substitute, drop)))
	p.Clause("cost", p.And(
		p.Implies(p.Is(op, generalize), p.Equal(cost, p.Rat(7, 3))),
		p.Implies(p.Not(p.Is(op, generalize)), p.Equal(cost, p.Int(0)))))
	return field, op, cost
}

func TestSatisfiable(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	field, op, cost := rubric(&p)
	a, err := z.Satisfiable(t.Context(), &p, smt.Query{Assume: []smt.Formula{p.Is(field, 1), p.Less(p.Int(2), cost)}})
	if err != nil || !a.Satisfiable {
		t.Fatalf("%v, %v", a, err)
	}
	if v, ok := a.Model.Enum(2, 0); !ok || v != generalize {
		t.Errorf("the operator is %d, %v", v, ok)
	}
	if r, ok := a.Model.Real(3, 0); !ok || r.RatString() != "7/3" {
		t.Errorf("the cost is %v, %v", r, ok)
	}
	a, err = z.Satisfiable(t.Context(), &p, smt.Query{Assume: []smt.Formula{p.Is(field, 2), p.Bool(true)}, Refute: []smt.Formula{p.In(op, substitute, drop)}})
	if err != nil || a.Satisfiable {
		t.Fatalf("%v, %v", a, err)
	}
	if !slices.Equal(a.Core.Clauses, []int{2}) || !slices.Equal(a.Core.Assume, []int{0}) || !slices.Equal(a.Core.Refute, []int{0}) {
		t.Errorf("the core is %v", a.Core)
	}
	a, err = z.Satisfiable(t.Context(), &p, smt.Query{Assume: []smt.Formula{p.Is(field, 2)}, Refute: []smt.Formula{p.In(op, substitute, drop)}, Omit: []int{2}})
	if err != nil || !a.Satisfiable {
		t.Errorf("%v, %v", a, err)
	}
}

// TestClosed: a free function's values are members of its enumeration, and
// members differ, whatever else could satisfy the clauses.
func TestClosed(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	p.Atoms(4)
	e := p.Enum("e", "a", "b", "c")
	f := p.EnumFunc("f", e)
	none := p.Not(p.In(p.Apply(f, 0), 0, 1, 2))
	same := p.Same(p.Value(e, 0), p.Value(e, 1))
	var apart []smt.Formula
	for a := range smt.Atom(4) {
		for b := range a {
			apart = append(apart, p.Not(p.Same(p.Apply(f, a), p.Apply(f, b))))
		}
	}
	for name, f := range map[string]smt.Formula{"no member": none, "two members the same": same, "four apart among three": p.And(apart...)} {
		if a, err := z.Satisfiable(t.Context(), &p, smt.Query{Assume: []smt.Formula{f}}); err != nil || a.Satisfiable {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if a, err := z.Satisfiable(t.Context(), &p, smt.Query{Assume: apart[:3]}); err != nil || !a.Satisfiable {
		t.Errorf("three apart among three: %v, %v", a, err)
	}
}

func TestDead(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	_, op, cost := rubric(&p)
	if dead, err := smt.Dead(t.Context(), z, &p); err != nil || len(dead) > 0 {
		t.Errorf("dead: %v, %v", dead, err)
	}
	i := p.Clause("implied by the operators", p.Not(p.Is(op, identity)))
	j := p.Clause("implied by the costs", p.LessEq(cost, p.Int(3)))
	if dead, err := smt.Dead(t.Context(), z, &p); err != nil || !slices.Equal(dead, []int{i, j}) {
		t.Errorf("dead: %v, %v", dead, err)
	}
}

func TestAdmissible(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	field, op, cost := rubric(&p)
	cases := []smt.Case{
		{Name: "anything"},
		{Name: "dob", Assume: []smt.Formula{p.Is(field, 1)}},
		{Name: "name", Assume: []smt.Formula{p.Is(field, 2)}},
		{Name: "identity", Assume: []smt.Formula{p.Is(op, identity)}},
		{Name: "a dear name", Assume: []smt.Formula{p.Is(field, 2), p.Less(p.Int(0), cost)}},
	}
	bad, err := smt.Admissible(t.Context(), z, &p, cases)
	if err != nil || len(bad) != 2 || bad[0].Case != 3 || bad[1].Case != 4 {
		t.Fatalf("%v, %v", bad, err)
	}
	if !slices.Equal(bad[1].Core.Clauses, []int{2, 3}) {
		t.Errorf("the core is %v", bad[1].Core)
	}
}

// TestCounterexample proves that costs are monotone, and finds that they
// are not.
func TestCounterexample(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	_, op, cost := rubric(&p)
	goal := p.Implies(p.In(op, redact, drop), p.LessEq(cost, p.Int(0)))
	if m, err := smt.Counterexample(t.Context(), z, &p, goal); err != nil || m != nil {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := smt.Counterexample(t.Context(), z, &p, p.LessEq(cost, p.Int(2))); err != nil || m == nil {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := smt.Counterexample(t.Context(), z, &p, 0); !errors.Is(err, smt.ErrProblem) || m != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// TestFreed takes facts back from random problems whose clauses hold: they can
// still hold, and the model that says so has been checked.
func TestFreed(t *testing.T) {
	z := pool(t, z3.Config{})
	var p smt.Problem
	native, searched := new(smt.Native), 0
	for i := range 600 {
		p.Reset()
		g, _ := draw(seeded(uint64(i)), &p)
		v, err := native.Validate(t.Context(), &p)
		if err != nil {
			t.Fatal(err)
		}
		g.free()
		a, err := z.Satisfiable(t.Context(), &p, smt.Query{Omit: failing(v)})
		if err != nil || !a.Satisfiable || a.Model == nil {
			t.Fatalf("seed %d: %v, %v", i, a, err)
		}
		if p.Ground() != nil {
			searched++
		}
	}
	if searched < 100 {
		t.Errorf("a search in %d problems only", searched)
	}
}

// TestScript gives scripts with comments, of problems with hostile names, to a
// Z3 of their own: it must answer what the validators do, and nothing else.
func TestScript(t *testing.T) {
	pool(t, z3.Config{Size: 1}) // or skip
	var p smt.Problem
	for i := range 100 {
		p.Reset()
		want := "sat\n"
		if len(falses(random(seeded(uint64(i)), &p))) > 0 {
			want = "unsat\n"
		}
		script, err := p.AppendScript(nil, smt.Query{})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("z3", "-in")
		cmd.Stdin = bytes.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Fatalf("seed %d: z3 says %.300q, %v; want %q of\n%s", i, out, err, want, script)
		}
	}
}
