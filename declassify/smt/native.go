package smt

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"
)

// Native decides ground problems by one pass over their terms. The zero value
// is ready; it is safe for concurrent use and keeps the memory of passes for
// the next.
type Native struct{ scratch sync.Pool }

var _ Validator = (*Native)(nil)

// Validate says which clauses fail. A problem that is malformed or not ground
// is an ErrProblem. It looks at ctx only at the beginning: a pass takes
// microseconds, and at the limits of a problem some tens of milliseconds.
func (v *Native) Validate(ctx context.Context, p *Problem) (Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	if err := p.Ground(); err != nil {
		return Verdict{}, err
	}
	s, _ := v.scratch.Get().(*[]int64)
	if s == nil {
		s = new([]int64)
	}
	defer v.scratch.Put(s)
	*s = slices.Grow((*s)[:0], len(p.nodes))[:len(p.nodes)]
	val := *s
	if !p.fast(val) {
		if err := p.exact(val, p.fact); err != nil {
			return Verdict{}, err
		}
	}
	return p.verdict(val), nil
}

// verdict reads the clauses' values.
func (p *Problem) verdict(val []int64) Verdict {
	var v Verdict
	for i := range p.clauses {
		if c := &p.clauses[i]; val[c.node] != 1 {
			v.Failures = append(v.Failures, Failure{Clause: i, Name: c.name, Atoms: p.blame(val, c.node)})
		}
	}
	v.OK = len(v.Failures) == 0
	return v
}

// fast computes the value of every node: of formulas 1 or 0, of enumerated
// terms the index, of numbers the count of parts of node.den. It gives up, and
// returns false, where an int64 overflows, or a denominator did. All facts must
// be known.
func (p *Problem) fast(val []int64) bool {
	for i := 1; i < len(p.nodes); i++ {
		n := &p.nodes[i]
		ok := n.den != 0 || n.sort != sortReal
		switch n.op {
		case opApply, opApplyReal:
			val[i] = p.funcs[n.a-1].facts[n.b]
		case opRat:
			val[i] = n.k
		case opSum:
			var sum int64
			for _, k := range p.kids[n.a:n.b] {
				x := val[k]
				if d := p.nodes[k].den; d != n.den && ok {
					x, ok = mul(x, n.den/d)
				}
				if ok {
					sum, ok = plus(sum, x)
				}
			}
			val[i] = sum
		case opScale:
			x, fits := mul(val[n.a], n.k)
			val[i], ok = x, ok && fits
		case opLessEq, opLess, opEqual:
			x, y, dx, dy := val[n.a], val[n.b], p.nodes[n.a].den, p.nodes[n.b].den
			if dx != dy {
				fits := false
				x, ok = mul(x, dy)
				y, fits = mul(y, dx)
				ok = ok && fits
			}
			val[i] = compared(n.op, x > y, x == y)
		default:
			val[i] = p.logic(n, val)
		}
		if !ok {
			return false
		}
	}
	return true
}

