package known

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Text is a text read for comparison: its words in one normal form, and the
// dates, times of day and durations that it names. It is immutable.
type Text struct {
	words     []string
	at        map[string][]int32 // where a word stands
	dates     map[date]bool      // year 0 where none is given
	times     map[int]bool       // minutes of the day
	durations map[int]bool       // minutes
}

// spaces are read as one, within a line.
var spaces = regexp.MustCompile(`[ \t]+`)

// Read reads a text.
func Read(s string) *Text {
	s = unescape(s)
	t := &Text{words: words(s), at: map[string][]int32{}}
	for i, w := range t.words {
		t.at[w] = append(t.at[w], int32(i))
	}
	t.dates, t.times, t.durations = calendar(spaces.ReplaceAllString(strings.ToLower(s), " "))
	return t
}

// has reports whether the words stand in the text one behind the other.
func (t *Text) has(seq []string) bool {
	if len(seq) == 0 {
		return true
	}
	for _, i := range t.at[seq[0]] {
		if int(i)+len(seq) > len(t.words) {
			break
		}
		k := 1
		for k < len(seq) && t.words[int(i)+k] == seq[k] {
			k++
		}
		if k == len(seq) {
			return true
		}
	}
	return false
}

// Covers reports whether every word of o stands in t as often as in o: whether
// all of o is there, however it is wrapped.
func (t *Text) Covers(o *Text) bool {
	for w, at := range o.at {
		if len(t.at[w]) < len(at) {
			return false
		}
	}
	return true
}

// unescape undoes what JSON, YAML and Python write for line ends, tabs and
// quotes. Several backslashes are one: texts are quoted more than once.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		for i < len(s) && s[i] == '\\' {
			i++
		}
		if i == len(s) {
			break
		}
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[i]]
		switch {
		case strings.IndexByte("nrt", s[i]) >= 0:
			b.WriteByte(' ')
			i++
		case digits > 0 && i+digits < len(s):
			if r, err := strconv.ParseUint(s[i+1:i+1+digits], 16, 32); err == nil && r <= unicode.MaxRune {
				b.WriteRune(rune(r))
				i += 1 + digits
			}
		}
	}
	return b.String()
}

// words returns the runs of letters and digits in lower case, numbers in their
// shortest form.
func words(s string) []string {
	var out []string
	rs := []rune(s)
	for i := 0; i < len(rs); {
		if !isWord(rs[i]) {
			i++
			continue
		}
		j, numeric := i, true
		for j < len(rs) {
			switch {
			case isWord(rs[j]):
				numeric = numeric && rs[j] >= '0' && rs[j] <= '9'
			case numeric && (rs[j] == '.' || rs[j] == ',') && j+1 < len(rs) && rs[j+1] >= '0' && rs[j+1] <= '9':
			default:
				goto end
			}
			j++
		}
	end:
		w := string(rs[i:j])
		i = j
		if n, ok := number(w); ok {
			out = append(out, n)
			continue
		}
		for _, p := range strings.FieldsFunc(w, func(r rune) bool { return r == '.' || r == ',' }) {
			if n, ok := number(p); ok {
				p = n
			}
			out = append(out, strings.ToLower(p))
		}
	}
	return out
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// number returns the shortest form of a decimal number: 1,000.50 is 1000.5.
func number(s string) (string, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if groups := strings.Split(whole, ","); len(groups) > 1 {
		for i, g := range groups {
			if len(g) != 3 && i > 0 || len(g) == 0 || len(g) > 3 {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
	}
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if whole == "" || !digits(whole) || !digits(frac) {
		return "", false
	}
	whole, frac = strings.TrimLeft(whole, "0"), strings.TrimRight(frac, "0")
	if whole == "" {
		whole = "0"
	}
	if frac == "" {
		return whole, true
	}
	return whole + "." + frac, true
}
