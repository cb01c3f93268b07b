package predicate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/predicate"
)

func find(t *testing.T, c predicate.Clause, path, text string) []string {
	t.Helper()
	s, err := predicate.New([]predicate.Clause{c})
	if err != nil {
		t.Fatal(err)
	}
	spans, ok := s.Find(path, text)
	if !ok {
		t.Fatal("too long")
	}
	var out []string
	for _, sp := range spans {
		out = append(out, text[sp.Start:sp.End])
	}
	return out
}

func TestEntities(t *testing.T) {
	for _, c := range []struct {
		entity, text string
		want         []string
	}{
		{"card", "pay with 4111 1111 1111 1111 12/27", []string{"4111 1111 1111 1111"}},
		{"card", "12 4111-1111-1111-1111", []string{"4111-1111-1111-1111"}},
		{"card", "4111 1111 1111 1112", nil},
		{"card", "030000000007 or 123456789007 or 0000000000000000", nil}, // check digits alone make no card
		{"card", "Maestro 501800000009", []string{"501800000009"}},
		{"card", "two: 4111111111111111 5555555555554444", []string{"4111111111111111", "5555555555554444"}},
		{"date", "born 1985-03-02 or 2 March 1985 or March 2nd? March 2, 1985; 02/03/85", []string{"1985-03-02", "2 March 1985", "March 2, 1985", "02/03/85"}},
		{"date", "version 1.2.3, flight 4711", nil},
		{"email", "a.b+c@x.example.org, ü@bücher.example", []string{"a.b+c@x.example.org", "ü@bücher.example"}},
		{"email", "a@b", nil},
		{"iban", "DE89370400440532013000 from Bob", []string{"DE89370400440532013000"}},
		{"iban", "to DE89 3704 0044 0532 0130 00 now", []string{"DE89 3704 0044 0532 0130 00"}},
		{"iban", "DE89 3704 0044 0532 0130 01", nil},
		{"ip", "from 192.168.0.1:80", []string{"192.168.0.1"}},
		{"ip", "10.2.3.4, then 8.8.4.4.", []string{"10.2.3.4", "8.8.4.4"}},
		{"ip", "see section 10.2.1.3.1", []string{"10.2.1.3"}},
		{"ip", "192.168.001.001, 999.1.1.1", []string{"192.168.001.001", "999.1.1.1"}},
		{"ip", "127.0.0.1, 0.0.0.0, 255.255.255.255, 192.0.2.7, 198.51.100.4, 203.0.113.9", nil},
		{"money", "earns $72,500 or 1.500,00 EUR", []string{"$72,500", "1.500,00 EUR"}},
		{"person", "ask Maria Silva or Ludwig van Beethoven", []string{"Maria Silva", "Ludwig van Beethoven"}},
		{"person", "please book a seat", nil},
		{"phone", "call +33 6 12 34 56 78 or (020) 7946-0000", []string{"+33 6 12 34 56 78", "(020) 7946-0000"}},
		{"phone", "order 12345", nil},
		{"private-key", "-----BEGIN EC PRIVATE KEY-----", []string{"-----BEGIN EC PRIVATE KEY-----"}},
		{"street", "at 12 Mill Road, or Lindenstraße 7", []string{"12 Mill Road", "Lindenstraße 7"}},
	} {
		if got := find(t, predicate.Clause{Entity: c.entity}, "", c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s in %q: %q, want %q", c.entity, c.text, got, c.want)
		}
	}
}

