// Package spoken reads dates, numbers and amounts in texts, in digits and in words, in the
// orders and with the separators that people use.
package spoken

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Token is a word or a number of a text, in small letters and without marks.
type Token struct {
	Text       string
	Start, End int
	Number     bool
	Plus       bool // a plus sign stands before it
	Single     bool // a letter of a script that puts no space between words
}

// alone are the scripts that put no space between words: each of their letters is a
// token.
var alone = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

const (
	other = iota
	letter
	digit
	single
	inner // stands within words and is not seen, or counts for nothing
)

// class is what a character is for tokens.
func class(r rune) int {
	switch {
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return letter
	case r >= '0' && r <= '9':
		return digit
	case r == '\'':
		return inner
	case r < utf8.RuneSelf:
		return other
	case unicode.IsLetter(r) && unicode.In(r, alone...):
		return single
	case unicode.IsLetter(r):
		return letter
	case unicode.IsDigit(r):
		return digit
	case r == '\u2019' || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
		return inner
	}
	return other
}

// Tokens cuts a text into its words and numbers.
func Tokens(s string) []Token {
	out := make([]Token, 0, len(s)/5+1)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		kind := class(r)
		if kind != letter && kind != digit && kind != single {
			i += n
			continue
		}
		start, end := i, i+n
		for i = end; i < len(s) && kind != single; i += n {
			r, n = utf8.DecodeRuneInString(s[i:])
			if k := class(r); k == kind {
				end = i + n
			} else if k != inner || possessive(s[i:]) {
				break
			}
		}
		i = end
		text := folded(s[start:end])
		if k := len(out) - 1; k >= 0 && out[k].Number && out[k].End == start && ordinals[text] {
			out[k].End = end // 3rd
			continue
		}
		if a, ok := Short[text]; ok {
			text = a
		}
		out = append(out, Token{text, start, end, kind == digit, start > 0 && s[start-1] == '+', kind == single})
	}
	return out
}

// possessive reports whether a text starts with an apostrophe and an s that ends a word.
func possessive(s string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(s, "'"), "\u2019")
	if len(rest) == len(s) || rest == "" || rest[0] != 's' && rest[0] != 'S' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest[1:])
	return rest[1:] == "" || class(r) == other
}

// folded is a word in small letters, without marks, with digits of ASCII.
func folded(s string) string {
	plain := true
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf || c == '\'' {
			return slowly(s)
		}
		plain = plain && (c < 'A' || c > 'Z')
	}
	if plain {
		return s
	}
	return strings.ToLower(s)
}

func slowly(s string) string {
	s = strings.Map(func(r rune) rune {
		switch k := class(r); {
		case k == inner:
			return -1
		case k == digit && r > unicode.MaxASCII:
			return digitOf(r)
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(strings.ToLower(s)))
	return unmarked.Replace(s)
}

// unmarked are letters that have no form without their mark.
var unmarked = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "ı", "i", "ς", "σ")

// digitOf is the digit that a digit of another script is: they come in tens.
func digitOf(r rune) rune {
	zero := r
	for unicode.IsDigit(zero-1) && r-zero < 9 {
		zero--
	}
	return '0' + (r - zero)
}

var ordinals = map[string]bool{"st": true, "nd": true, "rd": true, "th": true}

// Short are words of addresses as abbreviated.
var Short = map[string]string{
	"street": "st", "str": "st", "road": "rd", "avenue": "ave", "av": "ave", "boulevard": "blvd", "drive": "dr", "lane": "ln", "court": "ct", "square": "sq", "place": "pl",
	"terrace": "ter", "highway": "hwy", "parkway": "pkwy", "apartment": "apt", "suite": "ste", "north": "n", "south": "s", "east": "e", "west": "w",
}

// Digits are digits as people say them in a number.
var Digits = map[string]string{"zero": "0", "oh": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9"}

// Repeats say how often the next digit of a number stands.
var Repeats = map[string]int{"double": 2, "triple": 3, "treble": 3}

// Near reports whether a token follows the one before it with little between.
func Near(tokens []Token, i int) bool { return tokens[i].Start-tokens[i-1].End <= maxGap }

const maxGap = 6 // bytes between the words of a value
