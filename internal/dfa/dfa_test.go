package dfa_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/dfa"
)

// expressions look at what is around a match, prefer one match to another, and
// match characters with more than one case.
var expressions = []string{
	`^a`, `a$`, `(?m)^a{1,2}$`, `\Ba\b`, `\ba\B`, `\Aa|b\z`, `a|ab`, `(?:a|ab)(?:c|bcd)`, `a{1,3}?`, `a{1,3}`, `(a{0,2})b`, `(a)|b`, `(?i)sk`,
	`[^a]{2}`, `(?s).{2}`, `.{3}`, `\x{fffd}`, `(?i)ß|ss`, `(?:^|[^\p{L}])(\p{Lu}{1,3})`, `\b([ab]{1,4}?)\b`, `(?:a|b){2,5}c`, `a\b \b`,
	`[\x{80}-\x{10ffff}]{1,2}`, `(a|b)(?:c(a{1,2}))?`, `(?:a|b){0,9}a(?:a|b){9}c`,
}

var pieces = []string{
	"a", "b", "ab", "c", "A", " ", "\n", ".", "_", "1", "ſ", "K", "k", "ß", "S", "é", "e\u0301", "\xff", "\xc5", "\xe2\x82", "\U0001F600", "\ufffd", "\x00", "ababababa",
}

func text(rng *rand.Rand, n int) string {
	var b strings.Builder
	for range rng.IntN(n) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// compile returns the program of an expression, of the expression reversed, and
// package regexp's own.
func compile(t testing.TB, expr string) (ahead, back *syntax.Prog, re *regexp.Regexp) {
	t.Helper()
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	tree = tree.Simplify()
	if ahead, err = syntax.Compile(tree); err != nil {
		t.Fatal(err)
	}
	if back, err = syntax.Compile(dfa.Reverse(tree)); err != nil {
		t.Fatal(err)
	}
	return ahead, back, regexp.MustCompile(expr)
}

// searcher finds matches by two automata.
type searcher struct {
	re             *regexp.Regexp
	alphabet       *dfa.Alphabet
	forward, back  *dfa.DFA
	bytes, allOnes *dfa.DFA
}

func newSearcher(t testing.TB, expr string, size int) *searcher {
	ahead, back, re := compile(t, expr)
	s := &searcher{re: re, alphabet: dfa.NewAlphabet(ahead)}
	s.forward = dfa.New(ahead, s.alphabet, dfa.Config{Anywhere: true, MaxSize: size})
	s.back = dfa.New(back, s.alphabet, dfa.Config{All: true, MaxSize: size})
	s.bytes = dfa.New(ahead, dfa.Bytes, dfa.Config{MaxSize: size})
	s.allOnes = dfa.New(ahead, dfa.Bytes, dfa.Config{All: true, MaxSize: size})
	return s
}

// find returns the first match in a text.
func (s *searcher) find(t testing.TB, text string) []int {
	t.Helper()
	symbols, budget := s.alphabet.Symbols(text), dfa.Budget(1<<30)
	to, ok := s.forward.Forward(symbols, 0, dfa.Nothing, false, &budget)
	if !ok {
		t.Fatal("a large budget is spent")
	}
	any, _ := s.forward.Forward(symbols, 0, dfa.Nothing, true, &budget)
	if any >= 0 != (to >= 0) {
		t.Fatalf("%s in %q: %d, but %d in a hurry", s.re, text, to, any)
	}
	if to < 0 {
		return nil
	}
	from, _ := s.back.Backward(symbols, text, 0, to, false, &budget)
	return []int{from, to}
}

// check holds all that the automata find in a text to package regexp.
func (s *searcher) check(t testing.TB, text string) {
	t.Helper()
	got, want := s.find(t, text), s.re.FindStringIndex(text)
	if !slices.Equal(got, want) {
		t.Fatalf("%s in %q: %v, want %v", s.re, text, got, want)
	}
	s.checkBytes(t, text)
}

// checkBytes runs the automata over bytes, from each place of a text. They read
// a byte of 0x80 and above as one character, so the text that regexp gets has
// one there.
func (s *searcher) checkBytes(t testing.TB, text string) {
	t.Helper()
	anchored := regexp.MustCompile(`\A(?:` + s.re.String() + `)`)
	longest := regexp.MustCompile(`\A(?:` + s.re.String() + `)`)
	longest.Longest()
	at := make([]int, 0, len(text)+1) // where each byte is in the other text
	var b strings.Builder
	for i := range len(text) {
		at = append(at, b.Len())
		if text[i] < utf8.RuneSelf {
			b.WriteByte(text[i])
		} else {
			b.WriteRune(utf8.RuneError)
		}
	}
	at = append(at, b.Len())
	// Only the start of the text is tried: regexp can't be told what is before.
	want, wantLongest := anchored.FindStringSubmatchIndex(b.String()), longest.FindStringIndex(b.String())
	if got := walk(s.bytes, text, 0, dfa.Nothing); got < 0 != (want == nil) || got >= 0 && at[got] != want[1] {
		t.Fatalf("%s at the start of %q: ends at %d, want %v", s.re, text, got, want)
	}
	if got := walk(s.allOnes, text, 0, dfa.Nothing); got < 0 != (wantLongest == nil) || got >= 0 && at[got] != wantLongest[1] {
		t.Fatalf("%s at the start of %q: longest ends at %d, want %v", s.re, text, got, wantLongest)
	}
	groups := s.bytes.Submatch([]byte(text), dfa.Nothing, -1)
	for i := range groups {
		if groups[i] >= 0 {
			groups[i] = at[groups[i]]
		}
	}
	if !slices.Equal(groups, want) {
		t.Fatalf("%s at the start of %q: groups %v, want %v", s.re, text, groups, want)
	}
}

// walk returns where the last match ends that an automaton sees from a place.
func walk(d *dfa.DFA, text string, from int, before dfa.Before) int {
	s, found := d.Start(before), -1
	for i := from; i < len(text); i++ {
		if s = d.Step(s, text[i]); s.Matched() {
			found = i
		}
		if s.Dead() {
			return found
		}
	}
	if d.Ends(s) {
		found = len(text)
	}
	return found
}

func TestSameAsRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, expr := range expressions {
		s := newSearcher(t, expr, 1<<20)
		for range 300 {
			s.check(t, text(rng, 14))
		}
	}
}

