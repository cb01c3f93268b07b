package smt

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
)

// ErrAnswer says that a solver's answer is not one. The parsers below take
// what is asked for and nothing else; whose output they refuse is not to be
// asked again.
var ErrAnswer = errors.New("not an answer of a solver")

// Status is a solver's answer to check-sat.
type Status uint8

// Statuses. The zero Status is none.
const (
	Unsat Status = iota + 1
	Sat
	Unknown
)

// ReadStatus reads the answer to check-sat at the beginning of out, and
// returns what follows it.
func ReadStatus(out []byte) (Status, []byte, error) {
	line, rest, ok := bytes.Cut(out, []byte{'\n'})
	if ok {
		switch string(bytes.TrimSuffix(line, []byte{'\r'})) {
		case "sat":
			return Sat, rest, nil
		case "unsat":
			return Unsat, rest, nil
		case "unknown":
			return Unknown, rest, nil
		}
	}
	return 0, nil, fmt.Errorf("%w: neither sat, unsat nor unknown", ErrAnswer)
}

// Limits of an answer's expressions. A solver may print a number with many
// digits, whose reading takes time that grows faster than their count.
const (
	maxAnswerDepth  = 16
	maxAnswerDigits = 4_096
)

// sexp is an expression: a symbol or number, or a list.
type sexp struct {
	word string // empty: a list
	list []sexp
}

// readExpression reads the expression at the beginning of out.
func readExpression(out []byte, depth int) (sexp, []byte, error) {
	out = bytes.TrimLeft(out, " \t\r\n")
	if len(out) == 0 || depth > maxAnswerDepth {
		return sexp{}, nil, fmt.Errorf("%w: it ends early, or is too deep", ErrAnswer)
	}
	if out[0] != '(' {
		n := 0
		for n < len(out) && plain(out[n]) {
			n++
		}
		if n == 0 {
			return sexp{}, nil, fmt.Errorf("%w: a character that answers don't have", ErrAnswer)
		}
		return sexp{word: string(out[:n])}, out[n:], nil
	}
	e, out := sexp{list: []sexp{}}, out[1:]
	for {
		out = bytes.TrimLeft(out, " \t\r\n")
		if len(out) > 0 && out[0] == ')' {
			return e, out[1:], nil
		}
		item, rest, err := readExpression(out, depth+1)
		if err != nil {
			return sexp{}, nil, err
		}
		e.list, out = append(e.list, item), rest
	}
}

// plain are the characters of our symbols, of numbers, and of the names that
// solvers give to elements of a sort.
func plain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || bytes.IndexByte([]byte("!.-+/_"), c) >= 0
}

// readList reads a list, which is all that out holds.
func readList(out []byte) ([]sexp, error) {
	e, rest, err := readExpression(out, 0)
	if err != nil {
		return nil, err
	}
	if e.word != "" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("%w: not a list, or more than one", ErrAnswer)
	}
	return e.list, nil
}

// ReadCore reads the answer to get-unsat-core for a query.
func (s *Script) ReadCore(out []byte, q Query) (Core, error) {
	list, err := readList(out)
	if err != nil {
		return Core{}, err
	}
	var c Core
	for _, e := range list {
		if e.word == "" {
			return Core{}, fmt.Errorf("%w: a core with more than names", ErrAnswer)
		}
		into, n := &c.Clauses, len(s.p.clauses)
		switch e.word[0] {
		case 'c':
		case 'x':
			into, n = &c.Assume, len(q.Assume)
		case 'y':
			into, n = &c.Refute, len(q.Refute)
		default:
			n = 0
		}
		i, err := strconv.Atoi(e.word[1:])
		if err != nil || i < 0 || i >= n || strconv.Itoa(i) != e.word[1:] {
			return Core{}, fmt.Errorf("%w: a core with a name that is none", ErrAnswer)
		}
		if *into = append(*into, i); e.word[0] == 'c' && slices.Contains(q.Omit, i) {
			return Core{}, fmt.Errorf("%w: a core with a clause that is left out", ErrAnswer)
		}
	}
	for _, is := range []*[]int{&c.Clauses, &c.Assume, &c.Refute} {
		slices.Sort(*is)
		if n := len(*is); len(slices.Compact(*is)) != n {
			return Core{}, fmt.Errorf("%w: a core with a name twice", ErrAnswer)
		}
	}
	return c, nil
}

// AppendTruthsQuestion asks for the constants of AppendTruths.
func (s *Script) AppendTruthsQuestion(dst []byte) []byte {
	dst = append(dst, "(get-value (true"...)
	for i := range s.p.clauses {
		dst = symbol(append(dst, ' '), 'k', int32(i))
	}
	return append(dst, "))\n"...)
}

// ReadTruths reads the answer to AppendTruthsQuestion: the clauses that fail,
// by index.
func (s *Script) ReadTruths(out []byte) ([]int, error) {
	pairs, err := readPairs(out, 1+len(s.p.clauses))
	if err != nil {
		return nil, err
	}
	var failing []int
	for i, v := range pairs {
		want := "true"
		if i > 0 {
			want = "k" + strconv.Itoa(i-1)
		}
		if !v[0].is(want) || (!v[1].is("true") && (i == 0 || !v[1].is("false"))) {
			return nil, fmt.Errorf("%w: a value for something else, or no truth", ErrAnswer)
		}
		if v[1].is("false") {
			failing = append(failing, i-1)
		}
	}
	return failing, nil
}

