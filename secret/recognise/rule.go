// Package recognise finds credentials and personal data by their shape in a
// stream of text.
//
// A [Set] of rules is compiled once; a [Scanner] reads one text. What a
// scanner finds depends on the bytes of the text alone, not on how they were
// cut into writes, and [Scanner.Hold] says at any time how much of the text
// can no longer become part of a match.
//
// A rule is a regular expression with a secret group. It runs as a lazily
// built deterministic automaton that is started where one of the rule's
// leading literals (or, for rules without, its first byte at the start of a
// word) occurs. The automaton's state shows whether a match may already be in
// its secret group. Only then is text held, so the name of a key passes while
// its value is held. When a run ends after it had accepted, the secret group
// is extracted with leftmost-first semantics, and entropy, allowlists and
// check digits decide.
//
// Rules match bytes: a byte of 0x80 and above counts as one non-word
// character that only negated classes and the dot match.
//
// Rules that use names ask package plausible about a value and the text
// before it. Published samples of credentials, and keys made to be published,
// are not reported.
//
// The credential rules are those of gitleaks, in a file that is generated from
// a pinned version (gitleaks.json) and read when a set is built. Rules for
// newer formats, key-name discovery and personal data are this package's own.
package recognise

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/internal/idnumber"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/plausible"
)

// Class groups rules by what their matches are worth.
type Class uint8

const (
	// ClassCredential rules know the format of a credential.
	ClassCredential Class = iota
	// ClassDiscovery rules go by the name of a key and the entropy of its value.
	ClassDiscovery
	// ClassPersonal rules find personal data.
	ClassPersonal
)

// String returns the class's name in lower case.
func (c Class) String() string { return [...]string{"credential", "discovery", "personal"}[c] }

// Rule is one recogniser. It must not change after New.
type Rule struct {
	ID    string
	Kind  secret.Kind
	Class Class `json:"-"`
	// Regex in Go syntax. The secret is Group, or where that is 0 the first
	// group that took part and is not empty, or without groups the match.
	Regex string
	Group int
	// Gate are lower-case words one of which must have occurred shortly
	// before (or inside) the match; empty for none.
	Gate []string
	// Entropy is the Shannon entropy, in bits a byte, that a secret must
	// exceed. Zero asks for none.
	Entropy float64
	// Path is a regular expression that the text's path must match.
	Path string
	// Allow are conditions under which a match is not reported.
	Allow []Allow
	// Validate is a last look at the secret: check digits, placeholders.
	Validate func(secret []byte) bool `json:"-"`
	// Suits is a last look at the secret and at what precedes it in its
	// line, at most 256 bytes: the name it goes by.
	Suits func(before, secret []byte) bool `json:"-"`
	// Sure: what the rule finds is a secret even if it is made of words or
	// digits, because its place says so.
	Sure bool `json:"-"`
}

// Allow exempts matches. With All, every condition that is given must hold;
// otherwise one is enough.
type Allow struct {
	Target    string   // what Regexes look at: "" (the secret), "match" or "line"
	Regexes   []string // in Go syntax
	StopWords []string `json:"stop_words"` // lower case; in the secret
	Paths     []string
	All       bool
}

// Match is a secret that was found: the bytes [Start, End) of the text.
type Match struct {
	Rule       *Rule
	Start, End int64
	// Capped: the text could have become a secret, but not within bounds.
	Capped bool
	// Continues: the bytes go on where the rule's last match ended. The
	// body of a private key is reported piece by piece.
	Continues bool
}

// Kind returns the kind of secret found.
func (m *Match) Kind() secret.Kind { return m.Rule.Kind }

//go:generate go run -C ../../tools ./gitleaksrules ../secret/recognise/gitleaks.json ../secret/recognise/gitleaks.LICENSE

// The rules of gitleaks, under the MIT licence in gitleaks.LICENSE. The file
// names their version and their source.
//
//go:embed gitleaks.json
var gitleaks string

// Credentials returns the rules that know the format of a credential: those of
// gitleaks, adapted to what an agent reads (see tools/gitleaksrules), and this
// package's own. The comment that switches a finding off for
// gitleaks is ignored: injected text could hold it.
func Credentials() ([]Rule, error) {
	var f struct {
		Comment, Source, Version, Licence string

		Allow Allow // holds for every rule
		Rules []Rule
	}
	d := json.NewDecoder(strings.NewReader(gitleaks))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("gitleaks rules: %w", err)
	}
	for i := range f.Rules {
		r := &f.Rules[i]
		r.Allow = append(r.Allow, f.Allow)
		if r.ID == "generic-api-key" {
			r.Class, r.Suits = ClassDiscovery, plausible.NotPublic
		}
	}
	return append(f.Rules, vendors()...), nil
}

