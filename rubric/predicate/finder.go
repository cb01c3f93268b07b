package predicate

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/dfa"
)

const (
	// maxProgram bounds the instructions of an expression that automata are
	// made of.
	maxProgram = 20000
	// maxStates bounds the states of one automaton, in bytes.
	maxStates = 512 << 10
)

// finder finds what an expression matches: an automaton finds where the first
// match ends, one of the expression read backwards where it starts, and regexp
// sees no more of the text than a match, for its group. Where automata take too
// many states, regexp does it all.
type finder struct {
	re    *regexp.Regexp
	group int
	// Where a lexicon narrows the expression: its entries, and the group whose
	// text must be one of them.
	entries *entries
	listed  int
	// The expression at the start of a text, and behind one character.
	at, behind *regexp.Regexp
	width      int // bytes of a match at most

	progs    [2]*syntax.Prog
	forward  *dfa.DFA // nil: regexp does it all
	backward *dfa.DFA
}

// newFinder returns the finder of an expression, without automata yet. With
// only, it finds only whether there is a match.
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
		return f // a match must have an end
	}
	f.width = utf8.UTFMax * most
	back, err := syntax.Compile(dfa.Reverse(tree))
	if err != nil || len(back.Inst) > maxProgram {
		return f
	}
	if f.listed = re.SubexpIndex(listedGroup); group > 0 || f.listed > 0 {
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
func (f *finder) prepare(a *dfa.Alphabet) {
	if f.progs[0] != nil {
		f.forward = dfa.New(f.progs[0], a, dfa.Config{Anywhere: true, MaxSize: maxStates})
	}
	if f.progs[1] != nil {
		f.backward = dfa.New(f.progs[1], a, dfa.Config{All: true, MaxSize: maxStates})
	}
}

// is reports whether there is a match.
func (f *finder) is(text string, symbols []uint16, soon bool) bool {
	if !soon && f.forward != nil {
		left := dfa.BudgetFor(text)
		if end, ok := f.forward.Forward(symbols, 0, dfa.Nothing, true, &left); ok {
			return end >= 0
		}
	}
	return f.re.MatchString(text)
}

// next returns the first match that starts at from or later, nil for none. With
// begins, the text counts as starting at from. It reports false where only regexp
// can tell.
func (f *finder) next(l *look, from int, begins bool, left *dfa.Budget) ([]int, bool) {
	if l.soon || f.backward == nil {
		return nil, false
	}
	before := dfa.Nothing
	if !begins && from > 0 {
		r, _ := utf8.DecodeLastRuneInString(l.text[:from])
		before = dfa.After(r)
	}
	end, ok := f.forward.Forward(l.symbols, from, before, false, left)
	if !ok || end < 0 {
		return nil, ok
	}
	begin, ok := f.backward.Backward(l.symbols, l.text, from, end, begins, left)
	if !ok || begin < 0 || begin == end {
		return nil, false
	}
	return []int{begin, end}, true
}

// all returns all matches that do not overlap, or their groups.
func (f *finder) all(l *look) [][2]int {
	if f.entries != nil {
		return f.allListed(l)
	}
	var out [][2]int
	left := dfa.BudgetFor(l.text)
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
	m := f.groups(text, 0, from, to)
	if m == nil {
		return [2]int{}, false
	}
	return f.of(m, 0), true
}

// groups returns where the groups of a match are in a text that counts as
// starting at start, nil if regexp sees another match.
func (f *finder) groups(text string, start, from, to int) []int {
	// More than the longest match, so that it does not matter where the text is
	// cut.
	re, cut, n := f.at, text[:min(len(text), from+f.width+2*utf8.UTFMax)], 0
	if from > start {
		_, n = utf8.DecodeLastRuneInString(text[:from])
		re = f.behind
	}
	m := re.FindStringSubmatchIndex(cut[from-n:])
	if m == nil || from-n+m[1] != to {
		return nil
	}
	m[0] = n // without what is before
	for i := range m {
		if m[i] >= 0 {
			m[i] += from - n
		}
	}
	return m
}

// allListed is all where a lexicon narrows the expression. A match whose word is
// not listed hides no other: the search goes on behind its first word, as if the
// text started there.
func (f *finder) allListed(l *look) [][2]int {
	var out [][2]int
	left := dfa.BudgetFor(l.text)
	for pos := 0; pos < len(l.text); {
		m, ok := f.next(l, pos, true, &left)
		if ok && m == nil {
			break
		}
		if ok {
			m = f.groups(l.text, pos, m[0], m[1])
		}
		if !ok || m == nil {
			if m = f.re.FindStringSubmatchIndex(l.text[pos:]); m == nil {
				break
			}
			for i := range m {
				if m[i] >= 0 {
					m[i] += pos
				}
			}
		}
		span := f.of(m, 0)
		if from, to := m[2*f.listed], m[2*f.listed+1]; from >= 0 && f.entries.has(l.text[from:to]) {
			out = append(out, span)
			pos = m[1]
			continue
		}
		pos = behindWord(l.text, max(span[0], pos))
	}
	return out
}

// behindWord returns where the word ends that starts at a place, at least a
// character behind it.
func behindWord(text string, at int) int {
	_, n := utf8.DecodeRuneInString(text[at:])
	rest := text[at+n:]
	if i := strings.IndexFunc(rest, func(r rune) bool { return !inWord(r) }); i >= 0 {
		return at + n + i
	}
	return len(text)
}
