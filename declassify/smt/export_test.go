package smt

import "fmt"

// FreeEnum and FreeReal take a fact back.
func (p *Problem) FreeEnum(f EnumFunc, a Atom) { p.at(int32(f), a, true).facts[a] = free }
func (p *Problem) FreeReal(f RealFunc, a Atom) { p.at(int32(f), a, false).facts[a] = free }

// Err is the first mistake made in building the problem.
func (p *Problem) Err() error { return p.err }

// Script writes a script that a solver can read as it is, for people: it asks
// whether the clauses can hold. Comments, in printable ASCII whatever the names
// are, say what the symbols stand for.
func (p *Problem) Script() ([]byte, error) {
	s, err := NewScript(p)
	if err != nil {
		return nil, err
	}
	var dst []byte
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
	return append(s.AppendAssertions(dst), "(check-sat)\n"...), nil
}
