package predicate

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// entity is a kind of thing that has a form of its own. What finds it may only
// err by finding too much.
type entity struct {
	name  string
	about string
	expr  *regexp.Regexp
	by    func(*finder, func(string) bool) func(*look) [][2]int
	ok    func(string) bool
	needs need
}

// known makes an entity of an expression and of a check of what it matches;
// each finds by one or by the other of the functions below.
func known(name, about, expr string, by func(*finder, func(string) bool) func(*look) [][2]int, ok func(string) bool) entity {
	return entity{name, about, regexp.MustCompile(expr), by, ok, needsOf(mustParse(expr))}
}

const months = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?`

var entities = []entity{
	known("card", "a number with the length, issuer and check digit of a payment card", `\b\d(?:[ -]?\d){11,18}\b`, windows, card),
	known("date", "a day, month and year", `(?i)\b(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})|\d{1,2}(?:st|nd|rd|th)?[ -](?:of )?`+months+`[ -]\d{4}|`+months+` \d{1,2}(?:st|nd|rd|th)?,? \d{4})\b`, checked, nil),
	known("email", "an address of electronic mail", `[\p{L}\p{N}._%+'-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,4}\p{L}{2,24}`, checked, nil),
	known("iban", "an account number with its check digits", `\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,3})?\b`, windows, mod97),
	known("ip", "an address of the Internet protocol, version 4", `\b(?:\d{1,3}\.){3}\d{1,3}\b`, checked, nil),
	known("money", "an amount with its currency", `(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY|CAD|AUD)) ?\d{1,3}(?:[ ,'.]?\d{3}){0,4}(?:[.,]\d{1,2})?k?\b|\b\d{1,3}(?:[ ,'.]?\d{3}){0,4}(?:[.,]\d{1,2})?k? ?(?:[$€£¥]|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|dollars|euros|pounds)\b)`, checked, nil),
	known("person", "two to four words that begin with capitals", `\b\p{Lu}[\p{L}'’.-]{0,24}(?: (?:van|von|de|da|del|der|bin|al|la|le) ?)?(?: \p{Lu}[\p{L}'’.-]{0,24}){1,3}`, checked, nil),
	known("phone", "a number to call", `(?:\+|\b00|\()?\d(?:[ ./()-]{0,2}\d){6,14}\b`, checked, callable),
	known("private-key", "the beginning of a private key", `-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----`, checked, nil),
	known("street", "a house number with a street", `(?i)\b\d{1,5}[a-z]?,? (?:[\p{L}'.-]{1,24} ){0,3}(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|court|ct|place|pl|square|sq|boulevard|blvd|way|terrace|close|rue|via|calle)\b|(?i)\b[\p{L}.-]{2,30}(?:strasse|straße|weg|platz|gasse|laan|straat) \d{1,4}[a-z]?\b`, checked, nil),
}

// Entities returns the names of entity types.
func Entities() []string {
	out := make([]string, len(entities))
	for i := range entities {
		out[i] = entities[i].name
	}
	return out
}

// checked finds what an expression matches and a check confirms.
func checked(f *finder, ok func(string) bool) func(*look) [][2]int {
	return func(l *look) [][2]int {
		return slices.DeleteFunc(f.all(l), func(m [2]int) bool { return ok != nil && !ok(l.text[m[0]:m[1]]) })
	}
}

// windows is checked for things that stand among others like them: where a
// match as a whole does not pass, it may from a word's beginning to a word's
// end.
func windows(f *finder, ok func(string) bool) func(*look) [][2]int {
	inner := func(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' }
	return func(l *look) [][2]int {
		text := l.text
		var out [][2]int
		left := patient(text)
		for pos := 0; pos < len(text); {
			m, sure := f.next(l, pos, true, &left)
			if !sure {
				if m = f.re.FindStringIndex(text[pos:]); m != nil {
					m[0], m[1] = m[0]+pos, m[1]+pos
				}
			}
			if m == nil {
				return out
			}
			from, to := m[0], m[1]
			end := to
			for end > from && !ok(text[from:end]) {
				end--
				for end > from && !(inner(text[end-1]) && !inner(text[end])) {
					end--
				}
			}
			if end > from {
				out = append(out, [2]int{from, end})
			}
			// From the next word on, even within what was found: what passes
			// by chance must not hide what begins in it.
			for pos = from + 1; pos < to && (inner(text[pos-1]) || !inner(text[pos])); {
				pos++
			}
		}
		return out
	}
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// card is a number that somebody issues cards under (ISO/IEC 7812): none begin
// with 0, and the only ones of twelve digits are Maestro's, from 5 or 6 on.
func card(s string) bool {
	d := digits(s)
	if len(d) < 12 || len(d) > 19 || d[0] == '0' || len(d) == 12 && d[0] != '5' && d[0] != '6' {
		return false
	}
	return luhn(d)
}

func luhn(d string) bool {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

func mod97(s string) bool {
	s = strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	var b strings.Builder
	for _, r := range s[4:] + s[:4] {
		switch {
		case unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('0' + byte(r-'A'+10)/10)
			b.WriteByte('0' + byte(r-'A'+10)%10)
		}
	}
	n, ok := new(big.Int).SetString(b.String(), 10)
	return ok && n.Mod(n, big.NewInt(97)).Int64() == 1
}

// callable leaves out dates and plain numbers.
func callable(s string) bool {
	d := digits(s)
	if len(d) < 7 || len(d) > 15 {
		return false
	}
	return len(d) < len(s) || len(d) >= 9
}
