package library_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/secret/spoken"
)

// levelOf is the cell of a value at a level; empty for none.
func levelOf(r *rubric.Resolved, field string, level int, value string) string {
	s, err := r.Generalize(field, level, value)
	if err != nil {
		return ""
	}
	return s
}

// TestMentionLevels: a value in words is in the cell of the same value, and in no finer cell
// than the words allow.
func TestMentionLevels(t *testing.T) {
	r := rulesOf(t, "hr-payroll")
	today := time.Now()
	decades := 0
	for d := time.Date(1931, 1, 3, 0, 0, 0, 0, time.UTC); d.Year() < 2008; d = d.AddDate(0, 1, 11) {
		iso := d.Format(time.DateOnly)
		age := today.Year() - d.Year()
		if d.AddDate(age, 0, 0).After(today) {
			age--
		}
		ageSaid := strings.Join(spoken.InWords(age), "-")
		for text, exact := range map[string]bool{
			d.Format("the 2 January, in the year 2006"): true, d.Format("01/02/2006"): false, d.Format("born in 2006"): false,
			"I turned " + ageSaid: false, fmt.Sprint(age, " years old"): false, fmt.Sprintf("a child of the %ds", d.Year()/10*10): false,
		} {
			for level := 1; level <= len(r.LevelNames("dob")); level++ {
				got, want := levelOf(r, "dob", level, text), levelOf(r, "dob", level, iso)
				if got != want && (exact || got != "") && (level > 1 || text[2] != '/') { // 01/03 may be read as the first of March
					t.Fatalf("%q at level %d: %q, want %q", text, level, got, want)
				}
				if strings.HasPrefix(text, "I turned") && level == 4 && got != "" {
					decades++
				}
			}
			if strings.Contains(text, "born") && levelOf(r, "dob", 1, text) != "" {
				t.Fatalf("%q has a month", text)
			}
		}
		if exact, other := r.Normal("dob", iso), r.Normal("dob", d.Format("2 January 2006, born")); exact != other {
			t.Fatalf("%q and %q are two values", exact, other)
		}
	}
	if decades < 500 {
		t.Errorf("only %d ages have a decade", decades)
	}
	for n := 1000; n < 349_000; n += 700 {
		for level := 1; level <= len(r.LevelNames("salary")); level++ {
			want := levelOf(r, "salary", level, fmt.Sprint(n))
			words := strings.Join(spoken.InWords(n/1000), " ") + " thousand"
			if n%1000 > 0 {
				words += " " + strings.Join(spoken.InWords(n%1000), " ")
			}
			if got := levelOf(r, "salary", level, "about "+words+" dollars before tax"); got != want {
				t.Fatalf("%s at level %d: %q, want %q", words, level, got, want)
			}
		}
	}
	for field, text := range map[string]string{"dob": "the 1 January 1899", "salary": "$450,000.50", "address": "around Paris or Berlin"} {
		if r.Normal(field, text) == "" { // outside of the population, or of none
			t.Errorf("%q has no normal form", text)
		}
	}
	for text, want := range map[string]string{
		"just outside Phoenix": "United States", "around Paris until Sunday": "France", "two blocks from the town hall of Toronto": "Canada, Australia, New Zealand or South Africa",
	} {
		if got := levelOf(r, "address", 3, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// labelled is a defender that labels some words of texts.
type labelled map[string]string // fields, by words

func (d labelled) Evidence(_ context.Context, r *declassify.Request) ([]byte, error) {
	ev := evidence.Statement{Context: r.Context}
	for i := range r.Parts {
		for said, field := range d {
			if at := strings.Index(r.Parts[i].Text, said); at >= 0 {
				ev.Atoms = append(ev.Atoms, evidence.Label{
					Part: i, Start: at, End: at + len(said), Role: "text", Field: field, Relation: "explicit",
					Necessity: r.Rules.Necessity(field, r.Tool.Class).String(), Provenance: "model",
				})
			}
		}
	}
	return rules.Planned(r, ev)
}

// TestMentionReleases: of words that mention a value, a curious sink gets the level alone, at
// its cost; of other words, nothing.
func TestMentionReleases(t *testing.T) {
	for _, c := range []struct {
		field, said, want string
	}{
		{"dob", "I turned seventy-two", "decade"},
		{"dob", "the thirtieth of August, nineteen fifty-two", "1950s"},
		{"dob", "a child of the fifties", "1950s"},
		{"dob", "sixteen when men first walked on the moon", ""},
		{"dob", "my birthday is in nine days", ""},
		{"salary", "one hundred and eleven grand", "100000-124999"},
		{"salary", "what a pharmacist earns", ""},
		{"salary", "nine thousand three hundred a month", ""},
		{"legal-name", "the twelfth of May 1980", ""},
		{"account-id", "one hundred and eleven grand", ""},
	} {
		r := rulesOf(t, "hr-payroll")
		v, _ := verifierWith(t, r, labelled{c.said: c.field})
		got, err := v.Release(t.Context(), declassify.Candidate{
			Trajectory: "t", Decision: "d", Tool: schema.Tool{Name: "ask", Action: "hr-payroll", Sink: "planner", Class: flow.SemiTrusted, Channel: flow.ChannelTool, Args: []schema.Arg{{Path: "query", Free: true}}},
			Parts: []declassify.Part{{Path: "query", Text: "Which plan? " + c.said + ", and no car."}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Parts()) != 1 {
			t.Fatalf("%q: %v %v", c.said, got.Outcome, got.Reasons)
		}
		text := got.Parts()[0].Text
		if c.want == "decade" {
			first := time.Now().AddDate(-73, 0, 1).Year() / 10 * 10
			if c.want = fmt.Sprintf("%ds", first); first != time.Now().AddDate(-72, 0, 0).Year()/10*10 {
				c.want = ""
			}
		}
		for _, w := range strings.FieldsFunc(c.said, func(r rune) bool { return r == ' ' || r == '-' }) {
			if len(w) > 3 && strings.Contains(text, w) {
				t.Errorf("%q: %q has %q", c.said, text, w)
			}
		}
		if !strings.Contains(text, c.want) || c.want == "" && strings.ContainsAny(text, "0123456789") {
			t.Errorf("%q: %q, want %q", c.said, text, c.want)
		}
		i := slices.IndexFunc(got.Atoms, func(a declassify.Atom) bool { return a.Op.Kind == rubric.Generalize })
		if (i >= 0) != (c.want != "") {
			t.Errorf("%q: atoms %v", c.said, got.Atoms)
		} else if i >= 0 && got.Atoms[i].Cost != r.Cost(c.field, got.Atoms[i].Op) {
			t.Errorf("%q: costs %v", c.said, got.Atoms[i].Cost)
		}
	}
}

// releaseOf releases one text, all of which is labelled as a field.
func releaseOf(t *testing.T, v *declassify.Verifier, action string, class flow.Class, arg schema.Arg, text string) (string, flow.Bits) {
	t.Helper()
	r, err := v.Release(t.Context(), declassify.Candidate{
		Trajectory: "t", Decision: "d", Tool: schema.Tool{Name: "ask", Action: action, Sink: "desk", Class: class, Channel: flow.ChannelTool, Args: []schema.Arg{arg}},
		Parts: []declassify.Part{{Path: arg.Path, Text: text}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Parts()) == 0 {
		return "", 0
	}
	return r.Parts()[0].Text, r.Entry.Charge
}

// TestMentionIsNotRaw: a text that mentions a value is not sent as it is, whatever else is
// in it, unless it is a date in numbers.
func TestMentionIsNotRaw(t *testing.T) {
	v, _ := verifierWith(t, rulesOf(t, "hr-payroll"), rules.Defender{})
	hidden := strings.Map(func(r rune) rune { return 0xe0000 + r }, "password hunter2")
	for text, field := range map[string]string{
		"1 May 1980" + hidden: "dob", "of the in on and day 1 May 1980": "dob", "85 grand" + hidden: "salary", "eighty-five grand": "salary",
		"08/30/1952\u200b": "dob", "08/30/1952": "",
	} {
		arg := schema.Arg{Path: "x", Field: field}
		if field == "" {
			arg.Field = "dob"
		}
		if got, _ := releaseOf(t, v, "hr-payroll", flow.RequiredService, arg, text); (got == text) != (field == "") {
			t.Errorf("%+q became %+q", text, got)
		}
	}
}

// TestOneValueOneName: values that count as the same have the same names.
func TestOneValueOneName(t *testing.T) {
	r := rulesOf(t, "hr-payroll")
	words := strings.Fields("paris Paris Berlin berlin Phoenix phoenix , ; x AZ az Toronto toronto near asthma Asthma diabetes E11")
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 5).Draw(t, name), " ")
		}
		a := draw("a")
		b := rapid.SampledFrom([]func(string) string{strings.ToLower, strings.ToUpper, func(s string) string { return strings.ReplaceAll(s, " ,", ",") }, func(string) string { return draw("b") }}).Draw(t, "to")(a)
		for _, f := range []string{"address", "diagnosis"} {
			if r.Normal(f, a) != r.Normal(f, b) {
				continue
			}
			for level := 1; level <= len(r.LevelNames(f)); level++ {
				if x, y := levelOf(r, f, level, a), levelOf(r, f, level, b); x != y {
					t.Fatalf("%q and %q are one %s, and called %q and %q", a, b, f, x, y)
				}
			}
		}
	})
}

// TestSeveralSecretsAddUp: a text that a label or a clause takes for one value pays for all
// the values in it.
func TestSeveralSecretsAddUp(t *testing.T) {
	cost := func(r *rubric.Resolved, f string) flow.Bits { return r.Cost(f, rubric.Op{Kind: rubric.Identity}) }
	raw := 0
	for _, action := range []string{"e-commerce", "financial-onboarding", "tax-filing", "travel-booking"} {
		r := rulesOf(t, action)
		for _, more := range []string{"; and (415) 555-0100", "; (415) 555-0100 or (415) 555-0199"} {
			text := "5 Rue X, Paris" + more
			phones := flow.Bits(strings.Count(more, "(415)"))
			for _, arg := range []schema.Arg{{Path: "address", Free: true}, {Path: "address", Field: "address"}} {
				v, _ := verifierWith(t, r, labelled{text: "address"})
				got, charged := releaseOf(t, v, action, flow.RequiredService, arg, text)
				if got != text {
					continue
				}
				if raw++; charged < cost(r, "address")+phones*cost(r, "phone") {
					t.Errorf("%s, %+v: %q for %v", action, arg, got, charged)
				}
			}
		}
	}
	if raw == 0 {
		t.Error("nothing went out as it is")
	}
	r := rulesOf(t, "medical-records")
	v, _ := verifierWith(t, r, labelled{"type 2 diabetes, call (415) 555-0100": "diagnosis"})
	if got, charged := releaseOf(t, v, "medical-records", flow.RequiredService, schema.Arg{Path: "diagnosis", Free: true}, "type 2 diabetes, call (415) 555-0100"); strings.Contains(got, "0100") && charged < cost(r, "diagnosis")+cost(r, "phone") {
		t.Errorf("%q for %v", got, charged)
	}
}

// TestAgesByTheClock: an age is one of the day that the registry's clock has, and two texts
// with the same range are one value.
func TestAgesByTheClock(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	at := func(year int) *rubric.Resolved {
		reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}, Now: func() time.Time { return time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC) }})
		one, err := library.Rubric("hr-payroll")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reg.Add("hr-payroll", rubric.Sign(one, key)); err != nil {
			t.Fatal(err)
		}
		r, err := reg.Resolve(rubric.Query{Action: "hr-payroll", Tool: "ask", Sink: "desk", Channel: flow.ChannelTool, Class: flow.SemiTrusted})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for year, want := range map[int]string{2026: "1950s", 2016: "1940s"} {
		r := at(year)
		if got := levelOf(r, "dob", 4, "I am 73"); got != want {
			t.Errorf("%d: %q, want %q", year, got, want)
		}
		if a, b := r.Normal("dob", "I am 73"), r.Normal("dob", "seventy-three years old"); a != b || a == r.Normal("dob", "I am 74") {
			t.Errorf("%d: %q and %q", year, a, b)
		}
	}
}

// TestMentionedIllness: a listed value is found among other words.
func TestMentionedIllness(t *testing.T) {
	r := rulesOf(t, "medical-records")
	for text, as := range map[string]string{"my asthma is back": "asthma", "E11, since 2019": "type 2 diabetes"} {
		if got, want := levelOf(r, "diagnosis", 1, text), levelOf(r, "diagnosis", 1, as); got != want || got == "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestWhatStandsBeside: what a value is made of is no second value, and what stands
// beside the value is.
func TestWhatStandsBeside(t *testing.T) {
	r := rulesOf(t, "customer-support")
	cost := func(f string) flow.Bits { return r.Cost(f, rubric.Op{Kind: rubric.Identity}) }
	for text, most := range map[string]bool{"maria.schmidt@corp.example": false, "my name is Maria Schmidt, x7@corp.example": true} {
		v, _ := verifierWith(t, r, labelled{text: "email"})
		got, charged := releaseOf(t, v, "customer-support", flow.RequiredService, schema.Arg{Path: "email", Free: true}, text)
		if got == text && (charged >= cost("email")+cost("legal-name")) != most {
			t.Errorf("%q goes out for %v, of %v and %v", text, charged, cost("email"), cost("legal-name"))
		}
	}
}
