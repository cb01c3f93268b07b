package smt_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/margaydev/margay/declassify/smt"
)

// hostile are names that a script without quoting would read as SMT-LIB.
var hostile = []string{
	"", "|", "||", `\`, `\|`, `"`, `""`, "a b", "a\nb", "a\r\nb", ";", "; a", ")", "(exit)", "|) (assert false) (check-sat) (exit) (|",
	"x\\|) (exit) (|", "\n(assert false)\n", "true", "false", "and", "E0", "e0v0", "c0", "f0", "a0", "\x00", "\xff\xfe", "λ≤1", "\u2028(exit)", "sat", "unsat",
}

// gen draws problems together with their values, computed as they are made, in
// big.Rat: a second evaluator to hold the first to.
type gen struct {
	r     *rand.Rand
	p     *smt.Problem
	atoms int
	enums []genEnum
	efs   []genFunc[smt.EnumFunc, int]
	rfs   []genFunc[smt.RealFunc, int64]
	// made are numbers drawn before, so that terms are shared.
	made []genNumber
}

type genEnum struct {
	enum smt.Enum
	size int
}

type genFunc[F, V any] struct {
	f      F
	enum   int
	values []V
}

type genNumber struct {
	n smt.Number
	v *big.Rat
}

func (g *gen) name(prefix string, i int) string {
	return hostile[g.r.IntN(len(hostile))] + fmt.Sprintf("%s%d", prefix, i) + hostile[g.r.IntN(len(hostile))]
}

// random fills p with a problem and returns what each clause's value is.
func random(r *rand.Rand, p *smt.Problem) []bool {
	_, want := draw(r, p)
	return want
}

// free takes back all facts of one function.
func (g *gen) free() {
	if i := g.r.IntN(len(g.efs) + len(g.rfs)); i < len(g.efs) {
		for a := range g.efs[i].values {
			g.p.FreeEnum(g.efs[i].f, smt.Atom(a))
		}
	} else {
		f := &g.rfs[i-len(g.efs)]
		for a := range f.values {
			g.p.FreeReal(f.f, smt.Atom(a))
		}
	}
}

func draw(r *rand.Rand, p *smt.Problem) (*gen, []bool) {
	g := &gen{r: r, p: p, atoms: r.IntN(6)}
	if r.IntN(2) == 0 {
		p.Atoms(g.atoms)
	}
	for i := range 1 + r.IntN(4) {
		values := make([]string, 1+r.IntN(6))
		for j := range values {
			values[j] = g.name("v", j)
		}
		g.enums = append(g.enums, genEnum{p.Enum(g.name("enum", i), values...), len(values)})
	}
	for i := range 1 + r.IntN(4) {
		e := r.IntN(len(g.enums))
		g.efs = append(g.efs, genFunc[smt.EnumFunc, int]{p.EnumFunc(g.name("f", i), g.enums[e].enum), e, make([]int, g.atoms)})
	}
	for i := range 1 + r.IntN(3) {
		g.rfs = append(g.rfs, genFunc[smt.RealFunc, int64]{p.RealFunc(g.name("g", i)), 0, make([]int64, g.atoms)})
	}
	p.Atoms(g.atoms)
	for _, f := range g.efs {
		for a := range f.values {
			f.values[a] = r.IntN(g.enums[f.enum].size)
			p.SetEnum(f.f, smt.Atom(a), f.values[a])
		}
	}
	for _, f := range g.rfs {
		for a := range f.values {
			f.values[a] = g.whole()
			p.SetReal(f.f, smt.Atom(a), f.values[a])
		}
	}
	want := make([]bool, r.IntN(8))
	mostly := r.IntN(3) > 0
	for i := range want {
		f, v := g.formula(1 + r.IntN(4))
		if !v && mostly && r.IntN(12) > 0 {
			f, v = p.Not(f), true
		}
		p.Clause(g.name("clause", i), f)
		want[i] = v
	}
	return g, want
}

// or is true if one is: by De Morgan's law.
func or(p *smt.Problem, fs ...smt.Formula) smt.Formula {
	none := make([]smt.Formula, len(fs))
	for i, f := range fs {
		none[i] = p.Not(f)
	}
	return p.Not(p.And(none...))
}

// rat is the fraction num/den.
func rat(p *smt.Problem, num, den int64) smt.Number { return p.Scale(p.Int(num), 1, den) }

// whole is a number of any size, most often a small one.
func (g *gen) whole() int64 {
	switch g.r.IntN(12) {
	case 0:
		return math.MaxInt64 - int64(g.r.IntN(2))
	case 1:
		return math.MinInt64 + 1 + int64(g.r.IntN(2))
	case 2:
		return g.r.Int64() >> g.r.IntN(60)
	case 3:
		return 0
	default:
		return int64(g.r.IntN(41)) - 20
	}
}

