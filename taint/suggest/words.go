package suggest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxText  = 16 << 10 // bytes of a definition's texts that are read
	maxTexts = 1 << 10  // and how many of them
	maxName  = 256      // bytes of a name
	maxWord  = 24       // bytes of a word
)

// split cuts a text into lower-case words of ASCII letters, by case too: sendEmail
// and send_email are alike. It appends to words.
func split(words []string, s string) []string {
	start := -1
	cut := func(end int) {
		if start >= 0 && end-start <= maxWord {
			words = append(words, stem(strings.ToLower(s[start:end])))
		}
		start = -1
	}
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		switch {
		case !letter:
			cut(i)
			continue
		case start < 0:
		case upper(c) && (!upper(s[i-1]) || i+1 < len(s) && lower(s[i+1])):
			// Before a capital after a small letter, and before the last capital of
			// several: get|URL|for. URLs is one word.
			if !(upper(s[i-1]) && i+1 < len(s) && s[i+1] == 's' && (i+2 == len(s) || !lower(s[i+2]))) {
				cut(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	cut(len(s))
	return words
}

func upper(c byte) bool { return 'A' <= c && c <= 'Z' }
func lower(c byte) bool { return 'a' <= c && c <= 'z' }

// stem drops the s of plurals and of verbs.
func stem(w string) string {
	switch {
	case len(w) < 4 || w[len(w)-1] != 's':
		return w
	case strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	}
	return w[:len(w)-1]
}

// identifier reports whether a text is one word that could name an argument.
func identifier(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf })
}

// odd reports whether a text has characters that hide something: that are not seen,
// that reorder others, or that look like Latin letters in a Latin word.
func odd(s string) bool {
	var latin, alike bool
	before := rune(' ')
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
				return true
			}
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				latin = true
			} else {
				latin, alike = false, false
			}
		case r == utf8.RuneError:
			return true
		case r == 0x200d || r == 0xfe0f: // parts of emoji
			if before < 0x2000 && before != '#' && before != '*' && (before < '0' || before > '9') {
				return true
			}
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return true
		case r >= 0xff21 && r <= 0xff5a, r >= 0x1d400 && r <= 0x1d7ff, r >= 0x2460 && r <= 0x24ff, r >= 0x1f130 && r <= 0x1f18a:
			alike = true // fullwidth, mathematical, circled
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu):
			alike = true
		case unicode.IsMark(r):
		case unicode.IsLetter(r):
			latin = latin || unicode.Is(unicode.Latin, r)
		default:
			latin, alike = false, false
		}
		if latin && alike {
			return true
		}
		before = r
	}
	return false
}
