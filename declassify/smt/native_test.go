package smt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/declassify/smt"
)

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 0x6d617267617921)) }

// failing are the indices of the clauses that a Verdict names.
func failing(v smt.Verdict) []int {
	var is []int
	for _, f := range v.Failures {
		is = append(is, f.Clause)
	}
	return is
}

func falses(want []bool) []int {
	var is []int
	for i, v := range want {
		if !v {
			is = append(is, i)
		}
	}
	return is
}

// TestNative holds the pass to values that the generator computed alongside.
func TestNative(t *testing.T) {
	var native smt.Native
	passed, n := 0, 50_000
	var p smt.Problem
	for i := range n {
		p.Reset()
		want := random(seeded(uint64(i)), &p)
		v, err := native.Validate(t.Context(), &p)
		if err != nil {
			t.Fatalf("seed %d: %v", i, err)
		}
		if !slices.Equal(failing(v), falses(want)) || v.OK != (len(v.Failures) == 0) {
			t.Fatalf("seed %d: clauses %v fail, and %v should", i, failing(v), falses(want))
		}
		for _, f := range v.Failures {
			if f.Name != p.ClauseName(f.Clause) {
				t.Fatalf("seed %d: clause %d is called %q", i, f.Clause, f.Name)
			}
		}
		if v.OK {
			passed++
		}
	}
	if passed < n/5 || passed > n*4/5 {
		t.Errorf("%d of %d random problems pass: too one-sided to show anything", passed, n)
	}
}

// TestRelease breaks each clause of a release in turn.
func TestRelease(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(p *smt.Problem, l labels)
		want  string // clauses and atoms at fault
	}{
		{"nothing", func(*smt.Problem, labels) {}, ""},
		{"an atom without a field", func(p *smt.Problem, l labels) {
			p.SetEnum(l.field, 7, 0)
			p.SetEnum(l.answer, 7, 0)
		}, "coverage [7]"},
		{"another answer to a challenge", func(p *smt.Problem, l labels) { p.SetEnum(l.answer, 5, 0) }, "challenge [5]"},
		{"a required field called unnecessary", func(p *smt.Problem, l labels) { p.SetEnum(l.nec, 0, unnecessary) }, "disclosure [0], necessity [0]"},
		{"a cost above the cap", func(p *smt.Problem, l labels) {
			p.SetReal(l.limit, 0, 0)
		}, "cap [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19]"},
		{"what the task needs is gone", func(p *smt.Problem, l labels) {
			for a := range smt.Atom(20) {
				p.SetEnum(l.op, a, drop)
				p.SetReal(l.cost, a, 0)
			}
			p.SetReal(l.charge, 0, 0)
			p.SetReal(l.limit, 0, 0)
		}, "utility [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p smt.Problem
			l := release(seeded(1), &p, 20, 1)
			tt.spoil(&p, l)
			v, err := new(smt.Native).Validate(t.Context(), &p)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range v.Failures {
				got = append(got, fmt.Sprint(f.Name, " ", f.Atoms))
			}
			slices.Sort(got)
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("fails: %s\nshould: %s", s, tt.want)
			}
		})
	}
}

// TestMonotone: escalating an operator never adds a failing clause but utility.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p smt.Problem
		var native smt.Native
		atoms := rapid.IntRange(1, 20).Draw(t, "atoms")
		l := release(seeded(rapid.Uint64().Draw(t, "seed")), &p, atoms, 2)
		a := smt.Atom(rapid.IntRange(0, atoms-1).Draw(t, "atom"))
		p.SetEnum(l.op, a, rapid.IntRange(redact, drop).Draw(t, "op"))
		p.SetReal(l.cost, a, 0)
		v, err := native.Validate(context.Background(), &p)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Failures {
			if f.Name != "utility" {
				t.Fatalf("%v", v)
			}
		}
	})
}

