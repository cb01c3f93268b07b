package declassify

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// Bounds of a candidate.
const (
	MaxAtoms = 4096     // of a release; the ledger takes no more
	MaxText  = 16 << 20 // bytes of a candidate's texts together
	MaxParts = 4096
)

// Tool describes where a release goes. It comes from configuration and schemas,
// never from the model or from text.
type Tool struct {
	Name    string
	Action  string // category of what it does, as rubrics name it
	Sink    string
	Class   flow.Class
	Channel flow.Channel
	Args    []Arg
}

// Arg is one argument of a tool. An argument that is neither free nor of a secret
// field is typed and passes, except for what predicates or a defender find in
// it. An argument that is not declared is free text.
type Arg struct {
	// Path is keys and indices joined by dots, as in "passengers.0.name"; "*"
	// stands for any one of them.
	Path  string
	Field string // of the ontology; empty for none
	Free  bool   // free text
	// Keep: a call without it as it is makes no sense, such as one without its
	// recipient. It is not made then.
	Keep bool
}

// Part is one typed or free argument, or one text, of a candidate.
type Part struct {
	Path, Text string
	// Untrusted: it comes from outside, and an attacker may have planted a guess
	// in it. Nothing in it is replaced by the pseudonym of a value.
	Untrusted bool
	// Fixed: it can't be edited. A release that would have to is refused.
	Fixed bool
}

// Candidate is a requested release. All of it is trusted metadata, except the
// texts of parts.
type Candidate struct {
	Trajectory flow.TrajectoryID
	Family     flow.TrajectoryID // whose budget it is; empty: the trajectory's own
	Decision   string            // id of the mediator's decision
	Tool       Tool
	Parts      []Part
	// Also are rubrics named in text; they can only narrow the release.
	Also []rubric.Hash
	// Context has the non-secret task fields that fill templates.
	Context map[string]string
	// Waived are required fields that a person agreed to withhold, and Answer
	// is the id of that answer.
	Waived []string
	Answer string
	// Names gives pseudonyms to values and resolves them; nil for none.
	Names Pseudonyms
}

// Pseudonyms are those of one trajectory.
type Pseudonyms interface {
	// Name returns the pseudonym of a value, the same for the same. The caller
	// of Release keeps the value before the pseudonym goes anywhere.
	Name(field, value string) string
	// Find returns the known pseudonyms in a text, in order.
	Find(text string) []Pseudonym
}

// Pseudonym is the place of a pseudonym in a text.
type Pseudonym struct {
	Start, End int
	Field      string
	Value      string // what it stands for; empty if unknown
}

func (c *Candidate) family() flow.TrajectoryID {
	if c.Family != "" {
		return c.Family
	}
	return c.Trajectory
}

// Arg returns the argument that a path belongs to.
func (t *Tool) Arg(path string) Arg {
	names := strings.Split(path, ".")
	for _, a := range t.Args {
		if match(strings.Split(a.Path, "."), names) {
			return a
		}
	}
	return Arg{Path: path, Free: true}
}

// Declares reports whether a path names an argument, or an object or array that
// holds one, by names of the schema alone.
func (t *Tool) Declares(path string) bool { return t.within(path, false) }

// Holds reports the same, where a last name that the schema leaves open (*)
// counts too.
func (t *Tool) Holds(path string) bool { return t.within(path, true) }

func (t *Tool) within(path string, open bool) bool {
	names := strings.Split(path, ".")
	n := len(names)
	return slices.ContainsFunc(t.Args, func(a Arg) bool {
		pattern := strings.Split(a.Path, ".")
		return n <= len(pattern) && match(pattern[:n], names) && (open || pattern[n-1] != "*")
	})
}

// match reports whether the segments of a pattern match those of a path.
func match(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, name string) bool { return p == "*" || p == name })
}

// query finds the rubrics of the candidate.
func (c *Candidate) query() rubric.Query {
	t := &c.Tool
	q := rubric.Query{Action: t.Action, Tool: t.Name, Sink: t.Sink, Channel: t.Channel, Class: t.Class.Known(), Also: c.Also}
	for i := range t.Args {
		if f := t.Args[i].Field; f != "" {
			q.Fields = append(q.Fields, f)
		}
	}
	return q
}

func (c *Candidate) check() error {
	if len(c.Parts) > MaxParts {
		return CandidateRule.Errorf("%d parts, at most %d", len(c.Parts), MaxParts)
	}
	n := 0
	for i := range c.Parts {
		p := &c.Parts[i]
		if n += len(p.Text) + len(p.Path); n > MaxText {
			return CandidateRule.Errorf("more than %d bytes", MaxText)
		}
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Path) {
			return CandidateRule.Errorf("part %d is not valid UTF-8", i)
		}
	}
	return nil
}

func texts(parts []Part) []string {
	out := make([]string, len(parts))
	for i := range parts {
		out[i] = parts[i].Text
	}
	return out
}
