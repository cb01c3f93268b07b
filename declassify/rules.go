package declassify

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// Rules are what the rubrics of a release say together; *rubric.Resolved
// implements them. They are immutable and safe for concurrent use.
type Rules interface {
	// Hashes names the rubrics, ascending; none for the fallback.
	Hashes() []rubric.Hash
	// Fields returns the secret fields, sorted.
	Fields() []string
	// Match returns what the coverage predicates match in a text.
	Match(path, text string) []rubric.Match
	// Residual reports whether free text that no predicate matches may pass.
	Residual(path string, class flow.Class) bool
	// Necessity says how much sinks of a class need a field.
	Necessity(field string, class flow.Class) rubric.Necessity
	// Operators returns what may be done with a field, in disclosure order;
	// Drop and Redact are always among it.
	Operators(field string, class flow.Class) []rubric.Op
	// Generalize returns a value's name at a level, 0 for the value itself. An
	// error says that the value is outside of the field's population.
	Generalize(field string, level int, value string) (string, error)
	// Fill fills a template from non-secret task fields.
	Fill(template string, context map[string]string) (string, error)
	// Cost is what an operator on a field tells at most.
	Cost(field string, op rubric.Op) flow.Bits
	// TopRisk is at least the cost of every field.
	TopRisk() flow.Bits
	// Joint is what views of one value tell together at most.
	Joint(views []rubric.View) flow.Bits
	// Group names a field's dependency component.
	Group(field string) string
	// Graph is the dependency graph for the audit; it may be empty.
	Graph() rubric.Graph
	// Shape names the meaning of a field's levels.
	Shape(field string) rubric.Hash
	// Limits are what a release under these rules may come to.
	Limits() rubric.Limits
	// Utility says which fields must survive for sinks of a class.
	Utility(class flow.Class) []rubric.Need
}

// Ledger commits releases; *ledger.Book implements it.
type Ledger interface {
	// Head returns the state of a family, which the caller may change.
	Head(ctx context.Context, family flow.TrajectoryID) (*ledger.State, error)
	// Commit appends an entry durably, if it still is the next of its family;
	// else its error wraps ledger.ErrConflict.
	Commit(ctx context.Context, e *ledger.Entry) error
}

// History reads committed entries; every ledger.Store does.
type History interface {
	Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]ledger.Stored, error)
}

// Tool is what a boundary knows of where a release goes. All of it comes from
// configuration and schemas, nothing from the model or from text.
type Tool struct {
	Name    string
	Action  string // category of what it does, as rubrics name it
	Sink    string
	Class   flow.Class
	Channel flow.Channel
	Args    []Arg
}

// Arg is one argument of a tool. One that is neither free nor of a secret
// field is typed and passes, but for what predicates or a defender find in it.
// An argument that is not declared is free text.
type Arg struct {
	// Path is keys and indices joined by dots, as in "passengers.0.name"; "*"
	// stands for any one of them.
	Path  string
	Field string // of the ontology; empty for none
	Free  bool   // free text
}

// Part is one typed or free argument, or one text, of a candidate.
type Part struct {
	Path, Text string
	// Untrusted: it comes from outside, and somebody may have planted a guess
	// in it. It is never given the pseudonym of a value.
	Untrusted bool
}

// Candidate is a release that is asked for. All of it is trusted metadata but
// the texts of parts.
type Candidate struct {
	Trajectory flow.TrajectoryID
	Family     flow.TrajectoryID // whose budget it is; empty: the trajectory's own
	Decision   string            // id of the mediator's decision
	Tool       Tool
	Parts      []Part
	// Also are rubrics that text names; they can only narrow.
	Also []rubric.Hash
	// Context has the non-secret task fields that templates are filled from.
	Context map[string]string
	// Waived are required fields that a person agreed to do without, and
	// Answer the id of that answer.
	Waived []string
	Answer string
	// Names gives pseudonyms to values and turns them back; nil: there are none.
	Names Pseudonyms
}

// Pseudonyms are those of one trajectory.
type Pseudonyms interface {
	// Name returns the pseudonym of a value, the same for the same. The caller
	// of Release keeps the value before the pseudonym goes anywhere.
	Name(field, value string) string
	// Find returns the pseudonyms in a text that were given out, in order.
	Find(text string) []Pseudonym
}

// Pseudonym is a place where a pseudonym stands in a text.
type Pseudonym struct {
	Start, End int
	Field      string
	Value      string // what it stands for; empty where that is not known
}

func (c *Candidate) family() flow.TrajectoryID {
	if c.Family != "" {
		return c.Family
	}
	return c.Trajectory
}

// Arg returns the argument that a path belongs to.
func (t *Tool) Arg(path string) Arg {
	for i := range t.Args {
		if covers(t.Args[i].Path, path) {
			return t.Args[i]
		}
	}
	return Arg{Path: path, Free: true}
}

// Declares reports whether a path names an argument, or what holds one.
func (t *Tool) Declares(path string) bool { return t.within(path, false) }

// Holds reports the same where names that the schema leaves open (*) count.
func (t *Tool) Holds(path string) bool { return t.within(path, true) }

func (t *Tool) within(path string, open bool) bool {
	for i := range t.Args {
		p, s := t.Args[i].Path, path
		for {
			first, restP, moreP := cut(p)
			name, restS, moreS := cut(s)
			if first != "*" && first != name || moreS && !moreP {
				break
			}
			if !moreS {
				// What stands for any name is none that the schema has.
				if open || first != "*" {
					return true
				}
				break
			}
			p, s = restP, restS
		}
	}
	return false
}

// covers reports whether a pattern of dotted segments matches a path.
func covers(pattern, path string) bool {
	for {
		p, restP, moreP := cut(pattern)
		s, restS, moreS := cut(path)
		if p != "*" && p != s || moreP != moreS {
			return false
		}
		if !moreP {
			return true
		}
		pattern, path = restP, restS
	}
}

func cut(s string) (first, rest string, more bool) {
	for i := range len(s) {
		if s[i] == '.' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// query is what rubrics are found by.
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
