package smt

// node is a term. Operands come before the terms made of them, so a pass in
// the order of nodes has their values, and there are no cycles.
type node struct {
	op    op
	sort  sort
	depth uint8
	enum  uint8  // of sortEnum: which, from 1
	size  uint32 // terms below and with it, as a tree
	a, b  int32  // operands; kids[a:b]; function from 1 and atom
	// k and q are the factor of opScale. k is also the value of opBool and
	// opInt, and the place in kids of opIn.
	k, q int64
}

type sort uint8

const (
	sortBool sort = iota + 1
	sortEnum
	sortReal
)

type op uint8

const (
	opBool    op = iota + 1
	opNot        // of a
	opAnd        // of kids
	opImplies    // b follows from a
	opSame       // of two enumerated terms
	opIn         // a is one of kids[k:k+b], which are values
	opLessEq     // of numbers
	opLess       // of numbers
	opEqual      // of numbers
	opApply      // function a of atom b
	opInt        // k
	opSum        // of kids
	opScale      // a times k/q
)

// sorted reports whether a node exists and has a sort; if not, it notes the
// mistake.
func (p *Problem) sorted(i int32, s sort) bool {
	switch {
	case p.err != nil:
	case i < 1 || int(i) >= len(p.nodes):
		p.fail("unknown term")
	case p.nodes[i].sort != s:
		p.fail("a term has the wrong sort")
	default:
		return true
	}
	return false
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
	switch depth++; {
	case depth > MaxDepth:
		return p.fail("a term is deeper than %d", MaxDepth)
	case size > MaxSize:
		return p.fail("a term has more than %d terms", MaxSize)
	case len(p.nodes) > MaxTerms || len(p.kids) > MaxTerms:
		return p.fail("more than %d terms", MaxTerms)
	}
	n.size, n.depth = uint32(size), depth
	p.nodes = append(p.nodes, n)
	return int32(len(p.nodes) - 1)
}

// list adds a node over operands of its own sort.
func list[T ~int32](p *Problem, o op, s sort, of []T) T {
	from := len(p.kids)
	for _, x := range of {
		if !p.sorted(int32(x), s) {
			return 0
		}
		p.kids = append(p.kids, int32(x))
	}
	return T(p.add(node{op: o, sort: s, a: int32(from), b: int32(len(p.kids))}, p.kids[from:]...))
}

// pair adds a formula of two operands of a sort.
func pair[T ~int32](p *Problem, o op, s sort, a, b T) Formula {
	if !p.sorted(int32(a), s) || !p.sorted(int32(b), s) {
		return 0
	}
	return Formula(p.add(node{op: o, sort: sortBool, a: int32(a), b: int32(b)}, int32(a), int32(b)))
}

// Bool is true or false.
func (p *Problem) Bool(v bool) Formula {
	return Formula(p.add(node{op: opBool, sort: sortBool, k: bit(v)}))
}

// Not is the negation.
func (p *Problem) Not(f Formula) Formula {
	if !p.sorted(int32(f), sortBool) {
		return 0
	}
	return Formula(p.add(node{op: opNot, sort: sortBool, a: int32(f)}, int32(f)))
}

// And is true if all are. And of nothing is true.
func (p *Problem) And(fs ...Formula) Formula { return list(p, opAnd, sortBool, fs) }

// Implies is true unless f is and g is not.
func (p *Problem) Implies(f, g Formula) Formula { return pair(p, opImplies, sortBool, f, g) }

// Same is equality; the terms must be of one enumeration.
func (p *Problem) Same(t, u Term) Formula {
	f := pair(p, opSame, sortEnum, t, u)
	if f != 0 && p.nodes[t].enum != p.nodes[u].enum {
		return Formula(p.fail("members of two enumerations are compared"))
	}
	return f
}

// LessEq is x ≤ y.
func (p *Problem) LessEq(x, y Number) Formula { return pair(p, opLessEq, sortReal, x, y) }

// Less is x < y.
func (p *Problem) Less(x, y Number) Formula { return pair(p, opLess, sortReal, x, y) }

// Equal is x = y.
func (p *Problem) Equal(x, y Number) Formula { return pair(p, opEqual, sortReal, x, y) }

// In is true if t has one of the values, which are indices. In of no values is
// false.
func (p *Problem) In(t Term, values ...int) Formula {
	if !p.sorted(int32(t), sortEnum) {
		return 0
	}
	from, e := len(p.kids), &p.enums[p.nodes[t].enum-1]
	if len(values) > MaxValues {
		return Formula(p.fail("one of %d values, more than %d", len(values), MaxValues))
	}
	for _, v := range values {
		if v < 0 || v >= len(e.values) {
			return Formula(p.fail("enumeration %q has no value %d", e.name, v))
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

// Apply is a function's value at an atom.
func (p *Problem) Apply(f EnumFunc, a Atom) Term { return Term(p.apply(int32(f), a, sortEnum)) }

// Amount is a function's value at an atom.
func (p *Problem) Amount(f RealFunc, a Atom) Number { return Number(p.apply(int32(f), a, sortReal)) }

func (p *Problem) apply(f int32, a Atom, s sort) int32 {
	fn := p.at(f, a, s == sortEnum)
	if fn == nil {
		return 0
	}
	if fn.app[a] == 0 {
		i := p.add(node{op: opApply, sort: s, enum: uint8(fn.enum), a: f, b: int32(a)})
		if i == 0 {
			return 0
		}
		fn.app[a] = i
		p.apps = append(p.apps, i)
	}
	return fn.app[a]
}

// Int is a whole number.
func (p *Problem) Int(v int64) Number { return Number(p.add(node{op: opInt, sort: sortReal, k: v})) }

// Scale is x·num/den; den is positive.
func (p *Problem) Scale(x Number, num, den int64) Number {
	if p.err == nil && den < 1 {
		p.fail("a denominator is %d, less than 1", den)
	}
	if !p.sorted(int32(x), sortReal) {
		return 0
	}
	return Number(p.add(node{op: opScale, sort: sortReal, a: int32(x), k: num, q: den}, int32(x)))
}

// Sum is the sum. The sum of nothing is 0.
func (p *Problem) Sum(xs ...Number) Number { return list(p, opSum, sortReal, xs) }