// TestForgets: what is found does not depend on the states that are kept, and a
// state held by a reader leads on when its automaton has forgotten it.
func TestForgets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, expr := range expressions {
		for _, size := range []int{0, 600, 3000} {
			s := newSearcher(t, expr, size)
			for range 60 {
				s.check(t, text(rng, 14))
			}
		}
	}
}

// TestBounded: an automaton with exponentially many states stays in its bound,
// and a search in its budget.
func TestBounded(t *testing.T) {
	ahead, _, _ := compile(t, `(?:a|b){0,12}a(?:a|b){14}c`)
	a := dfa.NewAlphabet(ahead)
	const most = 64 << 10
	d := dfa.New(ahead, a, dfa.Config{Anywhere: true, MaxSize: most})
	rng := rand.New(rand.NewPCG(5, 6))
	long := make([]byte, 20000)
	for i := range long {
		long[i] = "ab"[rng.IntN(2)]
	}
	budget := dfa.BudgetFor(string(long))
	if _, ok := d.Forward(a.Symbols(string(long)), 0, dfa.Nothing, false, &budget); ok {
		t.Error("the budget is never spent")
	}
	budget = 1 << 30
	if to, ok := d.Forward(a.Symbols(string(long)), 0, dfa.Nothing, false, &budget); !ok || to >= 0 {
		t.Errorf("found at %d", to)
	}
	if got := d.Size(); got > most {
		t.Errorf("states of %d bytes, more than %d", got, most)
	}
}

// TestEntered: text is held only once a match may have entered its group.
func TestEntered(t *testing.T) {
	for _, c := range []struct {
		expr, text string
		group, at  int // bytes after which the group may have been entered
	}{
		{`key=(\w{4});`, "key=abcd;", 0, 4},
		{`key=(\w{4});`, "key=abcd;", 1, 4},
		{`(k)ey=(\w{4});`, "key=abcd;", 2, 4},
		{`key=\w{4};`, "key=abcd;", 0, 1},
		{`(?:x(y)|ab)c`, "abc", 1, 2}, // what is behind a group is behind it on every way
	} {
		ahead, _, _ := compile(t, c.expr)
		d := dfa.New(ahead, dfa.Bytes, dfa.Config{Group: c.group, MaxSize: 1 << 20})
		s, got := d.Start(dfa.Nothing), -1
		if s.Entered() {
			t.Errorf("%s: entered before the first byte", c.expr)
		}
		for i := range len(c.text) {
			if s = d.Step(s, c.text[i]); s.Entered() && got < 0 {
				got = i + 1
			}
		}
		if got != c.at {
			t.Errorf("%s, group %d: entered after %d bytes of %q, want %d", c.expr, c.group, got, c.text, c.at)
		}
	}
}

