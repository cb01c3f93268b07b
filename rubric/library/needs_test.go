package library_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
)

// releaser returns what sends arguments under a rubric, all of one trajectory.
// An argument is "path field" or "path *" for free text, "path" for neither;
// nil is a denial.
func releaser(t *testing.T, name string) func(flow.Channel, flow.Class, ...string) []string {
	t.Helper()
	v, _ := verifierOf(t, rulesOf(t, name))
	return func(ch flow.Channel, class flow.Class, argsAndTexts ...string) []string {
		t.Helper()
		c := declassify.Candidate{Trajectory: "t", Tool: schema.Tool{Name: "tool", Action: name, Sink: "sink", Class: class, Channel: ch}}
		for i := 0; i+1 < len(argsAndTexts); i += 2 {
			path, kind, _ := strings.Cut(argsAndTexts[i], " ")
			a := schema.Arg{Path: path, Field: kind}
			if kind == "*" {
				a = schema.Arg{Path: path, Free: true}
			}
			c.Tool.Args = append(c.Tool.Args, a)
			c.Parts = append(c.Parts, declassify.Part{Path: path, Text: argsAndTexts[i+1]})
		}
		got, err := v.Release(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i := range got.Parts() {
			out = append(out, got.Parts()[i].Text)
		}
		return out
	}
}

// Where a sink's schema asks for more than its cap admits, the field that it
// can't do without is served, and what it needs no more is left out.
func TestNeedsFirst(t *testing.T) {
	for _, c := range []struct {
		name, rubric string
		class        flow.Class
		in, want     []string
	}{
		{
			"a triage desk works by chapter", "healthcare-intake", flow.SemiTrusted,
			[]string{"complaint diagnosis", "asthma", "birth dob", "1985-03-02"},
			[]string{"respiratory", "[REDACTED]"},
		},
		{
			"so does who finds a specialist", "medical-records", flow.SemiTrusted,
			[]string{"birth dob", "1985-03-02", "condition diagnosis", "sleep apnea"},
			[]string{"[REDACTED]", "nervous system"},
		},
		{
			"a fraud score compares countries", "payments", flow.SemiTrusted,
			[]string{"card payment-token", "4111 1111 1111 1111", "place location", "Airport, Augusta, ME"},
			[]string{"[REDACTED]", "United States"},
		},
		{
			"a rate goes by scheme", "payments", flow.SemiTrusted,
			[]string{"card payment-token", "4111 1111 1111 1111", "amount", "120 euros"},
			[]string{"Visa", "120 euros"},
		},
		{
			"an account's number is no card for its check digit", "medical-records", flow.RequiredService,
			[]string{"chart account-id", "030000000007"},
			[]string{"030000000007"},
		},
		{
			"a card's number is one wherever it stands", "medical-records", flow.RequiredService,
			[]string{"chart account-id", "4111111111111111"},
			nil,
		},
		{
			"a payment keeps its reference", "payments", flow.RequiredService,
			[]string{"payer legal-name", "Maria Silva", "reference *", "For March rent."},
			[]string{"Maria Silva", "For March rent."},
		},
		{
			"whom a message is for is told to who sends it", "messaging-scheduling", flow.RequiredService,
			[]string{"to", "Aunt May"},
			[]string{"Aunt May"},
		},
		{
			"and to nobody else", "messaging-scheduling", flow.SemiTrusted,
			[]string{"to", "Aunt May"},
			[]string{"[REDACTED]"},
		},
	} {
		if got := releaser(t, c.rubric)(flow.ChannelTool, c.class, c.in...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What lists and patterns do not know goes to no curious sink.
func TestProseToCuriousSinks(t *testing.T) {
	for _, c := range []struct{ rubric, arg, text, gone, kept string }{
		{"software-operations", "query *", "mailer status 401, logged in as jane@example.org with Blue!horse7", "jane Blue horse", "mailer status 401"},
		{"software-operations", "query *", "cannot reach postgres://app:tr0ub4dor@db/orders", "tr0ub4dor", "cannot reach"},
		{"medical-records", "question *", "Does the toe that wakes me at night ever stop?", "toe night", ""},
		{"healthcare-intake", "question *", "I take Ventolin twice a day, is that too much?", "Ventolin twice", ""},
		{"medical-records", "query *", "clinics for asthma, open on 2027-03-02", "asthma", "open on 2027-03-02"},
	} {
		got := strings.Join(releaser(t, c.rubric)(flow.ChannelTool, flow.SemiTrusted, c.arg, c.text), "")
		if slices.ContainsFunc(strings.Fields(c.gone), func(w string) bool { return strings.Contains(got, w) }) || !strings.Contains(got, c.kept) {
			t.Errorf("%s: got %q, which may say none of %q, and should say %q", c.rubric, got, c.gone, c.kept)
		}
	}
}

// A mention in a text of which nothing else may pass leaves the cap to a sink
// that asks by its schema.
func TestMentionsLeaveTheCap(t *testing.T) {
	send := releaser(t, "travel-booking")
	if got := send(flow.ChannelTool, flow.SemiTrusted, "text *", "Off to Lisbon, born 1985-03-02"); strings.Contains(strings.Join(got, ""), "1980s") {
		t.Errorf("a post says %q", got)
	}
	if got := send(flow.ChannelTool, flow.SemiTrusted, "birth dob", "1962-07-14"); !slices.Equal(got, []string{"1960s"}) {
		t.Errorf("a broker gets %q", got)
	}
}
