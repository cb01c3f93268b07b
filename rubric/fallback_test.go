package rubric_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/predicate"
)

// What no rubric is for is held to forms that everybody knows.
func TestFallbackMatches(t *testing.T) {
	r := rubric.Fallback()
	for _, c := range []struct{ path, text, want string }{
		{"q", "m.silva@post.example", "m.silva@post.example"},
		{"q", "pay with 4111 1111 1111 1111 now", "4111 1111 1111 1111"},
		{"q", "pay with 4111 1111 1111 1112 now", ""},
		{"q", "IBAN DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"},
		{"q", "+351 912 345 678", "+351 912 345 678"},
		{"q", "(020) 7946 0123 or 212-555-0148", "212-555-0148"},
		{"q", "(020) 7946 0123 or 212-555-0148", "(020) 7946 0123"},
		{"q", "order 20261201 of 123456789012", ""},
		{"q", "to 12 Mill Lane", "12 Mill Lane"},
		{"q", "078-05-1120", "078-05-1120"},
		{"q", "passport no. X1234567", "X1234567"},
		{"q", "she was born on 1985-03-02", "1985-03-02"},
		{"q", "on 2026-12-01 at 12:30", ""},
		{"q", "password: hunter2!", "hunter2!"},
		{"q", "ghp_" + strings.Repeat("x", 36), "ghp_" + strings.Repeat("x", 36)},
		{"q", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----"},
		{"q", "two seats from San Francisco for 300 EUR", ""},
		{"user.password", "x", "x"},
		{"card_number", "x", "x"},
		{"birth_date", "x", "x"},
		{"a.0.ssn", "x", "x"},
		{"apiKey", "x", "x"},
		{"author", "x", ""},
		{"q", strings.Repeat("a", predicate.MaxText+1), strings.Repeat("a", predicate.MaxText+1)},
		{strings.Repeat("p", predicate.MaxPath+1), "x", "x"},
	} {
		var got []string
		for _, m := range r.Match(c.path, c.text) {
			if m.Field != rubric.AnyField || m.Clause == "" {
				t.Errorf("%s is of %s by %q", c.text, m.Field, m.Clause)
			}
			got = append(got, c.text[m.Start:m.End])
		}
		if c.want == "" && got != nil || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("at %.20s, in %.60q: %.60q", c.path, c.text, got)
		}
	}
	// Residual text passes nowhere, and no field may be shown.
	if r.Residual("q", flow.RequiredService) || len(r.Fields()) > 0 || !r.IsFallback() {
		t.Error("the fallback lets more pass than it may")
	}
}
