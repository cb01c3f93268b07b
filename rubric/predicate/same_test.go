package predicate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/dfa"
)

// reference is find as regexp alone does it, clause by clause: what find must
// agree with.
// Where hurried is set, clauses are left out for which the text has not what
// they need: as it was before there were automata.
func (s *Set) reference(path, text string, hurried bool) []Span {
	var out []Span
	l := &look{text: text, has: hasOf(text)}
	for i := range s.clauses {
		c := &s.clauses[i]
		if text == "" || hurried && c.needs&^l.has != 0 || c.path != nil && !c.path.re.MatchString(path) {
			continue
		}
		switch {
		case c.find == nil:
			out = append(out, Span{0, len(text), i})
		case c.text != nil && entityOf(c) != nil:
			for _, m := range referenceEntity(entityOf(c), text) {
				out = append(out, Span{m[0], m[1], i})
			}
		case c.text == nil:
			for _, m := range c.find(l) {
				out = append(out, Span{m[0], m[1], i})
			}
		case c.text.entries != nil:
			for _, m := range referenceListed(c.text, text) {
				out = append(out, Span{m[0], m[1], i})
			}
		default:
			for _, m := range c.text.re.FindAllStringSubmatchIndex(text, -1) {
				g := max(c.text.re.SubexpIndex("value"), 0)
				from, to := m[2*g], m[2*g+1]
				if from < 0 || from == to {
					from, to = m[0], m[1]
				}
				out = append(out, Span{from, to, i})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Span) int { return a.Start - b.Start })
	return out
}

// referenceListed tries from the end of each first word on.
func referenceListed(f *finder, text string) (out [][2]int) {
	for pos := 0; pos < len(text); {
		rest := text[pos:]
		m := f.re.FindStringSubmatchIndex(rest)
		if m == nil {
			return out
		}
		g, w := f.re.SubexpIndex("value"), f.re.SubexpIndex("listed")
		if g < 0 || m[2*g] < 0 || m[2*g] == m[2*g+1] {
			g = 0
		}
		if m[2*w] >= 0 && f.entries.has(rest[m[2*w]:m[2*w+1]]) {
			out = append(out, [2]int{pos + m[2*g], pos + m[2*g+1]})
			pos += m[1]
			continue
		}
		_, n := utf8.DecodeRuneInString(rest[m[2*g]:])
		end := m[2*g] + n
		for end < len(rest) {
			r, size := utf8.DecodeRuneInString(rest[end:])
			if !inWord(r) {
				break
			}
			end += size
		}
		pos += end
	}
	return out
}

func entityOf(c *clause) *entity {
	for i := range entities {
		if entities[i].expr() == c.text.re {
			return &entities[i]
		}
	}
	return nil
}

func referenceEntity(e *entity, text string) (out [][2]int) {
	if e.name != "card" && e.name != "iban" {
		for _, m := range e.expr().FindAllStringIndex(text, -1) {
			if e.ok == nil || e.ok(text[m[0]:m[1]]) {
				out = append(out, [2]int{m[0], m[1]})
			}
		}
		return out
	}
	inner := func(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' }
	for pos := 0; pos < len(text); {
		m := e.expr().FindStringIndex(text[pos:])
		if m == nil {
			return out
		}
		from, to := pos+m[0], pos+m[1]
		end := to
		for end > from && !e.ok(text[from:end]) {
			end--
			for end > from && !(inner(text[end-1]) && !inner(text[end])) {
				end--
			}
		}
		if end > from {
			out = append(out, [2]int{from, end})
		}
		for pos = from + 1; pos < to && (inner(text[pos-1]) || !inner(text[pos])); {
			pos++
		}
	}
	return out
}

// library is the clauses of the library's rubrics and vocabularies, and its
// lines.
var library = sync.OnceValues(func() (clauses []Clause, lines []string) {
	var files []string
	for _, dir := range []string{"rubrics", "vocabularies"} {
		some, err := filepath.Glob("../library/" + dir + "/*.yaml")
		if err != nil || len(some) == 0 {
			panic("there is no library")
		}
		files = append(files, some...)
	}
	quoted := func(key, line string) string {
		m := regexp.MustCompile(`[{ ]` + key + `: '((?:[^']|'')*)'`).FindStringSubmatch(line)
		if m == nil {
			return ""
		}
		return strings.ReplaceAll(m[1], "''", "'")
	}
	seen, known := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(b)) {
			if !seen[line] {
				seen[line] = true
				lines = append(lines, line)
			}
			if !strings.HasPrefix(line, "  - {id:") {
				continue
			}
			c := Clause{Path: quoted("path", line), Text: quoted("text", line)}
			if m := regexp.MustCompile(`entity: ([a-z-]+)`).FindStringSubmatch(line); m != nil {
				c.Entity = m[1]
			}
			if strings.Contains(line, "lexicon:") {
				c.Lexicon = []string{"influenza", "heart disease", "visa", "heart", "Maria", "silva", "ab"}
			}
			if key := fmt.Sprint(c); !known[key] && (c.Path != "" || c.Text != "" || c.Entity != "" || c.Lexicon != nil) {
				known[key] = true
				clauses = append(clauses, c)
			}
		}
	}
	return clauses, lines
})

