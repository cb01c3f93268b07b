package known

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// spell adds the spellings of a value. What it is, its form says, and for names of
// people and amounts of money the name of its field.
func (s *Set) spell(v Value, text string) {
	tokens := tokenise(text)
	if len(tokens) == 0 {
		return
	}
	days, n := dayAt(tokens, 0)
	pay, paid := amountAt(tokens, 0)
	digits := 0
	for i := range tokens {
		if tokens[i].number {
			digits += len(tokens[i].text)
		}
	}
	words := textsOf(tokens)
	switch {
	case n == len(tokens):
		for _, d := range days {
			s.days[d] = s.days[d].with(v)
			d.y, d.short = d.y%100, true
			s.days[d] = s.days[d].with(v)
		}
	case strings.Count(text, "@") == 1:
		s.mail(v, text)
	case paid > 0 && pay >= 1000 && aboutPay(v.Field, text):
		s.pays[pay] = s.pays[pay].with(v)
	case digits >= minRun && 2*digits >= len(strings.Join(words, "")):
		s.number(v, tokens, strings.Join(words, ""))
	case strings.Contains(v.Field, "name") && digits == 0:
		s.name(v, tokens, words)
	case digits > 0 && strings.Contains(v.Field, "address"):
		s.address(v, text)
	default:
		s.phrase(v, words...)
		if len(words) > 1 || digits > 0 {
			s.run(v, strings.Join(words, ""))
		}
	}
}

func textsOf(tokens []token) []string {
	out := make([]string, len(tokens))
	for i := range tokens {
		out[i] = tokens[i].text
	}
	return out
}

// aboutPay reports whether a number is an amount of money.
func aboutPay(field, text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Sc, r) }) {
		return true
	}
	return slices.ContainsFunc([]string{"salary", "income", "pay", "wage", "amount", "balance", "price"}, func(w string) bool { return strings.Contains(field, w) }) &&
		!strings.Contains(field, "token")
}

// mail adds an address of mail, also as people say it.
func (s *Set) mail(v Value, text string) {
	local, domain, _ := strings.Cut(text, "@")
	l, d := textsOf(tokenise(local)), textsOf(tokenise(domain))
	dotted := func(words []string) []string {
		var out []string
		for i, w := range words {
			if i > 0 {
				out = append(out, "dot")
			}
			out = append(out, w)
		}
		return out
	}
	for _, left := range [][]string{l, dotted(l)} {
		for _, right := range [][]string{d, dotted(d)} {
			s.phrase(v, slices.Concat(left, right)...)
			s.phrase(v, slices.Concat(left, []string{"at"}, right)...)
		}
	}
	s.run(v, strings.Join(l, "")+strings.Join(d, ""))
}

// number adds a number: with its code for a country or without.
func (s *Set) number(v Value, tokens []token, run string) {
	s.run(v, run)
	const bare = 7 // digits of the shortest number without its code
	rest := run
	switch {
	case strings.HasPrefix(run, "00"):
		rest = run[2:]
		s.run(v, rest)
	case tokens[0].plus:
		s.run(v, "00"+run)
	case tokens[0].number && run[0] == '0' && len(run) > bare:
		s.run(v, run[1:])
		return
	case len(tokens) == 4 && tokens[0].text == "1" || len(run) == 11 && run[0] == '1' && strings.Contains(v.Field, "phone"):
		// A number of North America without its plus.
	default:
		return
	}
	for code := 1; code <= 3 && len(rest)-code >= bare; code++ {
		s.run(v, rest[code:])
		s.run(v, "0"+rest[code:])
		s.run(v, rest[:code]+"0"+rest[code:]) // +44 (0)20
		s.run(v, "00"+rest[:code]+"0"+rest[code:])
	}
}

// maxMiddle bounds the middle parts of a name that are left out one by one.
const maxMiddle = 3

