package wish

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/taint/observe"
)

// minSpoken is the least length of a value that counts as said by the user:
// shorter ones are in every text.
const minSpoken = 3

// Spoken reports whether a value occurs in a text as a word or words: as it is
// written, or ignoring case for addresses; not as a part of a longer word,
// address, path or number.
func Spoken(s, v string) bool {
	if len(v) < minSpoken || strings.TrimSpace(v) != v || !utf8.ValidString(v) {
		return false
	}
	if observe.IsAddress(v) {
		s, v = lower(s), lower(v)
	}
	for at := 0; ; {
		i := strings.Index(s[at:], v)
		if i < 0 {
			return false
		}
		i += at
		if boundary(s, i, i+len(v)) {
			return true
		}
		at = i + 1
	}
}

// lower folds ASCII letters, so that lengths stay.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// glue are characters that hold the parts of one value together.
const glue = "@._+-/\\:%=&?#~"

func boundary(s string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	after, n := utf8.DecodeRuneInString(s[to:])
	if from > 0 && (word(before) || strings.ContainsRune(glue, before) && before != ':' && before != '#' && before != '@') {
		return false
	}
	if from > 1 && before == '@' { // @bob is bob; x@bob is not
		if b, _ := utf8.DecodeLastRuneInString(s[:from-1]); word(b) || strings.ContainsRune(glue, b) {
			return false
		}
	}
	if from > 1 && before == ':' {
		if b, _ := utf8.DecodeLastRuneInString(s[:from-1]); b == '/' {
			return false
		}
	}
	if to == len(s) {
		return true
	}
	if word(after) {
		return false
	}
	if strings.ContainsRune(glue, after) {
		// A full stop ends a sentence only where nothing is joined to it.
		next, _ := utf8.DecodeRuneInString(s[to+n:])
		return to+n == len(s) || !word(next) && !strings.ContainsRune(glue, next)
	}
	return true
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
