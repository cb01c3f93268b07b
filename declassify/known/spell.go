package known

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/secret/spoken"
)

// spell adds the spellings of a value. What it is, its form says, and for names of
// people and amounts of money the name of its field.
func (s *Set) spell(v Value, text string) {
	tokens := spoken.Tokens(text)
	if len(tokens) == 0 {
		return
	}
	days, n := spoken.DayOf(tokens)
	pay, paid := spoken.AmountAt(tokens, 0)
	digits := 0
	for i := range tokens {
		if tokens[i].Number {
			digits += len(tokens[i].Text)
		}
	}
	words := textsOf(tokens)
	switch {
	case n > 0:
		for _, d := range spoken.Centuries(days) {
			s.days[d] = s.days[d].with(v)
			for _, form := range []string{"%04[1]d%02[2]d%02[3]d", "%02[3]d%02[2]d%04[1]d", "%02[2]d%02[3]d%04[1]d"} {
				s.run(v, fmt.Sprintf(form, d.Y, d.M, d.D))
			}
			d.Y, d.Short = d.Y%100, true
			s.days[d] = s.days[d].with(v)
		}
	case strings.Count(text, "@") == 1:
		s.mail(v, text)
	case paid > 0 && pay >= 1000 && aboutPay(v.Field, text):
		s.pays[pay] = s.pays[pay].with(v)
	case digits >= minRun && 2*digits >= len(strings.Join(words, "")):
		s.number(v, tokens, strings.Join(words, ""))
	case strings.Contains(v.Field, "name") && digits == 0:
		if family, given, swapped := strings.Cut(text, ","); swapped && !strings.Contains(given, ",") { // Silva, Maria
			tokens = spoken.Tokens(given + " " + family)
			words = textsOf(tokens)
		}
		s.name(v, tokens, words)
		if given, family, two := strings.Cut(text, " "); two && tokens[0].Single {
			s.phrase(v, textsOf(spoken.Tokens(family+given))...)
		}
	case digits > 0 && strings.Contains(v.Field, "address"):
		s.address(v, text)
	default:
		s.phrase(v, words...)
		if n := len(words); n > 1 && n <= 4 && (digits == 0 || len(strings.Join(words, "")) > digits+4) { // not 11 E, of E11
			s.phrase(v, slices.Concat(words[n-1:], words[:n-1])...) // disorder, bipolar
		}
		if len(words) > 1 || digits > 0 {
			s.run(v, strings.Join(words, ""))
		}
		switch all := strings.Join(words, ""); {
		case strings.Contains(text, ","):
			s.place(v, text)
		case len(all) >= maxRun || digits > 0 && len(all) >= 20:
			s.windows(v, words)
		}
	}
}

