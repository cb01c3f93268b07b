package lexical

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed synonyms.txt
var synonyms string

// maxPhrase is how many words a phrase of the list has at most, "no" included.
const maxPhrase = 4

// maxBetween is how many function words may stand within one.
const maxBetween = 8

// side is on which side of a line a phrase stands.
type side uint8

const (
	left side = 1 << iota
	right
)

// meaning is a line of the list, with the side of it that a text has.
type meaning struct {
	line int32
	side side
}

// list is the list of synonyms: what each phrase means, and which lines are
// associations only. What only begins phrases means nothing.
type list struct {
	phrases map[string][]meaning
	loose   []bool
	general []bool // left is the general word
}

// known reads the list when it is first needed.
var known = sync.OnceValue(func() *list { return parse(synonyms) })

// parse reads a list. A line has phrases, separated by commas: all of one
// meaning; behind ">" kinds of what stands before it; behind "~" what it makes
// one think of. Phrases behind a sign do not mean each other.
func parse(text string) *list {
	l := &list{phrases: map[string][]meaning{}}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if line == "" || strings.ContainsAny(line, "=:") {
			continue
		}
		sign := strings.IndexAny(line, ">~")
		heads, members := line, ""
		if sign >= 0 {
			heads, members = line[:sign], line[sign+1:]
		}
		n := int32(len(l.loose))
		l.loose = append(l.loose, sign >= 0 && line[sign] == '~')
		l.general = append(l.general, sign >= 0)
		for on, phrases := range map[side]string{left: heads, right: members} {
			for p := range strings.SplitSeq(phrases, ",") {
				l.add(phrase(p), meaning{n, on})
			}
		}
	}
	return l
}

// add adds a phrase. Two words mean the same either way round: broken wrist.
func (l *list) add(ws []string, m meaning) {
	if len(ws) == 2 && !isFunction(ws[0]) && !isFunction(ws[1]) {
		l.put([]string{ws[1], ws[0]}, m)
	}
	l.put(ws, m)
}

// put puts a phrase, and what begins it, into the list.
func (l *list) put(ws []string, m meaning) {
	for i := range ws {
		key := strings.Join(ws[:i+1], " ")
		var of []meaning
		if i == len(ws)-1 {
			of = []meaning{m}
		}
		l.phrases[key] = append(l.phrases[key], of...)
	}
}

// phrase are the words of a phrase of the list: those that carry meaning, and
// "no"; all of them if that is one word only, as in "out of work".
func phrase(p string) []string {
	all := words(p)
	if ws := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return isFunction(w) && w != "no" }); len(ws) > 1 {
		return ws
	}
	return all
}

// meanings calls f with each phrase of the list in a text, and the places of
// its first and last words. A few function words that a phrase lacks may stand in it.
func (l *list) meanings(ws []string, f func(from, to int, m []meaning)) {
	var key []byte
	for i := range ws {
		key = key[:0]
		for k, n := i, 0; k < min(len(ws), i+maxPhrase+maxBetween) && n < maxPhrase; k++ {
			m, begins := l.phrases[string(append(key, ws[k]...))]
			if !begins {
				if n == 0 || !isFunction(ws[k]) || ws[k] == "no" {
					break
				}
				continue
			}
			if m != nil {
				f(i, k, m)
			}
			key = append(append(key, ws[k]...), ' ')
			n++
		}
	}
}

// sense is what a text means: for each line of the list the sides it has.
type sense map[int32]side

func (l *list) senseOf(ws []string) sense {
	out := sense{}
	l.meanings(ws, func(_, _ int, ms []meaning) {
		for _, m := range ms {
			out[m.line] |= m.side
		}
	})
	return out
}

// relation is how a text belongs to a phrase, the weakest first.
type relation uint8

const (
	unrelated relation = iota
	loosely            // the phrase makes one think of the text
	following          // the text makes one think of the phrase
	generally          // the text is more general than the phrase
	same               // they mean the same, or the text is more special
)

// relates returns how a text with sides of a line belongs to a phrase that
// means the line.
func (l *list) relates(m meaning, on side) relation {
	switch {
	case on == 0 || m.side == right && on&left == 0:
		return unrelated
	case m.side == left && on&left != 0:
		return same
	case l.loose[m.line] && m.side == right:
		return following
	case l.loose[m.line]:
		return loosely
	case m.side == right && l.general[m.line]:
		return generally
	}
	return same
}

// closest returns the closest relation of a text to a phrase.
func (l *list) closest(ms []meaning, text sense) relation {
	best := unrelated
	for _, m := range ms {
		best = max(best, l.relates(m, text[m.line]))
	}
	return best
}

// place is a region that means something.
type place struct {
	region int
	side   side
}

// origin is where something is from.
type origin uint8

const (
	nowhere origin = iota
	open           // the user, or what is trusted and public
	private        // other regions, which were marked
)

// paraphrase explains a word that occurs nowhere by other words that mean the
// same: first the user's, then those of regions. What the user said in more
// general words comes after regions that say it exactly, and what one only
// thinks of comes last.
func (s *search) paraphrase(word string, ms []meaning, dates []date) origin {
	if hasDigit(word) {
		return s.derive(word, dates)
	}
	if len(ms) == 0 {
		return nowhere
	}
	said := known().closest(ms, s.meant)
	if said == same {
		return open
	}
	best, of := s.closestRegions(ms, true)
	if said > unrelated && said >= best {
		return open
	}
	return s.mark(of)
}

// closestRegions are those that relate to a phrase most closely.
func (s *search) closestRegions(ms []meaning, bottom bool) (best relation, of []int) {
	for _, m := range ms {
		s.work += len(s.senses[m.line])
		for _, p := range s.senses[m.line] {
			switch r := known().relates(m, p.side); {
			case r == unrelated || r < best || s.q.Regions[p.region].Bottom && !bottom:
			case r > best:
				best, of = r, []int{p.region}
			default:
				of = append(of, p.region)
			}
		}
	}
	return best, of
}

// mark marks regions that explain a word equally well, unless there is none or
// one of them is trusted and public.
func (s *search) mark(of []int) origin {
	if len(of) == 0 {
		return nowhere
	}
	if slices.ContainsFunc(of, func(r int) bool { return s.q.Regions[r].Bottom }) {
		return open
	}
	for _, r := range of {
		s.out[r] = true
	}
	return private
}
