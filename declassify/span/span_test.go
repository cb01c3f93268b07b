package span_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/rubric"
)

func TestCut(t *testing.T) {
	dob := func(start, end int) rubric.Match { return rubric.Match{Start: start, End: end, Field: "dob"} }
	label := func(start, end int, field string) evidence.Label {
		return evidence.Label{Start: start, End: end, Field: field}
	}
	none := func(start, end int, match bool) span.Span {
		return span.Span{Start: start, End: end, Label: -1, Name: -1, Match: match}
	}
	for name, c := range map[string]struct {
		t    span.Text
		want []span.Span
	}{
		"nothing":                         {span.Text{Text: "0123456789", Passes: true}, []span.Span{}},
		"nothing may pass":                {span.Text{Text: "0123456789"}, []span.Span{none(0, 10, false)}},
		"a match alone":                   {span.Text{Text: "0123456789", Passes: true, Matches: []rubric.Match{dob(2, 5)}}, []span.Span{none(2, 5, true)}},
		"a match in what is not labelled": {span.Text{Text: "0123456789", Matches: []rubric.Match{dob(2, 5)}}, []span.Span{none(0, 10, true)}},
		"labelled": {
			span.Text{Text: "0123456789", Passes: true, Labels: []evidence.Label{label(2, 5, "dob")}, Matches: []rubric.Match{dob(2, 5)}},
			[]span.Span{{Start: 2, End: 5, Label: 0, Name: -1, Match: true, Only: []string{"dob"}, Fire: []string{"dob"}}},
		},
		"within a label": {
			span.Text{Text: "0123456789", Labels: []evidence.Label{label(2, 7, "dob")}, Matches: []rubric.Match{dob(3, 5)}},
			[]span.Span{none(0, 2, false), {Start: 2, End: 7, Label: 0, Name: -1, Match: true, Fire: []string{"dob"}}, none(7, 10, false)},
		},
		"of any field": {
			span.Text{Text: "0123456789", Passes: true, Labels: []evidence.Label{label(2, 5, "dob")}, Matches: []rubric.Match{{Start: 2, End: 5, Field: rubric.AnyField}}},
			[]span.Span{{Start: 2, End: 5, Label: 0, Name: -1, Match: true}},
		},
		"over a label's end":  {span.Text{Text: "0123456789", Passes: true, Labels: []evidence.Label{label(2, 5, "dob")}, Matches: []rubric.Match{dob(4, 8)}}, []span.Span{none(2, 8, true)}},
		"over two labels":     {span.Text{Text: "0123456789", Passes: true, Labels: []evidence.Label{label(1, 3, "dob"), label(4, 6, "dob")}, Matches: []rubric.Match{dob(2, 5)}}, []span.Span{none(1, 6, true)}},
		"labelled none":       {span.Text{Text: "0123456789", Passes: true, Labels: []evidence.Label{label(0, 10, evidence.None)}, Matches: []rubric.Match{dob(2, 5)}}, []span.Span{none(2, 5, true)}},
		"a name":              {span.Text{Text: "0123456789", Passes: true, Names: []span.Place{{2, 5}}, Labels: []evidence.Label{label(4, 8, "dob")}}, []span.Span{{Start: 2, End: 5, Label: -1, Name: 0}}},
		"out of the text":     {span.Text{Text: "0123456789", Passes: true, Matches: []rubric.Match{dob(-3, 2), dob(8, 20), dob(30, 40), dob(5, 5)}}, []span.Span{none(0, 2, true), none(8, 10, true)}},
		"within a character":  {span.Text{Text: "aéb", Passes: true, Matches: []rubric.Match{dob(2, 3)}}, []span.Span{none(1, 3, true)}},
		"to within character": {span.Text{Text: "aéb", Passes: true, Matches: []rubric.Match{dob(0, 2)}}, []span.Span{none(0, 3, true)}},
	} {
		c.t.Only = func(m rubric.Match) bool { return m.Field == "dob" }
		got := c.t.Cut()
		if !slices.EqualFunc(got, c.want, func(a, b span.Span) bool {
			return a.Start == b.Start && a.End == b.End && a.Label == b.Label && a.Name == b.Name && a.Match == b.Match && slices.Equal(a.Only, b.Only) && slices.Equal(a.Fire, b.Fire)
		}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Whatever is known of a text: spans are disjoint, in order and of whole
// characters, and nothing that is known of it is outside of them.
func TestNothingIsLeftOut(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aé日 ")), 1, 20, -1).Draw(r, "text")
		var bounds []int
		for i := range text {
			bounds = append(bounds, i)
		}
		bounds = append(bounds, len(text))
		in := span.Text{Text: text, Only: func(rubric.Match) bool { return true }, Passes: rapid.Bool().Draw(r, "passes")}
		at := 0
		for at < len(bounds)-1 {
			to := rapid.IntRange(at+1, len(bounds)-1).Draw(r, "to")
			switch rapid.IntRange(0, 2).Draw(r, "what") {
			case 0:
				in.Names = append(in.Names, span.Place{Start: bounds[at], End: bounds[to]})
			case 1:
				field := rapid.SampledFrom([]string{"dob", evidence.None}).Draw(r, "field")
				in.Labels = append(in.Labels, evidence.Label{Start: bounds[at], End: bounds[to], Field: field})
			}
			at = to
		}
		for range rapid.IntRange(0, 4).Draw(r, "matches") {
			a := rapid.IntRange(-2, len(text)+2).Draw(r, "from")
			in.Matches = append(in.Matches, rubric.Match{Start: a, End: a + rapid.IntRange(0, 8).Draw(r, "length"), Field: "dob"})
		}
		got := in.Cut()
		covered := make([]bool, len(text))
		end := 0
		for _, s := range got {
			if s.Start < end || s.End <= s.Start || s.End > len(text) || !utf8.ValidString(text[s.Start:s.End]) {
				r.Fatalf("%+v", got)
			}
			if s.Label >= 0 && s.Name >= 0 {
				r.Fatal("a name that is labelled")
			}
			end = s.End
			for i := s.Start; i < s.End; i++ {
				covered[i] = true
			}
		}
		all := func(what string, start, end int) {
			if slices.Contains(covered[max(0, min(start, len(text))):max(0, min(end, len(text)))], false) {
				r.Fatalf("%s of %d to %d is left out of %+v", what, start, end, got)
			}
		}
		for _, n := range in.Names {
			all("a name", n.Start, n.End)
		}
		for _, l := range in.Labels {
			if l.Field != evidence.None {
				all("a label", l.Start, l.End)
			}
		}
		for _, m := range in.Matches {
			if m.Start < m.End {
				all("a match", m.Start, m.End)
			}
		}
		if !in.Passes {
			all("the text", 0, len(text))
		}
	})
}

// TestDigitsGoOn: digits beside a withheld number stay withheld up to the next space, in any
// script and on both sides.
func TestDigitsGoOn(t *testing.T) {
	for text, want := range map[string]string{
		"call #1-23# now": "call  now", "no 12-#34# now": "no  now", "no 12 #34# now": "no 12  now", "#34#-56 now": " now", "#٣٤#٥٦ now": " now",
		"#34#, now": ", now", "#34#s now": "s now", "see a#34#5": "see a",
	} {
		from, to := strings.Index(text, "#"), strings.LastIndex(text, "#")-1
		plain := strings.ReplaceAll(text, "#", "")
		spans := []span.Span{{Start: from, End: to, Label: 0, Name: -1}}
		if from > 0 {
			spans = slices.Insert(spans, 0, span.Span{End: from, Label: -1, Name: -1})
		}
		if to < len(plain) {
			spans = append(spans, span.Span{Start: to, End: len(plain), Label: -1, Name: -1})
		}
		out, _ := span.Without(plain, spans, []span.Place{{0, len(plain)}})
		got, at := "", 0
		for _, s := range out {
			got += plain[at:s.Start]
			at = s.End
		}
		if got += plain[at:]; got != want {
			t.Errorf("%q: %q passes, want %q", text, got, want)
		}
	}
}

// TestBeside: the most values that do not overlap are counted, and parts of the place's
// own value are not.
func TestBeside(t *testing.T) {
	m := func(field string, start, end int) rubric.Match {
		return rubric.Match{Field: field, Start: start, End: end}
	}
	made := func(field, other string) bool { return field == "email" && other == "name" }
	for name, c := range map[string]struct {
		all  []rubric.Match
		want []string
	}{
		"a long one hides none":      {[]rubric.Match{m("phone", 0, 30), m("phone", 5, 10), m("phone", 12, 20)}, []string{"phone", "phone"}},
		"a part":                     {[]rubric.Match{m("email", 0, 20), m("name", 0, 6)}, nil},
		"a part, nothing is sure":    {[]rubric.Match{m("name", 0, 6)}, nil},
		"beside the value":           {[]rubric.Match{m("email", 10, 30), m("name", 0, 6)}, []string{"name"}},
		"its own, outside, anything": {[]rubric.Match{m("email", 0, 9), m("phone", 35, 45), m(rubric.AnyField, 0, 5)}, nil},
	} {
		if got := span.Beside(c.all, "email", 0, 40, func(rubric.Match) bool { return true }, made); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
