// Package expression tells what the tree of a regular expression says of its matches:
// the literals that they begin with, what may stand before them, and the characters
// that the tokens of a secret are made of.
package expression

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// maxLiterals bounds the leading literals taken from one expression.
const maxLiterals = 64

// StripPrefix removes what a match may begin with but need not, such as
// [\w.-]{0,50}? before a key's name. The secret group is the same without it.
// It reports what it removed as a class of bytes that may precede the match.
func StripPrefix(re *syntax.Regexp) (*syntax.Regexp, *syntax.Regexp) {
	var removed *syntax.Regexp
	for re.Op == syntax.OpConcat && len(re.Sub) > 1 {
		first := re.Sub[0]
		optional := (first.Op == syntax.OpRepeat && first.Min == 0 || first.Op == syntax.OpStar || first.Op == syntax.OpQuest) &&
			first.Sub[0].Op == syntax.OpCharClass
		if !optional {
			if first.Op == syntax.OpConcat {
				sub, r := StripPrefix(first)
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

// StripBefore removes (?:^|[class]) from the front of an expression. What it
// removed is asked for where a match is taken, so that the automaton starts
// with the secret's own characters, not at every space.
func StripBefore(re *syntax.Regexp) (*syntax.Regexp, *syntax.Regexp) {
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 {
		return re, nil
	}
	first := re.Sub[0]
	if first.Op != syntax.OpAlternate || len(first.Sub) != 2 || first.Sub[0].Op != syntax.OpBeginText || first.Sub[1].Op != syntax.OpCharClass {
		return re, nil
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: re.Sub[1:], Flags: re.Flags}, first.Sub[1]
}

// Bytes returns the ASCII bytes of a class; nil for no class.
func Bytes(class *syntax.Regexp) *[256]bool {
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

// Leading returns case-folded literals of at least two bytes one of which
// every match starts with, or nil if there is no such set.
func Leading(re *syntax.Regexp) []string {
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

// InsideGroup reports whether a match may enter the secret group with its
// first byte, so that the start of a literal must be held.
func InsideGroup(re *syntax.Regexp, group int) bool {
	for {
		switch re.Op {
		case syntax.OpConcat:
			i := slices.IndexFunc(re.Sub, func(s *syntax.Regexp) bool { return !isEmpty(s) })
			if i < 0 || re.MaxCap() == 0 {
				return true
			}
			re = re.Sub[i]
			if re.MaxCap() == 0 {
				return false
			}
		case syntax.OpCapture:
			if group == 0 || re.Cap == group {
				return true
			}
			re = re.Sub[0]
		default:
			return true
		}
	}
}

// isEmpty reports whether an expression matches nothing but a place.
func isEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpEmptyMatch:
		return true
	}
	return false
}