// TestExact looks at numbers that an int64 or a float64 would get wrong.
func TestExact(t *testing.T) {
	const most, least = math.MaxInt64, math.MinInt64
	tests := []struct {
		name string
		f    func(p *smt.Problem) smt.Formula
		want bool
	}{
		{"most+1 > most", func(p *smt.Problem) smt.Formula { return p.Less(p.Int(most), p.Sum(p.Int(most), p.Int(1))) }, true},
		{"most+1 = least", func(p *smt.Problem) smt.Formula { return p.Equal(p.Int(least), p.Sum(p.Int(most), p.Int(1))) }, false},
		{"-least > most", func(p *smt.Problem) smt.Formula { return p.Less(p.Int(most), p.Scale(p.Int(least), -1, 1)) }, true},
		{"1/3+1/3+1/3 = 1", func(p *smt.Problem) smt.Formula {
			x := rat(p, 1, 3)
			return p.Equal(p.Sum(x, x, x), p.Int(1))
		}, true},
		{"0.1+0.2 = 0.3", func(p *smt.Problem) smt.Formula {
			return p.Equal(p.Sum(rat(p, 1, 10), rat(p, 2, 10)), rat(p, 3, 10))
		}, true},
		{"2^53+1 ≠ 2^53", func(p *smt.Problem) smt.Formula { return p.Equal(p.Int(1<<53), p.Sum(p.Int(1<<53), p.Int(1))) }, false},
		{"1/most < 1/(most-1)", func(p *smt.Problem) smt.Formula { return p.Less(rat(p, 1, most), rat(p, 1, most-1)) }, true},
		{"a sum of fractions without a common denominator", func(p *smt.Problem) smt.Formula {
			return p.Less(p.Sum(rat(p, 1, most), rat(p, 1, most-1)), rat(p, 2, most-1))
		}, true},
		{"1/most² < 1/most(most-1)", func(p *smt.Problem) smt.Formula {
			x := rat(p, 1, most)
			return p.Less(p.Scale(x, 1, most), p.Scale(x, 1, most-1))
		}, true},
		{"two sums without common denominators", func(p *smt.Problem) smt.Formula {
			x, y, z := rat(p, 1, most), rat(p, 1, most-1), rat(p, 1, most-2)
			return p.Less(p.Sum(x, y), p.Sum(y, z))
		}, true},
		{"5/4 of 4 = 5", func(p *smt.Problem) smt.Formula { return p.Equal(p.Scale(p.Int(4), 5, 4), p.Int(5)) }, true},
		{"0 of something huge is 0", func(p *smt.Problem) smt.Formula {
			return p.Equal(p.Scale(p.Scale(p.Int(most), most, most), 0, most), p.Sum())
		}, true},
		{"least ≤ least", func(p *smt.Problem) smt.Formula { return p.LessEq(p.Int(least), p.Int(least)) }, true},
	}
	for _, tt := range tests {
		var p smt.Problem
		p.Clause("c", tt.f(&p))
		v, err := new(smt.Native).Validate(t.Context(), &p)
		if err != nil || v.OK != tt.want {
			t.Errorf("%s: %v, %v", tt.name, v, err)
		}
	}
}

