package smt

import (
	"cmp"
	"context"
	"math/big"
	"slices"
	"sync"
)

// Native decides ground problems by one pass over their terms. The zero value
// is ready. It is safe for concurrent use, and reuses the memory of passes.
type Native struct{ scratch sync.Pool }

var _ Validator = (*Native)(nil)

// Validate finds the clauses that fail. A problem that is malformed or not
// ground is an ErrProblem. It looks at ctx only at the start: a pass takes
// microseconds, and at the limits of a problem some tens of milliseconds.
func (v *Native) Validate(ctx context.Context, p *Problem) (Verdict, error) {
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	if err := p.Ground(); err != nil {
		return Verdict{}, err
	}
	val, _ := v.scratch.Get().(*values)
	if val == nil {
		val = &values{}
	}
	defer v.scratch.Put(val)
	val.reset(len(p.nodes))
	p.evaluate(val)
	var failing []int
	for i, c := range p.clauses {
		if val.of[c.node] != 1 {
			failing = append(failing, i)
		}
	}
	return p.verdict(val, failing), nil
}

// values are those of a problem's nodes.
type values struct {
	of    []int64            // of formulas 1 or 0, of enumerated terms the index, of numbers the number
	exact map[int32]*big.Rat // of numbers that are sums, products or no int64
}

func (v *values) reset(nodes int) {
	v.of = slices.Grow(v.of[:0], nodes)[:nodes]
	clear(v.exact)
}

func (v *values) number(i int32) *big.Rat {
	if r := v.exact[i]; r != nil {
		return r
	}
	return new(big.Rat).SetInt64(v.of[i])
}

func (v *values) setNumber(i int, r *big.Rat) {
	if v.exact == nil {
		v.exact = map[int32]*big.Rat{}
	}
	v.exact[int32(i)] = r
}

// compare returns the sign of the difference of two numbers.
func (v *values) compare(a, b int32) int {
	x, y := v.exact[a], v.exact[b]
	if x == nil && y == nil {
		return cmp.Compare(v.of[a], v.of[b])
	}
	return v.number(a).Cmp(v.number(b))
}

// evaluate computes the value of every node. Applications without a fact must
// have one already.
func (p *Problem) evaluate(v *values) {
	for i := 1; i < len(p.nodes); i++ {
		n := &p.nodes[i]
		switch n.op {
		case opBool, opInt:
			v.of[i] = n.k
		case opNot:
			v.of[i] = 1 - v.of[n.a]
		case opAnd:
			v.of[i] = bit(!slices.ContainsFunc(p.kids[n.a:n.b], func(k int32) bool { return v.of[k] == 0 }))
		case opImplies:
			v.of[i] = bit(v.of[n.a] == 0 || v.of[n.b] == 1)
		case opSame:
			v.of[i] = bit(v.of[n.a] == v.of[n.b])
		case opIn:
			v.of[i] = bit(slices.Contains(p.kids[n.k:n.k+int64(n.b)], int32(v.of[n.a])))
		case opLessEq:
			v.of[i] = bit(v.compare(n.a, n.b) <= 0)
		case opLess:
			v.of[i] = bit(v.compare(n.a, n.b) < 0)
		case opEqual:
			v.of[i] = bit(v.compare(n.a, n.b) == 0)
		case opApply:
			if x := p.funcs[n.a-1].facts[n.b]; x != free {
				v.of[i] = x
			}
		case opSum:
			sum := new(big.Rat)
			for _, k := range p.kids[n.a:n.b] {
				sum.Add(sum, v.number(k))
			}
			v.setNumber(i, sum)
		case opScale:
			v.setNumber(i, new(big.Rat).Mul(v.number(n.a), big.NewRat(n.k, n.q)))
		default:
			v.of[i] = 0 // fails, whatever it is
		}
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// blame finds the atoms at fault for a formula's value, in order: those in the
// parts that could change it if they were different. That is all parts of a
// conjunction that holds, but only the false ones of one that fails. Every
// atom of a comparison is at fault.
func (p *Problem) blame(val []int64, i int32) []Atom {
	atoms := p.blamed(nil, val, i)
	slices.Sort(atoms)
	return slices.Compact(atoms)
}

func (p *Problem) blamed(atoms []Atom, val []int64, i int32) []Atom {
	n := &p.nodes[i]
	switch n.op {
	case opAnd:
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
	case opSame, opLessEq, opLess, opEqual:
		atoms = p.blamed(p.blamed(atoms, val, n.a), val, n.b)
	case opApply:
		atoms = append(atoms, Atom(n.b))
	}
	return atoms
}
