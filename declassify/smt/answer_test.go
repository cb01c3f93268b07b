package smt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// asked is a problem with a free function of each kind, and an assumption.
func asked() (*Problem, *Script) {
	var p Problem
	p.Atoms(2)
	e := p.Enum("e", "a", "b")
	f, g, fixed := p.EnumFunc("f", e), p.RealFunc("g"), p.EnumFunc("fixed", e)
	p.SetEnum(fixed, 0, 1)
	p.Clause("one", p.Same(p.Apply(f, 1), p.Apply(fixed, 0)))
	p.Clause("two", p.LessEq(p.Amount(g, 0), p.Int(3)))
	s, err := NewScript(&p, p.Bool(true))
	if err != nil {
		panic(err)
	}
	return &p, s
}

func TestReadStatus(t *testing.T) {
	for out, want := range map[string]Status{"sat\n": Sat, "unsat\nrest": Unsat, "sat\r\n": Sat} {
		if got, _, err := ReadStatus([]byte(out)); got != want || err != nil {
			t.Errorf("%q: %v, %v", out, got, err)
		}
	}
	if got, _, err := ReadStatus([]byte("unknown\n")); got != 0 || !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown: %v, %v", got, err)
	}
	for _, out := range []string{"", "sat", "sat ", " sat\n", "SAT\n", "\n", "unsatisfiable\n", "timeout\n", "(sat)\n"} {
		if got, _, err := ReadStatus([]byte(out)); got != 0 || !errors.Is(err, ErrAnswer) {
			t.Errorf("%q: %v, %v", out, got, err)
		}
	}
}

func TestReadCore(t *testing.T) {
	_, s := asked()
	for out, want := range map[string]string{
		"()":                "[]",
		"(c0)\n":            "[0]",
		"(c1 c0\n x0 )\r\n": "[0 1]",
	} {
		if c, err := s.ReadCore([]byte(out)); err != nil || fmt.Sprint(c) != want {
			t.Errorf("%q: %v, %v", out, c, err)
		}
	}
	for _, out := range []string{
		"", "c0", "(c0", "c0)", "(c0))", "(c0)(c0)", "(c0 c0)", "(x0 x0)", "(c2)", "(c-1)", "(c+0)", "(c00)", "(c0x)", "(c)", "(x1)", "(y0)", "(k0)", "(z0)",
		"((c0))", "(|c0|)", `("c0")`, "(c0;)", "(c99999999999999999999)", "sat", strings.Repeat("(", 1_000_000),
	} {
		if c, err := s.ReadCore([]byte(out)); !errors.Is(err, ErrAnswer) {
			t.Errorf("%.40q: %v, %v", out, c, err)
		}
	}
}

func TestReadTruths(t *testing.T) {
	_, s := asked()
	for out, want := range map[string]string{
		"((true true) (k0 true) (k1 true))":    "[]",
		"((true true)\n (k0 false) (k1 true))": "[0]",
		"((true true)(k0 false)(k1 false))":    "[0 1]",
	} {
		if f, err := s.ReadTruths([]byte(out)); err != nil || fmt.Sprint(f) != want {
			t.Errorf("%q: %v, %v", out, f, err)
		}
	}
	for _, out := range []string{
		"", "()", "((true true) (k0 true))", "((true true) (k1 true) (k0 true))", "((true false) (k0 true) (k1 true))",
		"((true true) (k0 true) (k1 true) (k2 true))", "((true true) (k0 maybe) (k1 true))", "((true true) (k0 true true) (k1 true))",
		"((true true) (k0 (true)) (k1 true))", "((true true) k0 (k1 true))", "((true true) (k0) (k1 true))",
	} {
		if f, err := s.ReadTruths([]byte(out)); !errors.Is(err, ErrAnswer) {
			t.Errorf("%q: %v, %v", out, f, err)
		}
	}
}

func TestReadModel(t *testing.T) {
	_, s := asked()
	const head = "((true true) (e1v0 E1!val!1) (e1v1 E1!val!0) "
	for _, g := range []string{"3.0", "0.5", "(- 7.0)", "(/ 1.0 3.0)", "(- (/ 1.0 3.0))", "(/ (- 1.0) 3.0)", "3"} {
		m, err := s.ReadModel([]byte(head + "(f1a1 E1!val!0)\n (f2a0 " + g + "))"))
		if err != nil {
			t.Errorf("%s: %v", g, err)
			continue
		}
		if v, ok := m.Enum(1, 1); !ok || v != 1 {
			t.Errorf("f(1) is %d, %v", v, ok)
		}
		if _, ok := m.Enum(1, 0); ok {
			t.Error("a value for what does not occur")
		}
	}
	for _, out := range []string{
		"", "()", head + ")", head + "(f1a1 E1!val!0))",
		head + "(f1a0 E1!val!0) (f2a0 3.0))", // of another atom
		head + "(f1a1 E1!val!1) (f2a0 3.0))", // a clause fails
		head + "(f1a1 E1!val!2) (f2a0 3.0))", // no member
		head + "(f1a1 E1!val!0) (f2a0 3.5))", // a clause fails
		head + "(f1a1 E1!val!0) (f2a0 true))",
		head + "(f1a1 E1!val!0) (f2a0 (/ 1.0 0.0)))",
		head + "(f1a1 E1!val!0) (f2a0 (- 1.0 2.0)))",
		head + "(f1a1 E1!val!0) (f2a0 (+ 1.0 2.0)))",
		head + "(f1a1 E1!val!0) (f2a0 1e9))",
		head + "(f1a1 E1!val!0) (f2a0 1/3))",
		head + "(f1a1 E1!val!0) (f2a0 .5))",
		head + "(f1a1 E1!val!0) (f2a0 1.2.3))",
		head + "(f1a1 E1!val!0) (f2a0 " + strings.Repeat("1", 5000) + "))",
		head + "(f1a1 E1!val!0) (f2a0 (- (- (- (- (- (- 1.0))))))))",
		"((true true) (e1v0 x) (e1v1 x) (f1a1 x) (f2a0 3.0))",
		"((true true) (e1v1 x) (e1v0 y) (f1a1 x) (f2a0 3.0))",
		"((true true) (e1v0 (x)) (e1v1 y) (f1a1 y) (f2a0 3.0))",
	} {
		if m, err := s.ReadModel([]byte(out)); m != nil || (!errors.Is(err, ErrAnswer) && !errors.Is(err, ErrDisagree)) {
			t.Errorf("%q: %v, %v", out, m, err)
		}
	}
}

// FuzzAnswers: no reader of answers panics, and the clauses hold under a model
// that is accepted.
func FuzzAnswers(f *testing.F) {
	for _, out := range []string{
		"sat\n", "(c0 x0 y0)", "((true true) (k0 true) (k1 false))", "((",
		"((true true) (e1v0 E1!val!1) (e1v1 E1!val!0) (f1a1 E1!val!0) (f2a0 (- (/ 1.0 3.0))))",
	} {
		f.Add([]byte(out))
	}
	_, s := asked()
	f.Fuzz(func(t *testing.T, out []byte) {
		if _, rest, err := ReadStatus(out); err == nil && len(rest) >= len(out) {
			t.Error("a status of nothing")
		}
		if c, err := s.ReadCore(out); err == nil && len(c) > 2 {
			t.Errorf("a core %v", c)
		}
		if is, err := s.ReadTruths(out); err == nil && len(is) > 2 {
			t.Errorf("%v fail", is)
		}
		if m, err := s.ReadModel(out); err == nil {
			if v, ok := m.Enum(1, 1); !ok || v != 1 {
				t.Errorf("a model %v", m)
			}
		}
	})
}
