package lexical

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// months by their first three letters.
const months = "jan feb mar apr may jun jul aug sep oct nov dec"

const monthName = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`

var (
	isoDate  = regexp.MustCompile(`\b\d{4}-(\d{2})-(\d{2})\b`)
	dayMonth = regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + monthName + `\b(?:,? \d{4}\b)?`)
	monthDay = regexp.MustCompile(`\b` + monthName + ` (\d{1,2})(?:st|nd|rd|th)?\b(?:,? \d{4}\b)?`)
	halfDay  = regexp.MustCompile(`\b(\d{1,2})(?::(\d{2}))? ?([ap])m\b`)
	dayTime  = regexp.MustCompile(`\b(\d{1,2}):(\d{2})(?::\d{2})?\b`)
)

// words returns a text's words in one normal form: lower case, numbers in
// their shortest form, days as dMMDD whatever way they are written and
// whatever year, times of day as tMINUTES.
func words(s string) []string {
	s = strings.ToLower(s)
	day := func(m, d int) string { return fmt.Sprintf(" d%02d%02d ", m, d) }
	month := func(name string) int { return strings.Index(months, name[:3])/4 + 1 }
	minute := func(h, m string, half string) string {
		n := number(h)
		switch {
		case half == "p" && n < 12:
			n += 12
		case half == "a" && n == 12:
			n = 0
		}
		return fmt.Sprintf(" t%d ", n*60+number(m))
	}
	s = replace(s, isoDate, func(m []string) string { return day(number(m[1]), number(m[2])) })
	s = replace(s, dayMonth, func(m []string) string { return day(month(m[2]), number(m[1])) })
	s = replace(s, monthDay, func(m []string) string { return day(month(m[1]), number(m[2])) })
	s = replace(s, halfDay, func(m []string) string { return minute(m[1], m[2], m[3]) })
	s = replace(s, dayTime, func(m []string) string { return minute(m[1], m[2], "") })

	var out []string
	rs := []rune(s)
	for i := 0; i < len(rs); {
		if !wordRune(rs[i]) {
			i++
			continue
		}
		j := i
		for j < len(rs) && (wordRune(rs[j]) || (rs[j] == '.' || rs[j] == ',') && j+1 < len(rs) && unicode.IsDigit(rs[j-1]) && unicode.IsDigit(rs[j+1])) {
			j++
		}
		out = append(out, shortest(string(rs[i:j])))
		i = j
	}
	return out
}

func replace(s string, re *regexp.Regexp, f func([]string) string) string {
	return re.ReplaceAllStringFunc(s, func(m string) string { return f(re.FindStringSubmatch(m)) })
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func number(s string) int {
	n, _ := strconv.Atoi(s) // the patterns take digits alone
	return n
}

// shortest writes a number without grouping and superfluous zeros; other words
// lose a plural's s, so that a person's orders are an order.
func shortest(w string) string {
	if n, ok := numerals[w]; ok {
		return n
	}
	plain := strings.ReplaceAll(w, ",", "")
	if f, err := strconv.ParseFloat(plain, 64); err == nil && strings.Trim(plain, "0123456789.") == "" && len(plain) < 16 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !hasDigit(w) {
		return w[:len(w)-1]
	}
	return w
}

var numerals = map[string]string{
	"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10", "eleven": "11", "twelve": "12",
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// keyWords are the words of a field's or argument's name: [2].homeAddress
// says home and address.
func keyWords(field string) []string {
	var b strings.Builder
	prev := rune(0)
	for _, r := range field {
		switch {
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			b.WriteByte(' ')
			b.WriteRune(r)
		case unicode.IsLetter(r):
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
		prev = r
	}
	var out []string
	for _, w := range words(b.String()) {
		if !functionWords[w] && !genericKeys[w] {
			out = append(out, w)
		}
	}
	return out
}

// genericKeys say nothing about what a field holds.
var genericKeys = set(`id name value data item list entry content text title type status note detail info key field result record`)

var functionWords = set(`a an the and or but if of in on at to for from by with as is are was were be been am it its this
	that these those i you he she we they me my your his her our their us them not no do does did so will would can
	could should shall may might must have has had there here than then too very just about into over s t please what
	which who whom when where why how all any some each one ones get got also up out now let want like need re ve ll d m`)

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
		out[shortest(w)] = true
	}
	return out
}
