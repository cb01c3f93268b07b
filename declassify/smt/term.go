package smt

import "math"

// node is a term. Operands come before what is made of them, so a pass in
// order of nodes finds them known, and there are no circles.
type node struct {
	op    op
	sort  sort
	depth uint8
	enum  uint8  // of sortEnum: which, from 1
	size  uint32 // terms below and with it, as a tree
	a, b  int32  // operands; kids[a:b]; function from 1 and place
	// k and q are a fraction: a constant, or a factor. For opValue and opBool
	// k is the value.
	k, q int64
	// den is what the value of a number is counted in parts of, or 0 if that
	// is beyond an int64.
	den int64
}

type sort uint8

const (
	sortBool sort = iota + 1
	sortEnum
	sortReal
)

type op uint8

const (
	opBool op = iota + 1
	opNot
	opAnd     // of kids
	opOr      // of kids
	opImplies // b follows from a
	opIff
	opSame      // of two enumerated terms
	opIn        // a is one of kids[k:k+b], which are values
	opLessEq    // of numbers
	opLess      // of numbers
	opEqual     // of numbers
	opValue     // member k of enum
	opApply     // function a at place b
	opRat       // k/q
	opSum       // of kids
	opScale     // a times k/q
	opApplyReal // function a at place b
)

// sorted says whether a node exists and has a sort; if not, it notes the
// mistake.
func (p *Problem) sorted(i int32, s sort, enum uint8) bool {
	if p.err != nil {
		return false
	}
	if i < 1 || int(i) >= len(p.nodes) {
		p.fail("there is no such term")
		return false
	}
	if n := &p.nodes[i]; n.sort != s || (enum != 0 && n.enum != enum) {
		p.fail("a term has the wrong sort")
		return false
	}
	return true
}

// add appends a node over operands that have been checked.
func (p *Problem) add(n node, operands ...int32) int32 {
	if p.err != nil {
		return 0
	}
	if len(p.nodes) == 0 {
		p.nodes = append(p.nodes, node{})
	}
	size, depth := uint64(1), uint8(0)
	for _, k := range operands {
		o := &p.nodes[k]
		size += uint64(o.size)
		depth = max(depth, o.depth)
	}
	if depth++; depth > MaxDepth {
		p.fail("a term is deeper than %d", MaxDepth)
		return 0
	}
	if size > MaxSize {
		p.fail("a term has more than %d terms", MaxSize)
		return 0
	}
	if len(p.nodes) > MaxTerms || len(p.kids) > MaxTerms {
		p.fail("more than %d terms", MaxTerms)
		return 0
	}
	n.size, n.depth = uint32(size), depth
	p.nodes = append(p.nodes, n)
	return int32(len(p.nodes) - 1)
}

// Bool is true or false.
func (p *Problem) Bool(v bool) Formula {
	n := node{op: opBool, sort: sortBool}
	if v {
		n.k = 1
	}
	return Formula(p.add(n))
}

// Not is the negation.
func (p *Problem) Not(f Formula) Formula {
	if !p.sorted(int32(f), sortBool, 0) {
		return 0
	}
	return Formula(p.add(node{op: opNot, sort: sortBool, a: int32(f)}, int32(f)))
}

// And is true if all are, and so of none.
func (p *Problem) And(fs ...Formula) Formula { return p.junction(opAnd, fs) }

// Or is true if one is, and so never of none.
func (p *Problem) Or(fs ...Formula) Formula { return p.junction(opOr, fs) }

func (p *Problem) junction(o op, fs []Formula) Formula {
	from := len(p.kids)
	for _, f := range fs {
		if !p.sorted(int32(f), sortBool, 0) {
			return 0
		}
		p.kids = append(p.kids, int32(f))
	}
	return Formula(p.add(node{op: o, sort: sortBool, a: int32(from), b: int32(len(p.kids))}, p.kids[from:]...))
}

// Implies is true unless f is and g is not.
func (p *Problem) Implies(f, g Formula) Formula {
	return Formula(p.pair(opImplies, sortBool, int32(f), int32(g)))
}

// Iff is true if both are or none is.
func (p *Problem) Iff(f, g Formula) Formula {
	return Formula(p.pair(opIff, sortBool, int32(f), int32(g)))
}

// Same is equality; the terms must be of one enumeration.
func (p *Problem) Same(t, u Term) Formula {
	if p.sorted(int32(t), sortEnum, 0) && !p.sorted(int32(u), sortEnum, p.nodes[t].enum) {
		return 0
	}
	return Formula(p.pair(opSame, sortEnum, int32(t), int32(u)))
}

// LessEq is x ≤ y.
func (p *Problem) LessEq(x, y Number) Formula {
	return Formula(p.pair(opLessEq, sortReal, int32(x), int32(y)))
}

// Less is x < y.
func (p *Problem) Less(x, y Number) Formula {
	return Formula(p.pair(opLess, sortReal, int32(x), int32(y)))
}

// Equal is x = y.
func (p *Problem) Equal(x, y Number) Formula {
	return Formula(p.pair(opEqual, sortReal, int32(x), int32(y)))
}

