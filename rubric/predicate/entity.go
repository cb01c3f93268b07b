package predicate

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/internal/dfa"
	"github.com/margaydev/margay/internal/idnumber"
)

// entity is a kind of thing that has a form of its own. What finds it may only
// err by finding too much.
type entity struct {
	name string
	expr func() *regexp.Regexp // compiled when first asked for
	by   func(*finder, func(string) bool) func(*look) [][2]int
	ok   func(string) bool
}

// known makes an entity of an expression and of a check of what it matches;
// each finds by one or by the other of the functions below.
func known(name, expr string, by func(*finder, func(string) bool) func(*look) [][2]int, ok func(string) bool) entity {
	return entity{name, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) }), by, ok}
}

const months = `(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?`

var entities = []entity{
	// A number with the length, issuer and check digit of a payment card.
	known("card", `\b\d(?:[ -]?\d){11,18}\b`, windows, card),
	// A day, month and year.
	known("date", `(?i)\b(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})|\d{1,2}(?:st|nd|rd|th)?[ -](?:of )?`+months+`[ -]\d{4}|`+months+` \d{1,2}(?:st|nd|rd|th)?,? \d{4})\b`, checked, nil),
	// An address of electronic mail.
	known("email", `[\p{L}\p{N}._%+'-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,4}\p{L}{2,24}`, checked, nil),
	// An account number with its check digits.
	known("iban", `\b[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]{4}){2,7}(?: ?[A-Za-z0-9]{1,3})?\b`, windows, iban),
	// An address of the Internet protocol, version 4, other than reserved ones.
	known("ip", `\b(?:\d{1,3}\.){3}\d{1,3}\b`, checked, machine),
	// An amount with its currency.
	known("money", `(?:[$€£¥]|\b(?:USD|EUR|GBP|CHF|JPY|CAD|AUD)) ?\d{1,3}(?:[ ,'.]?\d{3}){0,4}(?:[.,]\d{1,2})?k?\b|\b\d{1,3}(?:[ ,'.]?\d{3}){0,4}(?:[.,]\d{1,2})?k? ?(?:[$€£¥]|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|dollars|euros|pounds)\b)`, checked, nil),
	// Two to four words that start with capitals.
	known("person", `\b\p{Lu}[\p{L}'’.-]{0,24}(?: (?:van|von|de|da|del|der|bin|al|la|le) ?)?(?: \p{Lu}[\p{L}'’.-]{0,24}){1,3}`, checked, nil),
	// A phone number.
	known("phone", `(?:\+|\b00|\()?\d(?:[ ./()-]{0,2}\d){6,14}\b`, checked, callable),
	// The start of a private key.
	known("private-key", `-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----`, checked, nil),
	// A house number with a street.
	known("street", `(?i)\b\d{1,5}[a-z]?,? (?:[\p{L}'.-]{1,24} ){0,3}(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|court|ct|place|pl|square|sq|boulevard|blvd|way|terrace|close|rue|via|calle)\b|(?i)\b[\p{L}.-]{2,30}(?:strasse|straße|weg|platz|gasse|laan|straat) \d{1,4}[a-z]?\b`, checked, nil),
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

// machine reports whether an address can identify a machine. Loopback, unspecified, broadcast
// (RFC 1122) and documentation addresses (RFC 5737) identify none. What does not parse, such
// as an octet with leading zeros, counts as one.
func machine(s string) bool {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return true
	}
	none := a.IsUnspecified() || a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.AddrFrom4([4]byte{255, 255, 255, 255})
	return !none && !slices.ContainsFunc(documentation, func(p netip.Prefix) bool { return p.Contains(a) })
}

var documentation = []netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
}

// windows is checked for things among others like them: if a match as a whole
// does not pass, a part of it may, from a word's start to a word's end.
func windows(f *finder, ok func(string) bool) func(*look) [][2]int {
	inner := func(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' }
	return func(l *look) [][2]int {
		text := l.text
		var out [][2]int
		left := dfa.BudgetFor(text)
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
			// by chance must not hide what starts in it.
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

// card reports whether a card can have the number: it has the first digits and the length of
// an issuer's (ISO/IEC 7812; the networks' published ranges), and its check digit.
func card(s string) bool {
	d := digits(s)
	return slices.ContainsFunc(issuers, func(i issuer) bool {
		return len(d) >= i.least && len(d) <= i.most && d[:len(i.from)] >= i.from && d[:len(i.to)] <= i.to
	}) && idnumber.Luhn([]byte(d))
}

// issuer is a range of first digits, and the lengths of its numbers.
type issuer struct {
	from, to    string
	least, most int
}

var issuers = []issuer{
	{"1", "1", 15, 19},       // airlines (UATP), and domestic networks
	{"2131", "2131", 15, 15}, // JCB
	{"2200", "2205", 16, 19}, // Mir, Borica
	{"2221", "2720", 16, 16}, // Mastercard
	{"300", "305", 14, 19},   // Diners Club
	{"309", "31", 14, 19},    // and T-Union
	{"34", "34", 15, 15},     // American Express
	{"37", "37", 15, 15},
	{"3528", "3589", 16, 19}, // JCB
	{"36", "36", 14, 19},     // Diners Club
	{"38", "39", 14, 19},
	{"4", "4", 13, 19},   // Visa
	{"50", "50", 12, 19}, // Maestro
	{"51", "55", 16, 16}, // Mastercard
	{"56", "69", 12, 19}, // Maestro, Discover, UnionPay and others
	{"8", "9", 15, 19},   // domestic networks: RuPay, Humo, Uzcard, Napas, Troy and others
}

func iban(s string) bool { return idnumber.IBAN([]byte(strings.ToUpper(s))) }

// callable leaves out dates and plain numbers.
func callable(s string) bool {
	d := digits(s)
	if len(d) < 7 || len(d) > 15 {
		return false
	}
	return len(d) < len(s) || len(d) >= 9
}
