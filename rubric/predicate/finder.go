package predicate

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// maxProgram bounds the instructions of an expression that automata are made
// of.
const maxProgram = 20000

// finder finds what an expression matches: an automaton finds where the first
// match ends, one of the expression read backwards where it begins, and regexp
// sees no more of the text than a match, for its group. Where automata take too
// many states, regexp does it all.
type finder struct {
	re    *regexp.Regexp
	group int
	// The expression at the beginning of a text, and behind one character.
	at, behind *regexp.Regexp
	width      int // bytes of a match at most

	progs    [2]*syntax.Prog
	forward  *automaton // nil: regexp does it all
	backward *automaton
}

// newFinder returns the finder of an expression, yet without automata. Where
// only is set, it finds no more than whether there is a match.
func newFinder(re *regexp.Regexp, group int, only bool) *finder {
	f := &finder{re: re, group: group}
	tree := mustParse(re.String())
	ahead, err := syntax.Compile(tree)
	if err != nil || len(ahead.Inst) > maxProgram {
		return f
	}
	if only {
		f.progs[0] = ahead
		return f
	}
	_, most := width(tree)
	if most > MaxWidth {
		return f // what is found must end
	}
	f.width = utf8.UTFMax * most
	back, err := syntax.Compile(reverse(tree))
	if err != nil || len(back.Inst) > maxProgram {
		return f
	}
	if group > 0 {
		if f.at, err = regexp.Compile(`\A(?:` + re.String() + `)`); err != nil {
			return f
		}
		if f.behind, err = regexp.Compile(`\A(?s:.)(?:` + re.String() + `)`); err != nil {
			return f
		}
	}
	f.progs = [2]*syntax.Prog{ahead, back}
	return f
}

// prepare makes the automata.
func (f *finder) prepare(c *classes) {
	if f.progs[0] == nil {
		return
	}
	local, reps := c.narrow(f.progs[0])
	f.forward = newAutomaton(f.progs[0], local, reps, false)
	if f.progs[1] != nil {
		f.backward = newAutomaton(f.progs[1], local, reps, true)
	}
}

// reverse returns an expression that matches the same backwards.
func reverse(r *syntax.Regexp) *syntax.Regexp {
	n := *r // parts of a tree may be shared
	switch r.Op {
	case syntax.OpLiteral:
		n.Rune = slices.Clone(r.Rune)
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
	n.Sub = make([]*syntax.Regexp, len(r.Sub))
	for i := range r.Sub {
		n.Sub[i] = reverse(r.Sub[i])
	}
	if r.Op == syntax.OpConcat {
		slices.Reverse(n.Sub)
	}
	return &n
}

// kindBefore is the kind of the character before a place in a text, kindAt of
// that behind it.
func kindBefore(text string, at int) uint8 {
	if at == 0 {
		return none
	}
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return kind(r)
}

func kindAt(text string, at int) uint8 {
	if at == len(text) {
		return none
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return kind(r)
}

// is reports whether there is a match.
func (f *finder) is(text string, class []uint16) bool {
	if f.forward != nil {
		left := patient(text)
		if end, ok := f.forward.forward(class, 0, none, true, &left); ok {
			return end >= 0
		}
	}
	return f.re.MatchString(text)
}

// next returns the first match that begins at from or later; nil is none. The
// text is taken to begin at from where begins is set. It reports false where
// only regexp can tell.
func (f *finder) next(l *look, from int, begins bool, left *patience) ([]int, bool) {
	if f.backward == nil {
		return nil, false
	}
	before := none
	if !begins {
		before = kindBefore(l.text, from)
	}
	end, ok := f.forward.forward(l.class, from, before, false, left)
	if !ok || end < 0 {
		return nil, ok
	}
	begin, ok := f.backward.backward(l.class, l.text, from, end, begins, left)
	if !ok || begin < 0 || begin == end {
		return nil, false
	}
	return []int{begin, end}, true
}

// all returns all matches that do not overlap, or their groups.
func (f *finder) all(l *look) [][2]int {
	var out [][2]int
	left := patient(l.text)
	for pos := 0; pos < len(l.text); {
		m, ok := f.next(l, pos, false, &left)
		if ok && m == nil {
			break
		}
		var span [2]int
		if ok {
			span, ok = f.value(l.text, m[0], m[1])
		}
		if !ok {
			return f.slow(l.text)
		}
		out = append(out, span)
		pos = m[1]
	}
	return out
}

// slow is all by regexp alone.
func (f *finder) slow(text string) [][2]int {
	var out [][2]int
	for _, m := range f.re.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, f.of(m, 0))
	}
	return out
}

// of returns the group of a match, or all of it where the group took no part.
func (f *finder) of(m []int, offset int) [2]int {
	from, to := m[2*f.group], m[2*f.group+1]
	if from < 0 || from == to {
		from, to = m[0], m[1]
	}
	return [2]int{offset + from, offset + to}
}

// value returns the group of a match. It reports false if regexp sees another
// match, which must not be.
func (f *finder) value(text string, from, to int) ([2]int, bool) {
	if f.group == 0 {
		return [2]int{from, to}, true
	}
	// More than the longest match, so that where the text is cut is of no
	// account.
	re, cut, n := f.at, text[:min(len(text), from+f.width+2*utf8.UTFMax)], 0
	if from > 0 {
		_, n = utf8.DecodeLastRuneInString(text[:from])
		re = f.behind
	}
	m := re.FindStringSubmatchIndex(cut[from-n:])
	if m == nil || from-n+m[1] != to {
		return [2]int{}, false
	}
	m[0] = n // without what is before
	return f.of(m, from-n), true
}
