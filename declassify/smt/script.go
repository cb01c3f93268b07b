package smt

import (
	"fmt"
	"slices"
	"strconv"
)

// Prelude is what a session of a solver begins with. A session that is told
// something wrong ends, so that no answer is of half a script.
const Prelude = `(set-option :print-success false)
(set-option :error-behavior immediate-exit)
(set-option :produce-models true)
(set-option :produce-unsat-cores true)
(set-logic QF_UFLRA)
`

// Script writes a problem as SMT-LIB 2.6. Its symbols are a letter and
// numbers; no name of the problem is among them:
//
//	E1 e1v0    an enumeration and its first member
//	A a7       the sort of atoms, and an atom
//	f2         a function
//	t5         its value at an atom, where that occurs often
//	s3         a predicate: to be one of several members
//	k4 c4      clause 4: its truth; its name as an assertion
//	x0 y0      the first formula that a query assumes; that it refutes
type Script struct {
	p *Problem
	// of gives, for a node that asks for membership, its predicate from 1, or
	// 0 where it is written out.
	of   []int32
	sets []set
	name []int32 // of an application that has a name: its number, from 1
}

// set is a predicate on members of an enumeration.
type set struct {
	enum   uint8
	values []int32
}

// NewScript prepares to write a problem, which must not change meanwhile.
func NewScript(p *Problem) (*Script, error) {
	if p.err != nil {
		return nil, p.err
	}
	s := &Script{p: p, of: make([]int32, len(p.nodes)), name: make([]int32, len(p.nodes))}
	s.nameOften()
	// A set that is asked for often is a predicate, given by what it says of
	// each member. That shortens what is written, never makes it longer.
	uses := map[string][]int32{}
	var order []string
	var key []byte
	for i := 1; i < len(p.nodes); i++ {
		n := &p.nodes[i]
		if n.op != opIn || n.b < 2 {
			continue
		}
		key = append(key[:0], p.nodes[n.a].enum)
		for _, v := range p.kids[n.k : n.k+int64(n.b)] {
			key = append(key, byte(v), byte(v>>8))
		}
		if uses[string(key)] == nil {
			order = append(order, string(key))
		}
		uses[string(key)] = append(uses[string(key)], int32(i))
	}
	for _, k := range order {
		nodes := uses[k]
		n := &p.nodes[nodes[0]]
		e := p.nodes[n.a].enum
		if len(nodes)*int(n.b) <= 1+len(p.enums[e-1].values) {
			continue
		}
		s.sets = append(s.sets, set{e, p.kids[n.k : n.k+int64(n.b)]})
		for _, i := range nodes {
			s.of[i] = int32(len(s.sets))
		}
	}
	return s, nil
}

// nameOften names the applications that are written so often that this
// shortens the script.
func (s *Script) nameOften() {
	const often = 4
	uses := make([]int32, len(s.p.nodes))
	for i := range s.p.nodes {
		switch n := &s.p.nodes[i]; n.op {
		case opAnd, opOr, opSum:
			for _, k := range s.p.kids[n.a:n.b] {
				uses[k]++
			}
		case opNot, opScale, opIn:
			uses[n.a]++
		case opImplies, opIff, opSame, opLessEq, opLess, opEqual:
			uses[n.a]++
			uses[n.b]++
		}
	}
	named := int32(0)
	for _, i := range s.p.apps {
		if uses[i] >= often {
			named++
			s.name[i] = named
		}
	}
}

// AppendVocabulary writes the enumerations, the predicates on them and the
// functions. Problems of one kind share it, so that a session need be told once.
func (s *Script) AppendVocabulary(dst []byte) []byte {
	p := s.p
	for i := range p.enums {
		dst = p.enums[i].declare(dst, int32(i+1))
	}
	for i := range s.sets {
		dst = s.declareSet(dst, i)
	}
	dst = append(dst, "(declare-sort A 0)\n"...)
	for i := range p.funcs {
		f := &p.funcs[i]
		dst = symbol(append(dst, "(declare-fun "...), 'f', int32(i+1))
		if f.global {
			dst = append(dst, " () "...)
		} else {
			dst = append(dst, " (A) "...)
		}
		dst = append(f.sort(dst), ")\n"...)
	}
	return dst
}

// AppendFacts writes, after the vocabulary, the applications that occur, what
// is known of them, and of those that are free, that their values are members
// of their enumerations.
//
// Atoms need not be said to differ: no formula compares them, so from a model
// in which two are one follows a model in which they are two.
func (s *Script) AppendFacts(dst []byte) []byte {
	p := s.p
	atoms := make([]bool, p.atoms)
	for _, i := range p.apps {
		n := &p.nodes[i]
		f := &p.funcs[n.a-1]
		if !f.global && !atoms[n.b] {
			atoms[n.b] = true
			dst = append(symbol(append(dst, "(declare-const "...), 'a', n.b), " A)\n"...)
		}
		if s.name[i] != 0 {
			dst = symbol(append(dst, "(define-fun "...), 't', s.name[i])
			dst = append(f.sort(append(dst, " () "...)), ' ')
			dst = append(p.application(dst, n), ")\n"...)
		}
	}
	dst = append(dst, "(assert (and true"...) // one assertion: that is read faster
	for _, i := range p.apps {
		dst = s.fact(dst, &p.nodes[i], i)
	}
	return append(dst, "))\n"...)
}

