package declassify

import (
	"unicode/utf8"

	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// Bounds of a candidate.
const (
	MaxAtoms = 4096     // of a release; the ledger takes no more
	MaxText  = 16 << 20 // bytes of a candidate's texts together
	MaxParts = 4096
)

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
	Tool       schema.Tool
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
		return rule.Candidate.Errorf("%d parts, at most %d", len(c.Parts), MaxParts)
	}
	n := 0
	for i := range c.Parts {
		p := &c.Parts[i]
		if n += len(p.Text) + len(p.Path); n > MaxText {
			return rule.Candidate.Errorf("more than %d bytes", MaxText)
		}
		if !utf8.ValidString(p.Text) || !utf8.ValidString(p.Path) {
			return rule.Candidate.Errorf("part %d is not valid UTF-8", i)
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
