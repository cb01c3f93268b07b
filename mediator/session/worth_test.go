package session

import (
	"testing"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
)

// TestWorthKnowing: how hard a discovered value must be to guess depends on
// how sure the rule is that found it.
func TestWorthKnowing(t *testing.T) {
	keys := secret.NewKeys()
	for value, want := range map[string]struct{ sure, unsure bool }{
		"Xk9vQ4tR7wZ1pLm2":               {true, true},
		"velvet harbor tangerine cobalt": {true, true},
		"velvet_harbor7":                 {true, false},
		"velvetharborplum":               {true, false},
		"830417":                         {true, false},
		"8041":                           {false, false},
		"production":                     {false, false},
		"administration":                 {false, false},
		"internationalisation":           {false, false},
		"Responsibilities":               {false, false},
		"customer-service_department":    {false, false},
		"administrationPanel":            {false, false},
		"velvet harbor tangerine":        {false, false},
		"kqvrtwzlmbcpds":                 {true, true},
		"XkQvRtWzLmBcPdYs":               {true, true},
		"postgres":                       {false, false},
	} {
		_, st, err := match.Print(&keys, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		if got := WorthKnowing([]byte(value), st, true); got != want.sure {
			t.Errorf("%q from a sure rule: %v (%.1f bits)", value, got, st.Bits)
		}
		if got := WorthKnowing([]byte(value), st, false); got != want.unsure {
			t.Errorf("%q from a rule that is not sure: %v (%.1f bits)", value, got, st.Bits)
		}
	}
}
