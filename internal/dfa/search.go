package dfa

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Budget is how much a search may build before package regexp is quicker: a
// state costs about 4 µs. What was built is there for the next text.
type Budget int

// BudgetFor returns the budget for looking through a text once: more for a
// longer one.
func BudgetFor(text string) Budget { return Budget(128 + len(text)/64) }

// spend reports whether the budget has what follows a state.
func (b *Budget) spend(s *State) bool {
	*b -= Budget(1 + len(s.threads)/32)
	return *b >= 0
}

// Forward finds where the first match ends that starts at from or later, in the
// symbols of a text; -1 is nowhere. With first, it returns any end of a match as
// soon as it sees one. It reports false when the budget is spent.
func (d *DFA) Forward(symbols []uint16, from int, before Before, first bool, budget *Budget) (int, bool) {
	s, found := d.Start(before), -1
	for i, c := range symbols[from:] {
		if c == Inside {
			continue
		}
		class := d.local[c]
		n := s.next[class].Load()
		if n == nil {
			if !budget.spend(s) {
				return 0, false
			}
			n = d.build(s, class)
		}
		s = n
		if s.matched {
			found = from + i
			if first {
				break
			}
		}
		if s.dead {
			break
		}
	}
	return found, true
}

// Backward finds the least place, not before from, at which a match starts that
// ends at to; -1 is nowhere. The DFA is that of the reversed expression, with
// Config.All. With starts, the text is taken to start at from; else the character
// before from is seen. It reports false when the budget is spent.
func (d *DFA) Backward(symbols []uint16, text string, from, to int, starts bool, budget *Budget) (int, bool) {
	s, found := d.Start(behind(text, to)), -1
	for i := to; !s.dead; {
		c, at := uint16(End), i-1
		if i > from || i > 0 && !starts {
			for symbols[at] == Inside {
				at--
			}
			c = symbols[at]
		}
		class := d.local[c]
		n := s.next[class].Load()
		if n == nil {
			if !budget.spend(s) {
				return 0, false
			}
			n = d.build(s, class)
		}
		if s = n; s.matched {
			found = i
		}
		if i <= from {
			break
		}
		i = at
	}
	return found, true
}

// behind returns what a search backwards has before it at a place: the character
// that the text goes on with.
func behind(text string, at int) Before {
	if at == len(text) {
		return Nothing
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return After(r)
}

// Reverse returns an expression that matches the same texts, read backwards.
func Reverse(re *syntax.Regexp) *syntax.Regexp {
	n := *re // parts of a tree may be shared
	switch re.Op {
	case syntax.OpLiteral:
		n.Rune = slices.Clone(re.Rune)
		slices.Reverse(n.Rune)
	case syntax.OpBeginLine:
		n.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		n.Op = syntax.OpBeginLine
	case syntax.OpBeginText:
		n.Op = syntax.OpEndText
	case syntax.OpEndText:
		n.Op = syntax.OpBeginText
	}
	n.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i := range re.Sub {
		n.Sub[i] = Reverse(re.Sub[i])
	}
	if re.Op == syntax.OpConcat {
		slices.Reverse(n.Sub)
	}
	return &n
}