// name adds the spellings of a person's name: given names, then surnames. Of three
// words and more it is not known how many are which.
func (s *Set) name(v Value, tokens []token, words []string) {
	s.phrase(v, words...)
	single := slices.ContainsFunc(tokens, func(t token) bool { return t.single })
	if len(words) == 1 || single || len(words) > maxWords {
		return
	}
	if joined := strings.Join(words, ""); len(joined) >= 8 {
		s.run(v, joined)
	}
	n := len(words)
	s.given(v, words[:n-1], words[n-1:])
	if n >= 3 {
		s.given(v, words[:n-2], words[n-2:])
		s.given(v, words[:n-2], words[n-2:n-1])
	}
	if n >= 4 {
		s.given(v, words[:n-3], words[n-3:])
	}
}

// given adds the spellings of given names before or behind a surname: each middle name
// whole, as a letter or left out, and the first whole or as a letter.
func (s *Set) given(v Value, given, surname []string) {
	if len(given) == 0 {
		return
	}
	add := func(names ...string) {
		s.phrase(v, slices.Concat(names, surname)...)
		s.phrase(v, slices.Concat(surname, names)...)
		if joined := strings.Join(names, "") + strings.Join(surname, ""); len(names[0]) > 1 && len(joined) >= 8 {
			s.run(v, joined)
		}
	}
	letters := make([]string, len(given))
	for i, w := range given {
		letters[i] = initial(w)
	}
	for k := 2; k <= len(given); k++ {
		add(strings.Join(letters[:k], "")) // ML Pérez
	}
	for _, first := range []string{given[0], letters[0]} {
		if middle := given[1:]; len(middle) <= maxMiddle {
			combine(middle, letters[1:], func(parts []string) { add(slices.Concat([]string{first}, parts)...) })
			continue
		}
		add(first)
		add(slices.Concat([]string{first}, given[1:])...)
		add(slices.Concat([]string{first}, letters[1:])...)
	}
	if len(given) > 1 {
		add(given[len(given)-1]) // who goes by the second name
	}
}

// combine calls f with each choice of whole words, letters and nothing, in order.
func combine(words, letters []string, f func([]string)) {
	if len(words) == 0 {
		f(nil)
		return
	}
	combine(words[1:], letters[1:], func(rest []string) {
		f(rest)
		f(slices.Concat(words[:1], rest))
		f(slices.Concat(letters[:1], rest))
	})
}

func initial(word string) string {
	_, n := utf8.DecodeRuneInString(word)
	return word[:n]
}

// address adds an address: whole, without what is behind its first comma, and with its
// number on the other side of the street.
func (s *Set) address(v Value, text string) {
	parts := strings.Split(text, ",")
	var words []string
	for i, p := range parts {
		part := textsOf(tokenise(p))
		words = append(words, part...)
		if i == 0 && len(part) > 1 {
			s.phrase(v, part...)
			s.run(v, strings.Join(part, ""))
			for _, turned := range [][]string{slices.Concat(part[1:], part[:1]), slices.Concat(part[len(part)-1:], part[:len(part)-1])} {
				s.phrase(v, turned...)
			}
		}
		s.phrase(v, words...)
	}
	s.run(v, strings.Join(words, ""))
}

// transcribed are the ways to write a value without marks: Müller is Muller or Mueller.
func transcribed(text string) []string {
	out := []string{text}
	if other := digraphs.Replace(text); other != text {
		out = append(out, other)
	}
	return out
}

var digraphs = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "å", "aa", "Å", "Aa", "ø", "oe", "Ø", "Oe")

// common are words that ordinary text has too often for one of them alone to be a value.
var common = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`the and for you your are was were has have had not but his her its our their they them this that with from will would
		can could may might must shall should all any one two who what when where why how yes none null true false unknown other test user name mark
		bill will grace rose joy hope faith art may june april august king young long page chase west east north south day week month year
		male female man woman here there home work office self customer patient client guest admin none n/a`) {
		out[w] = true
	}
	return out
}()
