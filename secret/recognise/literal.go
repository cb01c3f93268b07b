package recognise

import (
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/ahocorasick"
	"github.com/margaydev/margay/internal/dfa"
)

// maxLiterals bounds the leading literals taken from one expression.
const maxLiterals = 64

// stripPrefix removes what a match may begin with but need not, such as
// [\w.-]{0,50}? before a key's name. The secret group is the same without it.
// It reports what it removed as a class of bytes that may precede the match.
func stripPrefix(re *syntax.Regexp) (*syntax.Regexp, *syntax.Regexp) {
	var removed *syntax.Regexp
	for re.Op == syntax.OpConcat && len(re.Sub) > 1 {
		first := re.Sub[0]
		optional := (first.Op == syntax.OpRepeat && first.Min == 0 || first.Op == syntax.OpStar || first.Op == syntax.OpQuest) &&
			first.Sub[0].Op == syntax.OpCharClass
		if !optional {
			if first.Op == syntax.OpConcat {
				sub, r := stripPrefix(first)
				re.Sub[0] = sub
				if r != nil {
					removed = r
				}
			}
			break
		}
		removed = first.Sub[0]
		re = &syntax.Regexp{Op: syntax.OpConcat, Sub: re.Sub[1:], Flags: re.Flags}
	}
	return re, removed
}

// stripBefore removes (?:^|[class]) from the front of an expression. What it
// removed is asked for where a match is taken, so that the automaton starts
// with the secret's own characters, not at every space.
func stripBefore(re *syntax.Regexp) (*syntax.Regexp, *syntax.Regexp) {
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 {
		return re, nil
	}
	first := re.Sub[0]
	if first.Op != syntax.OpAlternate || len(first.Sub) != 2 || first.Sub[0].Op != syntax.OpBeginText || first.Sub[1].Op != syntax.OpCharClass {
		return re, nil
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: re.Sub[1:], Flags: re.Flags}, first.Sub[1]
}

// bytesOf returns the ASCII bytes of a class; nil for no class.
func bytesOf(class *syntax.Regexp) *[256]bool {
	if class == nil {
		return nil
	}
	t := new([256]bool)
	for b := range 128 {
		for i := 0; i < len(class.Rune); i += 2 {
			t[b] = t[b] || rune(b) >= class.Rune[i] && rune(b) <= class.Rune[i+1]
		}
	}
	return t
}

// leading returns case-folded literals of at least two bytes one of which
// every match starts with, or nil if there is no such set.
func leading(re *syntax.Regexp) []string {
	set, _, ok := prefixes(re)
	if !ok || len(set) == 0 || slices.ContainsFunc(set, func(s string) bool { return len(s) < 2 }) {
		return nil
	}
	return set
}

// prefixes returns strings one of which every match of re starts with, and
// whether they are all of what re matches (so that what follows may extend
// them).
func prefixes(re *syntax.Regexp) (set []string, whole, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.ContainsFunc(re.Rune, func(r rune) bool { return r >= 0x80 }) {
			return nil, false, false
		}
		return []string{strings.ToLower(string(re.Rune))}, true, true
	case syntax.OpCharClass:
		return classPrefixes(re)
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpEmptyMatch:
		return []string{""}, true, true
	case syntax.OpCapture:
		return prefixes(re.Sub[0])
	case syntax.OpAlternate:
		whole = true
		for _, sub := range re.Sub {
			s, w, ok := prefixes(sub)
			if !ok || len(set)+len(s) > maxLiterals {
				return nil, false, false
			}
			whole = whole && w
			set = append(set, s...)
		}
		return unique(set), whole, true
	case syntax.OpConcat:
		set = []string{""}
		for _, sub := range re.Sub {
			s, w, ok := prefixes(sub)
			if !ok || len(set)*len(s) > maxLiterals {
				return set, false, true
			}
			var product []string
			for _, a := range set {
				for _, b := range s {
					product = append(product, a+b)
				}
			}
			set = unique(product)
			if !w {
				return set, false, true
			}
		}
		return set, true, true
	case syntax.OpQuest:
		s, w, ok := prefixes(re.Sub[0])
		if !ok {
			return nil, false, false
		}
		return unique(append(s, "")), w, true
	case syntax.OpRepeat, syntax.OpPlus:
		if re.Op == syntax.OpRepeat && re.Min == 0 {
			return nil, false, false
		}
		s, _, ok := prefixes(re.Sub[0])
		return s, false, ok
	}
	return nil, false, false
}

func classPrefixes(re *syntax.Regexp) (set []string, whole, ok bool) {
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= min(re.Rune[i+1], 0x7f); r++ {
			set = append(set, strings.ToLower(string(r)))
		}
	}
	if set = unique(set); len(set) > 4 {
		return nil, false, false
	}
	return set, true, len(set) > 0
}

func unique(set []string) []string {
	slices.Sort(set)
	return slices.Compact(set)
}

// firstBytes returns the bytes that a match can begin with.
func firstBytes(d *dfa.DFA) (first [256]bool) {
	for b := range first {
		for before := dfa.Nothing; before <= dfa.Other; before++ {
			first[b] = first[b] || !d.Step(d.Start(before), byte(b)).Dead()
		}
	}
	return first
}

// words finds the literals, in any case.
type words struct {
	*ahocorasick.Automaton
	out   [][]wordUse
	ends  []bool      // by state: it has out
	class *[256]uint8 // of ahocorasick.Automaton.Table, marked by ends
	next  []uint32
	held  []uint8 // by state: bytes that may begin a literal inside a secret
}

// wordUse is what a literal does when it is complete.
type wordUse struct {
	rule   uint16
	length uint8
	gate   bool // it opens the rule's gate instead of starting a run
	inside bool // the literal lies in the secret group
}

func newWords(uses map[string][]wordUse) *words {
	var class [256]uint8 // 0: in no literal
	width := 1
	for lit := range uses {
		for _, c := range []byte(lit) {
			if class[c] == 0 {
				class[c] = uint8(width)
				width++
				if c >= 'a' && c <= 'z' {
					class[c-32] = class[c]
				}
			}
		}
	}
	w := &words{Automaton: ahocorasick.New(class, width)}
	for lit := range uses {
		w.Add(lit)
	}
	w.out, w.ends, w.held = make([][]wordUse, w.Len()), make([]bool, w.Len()), make([]uint8, w.Len())
	for lit, us := range uses {
		path := w.Add(lit)
		w.out[path[len(path)-1]] = us
		if slices.ContainsFunc(us, func(u wordUse) bool { return u.inside }) {
			for i, s := range path {
				w.held[s] = uint8(i + 1)
			}
		}
	}
	w.Link(func(s, suffix uint16) {
		w.out[s] = slices.Concat(w.out[s], w.out[suffix])
		w.held[s] = max(w.held[s], w.held[suffix])
		w.ends[s] = len(w.out[s]) > 0
	})
	w.class, w.next = w.Table(w.ends)
	return w
}