// TestMalformed: each mistake is an error, and the zero Verdict.
func TestMalformed(t *testing.T) {
	long := strings.Repeat("x", smt.MaxName+1)
	many := make([]string, smt.MaxValues+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	type parts struct {
		*smt.Problem
		f, g smt.EnumFunc
		cost smt.RealFunc
	}
	tests := map[string]func(p parts){
		"no such enumeration":        func(p parts) { p.EnumFunc("h", 9) },
		"none":                       func(p parts) { p.EnumFunc("h", 0) },
		"an enumeration of none":     func(p parts) { p.Enum("x") },
		"an enumeration twice":       func(p parts) { p.Enum("e", "a") },
		"a value twice":              func(p parts) { p.Enum("x", "a", "b", "a") },
		"too many values":            func(p parts) { p.Enum("x", many...) },
		"a long name":                func(p parts) { p.Enum(long, "a") },
		"a long name of a value":     func(p parts) { p.Enum("x", long) },
		"a long name of a function":  func(p parts) { p.RealFunc(long) },
		"a long name of a clause":    func(p parts) { p.Clause(long, p.Bool(true)) },
		"a function twice":           func(p parts) { p.RealFunc("cost") },
		"too many atoms":             func(p parts) { p.Atoms(smt.MaxAtoms + 1) },
		"fewer atoms":                func(p parts) { p.Atoms(1) },
		"negative atoms":             func(p parts) { p.Atoms(-1) },
		"no such value":              func(p parts) { p.SetEnum(p.f, 0, 3) },
		"a negative value":           func(p parts) { p.SetEnum(p.f, 0, -1) },
		"no such atom":               func(p parts) { p.SetEnum(p.f, 2, 0) },
		"a negative atom":            func(p parts) { p.SetReal(p.cost, -2, 0) },
		"no such function":           func(p parts) { p.SetReal(17, 0, 0) },
		"the zero function":          func(p parts) { p.SetEnum(0, 0, 0) },
		"a number for a member":      func(p parts) { p.SetReal(smt.RealFunc(p.f), 0, 0) },
		"a member for a number":      func(p parts) { p.SetEnum(smt.EnumFunc(p.cost), 0, 0) },
		"the least number":           func(p parts) { p.SetReal(p.cost, 0, math.MinInt64) },
		"the zero formula":           func(p parts) { p.Clause("c", 0) },
		"no such formula":            func(p parts) { p.Clause("c", 1<<20) },
		"a number as a clause":       func(p parts) { p.Clause("c", smt.Formula(p.Int(1))) },
		"not of a number":            func(p parts) { p.Not(smt.Formula(p.Int(1))) },
		"and with nothing":           func(p parts) { p.And(p.Bool(true), 0) },
		"a sum with a formula":       func(p parts) { p.Sum(p.Int(1), smt.Number(p.Bool(true))) },
		"scaled member":              func(p parts) { p.Scale(smt.Number(p.Apply(p.f, 0)), 1, 1) },
		"members of two kinds":       func(p parts) { p.Same(p.Apply(p.f, 0), p.Apply(p.g, 0)) },
		"in a member of another":     func(p parts) { p.In(p.Apply(p.g, 0), 2) },
		"in a formula":               func(p parts) { p.In(smt.Term(p.Bool(true)), 0) },
		"scaled by a fraction of 0":  func(p parts) { p.Scale(p.Int(1), 1, 0) },
		"scaled by a negative":       func(p parts) { p.Scale(p.Int(1), 1, -1) },
		"compared with a formula":    func(p parts) { p.LessEq(p.Int(1), smt.Number(p.Bool(true))) },
		"one of too many":            func(p parts) { p.In(p.Apply(p.f, 0), make([]int, smt.MaxValues+1)...) },
		"a function without a value": func(p parts) { p.Is(p.Apply(p.f, 0), 1) },
		"a cost without a value":     func(p parts) { p.Amount(p.cost, 1) },
		"a value taken back": func(p parts) {
			p.SetReal(p.cost, 0, 1)
			p.Amount(p.cost, 0)
			p.FreeReal(p.cost, 0)
		},
		"too deep": func(p parts) {
			f := p.Bool(true)
			for range smt.MaxDepth {
				f = p.Not(f)
			}
		},
		"doubled too often": func(p parts) {
			x := p.Int(1)
			for range 40 {
				x = p.Sum(x, x)
			}
		},
		"too much in all": func(p parts) {
			x := p.Int(1)
			for range 20 {
				x = p.Sum(x, x)
			}
			for range 4 {
				p.Clause("c", p.Less(x, x))
			}
		},
		"too many functions": func(p parts) {
			for i := range smt.MaxFunctions {
				p.RealFunc(fmt.Sprint(i))
			}
		},
		"too many enumerations": func(p parts) {
			for i := range smt.MaxEnums {
				p.Enum(fmt.Sprint(i), "a")
			}
		},
		"too many clauses": func(p parts) {
			for range smt.MaxClauses + 1 {
				p.Clause("c", p.Bool(true))
			}
		},
		"too many terms": func(p parts) {
			for range smt.MaxTerms + 1 {
				p.Bool(true)
			}
		},
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			var p smt.Problem
			p.Atoms(2)
			e, e2 := p.Enum("e", "a", "b", "c"), p.Enum("e2", "a", "b")
			spoil(parts{&p, p.EnumFunc("f", e), p.EnumFunc("g", e2), p.RealFunc("cost")})
			v, err := new(smt.Native).Validate(t.Context(), &p)
			if !errors.Is(err, smt.ErrProblem) || v.OK {
				t.Fatalf("%v, %v", v, err)
			}
			n := p.Clauses()
			p.Clause("c", p.Bool(true)) // a mistake sticks
			if (p.Err() != nil) != (p.Clauses() == n) || p.Err() != nil && !errors.Is(p.Err(), smt.ErrProblem) {
				t.Errorf("%v, %d clauses", p.Err(), p.Clauses())
			}
			if v, err := new(smt.Native).Validate(t.Context(), &p); !errors.Is(err, smt.ErrProblem) || v.OK {
				t.Fatalf("%v, %v", v, err)
			}
			p.Reset()
			p.Clause("c", p.Bool(true))
			if v, err := new(smt.Native).Validate(t.Context(), &p); err != nil || !v.OK {
				t.Fatalf("after a reset: %v, %v", v, err)
			}
		})
	}
}