func compared(o op, greater, equal bool) int64 {
	switch o {
	case opLessEq:
		return bit(!greater)
	case opLess:
		return bit(!greater && !equal)
	default:
		return bit(equal)
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// logic computes what has no numbers in it.
func (p *Problem) logic(n *node, val []int64) int64 {
	switch n.op {
	case opBool, opValue:
		return n.k
	case opNot:
		return 1 - val[n.a]
	case opAnd:
		for _, k := range p.kids[n.a:n.b] {
			if val[k] == 0 {
				return 0
			}
		}
		return 1
	case opOr:
		for _, k := range p.kids[n.a:n.b] {
			if val[k] == 1 {
				return 1
			}
		}
		return 0
	case opImplies:
		return bit(val[n.a] == 0 || val[n.b] == 1)
	case opIff, opSame:
		return bit(val[n.a] == val[n.b])
	case opIn:
		for _, v := range p.kids[n.k : n.k+int64(n.b)] {
			if val[n.a] == int64(v) {
				return 1
			}
		}
		return 0
	}
	return 0 // a formula that is none holds nowhere
}

// valuation gives the value of an application: an index, or a number.
type valuation func(n *node) (int64, *big.Rat, bool)

// fact is the valuation by the problem's facts.
func (p *Problem) fact(n *node) (int64, *big.Rat, bool) {
	v := p.funcs[n.a-1].facts[n.b]
	if v == free {
		return 0, nil, false
	}
	if n.op == opApply {
		return v, nil, true
	}
	return v, new(big.Rat).SetInt64(v), true
}

// exact computes, in unbounded arithmetic, the value of every node that is no
// number.
func (p *Problem) exact(val []int64, at valuation) error {
	num := make([]*big.Rat, len(p.nodes))
	for i := 1; i < len(p.nodes); i++ {
		n := &p.nodes[i]
		switch n.op {
		case opApply, opApplyReal:
			v, r, ok := at(n)
			if !ok || (r == nil) != (n.op == opApply) {
				return fmt.Errorf("%w: %q has no value", ErrProblem, p.funcs[n.a-1].name)
			}
			val[i], num[i] = v, r
		case opRat:
			num[i] = big.NewRat(n.k, n.q)
		case opSum:
			sum := new(big.Rat)
			for _, k := range p.kids[n.a:n.b] {
				sum.Add(sum, num[k])
			}
			num[i] = sum
		case opScale:
			num[i] = new(big.Rat).Mul(num[n.a], big.NewRat(n.k, n.q))
		case opLessEq, opLess, opEqual:
			c := num[n.a].Cmp(num[n.b])
			val[i] = compared(n.op, c > 0, c == 0)
		default:
			val[i] = p.logic(n, val)
		}
	}
	return nil
}

// blame finds the atoms at fault for a formula's being false, in order: those
// in the parts that, were they otherwise, could change it. All parts of a
// disjunction are, but only the false ones of a conjunction. Of what is
// compared, every atom is.
func (p *Problem) blame(val []int64, i int32) []Atom {
	atoms := p.blamed(nil, val, i)
	slices.Sort(atoms)
	return slices.Compact(atoms)
}

func (p *Problem) blamed(atoms []Atom, val []int64, i int32) []Atom {
	n := &p.nodes[i]
	switch n.op {
	case opAnd, opOr:
		for _, k := range p.kids[n.a:n.b] {
			if val[k] == val[i] {
				atoms = p.blamed(atoms, val, k)
			}
		}
	case opSum:
		for _, k := range p.kids[n.a:n.b] {
			atoms = p.blamed(atoms, val, k)
		}
	case opImplies:
		if val[i] == 0 || val[n.a] == 0 {
			atoms = p.blamed(atoms, val, n.a)
		}
		if val[i] == 0 || val[n.b] == 1 {
			atoms = p.blamed(atoms, val, n.b)
		}
	case opNot, opIn, opScale:
		atoms = p.blamed(atoms, val, n.a)
	case opIff, opSame, opLessEq, opLess, opEqual:
		atoms = p.blamed(p.blamed(atoms, val, n.a), val, n.b)
	case opApply, opApplyReal:
		if !p.funcs[n.a-1].global {
			atoms = append(atoms, Atom(n.b))
		}
	}
	return atoms
}

// mentioned is every atom that a formula speaks of, in order.
func (p *Problem) mentioned(i int32) []Atom {
	var atoms []Atom
	todo := []int32{i}
	for len(todo) > 0 {
		n := &p.nodes[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		switch n.op {
		case opAnd, opOr, opSum:
			todo = append(todo, p.kids[n.a:n.b]...)
		case opImplies, opIff, opSame, opLessEq, opLess, opEqual:
			todo = append(todo, n.a, n.b)
		case opNot, opIn, opScale:
			todo = append(todo, n.a)
		case opApply, opApplyReal:
			if !p.funcs[n.a-1].global {
				atoms = append(atoms, Atom(n.b))
			}
		}
	}
	slices.Sort(atoms)
	return slices.Compact(atoms)
}