// tricky are clauses that look at what is around a match, that prefer one match
// to another, and that match characters with more than one case.
var tricky = []Clause{
	{Text: `^a`},
	{Text: `a$`},
	{Text: `(?m)^a{1,2}$`},
	{Text: `\Ba\b`},
	{Text: `\ba\B`},
	{Text: `\Aa|b\z`},
	{Text: `a|ab`},
	{Text: `(?:a|ab)(?:c|bcd)`},
	{Text: `a{1,3}?`},
	{Text: `a{1,3}`},
	{Text: `(?P<value>a{0,2})b`},
	{Text: `(?P<value>a)|b`},
	{Text: `(?i)sk`},
	{Text: `[^a]{2}`},
	{Text: `(?s).{2}`},
	{Text: `.{3}`},
	{Text: `\x{fffd}`},
	{Text: `(?i)ß|ss`},
	{Text: `(?:^|[^\p{L}])(?P<value>\p{Lu}{1,3})`},
	{Text: `\b(?P<value>[ab]{1,4}?)\b`},
	{Text: `(?:a|b){2,5}c`},
	{Text: `a\b \b`},
	{Text: `[\x{80}-\x{10ffff}]{1,2}`},
	{Path: `^$`},
	{Path: `a.*b`},
	{Path: `(?i)K$`},
	{Path: `\ba`, Text: `b`},
	{Text: `(?:^|[^\p{L}])(?P<value>(?P<listed>\p{L}{1,6})[ -]\p{L}{1,9})`, Lexicon: []string{"maria", "ab", "heart"}},
	{Text: `(?:call \pL|\b(?P<value>\p{L}{1,6} (?P<listed>\p{L}{1,9})))\b`, Lexicon: []string{"silva", "b", "é", "maria"}},
	{Text: `(?P<listed>a{1,2})b?|b`, Lexicon: []string{"aa"}},
}

func everything(t testing.TB) (*Set, []string) {
	clauses, lines := library()
	clauses = slices.Concat(clauses, tricky)
	for _, e := range Entities() {
		clauses = append(clauses, Clause{Entity: e})
	}
	s, err := New(clauses)
	if err != nil {
		t.Fatal(err)
	}
	return s, lines
}

func same(t *testing.T, s *Set, path, text string) {
	t.Helper()
	if len(path) > MaxPath || len(text) > MaxText {
		return
	}
	want := s.reference(path, text, false)
	for _, when := range []string{"at first", "by automata"} {
		if when == "by automata" {
			s.once.Do(s.prepare)
		}
		got := s.find(nil, path, text)
		slices.SortStableFunc(got, func(a, b Span) int { return a.Start - b.Start })
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("%s, %q in %q: %v, want %v", when, path, text, got, want)
				return
			}
		}
	}
}

// pieces are put together to texts.
var pieces = []string{
	"a", "b", "ab", "c", "A", " ", " ", "\n", ".", "-", "1", "12", "2001-02-03", "born ", "Maria ", "Silva", "pin: ", "4111 1111 1111 1111", "DE89370400440532013000",
	"x@y.example", "ſ", "K", "k", "ß", "é", "e\u0301", "\xff", "\xc5", "\x82", "\xe2\x82", "\U0001F600", "’", "12 Mill Road, ", "+33 6 12 34 56 78", "for ", "call ", "_", ", ",
	"password is ", "account: 12345678", "$72,500", "-----BEGIN PRIVATE KEY-----", "visa", "ending in 1234", "heart", "disease", "\x00", "\ufffd", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
}

// TestSame: what is found is what regexp finds.
func TestSame(t *testing.T) {
	s, lines := everything(t)
	paths := []string{"", "a", "text", "xab", "passenger.dob", "x.K", "\xff", "a b"}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 400 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
			if rng.IntN(4) == 0 {
				line := lines[rng.IntN(len(lines))]
				b.WriteString(line[:rng.IntN(min(len(line), 200))])
			}
		}
		same(t, s, paths[n%len(paths)], b.String())
	}
	for i := 0; i < len(lines); i += 5 {
		same(t, s, "text", lines[i])
	}
}

// TestBegunAnew: what is found does not depend on the states that are kept, nor
// on the patience for building them.
func TestBegunAnew(t *testing.T) {
	s, lines := everything(t)
	text := strings.Join(lines[300:330], "")
	text = text[:min(len(text), 4000)]
	want, _ := s.Find("text", text)
	for round := range 3 {
		for i := range s.clauses {
			f := s.clauses[i].text
			if f == nil || f.backward == nil {
				continue
			}
			f.prepare(s.symbols)
			l := &look{text: text, symbols: s.symbols.Symbols(text)}
			left := dfa.Budget(round * 20)
			if m, ok := f.next(l, 0, false, &left); ok && m != nil {
				if w := f.re.FindStringIndex(text); !slices.Equal(m, w) {
					t.Fatalf("%s: %v, want %v", f.re, m, w)
				}
			}
		}
		if got, _ := s.Find("text", text); !slices.Equal(got, want) {
			t.Fatal("something else is found")
		}
	}
}

