package smt

import (
	"slices"
	"strconv"
)

// Prelude opens a session of a solver. The session ends at its first error, so
// that no answer is of half a script.
const Prelude = `(set-option :print-success false)
(set-option :error-behavior immediate-exit)
(set-option :produce-models true)
(set-option :produce-unsat-cores true)
(set-logic QF_UFLRA)
`

// Script writes a problem as SMT-LIB 2.6. Its symbols are letters and numbers;
// no name of the problem is among them:
//
//	E1 e1v0    an enumeration and its first member
//	f2a7       the value of a function at an atom
//	s3         a predicate: to be one of several members
//	k4 c4      clause 4: its truth; its name as an assertion
//	x0         the first assumption
//
// No formula compares atoms, so the applications of a function are constants
// that know nothing of each other.
type Script struct {
	p      *Problem
	assume []Formula
	sets   []*node // membership that occurs often is a predicate
	set    []int32 // by node: its predicate, from 1, or 0 if it is written out
}

// NewScript prepares to write a problem, which must not change meanwhile, and
// formulas to assume.
func NewScript(p *Problem, assume ...Formula) (*Script, error) {
	if p.err != nil {
		return nil, p.err
	}
	if err := p.assumable(assume); err != nil {
		return nil, err
	}
	s := &Script{p: p, assume: assume, set: make([]int32, len(p.nodes))}
	s.nameSets()
	return s, nil
}

// nameSets makes a membership a predicate where that shortens the script: Z3
// takes far longer to read a script than to decide it.
func (s *Script) nameSets() {
	uses := map[string][]int32{}
	var order []string
	var key []byte
	for i := range s.p.nodes {
		n := &s.p.nodes[i]
		if n.op != opIn || n.b < 2 {
			continue
		}
		key = append(key[:0], s.p.nodes[n.a].enum)
		for _, v := range s.p.members(n) {
			key = append(key, byte(v), byte(v>>8))
		}
		if uses[string(key)] == nil {
			order = append(order, string(key))
		}
		uses[string(key)] = append(uses[string(key)], int32(i))
	}
	for _, k := range order {
		n := &s.p.nodes[uses[k][0]]
		if len(uses[k])*int(n.b) <= 1+len(s.p.enums[s.p.nodes[n.a].enum-1].values) {
			continue
		}
		s.sets = append(s.sets, n)
		for _, i := range uses[k] {
			s.set[i] = int32(len(s.sets))
		}
	}
}

// members are the values that a node asks for.
func (p *Problem) members(n *node) []int32 { return p.kids[n.k : n.k+int64(n.b)] }

// AppendVocabulary writes the enumerations and the predicates on them. Problems
// of one kind share them, so a session needs them once.
func (s *Script) AppendVocabulary(dst []byte) []byte {
	for i := range s.p.enums {
		dst = s.p.enums[i].declare(dst, int32(i+1))
	}
	for i, n := range s.sets {
		dst = s.declareSet(dst, int32(i+1), n)
	}
	return dst
}

