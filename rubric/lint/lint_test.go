package lint_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/lint"
)

// day is when tests take place.
var day = time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)

// edit changes the example of a rubric.
func edit(t *testing.T, pairs ...string) []byte {
	t.Helper()
	b, err := os.ReadFile("../testdata/booking.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("the example has no %q", pairs[i])
		}
		s = strings.Replace(s, pairs[i], pairs[i+1], 1)
	}
	return []byte(s)
}

func parse(t *testing.T, b []byte) *rubric.Rubric {
	t.Helper()
	r, err := rubric.Parse("booking.yaml", b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExampleIsInOrder(t *testing.T) {
	for _, f := range lint.Check(parse(t, edit(t)), day) {
		t.Error(f.String())
	}
}

func TestLintFinds(t *testing.T) {
	for _, c := range []struct {
		old, new, code string
	}{
		{"  - {path: passenger_name, text: jane doe, find: {legal-name: jane doe}}\n", "", "dead-clause"},
		{"{text: \"an aisle seat on flight 4711, please\", find: {}}", "{field: dob, value: 1985-03-02}", "no-negative-sample"},
		{"{release: {action: book-seat, class: semi-trusted}, applies: true}", "{field: dob, value: 1985-03-02}", "no-release-sample"},
		{"year: \"1985\"", "year: \"1986\"", "sample-fails"},
		{"{field: dob, value: 1901-01-01, outside: true}", "{field: dob, value: 1985-01-01, outside: true}", "sample-fails"},
		{"find: {phone: +33 6 12 34 56 78}", "find: {phone: +33 6 12 34 56 7}", "sample-fails"},
		{"bits: 3.1}", "bits: 0.1}", "level-empty"},
		{"{name: year, by: year, bits: 7}", "{name: year, by: year, bits: 3.1}", "level-twice"},
		{"expires: 2040-01-01", "expires: 2030-01-01", "expired"},
		{"budget: 60", "budget: 6", "budget-too-small"},
		{"  margin: 0.5", "  caps: {required-service: 5}", "cap-too-small"},
		{"card-brand: {required-service: [pseudonym]}", "card-brand: {required-service: [redact]}\nx", ""},
		{"legal-name: {required-service: required, semi-trusted: useful}", "legal-name: {required-service: required, semi-trusted: required}", ""},
		{"{part: account, uniform: 10^6, pattern: '\\d{5,9}'}", "{part: account, uniform: 10^6}", "no-pattern"},
		{"payment-token: {required-service: useful}", "payment-token: {required-service: useful, adversarial: required}", "required-and-gone"},
	} {
		r, err := rubric.Parse("booking.yaml", edit(t, c.old, c.new))
		if c.code == "" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.new, err)
			continue
		}
		var codes []string
		for _, f := range lint.Check(r, day) {
			codes = append(codes, f.Code)
			if f.Line == 0 {
				t.Errorf("%s: no line: %s", c.new, f.String())
			}
		}
		if !strings.Contains(strings.Join(codes, " "), c.code) {
			t.Errorf("%s: finds %v, want %s", c.new, codes, c.code)
		}
	}
}

// Two rubrics that may hold for one release must leave operators.
func TestPair(t *testing.T) {
	a := parse(t, edit(t))
	for _, c := range []struct {
		name  string
		edits []string
		want  string
	}{
		{"same name", nil, ""},
		{"other action", []string{"rubric: example-booking", "rubric: other", "actions: [book-seat", "actions: [something"}, ""},
		{"other levels", []string{"rubric: example-booking", "rubric: other", "{name: decade, by: decade, bits: 3.1}", "{name: decade, by: decade, bits: 2.9}"}, "levels-differ"},
	} {
		b := parse(t, edit(t, c.edits...))
		var codes []string
		for _, f := range lint.CheckPair(a, b) {
			codes = append(codes, f.Code)
		}
		if got := strings.Join(codes, " "); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestUnread(t *testing.T) {
	_, err := rubric.Parse("booking.yaml", edit(t, "budget: 60", "budget: -1"))
	if f := lint.Invalid("booking.yaml", err); f.Line == 0 || f.File != "booking.yaml" || f.Code != "rubric-invalid" || strings.Contains(f.Detail, "booking.yaml") {
		t.Errorf("%+v", f)
	}
	if f := lint.Invalid("x", errors.New("gone")); f.String() != "x: gone (rubric-invalid)" {
		t.Error(f.String())
	}
}