var defaultSet = sync.OnceValues(func() (*Set, error) {
	rules, err := Credentials()
	if err != nil {
		return nil, err
	}
	return New(slices.Concat(rules, Discovery(), Personal()))
})

var sureIDs = sync.OnceValue(func() map[string]bool {
	ids := map[string]bool{}
	for _, r := range Discovery() {
		ids[r.ID] = r.Sure
	}
	return ids
})

// Sure reports whether the rule with this id finds secrets for sure, be they
// made of words or digits; see [Rule].
func Sure(id string) bool { return sureIDs()[id] }

// Default returns the set of all rules. It is built once in a process.
func Default() (*Set, error) { return defaultSet() }

// Personal returns the rules for personal data.
func Personal() []Rule {
	rules := []Rule{
		{ID: "email", Kind: secret.KindEmail, Regex: `(?i)\b([a-z0-9][a-z0-9._%+-]{0,63}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}[a-z]{2,24})\b`, Validate: plausible.Foreign},
		{ID: "uuid", Kind: secret.KindUUID, Regex: `(?i)\b([0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\b`},
		{ID: "ipv4", Kind: secret.KindIP, Regex: `\b(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})\b`, Validate: idnumber.IPv4},
		{ID: "ipv6", Kind: secret.KindIP, Regex: `(?i)\b([0-9a-f]{1,4}(?::{1,2}[0-9a-f]{1,4}){3,7})\b`, Validate: idnumber.IPv6},
		{ID: "card", Kind: secret.KindCard, Regex: `\b([3-6]\d{3}(?:[ -]?\d){9,15})\b`, Validate: idnumber.Card},
		{ID: "iban", Kind: secret.KindIBAN, Regex: `\b([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?|(?i:[a-z]{2}\d{2}[a-z0-9]{11,30})|[a-z]{2}\d{2}(?: [a-z]{4})?(?: (?:\d[a-z0-9]{3}|[a-z]\d[a-z0-9]{2}|[a-z]{2}\d[a-z0-9]|[a-z]{3}\d)){2,7}(?: (?:\d[a-z0-9]{0,2}|[a-z]\d[a-z0-9]?|[a-z]{2}\d))?)\b`, Validate: idnumber.IBAN},
		{ID: "phone", Kind: secret.KindPhone, Regex: `((?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4})|(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})\b`, Validate: idnumber.Phone},
		{ID: "phone-named", Kind: secret.KindPhone, Regex: `(?i)(?:phone|telefon|t[eé]l[eé]fono|\btel|\bmobile|\bcell|\bfax|whatsapp|\bhandy)(?:[ _-]?(?:number|num|no|nr)\b)?\.?(?: is)?["']?[ \t]?[:=]?[ \t]{0,2}["']?(\(?\d{2,5}\)?(?:[ ./-]{0,2}\d{2,4}){1,4})\b`, Validate: idnumber.NationalPhone},
		{ID: "us-ssn", Kind: secret.KindNationalID, Regex: `\b(\d{3}-\d{2}-\d{4})\b`, Validate: idnumber.SSN},
		{ID: "uk-nino", Kind: secret.KindNationalID, Regex: `\b([A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D])\b`, Validate: idnumber.NINO},
		{ID: "uk-nhs", Kind: secret.KindNationalID, Regex: `\b(\d{3} \d{3} \d{4})\b`, Validate: idnumber.NHS},
		{ID: "fr-nir", Kind: secret.KindNationalID, Regex: `\b([12] ?\d{2} ?(?:0[1-9]|1[0-2]) ?\d{2} ?\d{3} ?\d{3} ?\d{2})\b`, Validate: idnumber.NIR},
		{ID: "es-dni", Kind: secret.KindNationalID, Regex: `\b([XYZ0-9]\d{7}-?[A-HJ-NP-TV-Z])\b`, Validate: idnumber.DNI},
		{ID: "it-cf", Kind: secret.KindNationalID, Regex: `\b([A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z])\b`, Validate: idnumber.CodiceFiscale},
		{ID: "br-cpf", Kind: secret.KindNationalID, Regex: `\b(\d{3}\.\d{3}\.\d{3}-\d{2})\b`, Validate: idnumber.CPF},
		{ID: "in-aadhaar", Kind: secret.KindNationalID, Regex: `\b([2-9]\d{3} \d{4} \d{4})\b`, Validate: idnumber.Aadhaar},
		{ID: "nl-bsn", Kind: secret.KindNationalID, Regex: `\b(\d{9})\b`, Validate: idnumber.BSN, Gate: []string{"bsn", "burgerservice"}},
		{ID: "de-steuer-id", Kind: secret.KindNationalID, Regex: `\b([1-9]\d{10})\b`, Validate: idnumber.SteuerID, Gate: []string{"steuer", "tax id", "idnr"}},
	}
	for i := range rules {
		rules[i].Class = ClassPersonal
	}
	return rules
}
