// Package evidence reads what a defender proposes about a candidate release:
// labels of spans, an operator for each, the variant that they make, and
// answers to challenges. A defender is an untrusted adviser, so everything is
// read strictly and checked against its candidate. The format is specified in
// docs/format/evidence.md.
package evidence

import (
	"encoding/json"
	"fmt"

	"github.com/margaydev/margay/rubric"
)

// Bounds of what is read.
const (
	MaxLabels  = 2048    // of a statement
	MaxSize    = 1 << 20 // bytes of a statement
	maxName    = 256     // bytes of a name in it
	maxRubrics = 64      // of a context
)

// Rule names why a release was changed or refused, or, in this package, why a
// statement or the answers to challenges are ignored. It is an error that others
// wrap, and the code of a reason.
type Rule string

// Rules of a statement, and of answers.
const (
	Syntax     Rule = "evidence-syntax"    // it is not strict JSON
	Schema     Rule = "evidence-schema"    // a member is missing, unknown or of another type
	TooLarge   Rule = "evidence-too-large" // more bytes than MaxSize
	TooMany    Rule = "evidence-too-many-atoms"
	Offset     Rule = "evidence-offset"   // a span is outside of its text, empty, or cuts a character
	Overlap    Rule = "evidence-overlap"  // two spans overlap
	UTF8       Rule = "evidence-utf8"     // it is not valid UTF-8
	Other      Rule = "evidence-context"  // it is of another release
	Previous   Rule = "evidence-previous" // it is of another head of the chain
	Operator   Rule = "evidence-operator" // an operator has no atom, or can't be applied
	Variant    Rule = "evidence-variant"  // its operators do not make its variant
	Late       Rule = "defender-timeout"  // the defender sent no statement in time
	Failed     Rule = "defender-failed"   // the defender returned an error, or panicked
	Unanswered Rule = "challenge-refused" // the second pass did not answer
)

// Error makes a Rule an error.
func (r Rule) Error() string { return string(r) }

// Errorf returns an error that wraps the rule and says how it was broken.
func (r Rule) Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{r}, args...)...)
}

// Context binds a statement to one release. The verifier fills it in.
type Context struct {
	Action  string   `json:"action"` // id of the decision
	Channel string   `json:"channel"`
	Sink    string   `json:"sink"`
	Class   string   `json:"class"`
	Rubrics []string `json:"rubrics"`
	Prev    string   `json:"prev"` // hash of the chain's head
}

// Label is what evidence says of one span.
type Label struct {
	Part       int    `json:"part"`
	Start      int    `json:"start"` // bytes
	End        int    `json:"end"`
	Role       string `json:"role" oneof:"argument text"`
	Field      string `json:"field"` // of the ontology, or none
	Relation   string `json:"relation" oneof:"explicit inferential none"`
	Necessity  string `json:"necessity" oneof:"required useful unnecessary"`
	Clause     string `json:"clause"` // of the rubric; may be empty
	Provenance string `json:"provenance" oneof:"user tool rubric model"`
}

// Proposal is an operator for one of the labels.
type Proposal struct {
	Atom     int    `json:"atom"`
	Op       string `json:"op" oneof:"drop redact substitute generalize identity"`
	Level    int    `json:"level,omitempty"`
	Template string `json:"template,omitempty"`
}

// Of returns the operator; false if it is unknown.
func (p *Proposal) Of() (rubric.Op, bool) {
	for k := rubric.Drop; k <= rubric.Identity; k++ {
		if k.String() == p.Op {
			ok := (k == rubric.Generalize) == (p.Level > 0) && p.Level <= 255 && (k == rubric.Substitute) == (p.Template != "")
			return rubric.Op{Kind: k, Level: p.Level, Template: p.Template}, ok
		}
	}
	return rubric.Op{}, false
}

// Propose returns the proposal of an operator for a label.
func Propose(atom int, op rubric.Op) Proposal {
	return Proposal{Atom: atom, Op: op.Kind.String(), Level: op.Level, Template: op.Template}
}

// Statement is what a defender proposes about one candidate.
type Statement struct {
	Version   int        `json:"version"` // 1
	Context   Context    `json:"context"`
	Atoms     []Label    `json:"atoms"`
	Operators []Proposal `json:"operators"` // one for each atom
	Variant   string     `json:"variant"`   // hash of what the operators make
}

// None is the field of a span that discloses no secret.
const None = "none"

// Necessity reads the necessity of a label or a challenge.
func Necessity(s string) (rubric.Necessity, bool) {
	for n := rubric.Unnecessary; n <= rubric.Required; n++ {
		if n.String() == s {
			return n, true
		}
	}
	return rubric.Unnecessary, false
}

// Marshal writes a statement as Parse reads it.
func (ev *Statement) Marshal() ([]byte, error) {
	c := *ev
	c.Version = 1
	if c.Atoms == nil {
		c.Atoms = []Label{}
	}
	if c.Operators == nil {
		c.Operators = []Proposal{}
	}
	if c.Context.Rubrics == nil {
		c.Context.Rubrics = []string{}
	}
	return json.Marshal(&c)
}