// declareSet writes a predicate and its truth for each member.
func (s *Script) declareSet(dst []byte, set int32, n *node) []byte {
	e := int32(s.p.nodes[n.a].enum)
	dst = symbol(append(dst, "(declare-fun "...), 's', set)
	dst = append(symbol(append(dst, " ("...), 'E', e), ") Bool)\n(assert (and true"...)
	for v := range s.p.enums[e-1].values {
		dst = symbol(append(dst, " (= ("...), 's', set)
		dst = append(member(append(dst, ' '), e, int64(v)), ") "...)
		dst = append(strconv.AppendBool(dst, slices.Contains(s.p.members(n), int32(v))), ')')
	}
	return append(dst, "))\n"...)
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

// AppendFacts writes, after the vocabulary, the applications that occur and
// their values. Free ones are members of their enumerations.
func (s *Script) AppendFacts(dst []byte) []byte {
	for _, i := range s.p.apps {
		n := &s.p.nodes[i]
		dst = append(application(append(dst, "(declare-const "...), n), ' ')
		if n.sort == sortReal {
			dst = append(dst, "Real)\n"...)
		} else {
			dst = append(symbol(dst, 'E', int32(n.enum)), ")\n"...)
		}
	}
	dst = append(dst, "(assert (and true"...) // one assertion: that is read faster
	for _, i := range s.p.apps {
		n := &s.p.nodes[i]
		switch v := s.p.funcs[n.a-1].facts[n.b]; {
		case v != free && n.sort == sortReal:
			dst = append(application(append(dst, "\n(= "...), n), ' ')
			dst = append(fraction(dst, v, 1), ')')
		case v != free:
			dst = append(application(append(dst, "\n(= "...), n), ' ')
			dst = append(member(dst, int32(n.enum), v), ')')
		case n.sort == sortEnum:
			dst = append(dst, "\n(or false"...)
			for m := range s.p.enums[n.enum-1].values {
				dst = s.is(dst, i, int64(m))
			}
			dst = append(dst, ')')
		}
	}
	return append(dst, "))\n"...)
}

// is writes that a term has a value of its enumeration.
func (s *Script) is(dst []byte, i int32, v int64) []byte {
	dst = append(s.term(append(dst, " (= "...), i), ' ')
	return append(member(dst, int32(s.p.nodes[i].enum), v), ')')
}

// AppendTruths declares, for every clause, a constant that is true if the
// clause holds.
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

// AppendAssertions asserts the clauses and the assumptions under their names.
func (s *Script) AppendAssertions(dst []byte) []byte {
	named := func(node int32, letter byte, i int) {
		dst = s.term(append(dst, "(assert (! "...), node)
		dst = append(symbol(append(dst, " :named "...), letter, int32(i)), "))\n"...)
	}
	for i, c := range s.p.clauses {
		named(c.node, 'c', i)
	}
	for i, f := range s.assume {
		named(int32(f), 'x', i)
	}
	return dst
}

// symbol writes a letter and a number.
func symbol(dst []byte, letter byte, i int32) []byte {
	return strconv.AppendInt(append(dst, letter), int64(i), 10)
}

// member writes a member of an enumeration.
func member(dst []byte, e int32, v int64) []byte {
	return strconv.AppendInt(append(symbol(dst, 'e', e), 'v'), v, 10)
}

// application writes a function's value at an atom.
func application(dst []byte, n *node) []byte { return symbol(symbol(dst, 'f', n.a), 'a', n.b) }

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

// operators are those of terms that are written as a list. Where there may be
// any number of operands, the one that changes nothing comes first.
var operators = [...]string{
	opNot: "not", opAnd: "and true", opImplies: "=>", opSame: "=",
	opLessEq: "<=", opLess: "<", opEqual: "=", opSum: "+ 0.0",
}

// term writes a term. Its depth and length were bounded when it was made.
func (s *Script) term(dst []byte, i int32) []byte {
	n := &s.p.nodes[i]
	var operands []int32
	switch n.op {
	case opBool:
		return strconv.AppendBool(dst, n.k == 1)
	case opInt:
		return fraction(dst, n.k, 1)
	case opApply:
		return application(dst, n)
	case opScale:
		dst = append(fraction(append(dst, "(* "...), n.k, n.q), ' ')
		return append(s.term(dst, n.a), ')')
	case opIn:
		if set := s.set[i]; set != 0 {
			dst = append(symbol(append(dst, '('), 's', set), ' ')
			return append(s.term(dst, n.a), ')')
		}
		dst = append(dst, "(or false"...)
		for _, v := range s.p.members(n) {
			dst = s.is(dst, n.a, int64(v))
		}
		return append(dst, ')')
	case opNot:
		operands = []int32{n.a}
	case opAnd, opSum:
		operands = s.p.kids[n.a:n.b]
	default:
		operands = []int32{n.a, n.b}
	}
	dst = append(append(dst, '('), operators[n.op]...)
	for _, k := range operands {
		dst = s.term(append(dst, ' '), k)
	}
	return append(dst, ')')
}
