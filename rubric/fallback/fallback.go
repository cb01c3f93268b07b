// Package fallback finds secrets in an action that no rubric governs. It
// recognises them by their form alone, such as a card number with its check
// digit, or by the name of their argument.
package fallback

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"github.com/margaydev/margay/rubric/predicate"
)

// clauses hold for an action that no rubric governs. They find things that are
// known by their form alone, wherever they are, and arguments whose name says
// what they hold. They leave out what takes a population to recognise, such as
// names, places and amounts.
var clauses = []predicate.Clause{
	{ID: "payment-token", Entity: "card"},
	{ID: "payment-token-path", Path: `(?i)(^|[._])((credit_?|debit_?)?card_?(number|no)|pan|cvc|cvv)(\.|$)`},
	{ID: "account-id", Entity: "iban"},
	{ID: "account-id-path", Path: `(?i)(^|[._])(iban|account_?(number|no)|routing_?number|sort_?code)(\.|$)`},
	{ID: "email", Entity: "email"},
	// Not every number that a person can call: dates and orders look like those.
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

// covers finds what they match.
var covers = sync.OnceValue(func() *predicate.Set {
	set, err := predicate.New(clauses)
	if err != nil { // a test compiles them
		panic(err)
	}
	return set
})

// first is the text that ledgers named before there were clauses.
const first = "margay fallback rubric v1: redact, drop; 1 bit\n"

// Text says what holds where no rubric does, in a form whose SHA-256 names it as
// that of canonical bytes names a rubric. It changes with what holds.
func Text() []byte { return []byte(text()) }

var text = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("margay fallback rubric v2: redact, drop; 1 bit; of any field:\n")
	for _, c := range clauses {
		fmt.Fprintf(&b, "%s: path %q, text %q, entity %q\n", c.ID, c.Path, c.Text, c.Entity)
	}
	return b.String()
})

// Hash is the SHA-256 of Text.
func Hash() [32]byte { return hash() }

var hash = sync.OnceValue(func() [32]byte { return sha256.Sum256(Text()) })

// IsText reports whether bytes are what Text returns, or once returned.
func IsText(b []byte) bool {
	return string(b) == text() || string(b) == first
}

// Find calls found for what may be secret in the text at a path, with the clause
// that says so. It reports whether the text was looked at: it may be too long.
func Find(path, text string, found func(start, end int, clause string)) bool {
	spans, ok := covers().Find(path, text)
	for _, s := range spans {
		found(s.Start, s.End, clauses[s.Clause].ID)
	}
	return ok
}
