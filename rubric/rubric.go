// Package rubric compiles rubrics and says which of them govern a release.
//
// A rubric is a signed record for one category of tasks. It says which fields
// are secret, how they are recognised, which sinks need them, which operators
// may be applied to them, and how many bits each operator discloses. People
// write it in YAML ([Parse], or [ParseWith] where it includes files). A
// compiled rubric is identified by its canonical bytes: their SHA-256 names
// it, and an Ed25519 signature vouches for it. A [Registry] holds the trusted
// rubrics and finds those that govern a release. A [Resolved] is what several
// rubrics say together. The format is in docs/format/rubric.md.
//
// The package is part of the trusted base. It does no input or output besides
// reading a registry's folder. Its errors hold no values.
package rubric

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/document"
	"github.com/margaydev/margay/rubric/include"
	"github.com/margaydev/margay/rubric/signed"
)

// Hash is the SHA-256 of a rubric's canonical bytes. It names the rubric.
type Hash [32]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first twelve digits, for people.
func (h Hash) Short() string { return h.String()[:12] }

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
	if int(n) < len(necessities) {
		return necessities[n]
	}
	return necessities[Unnecessary]
}

var necessities = []string{"unnecessary", "useful", "required"}

// AnyField in a Match is every field: a text that is too long to be searched may
// hold any of them.
const AnyField = "any"

// TooLong is then the match's clause.
const TooLong = "too-long"

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
	// Screened is on what is charged for text that passes by a model's judgement.
	Screened flow.Bits
}

// Query is what is known of a release before its text is read. All of it but
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

// classNames are the classes of sinks by the names that rubrics have for them.
var classNames = map[string]flow.Class{
	flow.RequiredService.String(): flow.RequiredService,
	flow.SemiTrusted.String():     flow.SemiTrusted,
	flow.Adversarial.String():     flow.Adversarial,
}

// ParseClass reads a class of sinks as rubrics name it.
func ParseClass(s string) (flow.Class, bool) {
	c, ok := classNames[s]
	return c, ok
}

// MaxBytes bounds a rubric's text.
const MaxBytes = document.MaxBytes

// ErrVersion says that a rubric, or a signed one, is of another format version;
// ErrCanonical that bytes are not the canonical ones of what they say.
var (
	ErrVersion   = yamldoc.ErrVersion
	ErrCanonical = document.ErrCanonical
)

// Error is a mistake in a rubric.
type Error = yamldoc.Error

// where puts a place before an error's own.
func where(err error, at ...string) error { return yamldoc.Where(err, at...) }

// Parse reads a rubric that includes nothing from YAML, compiles and checks it.
// Errors are of type *Error, with a position.
func Parse(file string, b []byte) (*Rubric, error) { return ParseWith(file, b, nil) }

// ParseWith is Parse for a rubric that may include vocabularies, which open
// reads. The rubric's canonical bytes hold all of them.
func ParseWith(file string, b []byte, open include.Open) (*Rubric, error) {
	doc, err := document.Read(file, b, open)
	if err != nil {
		return nil, err
	}
	return compile(doc)
}

// ParseCanonical reads canonical bytes. It refuses all others with
// ErrCanonical, so that one rubric has one hash. Errors are of type *Error.
func ParseCanonical(file string, b []byte) (*Rubric, error) {
	doc, err := document.ReadCanonical(file, b)
	if err != nil {
		return nil, err
	}
	return compile(doc)
}

// compile makes a rubric of a document.
func compile(doc *document.Document) (*Rubric, error) {
	r := &Rubric{doc: doc, hash: sha256.Sum256(doc.Canonical())}
	if err := r.compile(); err != nil {
		return nil, doc.Place(err)
	}
	return r, nil
}

// Canonical returns the rubric's canonical bytes, which it is hashed, signed
// and stored as. They don't depend on how its YAML was formatted.
func (r *Rubric) Canonical() []byte { return r.doc.Canonical() }

// Hash names the rubric: the SHA-256 of its canonical bytes.
func (r *Rubric) Hash() Hash { return r.hash }

// Document returns the rubric's text. It must not be changed.
func (r *Rubric) Document() *document.Document { return r.doc }

// What may be wrong with a signed rubric. A Refusal wraps one of them, or one of
// package signed.
var (
	ErrExpired = errors.New("it has expired")
	ErrUnknown = errors.New("no such rubric is registered")
	ErrInvalid = errors.New("it is not valid")
)

// Refusal is why a rubric may not be relied on.
type Refusal struct {
	What string // the file, or the rubric's name and hash
	Rule string // stable, kebab-case: what refused it
	Err  error  // wraps one of the errors above, of package signed, or ErrVersion
}

// Error returns what was refused, why, and by which rule.
func (r *Refusal) Error() string { return r.What + ": refused: " + r.Err.Error() + " (" + r.Rule + ")" }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(what string, err error) *Refusal {
	for _, one := range []struct {
		err  error
		rule string
	}{
		{ErrVersion, "unknown-version"},
		{signed.ErrUnsigned, "unsigned"},
		{signed.ErrUnknownKey, "unknown-key"},
		{signed.ErrAltered, "altered"},
		{ErrExpired, "expired"},
		{ErrUnknown, "unknown-rubric"},
		{ErrCanonical, "not-canonical"},
	} {
		if errors.Is(err, one.err) {
			return &Refusal{what, one.rule, err}
		}
	}
	return &Refusal{what, "invalid", fmt.Errorf("%w: %w", ErrInvalid, err)}
}

// Sign signs a rubric. What it returns is the file that registries hold.
func Sign(r *Rubric, key ed25519.PrivateKey) []byte { return signed.Seal(r.doc.Canonical(), key) }

// Verify reads a signed rubric. It does not look at the day on which the
// rubric expires. Errors are of type *Refusal.
func Verify(file string, b []byte, trusted []ed25519.PublicKey) (*Rubric, error) {
	canonical, err := signed.Open(b, trusted, MaxBytes)
	if err != nil {
		return nil, refuse(file, err)
	}
	r, err := ParseCanonical(file, canonical)
	if err != nil {
		return nil, refuse(file, err)
	}
	return r, nil
}