// pair adds a formula of two operands of a sort.
func (p *Problem) pair(o op, s sort, a, b int32) int32 {
	if !p.sorted(a, s, 0) || !p.sorted(b, s, 0) {
		return 0
	}
	return p.add(node{op: o, sort: sortBool, a: a, b: b}, a, b)
}

// In is true if t is one of the values, which are indices; never of none.
func (p *Problem) In(t Term, values ...int) Formula {
	if !p.sorted(int32(t), sortEnum, 0) {
		return 0
	}
	from, e := len(p.kids), p.nodes[t].enum
	if len(values) > MaxValues {
		p.fail("one of %d values", len(values))
		return 0
	}
	for _, v := range values {
		if v < 0 || v >= len(p.enums[e-1].values) {
			p.fail("enumeration %q has no value %d", p.enums[e-1].name, v)
			return 0
		}
		p.kids = append(p.kids, int32(v))
	}
	i := p.add(node{op: opIn, sort: sortBool, a: int32(t), b: int32(len(values)), k: int64(from)}, int32(t))
	if i != 0 {
		p.nodes[i].size += uint32(len(values))
	}
	return Formula(i)
}

// Is is true if t has the value of that index.
func (p *Problem) Is(t Term, value int) Formula { return p.In(t, value) }

// Value is a member of an enumeration, by its index.
func (p *Problem) Value(e Enum, value int) Term {
	if p.err != nil {
		return 0
	}
	if e < 1 || int(e) > len(p.enums) || value < 0 || value >= len(p.enums[e-1].values) {
		p.fail("enumeration %d has no value %d", e, value)
		return 0
	}
	return Term(p.add(node{op: opValue, sort: sortEnum, enum: uint8(e), k: int64(value)}))
}

// ValueOf is the index of a member of an enumeration, or -1, a mistake.
func (p *Problem) ValueOf(e Enum, name string) int {
	if p.err != nil {
		return -1
	}
	if e < 1 || int(e) > len(p.enums) {
		p.fail("there is no enumeration %d", e)
		return -1
	}
	for i, v := range p.enums[e-1].values {
		if v == name {
			return i
		}
	}
	p.fail("enumeration %q has no value %q", p.enums[e-1].name, name)
	return -1
}

// Apply is a function's value at an atom, or at Global.
func (p *Problem) Apply(f EnumFunc, a Atom) Term {
	fn, i, ok := p.place(int32(f), a, true)
	if !ok {
		return 0
	}
	return Term(p.apply(fn, i, node{op: opApply, sort: sortEnum, enum: uint8(fn.enum), a: int32(f), b: int32(i)}))
}

// Amount is a function's value at an atom, or at Global.
func (p *Problem) Amount(f RealFunc, a Atom) Number {
	fn, i, ok := p.place(int32(f), a, false)
	if !ok {
		return 0
	}
	return Number(p.apply(fn, i, node{op: opApplyReal, sort: sortReal, a: int32(f), b: int32(i), den: 1}))
}

func (p *Problem) apply(fn *function, place int, n node) int32 {
	if fn.app[place] == 0 {
		i := p.add(n)
		if i == 0 {
			return 0
		}
		fn.app[place] = i
		p.apps = append(p.apps, i)
	}
	return fn.app[place]
}

// Int is a whole number.
func (p *Problem) Int(v int64) Number { return p.Rat(v, 1) }

// Rat is num/den; den is positive.
func (p *Problem) Rat(num, den int64) Number {
	if p.err == nil && den < 1 {
		p.fail("a denominator of %d", den)
	}
	return Number(p.add(node{op: opRat, sort: sortReal, k: num, q: den, den: den}))
}

// Scale is x·num/den; den is positive.
func (p *Problem) Scale(x Number, num, den int64) Number {
	if p.err == nil && den < 1 {
		p.fail("a denominator of %d", den)
	}
	if !p.sorted(int32(x), sortReal, 0) {
		return 0
	}
	d, ok := mul(p.nodes[x].den, den)
	if !ok {
		d = 0
	}
	return Number(p.add(node{op: opScale, sort: sortReal, a: int32(x), k: num, q: den, den: d}, int32(x)))
}

// Sum of none is 0.
func (p *Problem) Sum(xs ...Number) Number {
	from, den := len(p.kids), int64(1)
	for _, x := range xs {
		if !p.sorted(int32(x), sortReal, 0) {
			return 0
		}
		if d := p.nodes[x].den; d != den {
			den = lcm(den, d)
		}
		p.kids = append(p.kids, int32(x))
	}
	return Number(p.add(node{op: opSum, sort: sortReal, a: int32(from), b: int32(len(p.kids)), den: den}, p.kids[from:]...))
}

// mul multiplies, and says if the product is right.
func mul(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	if c/b != a || (a == -1 && b == math.MinInt64) || (b == -1 && a == math.MinInt64) {
		return 0, false
	}
	return c, true
}

// plus adds, and says if the sum is right.
func plus(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

// lcm is the least common multiple of denominators, 0 if one is 0 or the
// result is beyond an int64.
func lcm(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	c, ok := mul(a/x, b)
	if !ok {
		return 0
	}
	return c
}
