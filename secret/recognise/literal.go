package recognise

import (
	"regexp/syntax"
	"strings"
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
// every match begins with, or nil if there is no such set.
func leading(re *syntax.Regexp) []string {
	set, _, ok := prefixes(re)
	if !ok || len(set) == 0 {
		return nil
	}
	for _, s := range set {
		if len(s) < 2 {
			return nil
		}
	}
	return set
}

// prefixes returns strings one of which every match of re begins with, and
// whether they are all of what re matches (so that what follows may extend
// them).
func prefixes(re *syntax.Regexp) (set []string, whole, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r >= 0x80 {
				return nil, false, false
			}
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
	seen := map[string]bool{}
	for i := 0; i < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if r >= 0x80 {
				continue
			}
			if s := strings.ToLower(string(r)); !seen[s] {
				seen[s] = true
				set = append(set, s)
			}
			if len(set) > 4 {
				return nil, false, false
			}
		}
	}
	return set, true, len(set) > 0
}

func unique(set []string) []string {
	seen := map[string]bool{}
	out := set[:0]
	for _, s := range set {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// firstBytes returns the bytes that a match can begin with.
func (a *automaton) firstBytes() (first [256]bool) {
	for b := range 256 {
		for before := atText; before <= atElse; before++ {
			if !a.step(a.start(before), byte(b)).dead() {
				first[b] = true
				break
			}
		}
	}
	return first
}

// words is an Aho–Corasick automaton over case-folded literals.
type words struct {
	class [256]uint8 // 0: in no literal
	width int
	next  []uint16 // state*width+class
	out   [][]wordUse
	ends  []bool  // by state: it has out
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
	w := &words{width: 1}
	for lit := range uses {
		for i := range len(lit) {
			c := lit[i]
			if w.class[c] == 0 {
				w.class[c] = uint8(w.width)
				w.width++
				if c >= 'a' && c <= 'z' {
					w.class[c-32] = w.class[c]
				}
			}
		}
	}
	// The trie.
	const none = ^uint16(0)
	grow := func() uint16 {
		for range w.width {
			w.next = append(w.next, none)
		}
		w.out = append(w.out, nil)
		w.held = append(w.held, 0)
		return uint16(len(w.out) - 1)
	}
	grow()
	depth := []uint8{0}
	for lit, us := range uses {
		s := uint16(0)
		inside := false
		for _, u := range us {
			inside = inside || u.inside
		}
		for i := range len(lit) {
			at := int(s)*w.width + int(w.class[lit[i]])
			if w.next[at] == none {
				n := grow()
				w.next[at] = n
				depth = append(depth, uint8(i+1))
			}
			s = w.next[at]
			if inside {
				w.held[s] = depth[s]
			}
		}
		w.out[s] = append(w.out[s], us...)
	}
	// Failure links, breadth first, folded into the transitions.
	fail := make([]uint16, len(w.out))
	var queue []uint16
	for c := range w.width {
		if n := w.next[c]; n == none {
			w.next[c] = 0
		} else {
			queue = append(queue, n)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		f := fail[s]
		w.out[s] = append(w.out[s], w.out[f]...)
		w.held[s] = max(w.held[s], w.held[f])
		for c := range w.width {
			at := int(s)*w.width + c
			if n := w.next[at]; n == none {
				w.next[at] = w.next[int(f)*w.width+c]
			} else {
				fail[n] = w.next[int(f)*w.width+c]
				queue = append(queue, n)
			}
		}
	}
	w.ends = make([]bool, len(w.out))
	for i := range w.out {
		w.ends[i] = len(w.out[i]) > 0
	}
	return w
}

func (w *words) step(s uint16, b byte) uint16 {
	return w.next[int(s)*w.width+int(w.class[b])]
}
