package known

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a word or a number of a text, in small letters and without marks.
type token struct {
	text       string
	start, end int
	number     bool
	plus       bool // a plus sign stands before it
	letters    int
}

// alone are the scripts that put no space between words: each of their letters is a
// token.
var alone = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

// tokenise cuts a text into its words and numbers.
func tokenise(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			i += n
			continue
		}
		start, digit, single := i, unicode.IsDigit(r), unicode.In(r, alone...)
		var b strings.Builder
		letters := 0
		for i < len(s) {
			r, n = utf8.DecodeRuneInString(s[i:])
			inside := unicode.IsLetter(r) && !digit && (letters == 0 || !single && !unicode.In(r, alone...)) || unicode.IsDigit(r) && digit
			if !inside && !(unicode.Is(unicode.Mn, r) && i > start) && !(joins(r) && letters > 0 && follows(s[i+n:])) {
				break
			}
			if inside {
				letters++
			}
			if !joins(r) {
				b.WriteRune(r)
			}
			i += n
		}
		t := token{text: folded(b.String()), start: start, end: i, number: digit, letters: letters, plus: start > 0 && s[start-1] == '+'}
		if len(out) > 0 && out[len(out)-1].number && out[len(out)-1].end == start && ordinals[t.text] {
			out[len(out)-1].end = i // 3rd
			continue
		}
		out = append(out, t)
	}
	return out
}

// joins reports whether a sign stands within words: O'Brien, soft hyphens, and what
// nobody sees.
func joins(r rune) bool {
	return r == '\'' || r == '\u2019' || unicode.Is(unicode.Cf, r)
}

// follows reports whether a letter comes next.
func follows(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// folded is a word in small letters, without marks, with digits of ASCII.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case unicode.IsDigit(r) && r > unicode.MaxASCII:
			return digitOf(r)
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(strings.ToLower(s)))
}

// digitOf is the digit that a digit of another script is: they come in tens.
func digitOf(r rune) rune {
	zero := r
	for unicode.IsDigit(zero-1) && r-zero < 9 {
		zero--
	}
	return '0' + (r - zero)
}

var ordinals = map[string]bool{"st": true, "nd": true, "rd": true, "th": true}

// digitWords are digits as people say them in a number.
var digitWords = map[string]string{"zero": "0", "oh": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9"}

// small are numbers in words, cardinal and ordinal.
var small = func() map[string]int {
	out := map[string]int{}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
		out[w] = i
	}
	for i, w := range strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth") {
		out[w] = i
	}
	return out
}()

var tens = func() map[string]int {
	out := map[string]int{}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		out[w] = 20 + 10*i
	}
	for i, w := range strings.Fields("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth") {
		out[w] = 20 + 10*i
	}
	return out
}()

// under100 is the number below a hundred that tokens say from a place, and how many
// tokens that takes; 0 for none.
func under100(tokens []token, i int) (v, n int) {
	if i >= len(tokens) {
		return 0, 0
	}
	if t, ok := tens[tokens[i].text]; ok {
		if i+1 < len(tokens) && near(tokens, i+1) {
			if u, ok := small[tokens[i+1].text]; ok && u > 0 && u < 10 {
				return t + u, 2
			}
		}
		return t, 1
	}
	if u, ok := small[tokens[i].text]; ok {
		return u, 1
	}
	return 0, 0
}
