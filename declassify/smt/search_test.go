package smt_test

import (
	"bytes"
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
		p.Implies(p.Is(op, generalize), p.Equal(cost, rat(p, 7, 3))),
		p.Implies(p.Not(p.Is(op, generalize)), p.Equal(cost, p.Int(0)))))
	return field, op, cost
}

func TestSatisfiable(t *testing.T) {
	z := pool(t, z3.Config{Size: 1})
	var p smt.Problem
	field, op, cost := rubric(&p)
	a, err := z.Satisfiable(t.Context(), &p, p.Is(field, 1), p.Less(p.Int(2), cost))
	if err != nil || !a.Satisfiable {
		t.Fatalf("%v, %v", a, err)
	}
	if v, ok := a.Model.Enum(2, 0); !ok || v != generalize {
		t.Errorf("the operator is %d, %v", v, ok)
	}
	if a, err = z.Satisfiable(t.Context(), &p, p.Is(field, 1), p.Less(p.Int(2), cost), p.Not(p.Equal(cost, rat(&p, 7, 3)))); err != nil || a.Satisfiable {
		t.Errorf("the cost is not 7/3: %v, %v", a, err)
	}
	a, err = z.Satisfiable(t.Context(), &p, p.Is(field, 2), p.Bool(true), p.Not(p.In(op, substitute, drop)))
	if err != nil || a.Satisfiable {
		t.Fatalf("%v, %v", a, err)
	}
	if !slices.Equal(a.Core, []int{2}) {
		t.Errorf("the core is %v", a.Core)
	}
	a, err = z.Satisfiable(t.Context(), &p, p.Is(field, 2), p.Less(p.Int(0), cost))
	if err != nil || !slices.Equal(a.Core, []int{2, 3}) {
		t.Errorf("the core is %v, %v", a.Core, err)
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
	same := p.And(p.Is(p.Apply(f, 0), 0), p.Is(p.Apply(f, 1), 1), p.Same(p.Apply(f, 0), p.Apply(f, 1)))
	var apart []smt.Formula
	for a := range smt.Atom(4) {
		for b := range a {
			apart = append(apart, p.Not(p.Same(p.Apply(f, a), p.Apply(f, b))))
		}
	}
	for name, f := range map[string]smt.Formula{"no member": none, "two members the same": same, "four apart among three": p.And(apart...)} {
		if a, err := z.Satisfiable(t.Context(), &p, f); err != nil || a.Satisfiable {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if a, err := z.Satisfiable(t.Context(), &p, apart[:3]...); err != nil || !a.Satisfiable {
		t.Errorf("three apart among three: %v, %v", a, err)
	}
}

// TestFreed takes facts back from random problems whose clauses hold: they can
// still hold, and the model that says so has been checked.
func TestFreed(t *testing.T) {
	z := pool(t, z3.Config{})
	var p smt.Problem
	native, searched := new(smt.Native), 0
	for i := range 1200 {
		p.Reset()
		g, _ := draw(seeded(uint64(i)), &p)
		v, err := native.Validate(t.Context(), &p)
		if err != nil {
			t.Fatal(err)
		}
		g.free()
		if !v.OK {
			continue
		}
		a, err := z.Satisfiable(t.Context(), &p)
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
		script, err := p.Script()
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