func TestClauses(t *testing.T) {
	given := predicate.Clause{Text: `(?:^|[^\p{L}])(?P<value>(?P<listed>\p{Lu}\p{L}{1,9}) \p{Lu}\p{L}{1,9})`, Lexicon: []string{"Maria"}}
	for _, c := range []struct {
		clause     predicate.Clause
		path, text string
		want       []string
	}{
		{predicate.Clause{Path: `dob$`}, "a.dob", "anything", []string{"anything"}},
		{predicate.Clause{Path: `dob$`}, "a.dobs", "anything", nil},
		{predicate.Clause{Path: `dob$`}, "dob", "", nil},
		{predicate.Clause{Path: `^notes$`, Text: `\d{2}`}, "notes", "12 34", []string{"12", "34"}},
		{predicate.Clause{Path: `^notes$`, Text: `\d{2}`}, "other", "12 34", nil},
		{predicate.Clause{Text: `(?i)pin[: ]{1,3}(?P<value>\d{4})`}, "", "PIN: 1234", []string{"1234"}},
		{predicate.Clause{Lexicon: []string{"flu", "heart disease"}}, "", "Flu, fluent; HEART\n disease. heart", []string{"Flu", "HEART\n disease"}},
		{predicate.Clause{Lexicon: []string{"heart", "heart disease"}}, "", "heart disease heart", []string{"heart disease", "heart"}},
		// A match whose word is not listed hides none.
		{given, "", "Hello Maria Silva, Computing Maria", []string{"Maria Silva"}},
		{given, "", "Maria Silva Maria Silva. MARIA\nSilva", []string{"Maria Silva", "Maria Silva"}},
	} {
		if got := find(t, c.clause, c.path, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%+v at %s in %q: %q, want %q", c.clause, c.path, c.text, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []predicate.Clause{
		{},
		{Text: "a", Entity: "date"},
		{Text: "("},
		{Text: "a+"},
		{Text: "a*b"},
		{Text: "(a{2,}){3}"},
		{Text: "a{0,100}{0,9}"},
		{Text: "a?"},
		{Text: `\b`},
		{Path: "("},
		{Entity: "shoe"},
		{Lexicon: []string{}},
		{Lexicon: []string{"--"}},
		{Text: `(?P<listed>a)`, Lexicon: []string{}},
		{Text: `(?P<listed>a)`},
		{Text: "a", Lexicon: []string{"a"}},
		{Entity: "date", Lexicon: []string{"a"}},
		{Lexicon: []string{strings.Repeat("a ", 9)}},
	} {
		_, err := predicate.New([]predicate.Clause{{Path: "x"}, c})
		var e *yamldoc.Error
		if !errors.As(yamldoc.FromJSON("x", nil).Place(err), &e) || !strings.HasPrefix(e.Detail, "1: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestNothingShadows: what is found alone is found among others, too.
func TestNothingShadows(t *testing.T) {
	for entity, thing := range map[string]string{"card": "4111 1111 1111 1111", "iban": "DE89370400440532013000", "email": "a@b.example", "date": "1985-03-02"} {
		for _, before := range []string{"1 ", "12 34 ", "4111 ", "DE89 ", "x ", "2026-11-21 "} {
			for _, after := range []string{" 1", " 1234", " abcd", ", DE89", " 4111 1111"} {
				got := find(t, predicate.Clause{Entity: entity}, "", before+thing+after)
				if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, thing) || strings.Contains(thing, g) && len(g) > 10 }) {
					t.Errorf("%s in %q: %q", entity, before+thing+after, got)
				}
			}
		}
	}
}

// A value is found however it is disguised for the eye: in other digits, with
// lookalikes, with what is not seen.
func TestDisguised(t *testing.T) {
	date := predicate.Clause{ID: "date", Text: `\b\d{4}-\d{2}-\d{2}\b`}
	said := predicate.Clause{ID: "said", Text: `(?i)born (?P<value>\d{4})`}
	for text, want := range map[string]string{
		"on １９８５-０３-０２, é":               "１９８５-０３-０２",
		"on 1985\u200b-03-0\u20602.":     "1985\u200b-03-0\u20602",
		"on 1985–03–02":                  "1985–03–02",
		`{"on": "\u0031985\u002d03-02"}`: `\u0031985\u002d03-02`,
		"?on=1985%2D03%2d02&x":           "1985%2D03%2d02",
		"on 19&#56;5-03-&#48;2 &c":       "19&#56;5-03-&#48;2",
		"on 1985-03-02 in Köln":          "1985-03-02",
	} {
		if got := find(t, date, "", text); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := find(t, said, "", "b\u043ern 19\u00ad85"); len(got) != 1 || got[0] != "19\u00ad85" {
		t.Errorf("%q", got)
	}
	if got := find(t, predicate.Clause{ID: "list", Lexicon: []string{"asthma"}}, "", "аsthma"); len(got) != 1 {
		t.Errorf("a lexicon: %q", got)
	}
}

// Whatever a text is, what is found is a stretch of whole characters of it.
func TestSpansAreWholeCharacters(t *testing.T) {
	set, err := predicate.New([]predicate.Clause{{ID: "d", Text: `\d{1,9}`}, {ID: "w", Text: `\p{L}{2,9}`}, {ID: "any", Text: `(?s).`}, {ID: "mail", Entity: "email"}})
	if err != nil {
		t.Fatal(err)
	}
	piece := rapid.OneOf(rapid.SampledFrom([]string{`\u00e9`, `\ud83d\ude00`, "%C3%A9", "%ff", "&eacute;", "&#x1F600;", "１", "\u200b", "e\u0301", "ﬃ", "😀", `\`, "a@b.example", "\ufeff"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		text = strings.ToValidUTF8(text, "?")
		spans, ok := set.Find("", text)
		for _, s := range spans {
			if s.Start < 0 || s.Start >= s.End || s.End > len(text) || !utf8.ValidString(text[s.Start:s.End]) {
				t.Fatalf("%q: %+v", text, s)
			}
		}
		if !ok {
			t.Fatal("it is not too long")
		}
	})
}
