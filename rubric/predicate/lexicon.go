package predicate

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPhrase bounds the words of a phrase.
const maxPhrase = 8

// listedGroup is the group of an expression whose text a lexicon must have.
const listedGroup = "listed"

// entries are the phrases of a lexicon, in lower case with single spaces.
type entries struct {
	phrases map[string]bool // false for one that only starts a longer one
	longest int             // in words
}

func newEntries(list []string) (*entries, error) {
	if len(list) == 0 || len(list) > MaxWords {
		return nil, fmt.Errorf("a lexicon has 1 to %d entries", MaxWords)
	}
	e := &entries{phrases: map[string]bool{}}
	for _, entry := range list {
		ws := words(entry)
		if len(ws) == 0 || len(ws) > maxPhrase {
			return nil, errors.New("an entry of a lexicon has 1 to 8 words")
		}
		e.longest = max(e.longest, len(ws))
		key := ""
		for i, w := range ws {
			if i > 0 {
				key += " "
			}
			key += w.text
			e.phrases[key] = e.phrases[key] || i == len(ws)-1
		}
	}
	return e, nil
}

// has reports whether a text is an entry.
func (e *entries) has(text string) bool {
	key := ""
	for i, w := range words(text) {
		if i > 0 {
			key += " "
		}
		key += w.text
	}
	return e.phrases[key]
}

// find finds words and phrases: whole words, by any case, with anything but
// letters and digits between them.
func (e *entries) find(l *look) [][2]int {
	if !l.split {
		l.words, l.split = words(l.text), true
	}
	ws := l.words
	var out [][2]int
	for i := 0; i < len(ws); i++ {
		best, key := 0, ""
		for n := 1; n <= e.longest && i+n <= len(ws); n++ {
			if n > 1 {
				key += " "
			}
			key += ws[i+n-1].text
			whole, ok := e.phrases[key]
			if !ok {
				break
			}
			if whole {
				best = n
			}
		}
		if best > 0 {
			out = append(out, [2]int{ws[i].start, ws[i+best-1].end})
			i += best - 1
		}
	}
	return out
}

type word struct {
	text       string // lower case
	start, end int
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// words are runs of letters, marks and digits.
func words(s string) []word {
	var out []word
	start := -1
	for i, r := range s + " " {
		in := inWord(r)
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			if utf8.ValidString(s[start:i]) {
				out = append(out, word{strings.ToLower(s[start:i]), start, i})
			}
			start = -1
		}
	}
	return out
}