// fact writes what is known of an application.
func (s *Script) fact(dst []byte, n *node, i int32) []byte {
	f := &s.p.funcs[n.a-1]
	v := f.facts[n.b]
	switch {
	case v != free && n.op == opApply:
		dst = append(s.term(append(dst, "\n(= "...), i), ' ')
		return append(member(dst, f.enum, v), ')')
	case v != free:
		dst = append(s.term(append(dst, "\n(= "...), i), ' ')
		return append(fraction(dst, v, 1), ')')
	case n.op == opApply:
		dst = append(dst, "\n(or false"...)
		for m := range s.p.enums[f.enum-1].values {
			dst = append(s.term(append(dst, " (= "...), i), ' ')
			dst = append(member(dst, f.enum, int64(m)), ')')
		}
		return append(dst, ')')
	}
	return dst
}

// declare writes an enumeration: a sort and members that differ.
func (e *enum) declare(dst []byte, i int32) []byte {
	dst = append(symbol(append(dst, "(declare-sort "...), 'E', i), " 0)\n"...)
	for v := range e.values {
		dst = append(member(append(dst, "(declare-const "...), i, int64(v)), ' ')
		dst = append(symbol(dst, 'E', i), ")\n"...)
	}
	if len(e.values) < 2 {
		return dst
	}
	dst = append(dst, "(assert (distinct"...)
	for v := range e.values {
		dst = member(append(dst, ' '), i, int64(v))
	}
	return append(dst, "))\n"...)
}

// declareSet writes a predicate and what it says of each member.
func (s *Script) declareSet(dst []byte, i int) []byte {
	set := &s.sets[i]
	dst = symbol(append(dst, "(declare-fun "...), 's', int32(i+1))
	dst = append(symbol(append(dst, " ("...), 'E', int32(set.enum)), ") Bool)\n(assert (and true"...)
	for v := range s.p.enums[set.enum-1].values {
		in := slices.Contains(set.values, int32(v))
		if dst = append(dst, ' '); !in {
			dst = append(dst, "(not "...)
		}
		dst = append(symbol(append(dst, '('), 's', int32(i+1)), ' ')
		if dst = append(member(dst, int32(set.enum), int64(v)), ')'); !in {
			dst = append(dst, ')')
		}
	}
	return append(dst, "))\n"...)
}

// sort writes the sort of a function's values.
func (f *function) sort(dst []byte) []byte {
	if f.enum == 0 {
		return append(dst, "Real"...)
	}
	return symbol(dst, 'E', f.enum)
}

// AppendTruths declares, for every clause, a constant that says if it holds.
func (s *Script) AppendTruths(dst []byte) []byte {
	for i := range s.p.clauses {
		dst = append(symbol(append(dst, "(declare-const "...), 'k', int32(i)), " Bool)\n"...)
	}
	dst = append(dst, "(assert (and true"...)
	for i := range s.p.clauses {
		dst = append(symbol(append(dst, "\n(= "...), 'k', int32(i)), ' ')
		dst = append(s.term(dst, s.p.clauses[i].node), ')')
	}
	return append(dst, "))\n"...)
}

// AppendClaim asserts that all clauses hold, by the constants of AppendTruths.
func (s *Script) AppendClaim(dst []byte) []byte {
	dst = append(dst, "(assert (and true"...)
	for i := range s.p.clauses {
		dst = symbol(append(dst, ' '), 'k', int32(i))
	}
	return append(dst, "))\n"...)
}

// AppendNamedClaim asserts that some clauses hold, each under its name.
func (s *Script) AppendNamedClaim(dst []byte, clauses []int) []byte {
	for _, i := range clauses {
		dst = symbol(append(dst, "(assert (! "...), 'k', int32(i))
		dst = append(symbol(append(dst, " :named "...), 'c', int32(i)), "))\n"...)
	}
	return dst
}

// AppendAssertions asserts, under their names, the clauses and what else a
// query asks.
func (s *Script) AppendAssertions(dst []byte, q Query) ([]byte, error) {
	if err := s.p.check(q); err != nil {
		return dst, err
	}
	omit := slices.Sorted(slices.Values(q.Omit))
	for i := range s.p.clauses {
		if _, out := slices.BinarySearch(omit, i); !out {
			dst = s.term(append(dst, "(assert (! "...), s.p.clauses[i].node)
			dst = append(symbol(append(dst, " :named "...), 'c', int32(i)), "))\n"...)
		}
	}
	for i, f := range q.Assume {
		dst = s.term(append(dst, "(assert (! "...), int32(f))
		dst = append(symbol(append(dst, " :named "...), 'x', int32(i)), "))\n"...)
	}
	for i, f := range q.Refute {
		dst = s.term(append(dst, "(assert (! (not "...), int32(f))
		dst = append(symbol(append(dst, ") :named "...), 'y', int32(i)), "))\n"...)
	}
	return dst, nil
}

