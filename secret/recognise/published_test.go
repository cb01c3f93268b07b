package recognise

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/secret/plausible"
)

// TestSamplesPublished: what everybody publishes is nobody's secret, and what
// differs from it in one character is.
func TestSamplesPublished(t *testing.T) {
	s := defaultRules(t)
	for _, v := range []string{
		"sk_" + "test_4eC39HqLyjWDarjtT1zdp7dc",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ." + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
		"wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY", "AKIA" + "IOSFODNN7EXAMPLE",
	} {
		for _, around := range []string{"use ", "API_KEY=", `"token": "`, "The secret key is "} {
			if found := s.Find([]byte(around + v + "\" ")); len(found) > 0 {
				t.Errorf("%s%s: found by %v", around, v, spans(found))
			}
		}
		if !plausible.Sample([]byte(v)) || plausible.Sample([]byte(v[:len(v)-1]+"x")) {
			t.Errorf("%s: not told from another value", v)
		}
	}
}

// TestBefore: what a rule is told of the text before a match does not depend
// on how the text was cut, nor on what was dropped meanwhile.
func TestBefore(t *testing.T) {
	s := defaultRules(t)
	text := []byte(strings.Repeat("some words that go on ", 60) + strings.Repeat("a", 200) + " HARBOR_PUBLIC_KEY=Xk9vQ4tR7wZ1pLm2 and HARBOR_API_KEY=m2Xk9vQ4tR7wZ1pL ")
	for step := 1; step < len(text); step = step*2 + 1 {
		var cuts []int
		for at := step; at < len(text); at += step {
			cuts = append(cuts, at)
		}
		checkSplit(t, s, text, cuts)
	}
}
