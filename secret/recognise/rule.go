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
// word) occurs. From the automaton's state it is known whether a match could
// have entered its secret group already: only then is text held, so the name
// of a key flows on while its value is awaited. When a run dies after it had
// accepted, the secret group is extracted with leftmost-first semantics, and
// entropy, allowlists and check digits decide.
//
// Rules match bytes: a byte of 0x80 and above counts as one non-word
// character that only negated classes and the dot match.
//
// Rules that go by names are told what stands before a value: whether the name
// is one of a secret or of a key's id, a cache key, a digest; and whether the
// place is a setting, a table, a log or a sentence. The surer the name and the
// place, the less a value must look drawn: under PASSWORD= words will do, under
// a name that says nothing a value must look like nothing else. Credentials
// that everybody publishes as samples, and keys made to be published, are not
// reported.
//
// The credential rules are those of the gitleaks library, read from it when
// the set is built; key-name discovery and personal data are rules of this
// package.
package recognise

import (
	"github.com/margaydev/margay/secret"
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
func (c Class) String() string {
	switch c {
	case ClassCredential:
		return "credential"
	case ClassDiscovery:
		return "discovery"
	default:
		return "personal"
	}
}

// Rule is one recogniser. It must not change after New.
type Rule struct {
	ID    string
	Kind  secret.Kind
	Class Class
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
	Validate func(secret []byte) bool
	// Suits is a last look at the secret and at what stands before it in its
	// line, at most 256 bytes: the name it goes by.
	Suits func(before, secret []byte) bool
	// Sure: what the rule finds is a secret even if it is made of words or
	// digits, because its place says so.
	Sure bool
	// Positive and Negative are samples: in each positive one the part
	// between « and » is found; in a negative one nothing.
	Positive, Negative []string
}

// Allow exempts matches. With All, every condition that is given must hold;
// otherwise one is enough.
type Allow struct {
	Target    string   // what Regexes look at: "" (the secret), "match" or "line"
	Regexes   []string // in Go syntax
	StopWords []string // lower case; in the secret
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