func (g *gen) den() int64 {
	switch g.r.IntN(12) {
	case 0:
		return math.MaxInt64 - int64(g.r.IntN(3))
	case 1, 2, 3:
		return 1 + int64(g.r.IntN(12))
	default:
		return 1
	}
}

func (g *gen) formula(depth int) (smt.Formula, bool) {
	if depth == 0 {
		return g.leaf()
	}
	p := g.p
	switch g.r.IntN(7) {
	case 0:
		f, v := g.formula(depth - 1)
		return p.Not(f), !v
	case 1, 2:
		n, all := g.r.IntN(4), true
		fs := make([]smt.Formula, n)
		for i := range fs {
			v := false
			fs[i], v = g.formula(depth - 1)
			all = all && v
		}
		return p.And(fs...), all
	case 3:
		n, one := g.r.IntN(4), false
		fs := make([]smt.Formula, n)
		for i := range fs {
			v := false
			fs[i], v = g.formula(depth - 1)
			one = one || v
		}
		return or(p, fs...), one
	case 4:
		f, v := g.formula(depth - 1)
		h, w := g.formula(depth - 1)
		return p.Implies(f, h), !v || w
	case 5:
		f, v := g.formula(depth - 1)
		h, w := g.formula(depth - 1)
		return p.And(p.Implies(f, h), p.Implies(h, f)), v == w
	default:
		return g.leaf()
	}
}

func (g *gen) leaf() (smt.Formula, bool) {
	p, r := g.p, g.r
	kind := r.IntN(8)
	if g.atoms == 0 && kind < 5 {
		kind = 0 // no function has a value
	}
	switch kind {
	case 0:
		v := r.IntN(2) == 0
		return p.Bool(v), v
	case 1, 2:
		t, e, v := g.term(-1)
		u, _, w := g.term(e)
		return p.Same(t, u), v == w
	case 3, 4:
		t, e, v := g.term(-1)
		values, in := make([]int, r.IntN(4)), false
		for i := range values {
			values[i] = r.IntN(g.enums[e].size)
			in = in || values[i] == v
		}
		return p.In(t, values...), in
	default:
		x, v := g.number(r.IntN(4))
		y, w := g.near(x, v)
		c := v.Cmp(w)
		switch r.IntN(3) {
		case 0:
			return p.LessEq(x, y), c <= 0
		case 1:
			return p.Less(x, y), c < 0
		default:
			return p.Equal(x, y), c == 0
		}
	}
}

// term draws a function's value, of an enumeration or of any.
func (g *gen) term(e int) (smt.Term, int, int) {
	of := slices.DeleteFunc(slices.Clone(g.efs), func(f genFunc[smt.EnumFunc, int]) bool { return e >= 0 && f.enum != e })
	f := of[g.r.IntN(len(of))]
	a := g.r.IntN(len(f.values))
	return g.p.Apply(f.f, smt.Atom(a)), f.enum, f.values[a]
}

// near draws a number at the edge of another, or any.
func (g *gen) near(x smt.Number, v *big.Rat) (smt.Number, *big.Rat) {
	if g.r.IntN(4) == 0 || !v.Num().IsInt64() || !v.Denom().IsInt64() {
		return g.number(g.r.IntN(4))
	}
	y, w := rat(g.p, v.Num().Int64(), v.Denom().Int64()), new(big.Rat).Set(v)
	if g.r.IntN(2) == 0 {
		n, d := int64(g.r.IntN(3))-1, 1+int64(g.r.IntN(1000))
		y = g.p.Sum(y, rat(g.p, n, d))
		w.Add(w, big.NewRat(n, d))
	}
	return y, w
}

func (g *gen) number(depth int) (smt.Number, *big.Rat) {
	n, v := g.draw(depth)
	g.made = append(g.made, genNumber{n, v})
	return n, v
}

func (g *gen) draw(depth int) (smt.Number, *big.Rat) {
	r, p := g.r, g.p
	if len(g.made) > 0 && r.IntN(6) == 0 {
		m := g.made[r.IntN(len(g.made))]
		if depth > 1 {
			return p.Scale(m.n, 1, 1), m.v
		}
	}
	switch k := r.IntN(6); {
	case k < 2 || depth == 0:
		f := g.rfs[r.IntN(len(g.rfs))]
		if len(f.values) > 0 && r.IntN(4) > 0 {
			a := r.IntN(len(f.values))
			return p.Amount(f.f, smt.Atom(a)), new(big.Rat).SetInt64(f.values[a])
		}
		n, d := g.whole(), g.den()
		return rat(p, n, d), big.NewRat(n, d)
	case k < 4:
		xs, sum := make([]smt.Number, r.IntN(4)), new(big.Rat)
		for i := range xs {
			var v *big.Rat
			xs[i], v = g.number(depth - 1)
			sum.Add(sum, v)
		}
		return p.Sum(xs...), sum
	default:
		x, v := g.number(depth - 1)
		n, d := g.whole(), g.den()
		return p.Scale(x, n, d), new(big.Rat).Mul(v, big.NewRat(n, d))
	}
}