// readPairs reads an answer to get-value.
func readPairs(out []byte, n int) ([][]sexp, error) {
	list, err := readList(out)
	if err != nil {
		return nil, err
	}
	if len(list) != n {
		return nil, fmt.Errorf("%w: %d values for %d questions", ErrAnswer, len(list), n)
	}
	pairs := make([][]sexp, n)
	for i, e := range list {
		if pairs[i] = e.list; len(e.list) != 2 {
			return nil, fmt.Errorf("%w: a value that is no pair", ErrAnswer)
		}
	}
	return pairs, nil
}

func (e *sexp) is(word string) bool { return e.word == word }

// AppendModelQuestion asks for the members of enumerations and the values of
// free functions.
func (s *Script) AppendModelQuestion(dst []byte) []byte {
	dst = append(dst, "(get-value (true"...)
	for i := range s.p.enums {
		for v := range s.p.enums[i].values {
			dst = member(append(dst, ' '), int32(i+1), int64(v))
		}
	}
	for _, i := range s.p.apps {
		if n := &s.p.nodes[i]; s.p.funcs[n.a-1].facts[n.b] == free {
			dst = s.p.application(append(dst, ' '), n)
		}
	}
	return append(dst, "))\n"...)
}

// ReadModel reads the answer to AppendModelQuestion, and checks that the
// clauses and the query hold under it; if not, that is an ErrDisagree.
func (s *Script) ReadModel(out []byte, q Query) (*Model, error) {
	p := s.p
	if err := p.check(q); err != nil {
		return nil, err
	}
	members, unknown := 0, 0
	for i := range p.enums {
		members += len(p.enums[i].values)
	}
	for _, i := range p.apps {
		if n := &p.nodes[i]; p.funcs[n.a-1].facts[n.b] == free {
			unknown++
		}
	}
	pairs, err := readPairs(out, 1+members+unknown)
	if err != nil {
		return nil, err
	}
	pairs = pairs[1:]
	m := &Model{enums: map[place]int{}, reals: map[place]*big.Rat{}}
	// What the solver calls each enumeration's members, which it may name as
	// it likes as long as they differ.
	index := make([]map[string]int, len(p.enums))
	for i := range p.enums {
		index[i] = map[string]int{}
		for v := range p.enums[i].values {
			pair := pairs[0]
			pairs = pairs[1:]
			if want := string(member(nil, int32(i+1), int64(v))); !pair[0].is(want) || pair[1].word == "" {
				return nil, fmt.Errorf("%w: a value for something else, or none of a sort", ErrAnswer)
			}
			if _, twice := index[i][pair[1].word]; twice {
				return nil, fmt.Errorf("%w: two members of an enumeration are one", ErrDisagree)
			}
			index[i][pair[1].word] = v
		}
	}
	for _, i := range p.apps {
		n := &p.nodes[i]
		f := &p.funcs[n.a-1]
		if f.facts[n.b] != free {
			continue
		}
		pair := pairs[0]
		pairs = pairs[1:]
		if string(pair[0].append(nil)) != string(p.application(nil, n)) {
			return nil, fmt.Errorf("%w: a value for something else", ErrAnswer)
		}
		if f.enum == 0 {
			r, err := pair[1].rat(0)
			if err != nil {
				return nil, err
			}
			m.reals[p.at(n)] = r
			continue
		}
		v, ok := index[f.enum-1][pair[1].word]
		if !ok {
			return nil, fmt.Errorf("%w: a value that is no member of its enumeration", ErrDisagree)
		}
		m.enums[p.at(n)] = v
	}
	if err := p.bears(q, m); err != nil {
		return nil, err
	}
	return m, nil
}

// append writes an expression with single spaces.
func (e *sexp) append(dst []byte) []byte {
	if e.word != "" {
		return append(dst, e.word...)
	}
	dst = append(dst, '(')
	for i := range e.list {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = e.list[i].append(dst)
	}
	return append(dst, ')')
}

// rat reads a number: a decimal, a negation or a quotient.
func (e *sexp) rat(depth int) (*big.Rat, error) {
	bad := fmt.Errorf("%w: a value that is no number", ErrAnswer)
	if e.word != "" {
		if len(e.word) > maxAnswerDigits {
			return nil, bad
		}
		for i := range len(e.word) {
			if c := e.word[i]; (c < '0' || c > '9') && (c != '.' || i == 0 || i == len(e.word)-1) {
				return nil, bad
			}
		}
		r, ok := new(big.Rat).SetString(e.word)
		if !ok {
			return nil, bad
		}
		return r, nil
	}
	var of [2]*big.Rat
	if len(e.list) < 2 || len(e.list) > 3 || depth > 4 {
		return nil, bad
	}
	for i := range e.list[1:] {
		var err error
		if of[i], err = e.list[1+i].rat(depth + 1); err != nil {
			return nil, err
		}
	}
	switch {
	case e.list[0].is("-") && of[1] == nil:
		return of[0].Neg(of[0]), nil
	case e.list[0].is("/") && of[1] != nil && of[1].Sign() != 0:
		return of[0].Quo(of[0], of[1]), nil
	}
	return nil, bad
}
