package method

import (
	"context"
	"fmt"
	"regexp"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// PII is the recogniser of personal data, in the style of Presidio's default
// pattern recognisers: e-mail addresses, telephone numbers, payment cards,
// IBANs, national identifiers with their check digits, IP addresses, URLs,
// crypto wallets. Names, places and dates, for which Presidio asks a language
// model, are not in it; Presidio itself runs as a peer where it is installed.
type PII struct{ set *recognise.Set }

// beyond are Presidio's default patterns that package recognise has not, since
// they are not worth protecting by themselves: URLs with a scheme or "www.",
// Bitcoin addresses, US tax numbers of individuals.
var beyond = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:https?://|www\.)[^\s"'<>\x60]+[^\s"'<>\x60.,;:!?)\]}]`),
	regexp.MustCompile(`\b(?:bc1[a-z0-9]{25,59}|[13][a-km-zA-HJ-NP-Z1-9]{25,34})\b`),
	regexp.MustCompile(`\b9\d{2}[- ](?:5\d|6[0-5]|7\d|8[0-8]|9[0-24-9])[- ]\d{4}\b`),
}

// NewPII compiles the recognisers.
func NewPII() (*PII, error) {
	var rules []recognise.Rule
	for _, r := range recognise.Personal() {
		if r.Kind != secret.KindUUID { // Presidio has none
			rules = append(rules, r)
		}
	}
	set, err := recognise.New(rules)
	if err != nil {
		return nil, fmt.Errorf("pii: %w", err)
	}
	return &PII{set}, nil
}

// Name implements Method.
func (*PII) Name() string { return "pii" }

// Filter implements Method.
func (p *PII) Filter(_ context.Context, in *Input) (Output, error) {
	var spans []span
	for _, m := range p.set.Find([]byte(in.Text)) {
		spans = append(spans, span{int(m.Start), int(m.End)})
	}
	for _, re := range beyond {
		spans = appendGroups(spans, re, in.Text)
	}
	return removing(in, spans), nil
}
