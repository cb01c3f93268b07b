package rubric_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// TestMistakesHaveAPlace: each edit of the example is refused, at its line and
// in its words.
func TestMistakesHaveAPlace(t *testing.T) {
	lines := strings.Split(string(example(t)), "\n")
	for _, c := range []struct {
		old, new, want string
	}{
		{"version: 1", "version: 2", "format version is unknown"},
		{"revision: 1", "revision: 1\nrevision: 2", "already defined"},
		{"expires: 2040-01-01", "expires: 2040-02-31", "not a day of the calendar"},
		{"rubric: example-booking", "rubric: &a example-booking", "anchors"},
		{"{dates: [1930-01-01, 2009-12-31]}", "{dates: [2009-12-31, 1930-01-01]}", "first and the last day"},
		{"{name: decade, by: decade, bits: 3.1}", "{name: decade, by: month, bits: 3.1}", "not a function of the finer level"},
		{"{name: decade, by: decade, bits: 3.1}", "{name: decade, by: decade, bits: 9}", "more than the finer level"},
		{"{name: decade, by: decade, bits: 3.1}", "{name: year, by: decade, bits: 3.1}", "comes twice"},
		{"{name: decade, by: decade, bits: 3.1}", "{name: decade, by: week, bits: 3.1}", "not \"week\""},
		{"by: {end: last 4}, bits: 13.3", "by: {end: last 5}, bits: 13.3", "last 1 to last 4"},
		{"as: \"card ending in {end}\"", "as: \"card ending in {ende}\"", "unknown part"},
		{"    of: payment-token", "    of: nothing", "not a field with a population"},
		{"[Lyon, 250000, Rhône, France]", "[Lyon, 250000, Rhône]", "has 3 entries"},
		{"[Lyon, 250000, Rhône, France]", "[Paris, 250000, Rhône, France]", "the same key"},
		{"field: phone, entity: phone", "field: phones, entity: phone", "unknown field \"phones\""},
		{"field: phone, entity: phone", "field: phone, entity: telephone", "unknown entity \"telephone\""},
		{"[^.\\n]{0,20}?", "[^.\\n]*?", "may be longer than"},
		{"path: '(^|\\.)(passenger|full)_?name$'", "path: '('", "missing closing"},
		{"payment-token: {required-service: useful}", "payment-tokens: {required-service: useful}", "unknown field"},
		{"semi-trusted: [pseudonym]}", "semi-trusted: [surname]}", "unknown operator \"surname\" on legal-name"},
		{"card-brand: {required-service: [pseudonym]}", "card-brand: {required-service: [identity]}", "unnecessary for required-service sinks"},
		{"{required-service: [identity, year], semi-trusted: [decade, traveller]}", "{required-service: [identity, year], semi-trusted: [traveller]}", "must survive"},
		{"semi-trusted: {dob: decade}", "semi-trusted: {dob: week}", "unknown level \"week\" of dob"},
		{"context: [destination]", "context: [dob]", "secret field"},
		{"a traveller to {destination}", "Maria Silva to {destination}", "coverage matches"},
		{"  margin: 0.5", "  margin: 0.5\n  equality: 1.1", "not monotone: substitute(pseudonym) of diagnosis"},
		{"  margin: 0.5", "  margin: 0.0000005", "six decimal places"},
		{"  margin: 0.5", "  caps: {semi-trusted: 1, adversarial: 2}", "may not learn more"},
		{"  margin: 0.5", "  weights: {semi-trusted: 0.5}", "at least 1"},
		{"  margin: 0.5", "  weights: {semi-trusted: 8}", "don't fall"},
		{"address@country, phone@country", "address@country, card-brand@country", "is a view of"},
		{"address@country, phone@country", "address@town, phone@country", "unknown level \"town\" of address"},
		{"[France, France, 0.95]", "[Spain, France, 0.95]", "has no cell \"Spain\""},
		{"[France, France, 0.95]", "[France, France, 0.94]", "given France do not sum to one"},
		{"[France, France, 0.95]", "[France, France, 0.95, 0.9]", "above the upper"},
		{"budget: 60", "budget: -1", "minimum"},
		{"budget: 60", "budget: 60\n  bugdet: 3", "bugdet"},
	} {
		b := edit(t, c.old, c.new)
		_, err := rubric.Parse("booking.yaml", b)
		var e *rubric.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: was read: %v", c.new, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
		line := 0
		for i, l := range lines {
			if strings.Contains(l, strings.SplitN(c.old, "\n", 2)[0]) {
				line = i + 1
				break
			}
		}
		if strings.Contains(c.new, "equality") {
			continue // it is at the field whose costs fall
		}
		if e.Line == 0 || e.Line < line-15 || e.Line > line+15 {
			t.Errorf("%s: at line %d, it is at %d: %v", c.new, e.Line, line, err)
		}
	}
}

// TestCosts of the example, by hand.
func TestCosts(t *testing.T) {
	r := rubric.Combine(parse(t, example(t)))
	for _, c := range []struct {
		views []rubric.View
		want  flow.Bits
	}{
		{[]rubric.View{{Field: "payment-token", Level: 1}}, 13_287_713},                                          // log2 10^4
		{[]rubric.View{{Field: "card-brand"}}, 3_321_929},                                                        // log2 10
		{[]rubric.View{{Field: "payment-token", Level: 1}, {Field: "card-brand"}}, 16_609_641},                   // log2 10^5
		{[]rubric.View{{Field: "payment-token"}, {Field: "card-brand"}}, 50_828_922},                             // all of it
		{[]rubric.View{{Field: "dob", Level: 2}, {Field: "dob", Level: 3}, {Field: "dob", Level: 2}}, 6_322_916}, // a year of 365 in 29220 days
		{nil, 0},
	} {
		if got := r.Joint(c.views); got != c.want {
			t.Errorf("%v: %v, want %v", c.views, got, c.want)
		}
	}
	if g, h := r.Group("card-brand"), r.Group("payment-token"); g != h {
		t.Errorf("groups %s and %s", g, h)
	}
	if g, h := r.Group("address"), r.Group("phone"); g != h || g == r.Group("dob") {
		t.Errorf("groups %s and %s", g, h)
	}
	// A country of a number tells of the address as well.
	both := []rubric.View{{Field: "address", Level: 3}, {Field: "phone", Level: 1}}
	if got := r.Joint(both); got < r.Joint(both[:1]) || got < r.Joint(both[1:]) {
		t.Errorf("both tell %v, one %v and %v", got, r.Joint(both[:1]), r.Joint(both[1:]))
	}
	if got := r.Joint([]rubric.View{{Field: "nothing"}}); got != r.TopRisk() {
		t.Error(got)
	}
}