// AppendScript writes a script that a solver can be given as it is, for people
// and other tools: it asks whether the clauses can hold. What the symbols stand
// for is said in comments, in printable ASCII whatever the names are.
func (p *Problem) AppendScript(dst []byte, q Query) ([]byte, error) {
	s, err := NewScript(p)
	if err != nil {
		return dst, err
	}
	for i := range p.enums {
		dst = fmt.Appendf(dst, "; E%d is the enumeration %+q\n", i+1, p.enums[i].name)
		for j, v := range p.enums[i].values {
			dst = fmt.Appendf(dst, "; e%dv%d is %+q\n", i+1, j, v)
		}
	}
	for i := range p.funcs {
		dst = fmt.Appendf(dst, "; f%d is %+q\n", i+1, p.funcs[i].name)
	}
	for i := range p.clauses {
		dst = fmt.Appendf(dst, "; c%d is %+q\n", i, p.clauses[i].name)
	}
	dst = s.AppendFacts(s.AppendVocabulary(append(dst, Prelude...)))
	if dst, err = s.AppendAssertions(dst, q); err != nil {
		return dst, err
	}
	return append(dst, "(check-sat)\n"...), nil
}

// symbol writes a letter and a number.
func symbol(dst []byte, letter byte, i int32) []byte {
	return strconv.AppendInt(append(dst, letter), int64(i), 10)
}

// member writes a member of an enumeration.
func member(dst []byte, e int32, v int64) []byte {
	return strconv.AppendInt(append(symbol(dst, 'e', e), 'v'), v, 10)
}

// fraction writes k/q, of which q is positive.
func fraction(dst []byte, k, q int64) []byte {
	u := uint64(k)
	if k < 0 {
		dst, u = append(dst, "(- "...), -u
	}
	if q != 1 {
		dst = append(dst, "(/ "...)
	}
	dst = append(strconv.AppendUint(dst, u, 10), ".0"...)
	if q != 1 {
		dst = append(strconv.AppendInt(append(dst, ' '), q, 10), ".0)"...)
	}
	if k < 0 {
		dst = append(dst, ')')
	}
	return dst
}

// application writes a function's value at an atom, in full.
func (p *Problem) application(dst []byte, n *node) []byte {
	if p.funcs[n.a-1].global {
		return symbol(dst, 'f', n.a)
	}
	dst = symbol(append(dst, '('), 'f', n.a)
	return append(symbol(append(dst, ' '), 'a', n.b), ')')
}

// term writes a term. How deep it is and how long was bounded when it was
// made.
func (s *Script) term(dst []byte, i int32) []byte {
	n := &s.p.nodes[i]
	switch n.op {
	case opBool:
		return strconv.AppendBool(dst, n.k == 1)
	case opValue:
		return member(dst, int32(n.enum), n.k)
	case opRat:
		return fraction(dst, n.k, n.q)
	case opApply, opApplyReal:
		if s.name[i] == 0 {
			return s.p.application(dst, n)
		}
		return symbol(dst, 't', s.name[i])
	case opNot:
		return append(s.term(append(dst, "(not "...), n.a), ')')
	case opAnd:
		return s.list(dst, "and", "true", n)
	case opOr:
		return s.list(dst, "or", "false", n)
	case opSum:
		return s.list(dst, "+", "0.0", n)
	case opScale:
		dst = append(fraction(append(dst, "(* "...), n.k, n.q), ' ')
		return append(s.term(dst, n.a), ')')
	case opIn:
		return s.membership(dst, n, i)
	}
	dst = append(append(append(dst, '('), infix[n.op]...), ' ')
	return append(s.term(append(s.term(dst, n.a), ' '), n.b), ')')
}

var infix = [...]string{opImplies: "=>", opIff: "=", opSame: "=", opLessEq: "<=", opLess: "<", opEqual: "="}

// list writes an operator over its operands. One operand is written alone,
// since the operators of SMT-LIB want two.
func (s *Script) list(dst []byte, operator, none string, n *node) []byte {
	switch n.b - n.a {
	case 0:
		return append(dst, none...)
	case 1:
		return s.term(dst, s.p.kids[n.a])
	}
	dst = append(append(dst, '('), operator...)
	for _, k := range s.p.kids[n.a:n.b] {
		dst = s.term(append(dst, ' '), k)
	}
	return append(dst, ')')
}

// membership writes that a term is one of some members.
func (s *Script) membership(dst []byte, n *node, i int32) []byte {
	if set := s.of[i]; set != 0 {
		dst = append(symbol(append(dst, '('), 's', set), ' ')
		return append(s.term(dst, n.a), ')')
	}
	if n.b == 0 {
		return append(dst, "false"...)
	}
	if n.b > 1 {
		dst = append(dst, "(or "...)
	}
	for j, v := range s.p.kids[n.k : n.k+int64(n.b)] {
		if j > 0 {
			dst = append(dst, ' ')
		}
		dst = append(s.term(append(dst, "(= "...), n.a), ' ')
		dst = append(member(dst, int32(s.p.nodes[n.a].enum), int64(v)), ')')
	}
	if n.b > 1 {
		dst = append(dst, ')')
	}
	return dst
}