// TestEmpty: nothing is asked, and nothing fails; but the zero Verdict does
// not pass.
func TestEmpty(t *testing.T) {
	var p smt.Problem
	if v, err := new(smt.Native).Validate(t.Context(), &p); err != nil || !v.OK {
		t.Errorf("%v, %v", v, err)
	}
	if (smt.Verdict{}).OK {
		t.Error("the zero Verdict passes")
	}
	p.Clause("none", or(&p))
	if v, err := new(smt.Native).Validate(t.Context(), &p); err != nil || v.OK || v.Failures[0].Name != "none" {
		t.Errorf("%v, %v", v, err)
	}
}

type fixed struct {
	v   smt.Verdict
	err error
}

func (f fixed) Validate(context.Context, *smt.Problem) (smt.Verdict, error) { return f.v, f.err }

// TestBoth refuses whatever the two don't say alike.
func TestBoth(t *testing.T) {
	pass, zero := smt.Verdict{OK: true}, smt.Verdict{}
	fail := func(is ...int) (v smt.Verdict) {
		for _, i := range is {
			v.Failures = append(v.Failures, smt.Failure{Clause: i})
		}
		return v
	}
	broken := errors.New("broken")
	tests := []struct {
		a, b fixed
		want error
	}{
		{fixed{v: pass}, fixed{v: pass}, nil},
		{fixed{v: fail(1, 3)}, fixed{v: fail(1, 3)}, nil},
		{fixed{v: pass}, fixed{v: fail(1)}, smt.ErrDisagree},
		{fixed{v: fail(1)}, fixed{v: pass}, smt.ErrDisagree},
		{fixed{v: fail(1)}, fixed{v: fail(2)}, smt.ErrDisagree},
		{fixed{v: fail(1)}, fixed{v: fail(1, 2)}, smt.ErrDisagree},
		{fixed{v: pass}, fixed{v: zero}, smt.ErrDisagree},
		{fixed{v: pass}, fixed{v: pass, err: broken}, broken},
		{fixed{v: pass, err: broken}, fixed{v: pass}, broken},
	}
	for i, tt := range tests {
		v, err := smt.Both{First: tt.a, Second: tt.b}.Validate(t.Context(), new(smt.Problem))
		if !errors.Is(err, tt.want) || (err != nil && v.OK) || (err == nil && v.OK != tt.a.v.OK) {
			t.Errorf("%d: %v, %v", i, v, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := new(smt.Native).Validate(ctx, new(smt.Problem)); !errors.Is(err, context.Canceled) || v.OK {
		t.Errorf("%v, %v", v, err)
	}
}

// BenchmarkNative decides releases of 20 atoms under 3 rubrics, and those with
// the clauses that the verifier states.
func BenchmarkNative(b *testing.B) {
	ps := make([]smt.Problem, 64)
	for i := range ps {
		release(seeded(uint64(i)), &ps[i], 20, 3)
	}
	native, ctx := new(smt.Native), b.Context()
	b.Run("decide", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(float64(ps[0].Clauses()), "clauses")
		i := 0
		percentiles(b, func() {
			i++
			if v, err := native.Validate(ctx, &ps[i%len(ps)]); err != nil || !v.OK {
				b.Fatalf("%v, %v", v, err)
			}
		})
	})
	b.Run("build-and-decide", func(b *testing.B) {
		b.ReportAllocs()
		r := seeded(1)
		var p smt.Problem
		percentiles(b, func() {
			release(r, &p, 20, 3)
			if v, err := native.Validate(ctx, &p); err != nil || !v.OK {
				b.Fatalf("%v, %v", v, err)
			}
		})
	})
	b.Run("state-and-decide", func(b *testing.B) {
		b.ReportAllocs()
		r := seeded(1)
		var p smt.Problem
		percentiles(b, func() {
			stated(r, &p, 20, false)
			if v, err := native.Validate(ctx, &p); err != nil || !v.OK {
				b.Fatalf("%v, %v", v, err)
			}
		})
	})
	b.Run("fail", func(b *testing.B) {
		b.ReportAllocs()
		var p smt.Problem
		l := release(seeded(1), &p, 20, 3)
		p.SetEnum(l.nec, 0, unnecessary)
		percentiles(b, func() {
			if v, err := native.Validate(ctx, &p); err != nil || v.OK {
				b.Fatalf("%v, %v", v, err)
			}
		})
	})
}

// percentiles times each call and reports the median and the 99th percentile.
func percentiles(b *testing.B, f func()) {
	took := make([]time.Duration, 0, 1<<16)
	for b.Loop() {
		t := time.Now()
		f()
		if len(took) < cap(took) {
			took = append(took, time.Since(t))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
}
