package library_test

import (
	"context"
	"crypto/ed25519"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/store/memory"
)

// What the rubrics come to, through the verifier and the adviser that reads
// them: typed arguments by their fields, and what else is said in a text.
func TestReleases(t *testing.T) {
	typed := func(path, field string) schema.Arg { return schema.Arg{Path: path, Field: field} }
	notes, query := schema.Arg{Path: "notes", Free: true}, schema.Arg{Path: "query", Free: true}
	for _, c := range []struct {
		name, rubric string
		class        flow.Class
		args         []schema.Arg
		in, want     []string // by argument; what is made of a text depends on the planner
		gone         string   // what the text must not say, by words
		kept         string   // and what it must
	}{
		{
			"an airline gets what it must", "travel-booking", flow.RequiredService,
			[]schema.Arg{typed("name", "legal-name"), typed("dob", "dob"), typed("phone", "phone"), notes},
			[]string{"Maria Silva", "1985-03-02", "(415) 555-0100", "A window seat for Maria Silva, born 1985-03-02. She has asthma."},
			[]string{"Maria Silva", "1985-03-02", "(415) 555-0100"},
			"asthma", "window seat",
		},
		{
			"a broker gets an age band", "travel-booking", flow.SemiTrusted,
			[]schema.Arg{typed("name", "legal-name"), typed("dob", "dob"), query},
			[]string{"Maria Silva", "1985-03-02", "a quote for Maria Silva, born 1985-03-02, passport K1234567"},
			[]string{"[REDACTED]", "1980s"},
			"Maria Silva 1985 K1234567", "quote",
		},
		{
			"a study gets a chapter", "medical-records", flow.SemiTrusted,
			[]schema.Arg{typed("diagnosis", "diagnosis"), query},
			[]string{"asthma", "the patient Maria Silva takes Ventolin for her asthma, seen 2027-03-02"},
			[]string{"respiratory"},
			"Maria Silva Ventolin asthma", "2027-03-02",
		},
		{
			"a marketplace gets a country, though streets look like names", "e-commerce", flow.SemiTrusted,
			[]schema.Arg{typed("address", "address"), typed("phone", "phone"), query},
			[]string{"500 Oak Avenue, Chicago, IL 60601", "+1 415 555 0100", "ship to 500 Oak Avenue, Chicago, IL 60601 soon"},
			[]string{"United States", "[REDACTED]"},
			"Oak Chicago 60601", "soon",
		},
		{
			"notes to a broker go nowhere", "travel-booking", flow.SemiTrusted,
			[]schema.Arg{typed("name", "legal-name"), typed("dob", "dob"), notes},
			[]string{"Maria Silva", "1985-03-02", "a quote for two, one of them on a diet"},
			[]string{"[REDACTED]", "1980s", "[REDACTED]"},
			"", "",
		},
		{
			"nor do those to a study", "medical-records", flow.SemiTrusted,
			[]schema.Arg{typed("diagnosis", "diagnosis"), notes},
			[]string{"asthma", "her sister has it, too, and she is thirty six"},
			[]string{"respiratory", "[REDACTED]"},
			"", "",
		},
		{
			"nor to a marketplace", "e-commerce", flow.SemiTrusted,
			[]schema.Arg{typed("address", "address"), notes},
			[]string{"500 Oak Avenue, Chicago, IL 60601", "leave it with the neighbour, the red door"},
			[]string{"United States", "[REDACTED]"},
			"", "",
		},
		{
			"nor to a survey of pay", "hr-payroll", flow.SemiTrusted,
			[]schema.Arg{typed("salary", "salary"), notes},
			[]string{"72500", "about seventy two thousand, since her promotion"},
			[]string{"50000-74999", "[REDACTED]"},
			"", "",
		},
		{
			"nor to a scheduler", "messaging-scheduling", flow.SemiTrusted,
			[]schema.Arg{typed("city", "location"), notes},
			[]string{"Lisbon", "she is with her mother until the operation"},
			[]string{"Spain or Portugal", "[REDACTED]"},
			"", "",
		},
		{
			"a processor gets the card and its code", "payments", flow.RequiredService,
			[]schema.Arg{typed("card", "payment-token"), typed("cvv", "card-code"), typed("exp", "card-expiry")},
			[]string{"4111 1111 1111 1111", "123", "09/29"},
			[]string{"4111 1111 1111 1111", "123", "09/29"},
			"", "",
		},
		{
			"a survey gets a band of pay", "hr-payroll", flow.SemiTrusted,
			[]schema.Arg{typed("salary", "salary"), query},
			[]string{"72500", "she earns $72,500 with us"},
			[]string{"50000-74999"},
			"72,500", "earns",
		},
		{ // there is room for one band of the two; whichever it is, no more
			"a survey that tells a birth besides", "hr-payroll", flow.SemiTrusted,
			[]schema.Arg{query},
			[]string{"she earns $72,500 and was born on 2 March 1985"},
			nil,
			"72,500 72500 1985 March", "earns",
		},
		{
			"one's own deployment gets its key", "software-operations", flow.RequiredService,
			[]schema.Arg{typed("key", "api-key"), notes},
			[]string{"sk-live-51H8abcdefghijklmnop", "commit 3f9c2a1 to 10.0.3.14"},
			[]string{"sk-live-51H8abcdefghijklmnop"},
			"", "3f9c2a1",
		},
		{
			"a scheduler gets a country", "messaging-scheduling", flow.SemiTrusted,
			[]schema.Arg{typed("city", "location"), query},
			[]string{"Lisbon", "Maria Silva is free on 2027-03-14"},
			[]string{"Spain or Portugal"},
			"Maria Silva", "2027-03-14",
		},
		{
			"whoever is not known gets nothing", "customer-support", flow.Adversarial,
			[]schema.Arg{typed("email", "email"), notes},
			[]string{"jane@example.org", "no signal"},
			[]string{"[REDACTED]"},
			"signal", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := rulesOf(t, c.rubric)
			v, _ := verifierOf(t, all)
			in := declassify.Candidate{Trajectory: "t", Tool: schema.Tool{Name: "tool", Action: c.rubric, Sink: "sink", Class: c.class, Channel: flow.ChannelTool, Args: c.args}}
			for i, a := range c.args {
				in.Parts = append(in.Parts, declassify.Part{Path: a.Path, Text: c.in[i]})
			}
			got, err := v.Release(context.Background(), in)
			if err != nil || !got.Released() {
				t.Fatalf("not released: %v %v", got.Reasons, err)
			}
			for k, most := range all.Limits().Cap {
				if got.Entry.Caps[k] > most {
					t.Errorf("%s were told %s, their cap is %s", flow.Class(k), got.Entry.Caps[k], most) //nolint:gosec // four classes
				}
			}
			for i := range got.Parts() {
				text := got.Parts()[i].Text
				switch {
				case i < len(c.want) && text != c.want[i]:
					t.Errorf("%s: got %q, want %q", got.Parts()[i].Path, text, c.want[i])
				case i < len(c.want):
				case slices.ContainsFunc(strings.Fields(c.gone), func(w string) bool { return strings.Contains(text, w) }) || !strings.Contains(text, c.kept):
					t.Errorf("%s: got %q, which may not say any of %q, and should say %q", got.Parts()[i].Path, text, c.gone, c.kept)
				}
			}
		})
	}
}

// verifierOf is a verifier under rules of the library, and its ledger.
func verifierOf(t interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}, all *rubric.Resolved,
) (*declassify.Verifier, *ledger.Book) {
	t.Helper()
	return verifierWith(t, all, rules.Defender{})
}

func verifierWith(t interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}, all *rubric.Resolved, by declassify.Defender,
) (*declassify.Verifier, *ledger.Book) {
	t.Helper()
	store := memory.New()
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: ed25519.NewKeyFromSeed(make([]byte, 32))})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Rubrics() {
		if _, err := book.KeepRubric(t.Context(), r.Canonical()); err != nil {
			t.Fatal(err)
		}
	}
	v, err := declassify.New(declassify.Config{
		Resolve: func(rubric.Query) (declassify.Rules, error) { return all, nil },
		Ledger:  book, History: store, Defender: by, Key: [32]byte{1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return v, book
}

// rulesOf are those of one rubric of the library.
func rulesOf(t *testing.T, name string) *rubric.Resolved {
	t.Helper()
	r, err := library.Rubric(name)
	if err != nil {
		t.Fatal(err)
	}
	return rubric.Combine(r)
}
