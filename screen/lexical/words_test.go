package lexical

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/screen"
)

// Texts that mean the same have the same words.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"3 May 2026":                       "d0503",
		"2026-05-03":                       "d0503",
		"03.05.2026":                       "d0503",
		"5/23/2026":                        "d0523",
		"the 3rd of May":                   "the d0503",
		"May the third, 2026":              "d0503",
		"the twenty-first of December":     "the d1221",
		"on the third day of March":        "on the d0303",
		"from the 3rd to 17 August":        "from the d0803 to d0817",
		"3-17 August":                      "d0803 d0817",
		"the last day of September":        "the d0930",
		"end of February":                  "d0228",
		"at the end of the road":           "at the end of the road",
		"last of all":                      "last of all",
		"my feet broke":                    "my foot break",
		"an hour and a half":               "an hour and a half",
		"six and a half thousand":          "6500",
		"Sept 4":                           "d0904",
		"Marc 3":                           "marc 3",
		"2026-13-45":                       "2026 13 45",
		"2026-05-03T16:30:00Z":             "d0503 t270",
		"half past four":                   "t270",
		"4:30 pm":                          "t270",
		"4.30pm":                           "t270",
		"a quarter to nine":                "a t525",
		"five o'clock":                     "t300",
		"at noon":                          "at t000",
		"half a bottle":                    "half a bottl",
		"a dozen eggs":                     "a 12 egg",
		"two dozen":                        "24",
		"half a dozen":                     "6",
		"twenty-five":                      "25",
		"eighty five thousand two hundred": "85200",
		"two hundred and five":             "205",
		"85k":                              "85k",
		"3 thousand":                       "3000",
		"1,200.50":                         "1200.5",
		"1.200,50":                         "1200.5",
		"2,5 kg":                           "2.5 kg",
		"without sugar":                    "no sugar",
		"sugar-free":                       "no sugar",
		"isn't sugar":                      "is no sugar",
		"no milk or eggs":                  "no milk or no egg",
		"when are you free":                "when are you free",
		"doesn’t smoke, non-smoking":       "does no smok no smok",
		"bakeries, boxes, planned, seeing": "bakery box plan see",
		"Jo's dress":                       "jo dress",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// The list has no phrase that is too long to be found, none twice in a line, and
// no line without a second phrase.
func TestList(t *testing.T) {
	n := 0
	for line := range strings.Lines(synonyms) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if line == "" || strings.ContainsAny(line, "=:") {
			continue
		}
		n++
		var seen []string
		for _, p := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == '>' || r == '~' }) {
			ws := phrase(p)
			if len(ws) == 0 || len(ws) > maxPhrase {
				t.Errorf("%s: %q has %d words", line, p, len(ws))
			}
			seen = append(seen, strings.Join(ws, " "))
		}
		if len(seen) < 2 || strings.Count(line, ">")+strings.Count(line, "~") > 1 {
			t.Errorf("%s: it says nothing", line)
		}
		slices.Sort(seen)
		if distinct := len(slices.Compact(slices.Clone(seen))); distinct < len(seen) {
			t.Errorf("%s: %d phrases more than once", line, len(seen)-distinct)
		}
	}
	if n < 800 {
		t.Errorf("%d lines", n)
	}
}

// Relations go by the sides of a line.
func TestRelations(t *testing.T) {
	l := parse("pram, buggy\nbird > hen, duck # kinds\nrain ~ umbrella, no picnic\n")
	for _, c := range []struct {
		phrase, text string
		want         relation
	}{
		{"pram", "buggy", same},
		{"hen", "a bird", generally},
		{"bird", "two ducks", same},
		{"hen", "duck", unrelated},
		{"umbrella", "it rains", following},
		{"rain", "umbrella", loosely},
		{"without picnic", "rain", following},
		{"picnic", "rain", unrelated},
		{"umbrella", "no picnic", unrelated},
	} {
		got := unrelated
		l.meanings(words(c.phrase), func(_, _ int, ms []meaning) { got = max(got, l.closest(ms, l.senseOf(words(c.text)))) })
		if got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.phrase, c.text, got, c.want)
		}
	}
}

// What is too much work makes everything relevant, in bounded time.
func TestBounded(t *testing.T) {
	word := strings.Repeat("lamp ", 1<<16)
	for name, q := range map[string]*screen.Question{
		"one word":  {Requests: []string{word}, Calls: []flow.ToolCall{{Arguments: strconv.Quote(word)}}, Regions: []screen.Region{{Text: word}, {Text: "x"}}},
		"many":      {Requests: []string{"the last lamp"}, Calls: []flow.ToolCall{{Arguments: strconv.Quote(strings.Repeat("lights 17 ", 1<<16))}}, Regions: slices.Repeat([]screen.Region{{Text: "lamp 34", Field: "a[7]"}}, 1<<14)},
		"too large": {Requests: []string{"x"}, Regions: []screen.Region{{Text: strings.Repeat("x", maxBytes)}}, Calls: []flow.ToolCall{{Arguments: `"yyyy"`}}},
	} {
		out, err := Screener{}.Relevant(t.Context(), q)
		if err != nil || slices.Contains(out, false) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("May the 3rd, 2026 at half past four, 85k, 1.200,50, sugar-free, twenty-five dozen")
	f.Add("2026-05-03T16:30:00Z 3-17 August 5/23/2026")
	f.Add("no or nor free half a dozen o'clock")
	f.Fuzz(func(t *testing.T, s string) {
		out, days := dated(s)
		if len(out) > len(s)*3+1 || len(days) > len(out) {
			t.Errorf("%d words, %d days of %d bytes", len(out), len(days), len(s))
		}
		for _, w := range out {
			if w == "" || utf8.ValidString(s) && !utf8.ValidString(w) {
				t.Errorf("%q is a word of %q", w, s)
			}
		}
		for _, d := range days {
			if d.m < 1 || d.m > 12 || d.d < 1 || d.d > 31 {
				t.Errorf("%v", d)
			}
		}
	})
}