// TestSame: states are the same by what they lead to, not by when they were built.
func TestSame(t *testing.T) {
	ahead, _, _ := compile(t, `(?:a|b)*c`)
	for _, size := range []int{0, 1 << 20} {
		d := dfa.New(ahead, dfa.Bytes, dfa.Config{MaxSize: size})
		walk := func(text string) *dfa.State {
			s := d.Start(dfa.Nothing)
			for i := range len(text) {
				s = d.Step(s, text[i])
			}
			return s
		}
		if !walk("ab").Same(walk("b")) || !walk("").Same(walk("")) {
			t.Errorf("room for %d bytes: states that lead to the same differ", size)
		}
		if walk("ab").Same(walk("abc")) {
			t.Errorf("room for %d bytes: states that lead elsewhere are the same", size)
		}
	}
}

func TestAfter(t *testing.T) {
	for r, want := range map[rune]dfa.Before{-1: dfa.Nothing, '\n': dfa.Newline, 'a': dfa.Word, '_': dfa.Word, '7': dfa.Word, '-': dfa.Other, 'é': dfa.Other, 0: dfa.Other} {
		if got := dfa.After(r); got != want {
			t.Errorf("%q: %d, want %d", r, got, want)
		}
	}
}

// TestTogether: many readers use one automaton at once.
func TestTogether(t *testing.T) {
	s := newSearcher(t, `(?:a|b){0,9}a(?:a|b){9}c`, 4000)
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 7))
			for range 100 {
				text := text(rng, 20)
				if got, want := s.find(t, text), s.re.FindStringIndex(text); !slices.Equal(got, want) {
					t.Errorf("%q: %v, want %v", text, got, want)
				}
			}
		})
	}
	wg.Wait()
}

// hasNoText reports whether an expression has a literal that no text spells:
// half of a surrogate pair, or U+FFFD. Package regexp writes both as U+FFFD when
// it looks for a literal, so that what it finds depends on the expression's form.
func hasNoText(tree *syntax.Regexp) bool {
	unspelled := func(r rune) bool { return !utf8.ValidRune(r) || r == utf8.RuneError }
	return tree.Op == syntax.OpLiteral && slices.ContainsFunc(tree.Rune, unspelled) || slices.ContainsFunc(tree.Sub, hasNoText)
}

// FuzzSameAsRegexp: no expression and no text tell the automata from package
// regexp, whatever room they have.
func FuzzSameAsRegexp(f *testing.F) {
	for i, expr := range expressions {
		f.Add(expr, strings.Join(pieces, ""), uint16(100*i))
	}
	f.Add(`\x{d800}`, "\xe6", uint16(0))
	f.Fuzz(func(t *testing.T, expr, text string, size uint16) {
		if len(expr) > 100 || len(text) > 500 {
			return
		}
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil || tree.MaxCap() > 20 || hasNoText(tree) {
			return
		}
		if prog, err := syntax.Compile(tree.Simplify()); err != nil || len(prog.Inst) > 2000 {
			return
		}
		if _, err := regexp.Compile(`\A(?:` + expr + `)`); err != nil {
			return
		}
		newSearcher(t, expr, int(size)).check(t, text)
	})
}

func BenchmarkStep(b *testing.B) {
	ahead, _, _ := compile(b, `(?i)(?:password|token)[\w.-]{0,30}=(\w{8,40})`)
	d := dfa.New(ahead, dfa.Bytes, dfa.Config{MaxSize: 1 << 20})
	text := "PASSWORD_OF_THE_HOUSE=velvetharbortangerine "
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if walk(d, text, 0, dfa.Nothing) < 0 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkForward(b *testing.B) {
	for _, expr := range []string{`\d{4}-\d{2}-\d{2}`, `\b\p{Lu}\p{L}{1,20} \p{Lu}\p{L}{1,20}`} {
		s := newSearcher(b, expr, 1<<20)
		text := strings.Repeat("the train was late again, so we sat in the small garden behind the station. ", 10)
		symbols := s.alphabet.Symbols(text)
		b.Run(fmt.Sprintf("%q", expr), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				budget := dfa.BudgetFor(text)
				if _, ok := s.forward.Forward(symbols, 0, dfa.Nothing, false, &budget); !ok {
					b.Fatal("the budget is spent")
				}
			}
		})
	}
}
