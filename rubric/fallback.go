package rubric

import (
	"fmt"
	"strings"
	"sync"

	"github.com/margaydev/margay/rubric/predicate"
)

// fallbackClauses are what holds of an action that no rubric is for: things
// that are known by their form alone, wherever they are, and arguments that
// say by their name what they hold. What only a population tells, such as
// names, places and amounts, is not among them.
var fallbackClauses = []predicate.Clause{
	{ID: "payment-token", Entity: "card"},
	{ID: "payment-token-path", Path: `(?i)(^|[._])((credit_?|debit_?)?card_?(number|no)|pan|cvc|cvv)(\.|$)`},
	{ID: "account-id", Entity: "iban"},
	{ID: "account-id-path", Path: `(?i)(^|[._])(iban|account_?(number|no)|routing_?number|sort_?code)(\.|$)`},
	{ID: "email", Entity: "email"},
	// Not all that may be a number to call: dates and orders look like those.
	{ID: "phone", Text: `(?:\+|\b00)\d(?:[ ./()-]{0,2}\d){6,14}\b`},
	{ID: "phone-local", Text: `\(\d{2,5}\) ?\d(?:[ .-]?\d){4,9}\b|\b\d{3}[-. ]\d{3}[-. ]\d{4}\b`},
	{ID: "address", Entity: "street"},
	{ID: "national-id", Text: `\b\d{3}-\d{2}-\d{4}\b`},
	{ID: "national-id-path", Path: `(?i)(^|[._])(ssn|social_?security(_?(number|no))?|national_?(id|insurance)(_?(number|no))?|tax_?id|passport(_?(number|no))?)(\.|$)`},
	{ID: "passport", Text: `(?i)\bpassport\b[^\n]{0,24}?\b(?P<value>[A-Z]{0,2}\d{6,9})\b`},
	{ID: "dob", Text: `(?i)\b(?:born|birth(?:day|date)?|dob)\b[^\n]{0,24}?(?P<value>\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4})\b`},
	{ID: "dob-path", Path: `(?i)(^|[._])(dob|date_?of_?birth|birth_?(date|day))(\.|$)`},
	{ID: "password", Text: `(?i)\b(?:password|passphrase|passwd|pwd)\b(?: is)?[:= ]{1,3}(?P<value>[^\s,;]{4,64})`},
	{ID: "password-path", Path: `(?i)(^|[._])(password|passwd|pwd|passphrase|passcode|pin)(\.|$)`},
	{ID: "api-key", Text: `\b(?:(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs])[-_]|AKIA|ASIA|AIza|eyJ)[-_.A-Za-z0-9]{12,300}`},
	{ID: "api-key-path", Path: `(?i)(^|[._])((api|access|secret|auth|client|refresh)_?(key|token|secret)|bearer|authorization)(\.|$)`},
	{ID: "private-key", Entity: "private-key"},
	{ID: "private-key-path", Path: `(?i)(^|[._])(private_?key|ssh_?key|pem)(\.|$)`},
}

// fallbackCovers finds what they match.
var fallbackCovers = sync.OnceValue(func() *predicate.Set {
	set, err := predicate.New(fallbackClauses)
	if err != nil { // a test compiles them
		panic(err)
	}
	return set
})

// firstFallback is what ledgers named before there were clauses.
const firstFallback = "margay fallback rubric v1: redact, drop; 1 bit\n"

// FallbackBytes says what holds where no rubric does, in a form whose SHA-256
// names it as that of canonical bytes names a rubric. It changes with what
// holds.
func FallbackBytes() []byte { return []byte(fallbackText()) }

// FallbackHash is the SHA-256 of FallbackBytes.
func FallbackHash() Hash { return fallbackHash() }

var fallbackText = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("margay fallback rubric v2: redact, drop; 1 bit; of any field:\n")
	for _, c := range fallbackClauses {
		fmt.Fprintf(&b, "%s: path %q, text %q, entity %q\n", c.ID, c.Path, c.Text, c.Entity)
	}
	return b.String()
})

var fallbackHash = sync.OnceValue(func() Hash { return hashOf(FallbackBytes()) })

// IsFallback reports whether bytes are what FallbackBytes returns, or once
// returned.
func IsFallback(b []byte) bool {
	return string(b) == fallbackText() || string(b) == firstFallback
}

// fallbackMatch finds what may be secret where no rubric says what is. It may
// be of any field, since none is declared: it is redacted or dropped.
func fallbackMatch(path, text string) []Match {
	spans, ok := fallbackCovers().Find(path, text)
	if !ok {
		return []Match{{0, len(text), AnyField, "too-long"}}
	}
	out := make([]Match, 0, len(spans))
	for _, s := range spans {
		out = append(out, Match{s.Start, s.End, AnyField, fallbackClauses[s.Clause].ID})
	}
	return out
}
