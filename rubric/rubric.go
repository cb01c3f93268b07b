// Package rubric has rubrics: signed records that say, for one category of
// tasks, which secret fields there are, how they are recognised, which sink
// needs them, what may be done with them, and how many bits each way of
// showing them tells.
//
// A rubric is written in YAML ([Parse]), compiled and checked, and from then
// on is its canonical bytes: their SHA-256 names it, an Ed25519 signature
// vouches for it, a [Registry] holds those that may be relied on and finds the
// ones that a release falls under. What several of them say together is a
// [Resolved]. The format is in docs/format/rubric.md.
//
// The package is part of the trusted base. It does no input or output besides
// reading a registry's folder; values are never in its errors.
package rubric

import (
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/margaydev/margay/flow"
)

// Hash is the SHA-256 of a rubric's canonical bytes. It names the rubric.
type Hash [32]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first twelve digits, for people.
func (h Hash) Short() string { return h.String()[:12] }

// ParseHash reads what String wrote.
func ParseHash(s string) (Hash, error) {
	var h Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) || hex.EncodeToString(b) != s {
		return h, errors.New("a rubric's hash is 64 digits in lower-case hexadecimal")
	}
	return Hash(b), nil
}

// OpKind is a kind of operator. The kinds are in disclosure order: each shows
// at most what the next one shows.
type OpKind uint8

// Kinds of operators. Drop and Redact are always admissible.
const (
	Drop OpKind = iota
	Redact
	Substitute
	Generalize
	Identity
)

// String returns the kind's name.
func (k OpKind) String() string {
	names := [...]string{"drop", "redact", "substitute", "generalize", "identity"}
	if int(k) < len(names) {
		return names[k]
	}
	return "operator " + strconv.Itoa(int(k))
}

// Pseudonym is the template of Substitute that every rubric has: a stable
// opaque token, which a later boundary may turn back into the value.
const Pseudonym = "pseudonym"

// Op is an operator on an atom.
type Op struct {
	Kind OpKind
	// Level of Generalize: 1 is the finest, the field's last the coarsest.
	Level int
	// Template of Substitute: Pseudonym, or one that the rubric declares.
	Template string
}

// String returns the operator as in "generalize(2)" or "substitute(pseudonym)".
func (o Op) String() string {
	switch o.Kind {
	case Generalize:
		return "generalize(" + strconv.Itoa(o.Level) + ")"
	case Substitute:
		return "substitute(" + o.Template + ")"
	default:
		return o.Kind.String()
	}
}

// Compare orders operators of one field by disclosure: negative where o shows
// less than p. Templates are ordered by name, Pseudonym after all others,
// which show neither equality nor order.
func (o Op) Compare(p Op) int {
	switch {
	case o.Kind != p.Kind:
		return int(o.Kind) - int(p.Kind)
	case o.Kind == Generalize:
		return p.Level - o.Level
	case o.Kind != Substitute || o.Template == p.Template:
		return 0
	case o.Template == Pseudonym:
		return 1
	case p.Template == Pseudonym || o.Template < p.Template:
		return -1
	default:
		return 1
	}
}

// Necessity says how much a sink needs a field.
type Necessity uint8

// Necessities. What is unnecessary is never shown as it is.
const (
	Unnecessary Necessity = iota
	Useful
	Required
)

// String returns the necessity's name.
func (n Necessity) String() string {
	names := [...]string{"unnecessary", "useful", "required"}
	if int(n) < len(names) {
		return names[n]
	}
	return names[Unnecessary]
}

// AnyField stands in a Match for every field: what was not looked at, since
// the text is longer than what is, may be any of them.
const AnyField = "any"

// Match is a span of a text that a coverage predicate matches: it must lie in
// an atom whose field is not none. Offsets are in bytes.
type Match struct {
	Start, End int
	Field      string // AnyField where it is unknown
	Clause     string // the predicate's id
}

// View is a value as somebody was shown it.
type View struct {
	Field string
	Level int // 0: as it is
}

// Need is a field that must survive an operator.
type Need struct {
	Field string
	Level int // at this level or finer; 0: as it is
}

// Limits of a trajectory, or of one release. Arrays are by flow.Class; their
// first element is zero.
type Limits struct {
	B      flow.Bits    // on the weighted charges of all values together
	Cap    [4]flow.Bits // on what sinks of a class or worse learn, unweighted
	Lambda [4]int64     // weights, in thousandths, at least 1000
	Margin flow.Bits    // by which the audit's bound may exceed the certified cost
}

// Query is what is known of a release before it is looked at. All of it but
// Also comes from trusted metadata.
type Query struct {
	Action  string // action category of the tool
	Tool    string
	Sink    string
	Channel flow.Channel
	Class   flow.Class
	Fields  []string // field types of the tool's arguments
	// Also are rubrics that the text of a user or a model names. They narrow
	// what the others admit and never widen it.
	Also []Hash
}
