package lexical

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// months and weekdays by their first three letters.
const (
	months   = "jan feb mar apr may jun jul aug sep oct nov dec"
	weekdays = "sun mon tue wed thu fri sat"
)

const (
	monthName = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	dayNumber = `(\d{1,2}|(?:twenty|thirty)[- ])?(st|nd|rd|th|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth)?`
	hourName  = `(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`
)

var (
	isoDate  = regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})(?:\b|t)`)
	dotDate  = regexp.MustCompile(`\b(\d{1,2})([./])(\d{1,2})[./](\d{4})\b`)
	dayMonth = regexp.MustCompile(`\b` + dayNumber + `(?: day)?(?: of)? ?` + monthName + `(?:,? (\d{4}))?\b`)
	monthDay = regexp.MustCompile(`\b` + monthName + ` (?:the )?` + dayNumber + `(?:,? (\d{4}))?\b`)
	halfDay  = regexp.MustCompile(`\b(\d{1,2})(?:[:.](\d{2}))? ?([ap])\.?m\b`)
	dayTime  = regexp.MustCompile(`\b(\d{1,2}):(\d{2})(?::\d{2})?\b`)
	pastTime = regexp.MustCompile(`\b(half|(?:a )?quarter|five|ten|twenty|twenty-five) (past|to) ` + hourName + `\b`)
	oClock   = regexp.MustCompile(`\b` + hourName + ` ?o['’]?clock\b`)
	midTime  = regexp.MustCompile(`\b(noon|midday|midnight)\b`)

	wordPattern = regexp.MustCompile(`[\d]+(?:[.,]\d+)*[\pL\pM\pN]*|[\pL\pM\pN]+`)
)

// date is a day in a text; y is 0 where it has no year.
type date struct{ y, m, d int }

// normal is a text in small letters, with days as dMMDD whatever way they are
// written and whatever year, and times of day as tMINUTES on a clock face.
func normal(s string) (text string, dates []date) {
	s = strings.ToLower(s)
	day := func(y, m, d int) string {
		if m < 1 || m > 12 || d < 1 || d > 31 {
			return ""
		}
		dates = append(dates, date{y, m, d})
		return fmt.Sprintf(" d%02d%02d ", m, d)
	}
	month := func(name string) int { return strings.Index(months, name[:3])/4 + 1 }
	minute := func(h, m int) string { return fmt.Sprintf(" t%d ", (h%12*60+m+720)%720) }
	hour := func(s string) int {
		if n, ok := numerals[s]; ok {
			return int(n)
		}
		return number(s)
	}
	if hasDigit(s) || strings.Contains(s, "th") || strings.Contains(s, "st") || strings.Contains(s, "nd") {
		s = replace(s, isoDate, func(m []string) string { return day(number(m[1]), number(m[2]), number(m[3])) })
		s = replace(s, dotDate, func(m []string) string {
			a, b := number(m[1]), number(m[3])
			if a > 12 || b <= 12 && m[2] == "." || b <= 12 && a == b {
				a, b = b, a
			}
			return day(number(m[4]), a, b)
		})
		s = replace(s, dayMonth, func(m []string) string { return day(number(m[4]), month(m[3]), dayOf(m[1], m[2])) })
		s = replace(s, monthDay, func(m []string) string { return day(number(m[4]), month(m[1]), dayOf(m[2], m[3])) })
		s = replace(s, halfDay, func(m []string) string { return minute(number(m[1]), number(m[2])) })
		s = replace(s, dayTime, func(m []string) string { return minute(number(m[1]), number(m[2])) })
	}
	s = replace(s, pastTime, func(m []string) string {
		n, ok := map[string]int{"half": 30, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}[m[1]]
		if !ok {
			n = 15
		}
		if m[2] == "to" {
			n = -n
		}
		return minute(hour(m[3]), n)
	})
	s = replace(s, oClock, func(m []string) string { return minute(hour(m[1]), 0) })
	s = replace(s, midTime, func([]string) string { return minute(0, 0) })
	return s, dates
}

// dayOf is the day of a month that is written as 3, 3rd, third or thirty-first.
func dayOf(tens, rest string) int {
	if n := number(tens); n > 0 {
		return n
	}
	n := 0
	switch {
	case strings.HasPrefix(tens, "twenty"):
		n = 20
	case strings.HasPrefix(tens, "thirty"):
		n = 30
	}
	i := strings.Index(dayNames, " "+rest+" ")
	if rest == "" || len(rest) == 2 || i < 0 {
		return 0
	}
	if k := strings.Count(dayNames[:i+1], " "); n == 0 || k < 10 {
		n += k
	}
	if rest == "thirtieth" {
		n = 30
	}
	return n
}

const dayNames = " first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth "

// replace puts what f makes of each match in its place; a match of which it
// makes nothing stays.
func replace(s string, re *regexp.Regexp, f func([]string) string) string {
	var b strings.Builder
	done := 0
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		m := make([]string, len(at)/2)
		for i := range m {
			if at[2*i] >= 0 {
				m[i] = s[at[2*i]:at[2*i+1]]
			}
		}
		if out := f(m); out != "" {
			b.WriteString(s[done:at[0]])
			b.WriteString(out)
			done = at[1]
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// negative are words that negate the one behind them.
var negative = set("no not non without never neither nor cannot avoid avoiding except excluding exclude omit skip minus lacking lacks")

var contracted = strings.NewReplacer("can't", "no", "can’t", "no", "won't", "no", "won’t", "no", "n't", " no", "n’t", " no", "w/o", "no", "instead of", "no", "rather than", "no", "free of", "no", "free from", "no", "'s ", " ", "’s ", " ")

// words returns a text's words in one normal form: stems in small letters,
// numbers in their shortest form and in digits, days and times as normal has
// them, and "no" before what is negated: without sugar, sugar-free.
func words(s string) []string {
	s, _ = normal(s)
	s = contracted.Replace(s)
	var out []string
	end := -2 // of the last word
	for _, at := range wordPattern.FindAllStringIndex(s, -1) {
		w := s[at[0]:at[1]]
		switch n := len(out); {
		case w == "free" && n > 0 && at[0]-end == 1 && !functionWords[out[n-1]] && !hasDigit(out[n-1]):
			out = append(out[:n-1], "no", out[n-1])
		case negative[w]:
			out = append(out, "no")
		case (w == "or" || w == "nor") && n > 1 && out[n-2] == "no":
			out = append(out, w, "no")
		default:
			out = append(out, shortest(w))
		}
		end = at[1]
	}
	return counted(out)
}

func number(s string) int {
	n, _ := strconv.Atoi(s) // the patterns take digits alone
	return n
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
	if functionWords[w] {
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

var numerals = map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
	"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var scales = map[string]float64{"dozen": 12, "hundred": 100, "thousand": 1000, "grand": 1000, "million": 1e6, "k": 1000}

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
			if w == "dozen" || w == "hundred" {
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

var functionWords = set(`1 a an the and or but if of in on at to for from by with as is are was were be been am it its this
	that these those i you he she we they me my your his her our their us them not no do does did so will would can
	could should shall may might must has have had there here than then too very just about into over s t please what
	which who whom when where why how all any some each one ones get got also up out now let want like need re ve ll d m`)

func set(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
		out[stem(w)] = true
	}
	return out
}
