package smt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/margaydev/margay/declassify/smt/sexpr"
)

// ErrAnswer says that a solver's answer is malformed. The parsers below accept
// the answer to the question and nothing else; a solver whose output they
// refuse must not be asked again.
var ErrAnswer = errors.New("the solver's answer is malformed")

// Status is a solver's answer to check-sat, if it decided.
type Status uint8

// Statuses. No status is zero.
const (
	Unsat Status = iota + 1
	Sat
)

// ReadStatus reads the answer to check-sat at the start of out, and returns
// what follows it. It returns ErrUnknown if the solver gave up.
func ReadStatus(out []byte) (Status, []byte, error) {
	line, rest, ok := bytes.Cut(out, []byte{'\n'})
	switch word := string(bytes.TrimSuffix(line, []byte{'\r'})); {
	case ok && word == "sat":
		return Sat, rest, nil
	case ok && word == "unsat":
		return Unsat, rest, nil
	case ok && word == "unknown":
		return 0, rest, ErrUnknown
	}
	return 0, nil, fmt.Errorf("%w: neither sat, unsat nor unknown", ErrAnswer)
}

// ReadCore reads the answer to get-unsat-core: the indices of the clauses in
// it, ascending.
func (s *Script) ReadCore(out []byte) ([]int, error) {
	list, err := sexpr.ReadList(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	left := make(map[string]int, len(s.p.clauses)+len(s.assume)) // names that may follow, each once
	for i := range s.p.clauses {
		left["c"+strconv.Itoa(i)] = i
	}
	for i := range s.assume {
		left["x"+strconv.Itoa(i)] = -1
	}
	var core []int
	for _, e := range list {
		i, ok := left[e.Word]
		if !ok {
			return nil, fmt.Errorf("%w: a core has a name that was not asserted, or has it twice", ErrAnswer)
		}
		delete(left, e.Word)
		if i >= 0 {
			core = append(core, i)
		}
	}
	slices.Sort(core)
	return core, nil
}

// truths are the constants of AppendTruths.
func (s *Script) truths() []string {
	out := make([]string, len(s.p.clauses))
	for i := range out {
		out[i] = "k" + strconv.Itoa(i)
	}
	return out
}

// AppendTruthsQuestion asks for the constants of AppendTruths.
func (s *Script) AppendTruthsQuestion(dst []byte) []byte { return appendQuestion(dst, s.truths()) }

// appendQuestion asks for the values of symbols, of which true is always one.
func appendQuestion(dst []byte, symbols []string) []byte {
	dst = append(dst, "(get-value (true"...)
	for _, s := range symbols {
		dst = append(append(dst, ' '), s...)
	}
	return append(dst, "))\n"...)
}

// readValues reads the answer to appendQuestion.
func readValues(out []byte, symbols []string) ([]sexpr.Expr, error) {
	values, err := sexpr.ReadValues(out, append([]string{"true"}, symbols...))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if values[0].Word != "true" {
		return nil, fmt.Errorf("%w: true is not true", ErrAnswer)
	}
	return values[1:], nil
}

// ReadTruths reads the answer to AppendTruthsQuestion: the indices of the
// clauses that fail, ascending.
func (s *Script) ReadTruths(out []byte) ([]int, error) {
	values, err := readValues(out, s.truths())
	if err != nil {
		return nil, err
	}
	var failing []int
	for i, v := range values {
		switch v.Word {
		case "true":
		case "false":
			failing = append(failing, i)
		default:
			return nil, fmt.Errorf("%w: a clause is neither true nor false", ErrAnswer)
		}
	}
	return failing, nil
}

// modelled are the members of the enumerations and the free applications.
func (s *Script) modelled() []string {
	var out []string
	for i := range s.p.enums {
		for v := range s.p.enums[i].values {
			out = append(out, string(member(nil, int32(i+1), int64(v))))
		}
	}
	for _, i := range s.p.unknown() {
		out = append(out, string(application(nil, &s.p.nodes[i])))
	}
	return out
}

// AppendModelQuestion asks for the members of enumerations and the values of
// free functions.
func (s *Script) AppendModelQuestion(dst []byte) []byte { return appendQuestion(dst, s.modelled()) }

// ReadModel reads the answer to AppendModelQuestion. A model under which a
// clause or an assumption fails is an ErrDisagree.
func (s *Script) ReadModel(out []byte) (Model, error) {
	p := s.p
	answers, err := readValues(out, s.modelled())
	if err != nil {
		return nil, err
	}
	// What the solver calls the members of each enumeration. It may choose any
	// names that differ.
	index := make([]map[string]int, len(p.enums))
	for i := range p.enums {
		index[i] = map[string]int{}
		for v := range p.enums[i].values {
			name := answers[0].Word
			answers = answers[1:]
			if name == "" {
				return nil, fmt.Errorf("%w: a member of an enumeration is a list", ErrAnswer)
			}
			if _, twice := index[i][name]; twice {
				return nil, fmt.Errorf("%w: two members of an enumeration are one", ErrDisagree)
			}
			index[i][name] = v
		}
	}
	m, val := Model{}, values{}
	val.reset(len(p.nodes))
	for k, i := range p.unknown() {
		n := &p.nodes[i]
		if n.sort == sortReal {
			r, err := answers[k].Rat()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
			}
			val.setNumber(int(i), r)
			continue
		}
		v, ok := index[n.enum-1][answers[k].Word]
		if !ok {
			return nil, fmt.Errorf("%w: a value is not a member of its enumeration", ErrDisagree)
		}
		m[place{EnumFunc(n.a), Atom(n.b)}], val.of[i] = v, int64(v)
	}
	if err := p.satisfied(&val, s.assume); err != nil {
		return nil, err
	}
	return m, nil
}