// TestAutomata: no clause of the library and no entity is left to regexp, and
// few states do for texts of people.
func TestAutomata(t *testing.T) {
	s, lines := everything(t)
	s.Find("text", strings.Join(lines, "")[:64<<10])
	total := 0
	for i := range s.clauses {
		if f := s.clauses[i].text; f != nil && f.backward != nil {
			total += f.forward.Size() + f.backward.Size()
		}
		if f := s.clauses[i].text; f != nil && f.backward == nil {
			t.Errorf("%s has no automaton", f.re)
		} else if f != nil && f.forward.Size() > maxStates*3/4 {
			t.Errorf("%s has too many states", f.re)
		}
	}
	if total > 8<<20 {
		t.Errorf("states of %d bytes", total)
	}
}

// TestTogether: many look at once.
func TestTogether(t *testing.T) {
	s, lines := everything(t)
	text := strings.Join(lines[200:260], "")[:3000]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { same(t, s, "text", text) })
	}
	wg.Wait()
}

// FuzzFind: no text and path tell Find from regexp alone.
func FuzzFind(f *testing.F) {
	s, lines := everything(f)
	for i := 0; i < len(lines); i += 40 {
		f.Add("text", lines[i])
	}
	f.Add("a.b", strings.Join(pieces, ""))
	f.Add("", strings.Join(pieces, " "))
	f.Fuzz(func(t *testing.T, path, text string) {
		if len(text) < 4<<10 {
			same(t, s, path, text)
		}
	})
}

// FuzzExpression: nor does any expression.
func FuzzExpression(f *testing.F) {
	for _, c := range tricky {
		f.Add(c.Text+c.Path, strings.Join(pieces, ""))
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(expr) > 200 || len(text) > 1<<10 {
			return
		}
		if s, err := New([]Clause{{Text: expr}}); err == nil {
			same(t, s, "", text)
		}
		if s, err := New([]Clause{{Path: expr}}); err == nil {
			same(t, s, text, "x")
		}
	})
}

// BenchmarkFind: the library's clauses over prose, at a path of free text. In
// one run, so that both have the same machine.
func BenchmarkFind(b *testing.B) {
	s, _ := everything(b)
	s.clauses = s.clauses[:len(s.clauses)-len(tricky)-len(entities)]
	plain := "the train was late again, so we sat in the small garden behind the station and talked about what to cook on sunday. "
	dense := "Please seat Maria Silva, born 1985-03-02, at the window; call +33 6 12 34 56 78 if 4111 1111 1111 1111 fails. "
	mixed := "Thanks for your note. The Council met on Tuesday at 10:30 and agreed with most of it; I will send the 12 pages to Anna Berg (a.berg@mail.example) soon. " + plain + plain
	for _, c := range []struct{ name, text string }{{"plain", plain}, {"mixed", mixed}, {"dense", dense}} {
		for _, size := range []int{1 << 10, 64 << 10} {
			text := strings.Repeat(c.text, size/len(c.text)+1)[:size]
			for _, by := range []string{"regexp", "automata"} {
				s.Find("text", text) // as after the first texts
				b.Run(fmt.Sprintf("%s/%dK/%s", c.name, size>>10, by), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if by == "regexp" {
							s.reference("text", text, true)
						} else {
							s.Find("text", text)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/byte")
				})
			}
		}
	}
}

// BenchmarkFirst: the same clauses over 1 KB, automata and all.
func BenchmarkFirst(b *testing.B) {
	clauses, lines := library()
	text := strings.Join(lines, "")[:1<<10]
	for b.Loop() {
		s, err := New(clauses)
		if err != nil {
			b.Fatal(err)
		}
		s.Find("text", text)
	}
}

// TestCrowded: an automaton whose states are too many for its room, and a text
// for which they take more patience than there is, find the same.
func TestCrowded(t *testing.T) {
	s, err := New([]Clause{{Text: `(?:a|b){0,12}a(?:a|b){14}c`}, {Text: `[ab]{1,40}?a[ab]{12}(?P<value>c{0,3})`}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 20000)
	for i := range text {
		text[i] = "aabbaabbaabbaabbaabbaabbaabbc"[rng.IntN(29)]
	}
	for _, n := range []int{200, 2000, len(text)} {
		same(t, s, "", string(text[:n]))
	}
	for i := range s.clauses {
		if f := s.clauses[i].text; f.forward.Size() > maxStates {
			t.Errorf("%s has states of %d bytes", f.re, f.forward.Size())
		}
	}
}
