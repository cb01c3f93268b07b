package smt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// FuzzProblem builds a problem as the bytes say, with handles that may be none
// and names that may be anything. Nothing panics; a problem is decided or an
// ErrProblem; the atoms at fault exist; and the script is balanced and holds no
// name.
func FuzzProblem(f *testing.F) {
	f.Add([]byte("\x00\x03\x01\x02\x02\x01\x05\x01\x00\x01\x06\x01\x00\x0c\x01\x00\x15\x01\x00\x16\x01\x02"))
	f.Add([]byte(strings.Repeat("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15", 4)))
	f.Add([]byte("\x00\x01\x01|)(exit)\x02\x04\x01\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var p Problem
		build(&p, in)
		if p.size > 10_000 {
			return // it takes long to write out
		}
		v, err := new(Native).Validate(context.Background(), &p)
		if err != nil && (!errors.Is(err, ErrProblem) || v.OK) {
			t.Fatalf("%v, %v", v, err)
		}
		for _, f := range v.Failures {
			for _, a := range f.Atoms {
				if a < 0 || int(a) >= p.atoms {
					t.Fatalf("clause %d blames atom %d of %d", f.Clause, a, p.atoms)
				}
			}
		}
		s, err := NewScript(&p)
		if err != nil {
			return
		}
		out := s.AppendTruths(s.AppendFacts(s.AppendVocabulary(nil)))
		out = s.AppendModelQuestion(s.AppendTruthsQuestion(s.AppendNamedClaim(s.AppendClaim(out), nil)))
		out = s.AppendAssertions(out)
		tame(t, out)
		whole, err := p.Script()
		if err != nil {
			t.Fatal(err)
		}
		var rest []byte
		for line := range bytes.Lines(whole) {
			if line[0] != ';' {
				rest = append(rest, line...)
			} else if strings.ContainsFunc(string(line[:len(line)-1]), func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("a comment %q", line)
			}
		}
		tame(t, rest)
	})
}

// tame checks that a script has the characters of our symbols alone, and that
// every list is closed.
func tame(t *testing.T, script []byte) {
	t.Helper()
	depth := 0
	for i, c := range script {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(" \n:!.=<>+*/-_", c) >= 0:
		default:
			t.Fatalf("a character %q at %d", c, i)
		}
		if depth < 0 {
			t.Fatalf("a list is closed at %d that none has opened", i)
		}
	}
	if depth != 0 {
		t.Fatalf("%d lists stay open", depth)
	}
}

// build makes of each byte a call. A negative byte stands for a handle as it
// is, others for one that exists, if any does.
func build(p *Problem, in []byte) {
	next := func() int {
		if len(in) == 0 {
			return 0
		}
		c := in[0]
		in = in[1:]
		return int(int8(c))
	}
	number := func() int64 {
		var b [8]byte
		n := copy(b[:], in)
		in = in[n:]
		return int64(binary.LittleEndian.Uint64(b[:]))
	}
	name := func() string {
		n := min(max(next(), 0), len(in))
		s := string(in[:n])
		in = in[n:]
		return s
	}
	one := func(from, n int) int {
		if i := next(); i < 0 || n == 0 {
			return i
		} else {
			return from + i%n
		}
	}
	node := func(s sort) int {
		var is []int
		for i := range p.nodes {
			if p.nodes[i].sort == s {
				is = append(is, i)
			}
		}
		if i := one(0, len(is)); i >= 0 && i < len(is) {
			return is[i]
		} else {
			return i
		}
	}
	function := func(enumerated bool) (int, Atom) {
		var is []int
		for i := range p.funcs {
			if (p.funcs[i].enum != 0) == enumerated {
				is = append(is, i+1)
			}
		}
		i := one(0, len(is))
		if i < 0 || i >= len(is) {
			return i, Atom(next())
		}
		return is[i], Atom(one(0, p.atoms))
	}
	enumerated := func() (EnumFunc, Atom) { f, a := function(true); return EnumFunc(f), a }
	numeric := func() (RealFunc, Atom) { f, a := function(false); return RealFunc(f), a }
	enum := func() Enum { return Enum(one(1, len(p.enums))) }
	formula := func() Formula { return Formula(node(sortBool)) }
	term := func() Term { return Term(node(sortEnum)) }
	amount := func() Number { return Number(node(sortReal)) }
	for len(in) > 0 {
		switch next() & 31 {
		case 0:
			p.Atoms(next())
		case 1:
			p.Enum(name(), name(), name(), name())
		case 2:
			p.EnumFunc(name(), enum())
		case 4:
			p.RealFunc(name())
		case 6:
			f, a := enumerated()
			p.SetEnum(f, a, next()&1)
		case 7:
			f, a := numeric()
			p.SetReal(f, a, number())
		case 10:
			p.Bool(next() > 0)
		case 11:
			p.Not(formula())
		case 12:
			p.And(formula(), formula(), formula())
		case 14:
			p.Implies(formula(), formula())
		case 16:
			p.Same(term(), term())
		case 17:
			p.In(term(), next()&1, next()&1)
		case 19:
			p.Apply(enumerated())
		case 20:
			p.Amount(numeric())
		case 22:
			p.Int(number())
		case 23:
			p.Scale(amount(), number(), int64(next()))
		case 24:
			p.Sum(amount(), amount(), amount())
		case 25:
			p.LessEq(amount(), amount())
		case 26:
			p.Less(amount(), amount())
		case 27:
			p.Equal(amount(), amount())
		case 28:
			p.Clause(name(), formula())
		case 29:
			p.And()
		case 30:
			p.Sum()
		}
	}
}
