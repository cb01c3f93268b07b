package charge

import (
	"encoding/hex"
	"time"

	"github.com/margaydev/margay/flow"
)

// Hash is a SHA-256 hash, or a keyed hash of that size.
type Hash [32]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether the hash is zero, as before the first entry.
func (h Hash) IsZero() bool { return h == Hash{} }

// Classes is the size of arrays by flow.Class; the place of class 0, which no
// sink has, is unused and zero.
const Classes = 4

// Op is an operator on an atom, in the order of what it discloses. The numbers
// are those of rubrics and of the encoding.
type Op uint8

// Operators.
const (
	Drop       Op = 0
	Redact     Op = 1
	Substitute Op = 2
	Generalize Op = 3
	Identity   Op = 4
)

// String returns the operator's name.
func (o Op) String() string {
	names := [...]string{"drop", "redact", "substitute", "generalize", "identity"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown"
}

// Limits bound what a family may spend. Its first entry fixes them, from the
// signed rubric of the task; an entry with other limits is refused.
type Limits struct {
	// B bounds the weighted charge of all values.
	B flow.Bits
	// Cap bounds the unweighted cost of all views that went to sinks of a
	// class or worse. It never grows with the class.
	Cap [Classes]flow.Bits
	// Lambda weighs the classes, in thousandths. It never falls with the
	// class, is at least 1000 and at most MaxLambda.
	Lambda [Classes]int64
	// Screened bounds what is charged for the judgement of models, which is a
	// measurement: no other sum counts it. Zero: no model's judgement releases
	// anything.
	Screened flow.Bits
}

// Bounds of what an entry may hold. They keep sums from overflowing and bound
// the memory that reading an entry takes.
const (
	MaxLambda           = 1_000_000           // thousandths
	MaxAmount flow.Bits = 1 << 42             // of After: over four million bits
	MaxAtoms            = 4096                // of an entry
	MaxHashes           = 64                  // rubrics of an entry
	MaxModels           = 32                  // of an entry
	MaxName             = 64                  // bytes of an id, field, template, model, answer
	MaxSink             = 512                 // bytes of a sink's name
	maxTime             = 253_402_300_800_000 // the year 10000 in Unix milliseconds
)

// Atom is one part of a release, and its operator.
type Atom struct {
	Field    string // a field of the ontology, or a name for an unknown one
	Op       Op
	Level    uint8  // of Generalize, 1 the finest; else 0
	Template string // of Substitute; else empty
	// Value is a keyed fingerprint of the value that the atom is a view of,
	// parts and dependent fields of one value alike.
	Value Hash
	// Cost is the disclosure of this view alone.
	Cost flow.Bits
	// After has, for each class, what all views of the value disclose together
	// to sinks of this class or worse, including this release. Atoms of one
	// value have the same.
	After [Classes]flow.Bits
}

// Model is a model that took part in a decision.
type Model struct{ Name, Version string }

// Entry is one link of a family's chain.
type Entry struct {
	Seq        uint64            // 1, 2, 3, … in its family
	Family     flow.TrajectoryID // whose budget it is charged to
	Trajectory flow.TrajectoryID
	Prev       Hash      // of the entry before; zero in the first
	At         time.Time // UTC, whole milliseconds; never before that of the entry before
	Channel    flow.Channel
	Sink       string
	Class      flow.Class // of the sink, one of the three
	Rubrics    []Hash     // one at least, ascending, each once
	Variant    Hash       // keyed hash of the released texts
	Limits     Limits
	Atoms      []Atom
	Charge     flow.Bits          // by which Total grows
	Total      flow.Bits          // weighted charge of all values, this entry included
	Caps       [Classes]flow.Bits // unweighted, by class, this entry included
	// Screened is the charge for text that passes by a model's judgement: the
	// bound of its error times the worst field. It is empirical. Doubt is the
	// sum of the family's, this entry included.
	Screened, Doubt flow.Bits
	Models          []Model      // ascending by name, each once
	Decision        string       // id of the mediator's decision; may be empty
	Outcome         flow.Outcome // of the four; Deny releases nothing
	Answer          string       // the person's, if one was asked
	Sig             [64]byte     // Ed25519; see SignedText
}

// Charges reports whether the entry releases something that is charged. Text for
// the user is only recorded, and a denial releases nothing.
func (e *Entry) Charges() bool {
	return e.Channel != flow.ChannelUser && e.Outcome != flow.Deny
}

// Sum is the cost of a release.
type Sum struct {
	Charge flow.Bits
	Total  flow.Bits
	Caps   [Classes]flow.Bits
	Doubt  flow.Bits
}