func textsOf(tokens []spoken.Token) []string {
	out := make([]string, len(tokens))
	for i := range tokens {
		out[i] = tokens[i].Text
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
	l, d := textsOf(spoken.Tokens(local)), textsOf(spoken.Tokens(domain))
	said := func(text string) []string { return textsOf(spoken.Tokens(strings.ReplaceAll(text, ".", " dot "))) }
	for _, left := range [][]string{l, said(local)} {
		for _, right := range [][]string{d, said(domain)} {
			s.phrase(v, slices.Concat(left, right)...)
			s.phrase(v, slices.Concat(left, []string{"at"}, right)...)
		}
	}
	s.run(v, strings.Join(l, "")+strings.Join(d, ""))
}

// number adds a number: with its code for a country or without.
func (s *Set) number(v Value, tokens []spoken.Token, run string) {
	s.run(v, run)
	const bare = 7 // digits of the shortest number without its code
	rest := run
	switch {
	case strings.HasPrefix(run, "00"):
		rest = run[2:]
		s.run(v, rest)
	case tokens[0].Plus:
		s.run(v, "00"+run)
	case tokens[0].Number && run[0] == '0' && len(run) > bare:
		s.run(v, run[1:])
		return
	case len(tokens) == 4 && tokens[0].Text == "1" || len(run) == 11 && run[0] == '1' && strings.Contains(v.Field, "phone"):
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

// particles belong to the name behind them.
var particles = set("de la del las los van von der den di da dos das do al el bin ibn ter ten le du des y e zu st af av")

// titles stand before a surname.
var titles = strings.Fields("mr mrs ms miss mx dr prof sir madam herr frau senor senora monsieur madame")

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// name adds the spellings of a person's name: given names, then surnames. Of three
// words and more it is not known how many are which.
func (s *Set) name(v Value, tokens []spoken.Token, words []string) {
	s.phrase(v, words...)
	single := slices.ContainsFunc(tokens, func(t spoken.Token) bool { return t.Single })
	if len(words) == 1 || single || len(words) > maxWords {
		return
	}
	if joined := strings.Join(words, ""); len(joined) >= 8 {
		s.run(v, joined)
	}
	last := len(words) - 1
	start := behind(words, last)
	s.given(v, words[:start], words[start:])
	if start < last {
		s.given(v, words[:start], words[last:])
	}
	if start >= 2 { // two surnames
		first := behind(words, start-1)
		s.given(v, words[:first], words[first:])
		s.given(v, words[:first], words[first:start])
	}
}

// behind is where the name that ends at a word begins, with its particles.
func behind(words []string, at int) int {
	for at > 1 && particles[words[at-1]] {
		at--
	}
	return at
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
	for _, t := range titles {
		s.phrase(v, slices.Concat([]string{t}, surname)...)
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
	if second := given[len(given)-1]; len(given) > 1 && !particles[second] {
		add(second) // who goes by the second name
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

// address adds an address of a street and what is behind its first comma: with the
// number on the other side, in words, or without the kind of the street; and without
// some of the rest, or that first.
func (s *Set) address(v Value, text string) {
	head, tail, _ := strings.Cut(text, ",")
	st, rest := textsOf(spoken.Tokens(head)), textsOf(spoken.Tokens(tail))
	s.run(v, strings.Join(slices.Concat(st, rest), ""))
	streets := [][]string{st}
	if n := len(st); n > 1 {
		number, name := st[:1], st[1:]
		if no, err := strconv.Atoi(st[0]); err == nil && no < 1000 {
			streets = append(streets, slices.Concat(spoken.InWords(no), name))
		} else if err != nil {
			number, name = st[n-1:], st[:n-1]
		}
		streets = append(streets, slices.Concat(name, number), slices.Concat(number, name))
		if kind := name[len(name)-1]; len(name) > 1 && streetKinds[kind] {
			streets = append(streets, slices.Concat(number, name[:len(name)-1]))
		}
	}
	tails := tailsOf(tail)
	for i, street := range streets {
		if i < 3 {
			s.phrase(v, street...)
		}
		for _, t := range tails {
			s.either(v, street, t)
		}
	}
}

// streetKinds are the kinds of streets, as abbreviated.
var streetKinds = set("st rd ave blvd dr ln ct sq pl ter hwy pkwy way close alley")

// tailsOf are the ways to write the parts of a place behind its name: a town, a region
// or its code, a postal code.
func tailsOf(text string) [][]string {
	var town, region, code []string
	for i, p := range strings.Split(text, ",") {
		for _, word := range strings.Fields(p) {
			switch words := textsOf(spoken.Tokens(word)); {
			case strings.ContainsAny(word, "0123456789"):
				code = append(code, words...)
			case i == 0:
				town = append(town, words...)
			default:
				region = append(region, words...)
			}
		}
	}
	out := [][]string{town, slices.Concat(town, region), slices.Concat(town, region, code), slices.Concat(town, code), slices.Concat(code, town)}
	if len(region) == 1 && states[region[0]] != "" {
		full := strings.Fields(states[region[0]])
		for i := range full {
			full[i] = cmp.Or(spoken.Short[full[i]], full[i])
		}
		out = append(out, slices.Concat(town, full), slices.Concat(town, full, code))
	}
	if len(region) > 0 {
		out = append(out, slices.Concat(region, town))
	}
	return slices.DeleteFunc(out, func(t []string) bool { return len(t) == 0 })
}

// states are those of the United States by their codes.
var states = func() map[string]string {
	out := map[string]string{}
	for _, s := range strings.Split("al alabama,ak alaska,az arizona,ar arkansas,ca california,co colorado,ct connecticut,de delaware,fl florida,ga georgia,hi hawaii,id idaho,il illinois,"+
		"in indiana,ia iowa,ks kansas,ky kentucky,la louisiana,me maine,md maryland,ma massachusetts,mi michigan,mn minnesota,ms mississippi,mo missouri,mt montana,ne nebraska,nv nevada,"+
		"nh new hampshire,nj new jersey,nm new mexico,ny new york,nc north carolina,nd north dakota,oh ohio,ok oklahoma,or oregon,pa pennsylvania,ri rhode island,sc south carolina,"+
		"sd south dakota,tn tennessee,tx texas,ut utah,vt vermont,va virginia,wa washington,wv west virginia,wi wisconsin,wy wyoming", ",") {
		code, name, _ := strings.Cut(s, " ")
		out[code] = name
	}
	return out
}()

// place adds a place of several parts, in any order that people use.
func (s *Set) place(v Value, text string) {
	head, tail, _ := strings.Cut(text, ",")
	name := textsOf(spoken.Tokens(head))
	for _, t := range tailsOf(tail) {
		s.either(v, name, t)
	}
}

// either adds two parts in both orders, also as tags without spaces.
func (s *Set) either(v Value, a, b []string) {
	for _, words := range [][]string{slices.Concat(a, b), slices.Concat(b, a)} {
		s.phrase(v, words...)
		if len(words) > 2 {
			s.run(v, strings.Join(words, ""))
		}
	}
}

// windows adds the parts of a long value: of its words, from any to any.
func (s *Set) windows(v Value, words []string) {
	const least = 16
	all := strings.Join(words, "")
	for i, at := 0, 0; i < len(words); i++ {
		next, last := least, 0
		for k, end := i, at; k < len(words) && end+len(words[k])-at <= maxRun; k++ {
			end += len(words[k])
			if last = end; end-at >= next {
				s.run(v, all[at:end])
				next += least
			}
		}
		if last-at >= least {
			s.run(v, all[at:last])
		}
		at += len(words[i])
	}
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
