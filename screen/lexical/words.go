package lexical

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// token is a word or a number of a text in small letters.
type token struct {
	text       string
	start, end int
}

// tokens cuts a text in small letters into its words and numbers: 1,200.50 is
// one, and so are 4pm and 3rd.
func tokens(s string) []token {
	out := make([]token, 0, len(s)/5+1)
	start := -1
	for i, r := range s {
		within := wordRune(r) || (r == '.' || r == ',') && start >= 0 && i+1 < len(s) && isDigit(s[i-1]) && isDigit(s[i+1])
		if r == 't' && i > 2 && s[i-3] == '-' && isDigit(s[i-2]) && isDigit(s[i-1]) && i+1 < len(s) && isDigit(s[i+1]) {
			within = false // 2026-05-03T16:30
		}
		switch {
		case within && start < 0:
			start = i
		case !within && start >= 0:
			out = append(out, token{s[start:i], start, i})
			start = -1
		}
	}
	if start >= 0 {
		out = append(out, token{s[start:], start, len(s)})
	}
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // 0 for what is no number
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func wordRune(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// reading is a text being read.
type reading struct {
	s  string
	ts []token
}

// sep is the character between a token and the next; 0 if there are more.
func (r *reading) sep(i int) byte {
	if i+1 < len(r.ts) && r.ts[i+1].start-r.ts[i].end == 1 {
		return r.s[r.ts[i].end]
	}
	return 0
}

func (r *reading) text(i int) string {
	if i < len(r.ts) {
		return r.ts[i].text
	}
	return ""
}

var contracted = strings.NewReplacer("can't", "no", "can’t", "no", "won't", "no", "won’t", "no", "n't", " no", "n’t", " no", "w/o", "no", "half a dozen", "6", "half dozen", "6", "instead of", "no", "rather than", "no", "free of", "no", "free from", "no", "'s ", " ", "’s ", " ", "a.m.", "am", "p.m.", "pm")

// words returns a text's words in one normal form: stems in small letters,
// numbers in their shortest form and in digits, days as dMMDD whatever way they
// are written and whatever year, times as tMINUTES, and "no" before what is
// negated: without sugar, sugar-free.
func words(s string) []string {
	out, _ := dated(s)
	return out
}

// dated returns the days, too.
func dated(s string) (out []string, days []date) {
	s = contracted.Replace(strings.ToLower(s) + " ")
	r := &reading{s, tokens(s)}
	out = make([]string, 0, len(r.ts))
	for i := 0; i < len(r.ts); {
		w := r.ts[i].text
		if d, n := r.day(i); n > 0 {
			out, days = append(out, fmt.Sprintf("d%02d%02d", d.m, d.d)), append(days, d)
			i += n
			continue
		}
		if m, n := r.time(i); n > 0 {
			out, i = append(out, fmt.Sprintf("t%03d", m)), i+n
			continue
		}
		switch n := len(out); {
		case w == "free" && n > 0 && i > 0 && r.ts[i].start-r.ts[i-1].end == 1 && !isFunction(out[n-1]) && !hasDigit(out[n-1]):
			out = append(out[:n-1], "no", out[n-1])
		case lists()["negative"][w]:
			out = append(out, "no")
		case (w == "or" || w == "nor") && n > 1 && out[n-2] == "no":
			out = append(out, w, "no")
		default:
			out = append(out, shortest(w))
		}
		i++
	}
	return counted(out), days
}

// shortest writes a number without grouping and superfluous zeros, and another
// word as its stem.
func shortest(w string) string {
	if hasDigit(w) {
		if f, ok := value(w); ok {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return w
	}
	if isFunction(w) {
		return w
	}
	return stem(w)
}

// value is the number that a word in digits is: 1,200.50 or 1.200,50.
func value(w string) (float64, bool) {
	if len(w) >= 16 || strings.Trim(w, "0123456789.,") != "" {
		return 0, false
	}
	dot, comma := strings.LastIndexByte(w, '.'), strings.LastIndexByte(w, ',')
	switch {
	case dot < 0 && comma < 0:
	case comma > dot && (dot >= 0 || len(w)-comma != 4): // a decimal comma
		w = strings.Replace(strings.ReplaceAll(w, ".", ""), ",", ".", 1)
	case dot >= 0 && comma < 0 && strings.Count(w, ".") > 1:
		w = strings.ReplaceAll(w, ".", "")
	default:
		w = strings.ReplaceAll(w, ",", "")
	}
	f, err := strconv.ParseFloat(w, 64)
	return f, err == nil
}

var numerals = stemmed(map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
	"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
})

var scales = stemmed(map[string]float64{"dozen": 12, "hundred": 100, "thousand": 1000, "grand": 1000, "million": 1e6, "k": 1000})

// stemmed adds the stems of words.
func stemmed(m map[string]float64) map[string]float64 {
	for w, v := range maps.Clone(m) {
		m[stem(w)] = v
	}
	return m
}

// counted puts numbers in words into digits: a dozen, twenty-five, 85 thousand.
func counted(in []string) []string {
	out := in[:0]
	for i := 0; i < len(in); {
		v, n := count(in[i:])
		if n == 0 {
			out = append(out, in[i])
			i++
			continue
		}
		out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
		i += n
	}
	return out
}

// count is the number that words start with, and how many they are.
func count(in []string) (total float64, n int) {
	part := -1.
	for n < len(in) {
		w := in[n]
		if v, ok := scales[w]; ok && (part >= 0 || w == "dozen" || n > 0 && total > 0) {
			if v <= 100 {
				part = max(part, 1) * v
			} else {
				total, part = total+max(part, 1)*v, 0
			}
			n++
			continue
		}
		v, ok := numerals[w]
		if !ok && n == 0 && hasDigit(w) && len(in) > 1 && scales[in[1]] > 0 {
			v, ok = value(w)
		}
		switch {
		case ok && part < 0:
			part = v
		case ok && part >= 20 && int(part)%10 == 0 && v > 0 && v < 10, ok && part >= 100 && int(part)%100 == 0 && v < 100, ok && part == 0 && total > 0:
			part += v
		case w == "and" && part > 0 && n+2 < len(in) && in[n+1] == "a" && in[n+2] == "half":
			part, n = part+0.5, n+2
		case w == "and" && part >= 100 && n+1 < len(in) && numerals[in[n+1]] > 0:
		default:
			return total + max(part, 0), n
		}
		n++
	}
	return total + max(part, 0), n
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// keyWords are the words of a field's or argument's name: [2].homeAddress
// says home and address.
func keyWords(field string) []string {
	return slices.DeleteFunc(words(keyParts.ReplaceAllString(field, "$1 $2")), func(w string) bool { return isFunction(w) || lists()["fields"][w] })
}

var keyParts = regexp.MustCompile(`(\p{Ll})(\p{Lu})|\PL+`)

// lists are the lists of single words, by their names, with their stems.
var lists = sync.OnceValue(func() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for line := range strings.Lines(synonyms) {
		if name, words, ok := strings.Cut(line, ":"); ok && line[0] != '#' {
			out[name] = map[string]bool{}
			for w := range strings.FieldsSeq(words) {
				out[name][w], out[name][regular(w)] = true, true
			}
		}
	}
	return out
})

func isFunction(word string) bool { return lists()["function"][word] }
