package declassify

import (
	"context"

	"github.com/margaydev/margay/declassify/bound"
	"github.com/margaydev/margay/declassify/shown"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Rules are the rubrics of a release taken together; *rubric.Resolved implements
// them. They are immutable and safe for concurrent use.
type Rules interface {
	Finder
	Operators
	Values
	Prices
	Terms
	shown.Costs
	bound.Dependencies
}

// Finder finds secrets in a text.
type Finder interface {
	// Match returns the matches of the coverage predicates in a text.
	Match(path, text string) []rubric.Match
	// Only reports whether the clause of a match declares that its matches are
	// of its field and no other.
	Only(m rubric.Match) bool
	// Residual reports whether free text that no predicate matches may pass.
	Residual(path string, class flow.Class) bool
	// Screened reports whether other free text may pass where the defender's
	// model finds nothing private, and bounds the model's error under attack.
	Screened(path string, class flow.Class) (doubt flow.Bits, ok bool)
}

// Operators are the admissible operators of fields, and the needs of sinks.
type Operators interface {
	// Necessity is how much sinks of a class need a field.
	Necessity(field string, class flow.Class) rubric.Necessity
	// Operators returns the operators admitted for a field, in disclosure
	// order; Drop and Redact are always among them.
	Operators(field string, class flow.Class) []rubric.Op
	// Utility returns the fields that must survive for sinks of a class.
	Utility(class flow.Class) []rubric.Need
}

// Values makes other forms of values.
type Values interface {
	// Generalize returns a value's name at a level, 0 for the value itself. An
	// error says that the value is outside of the field's population.
	Generalize(field string, level int, value string) (string, error)
	// Mentions reports whether a text has a value of a field in words: a date or
	// an age, an amount, a listed value.
	Mentions(field, text string) bool
	// Fill fills a template from non-secret task fields.
	Fill(template string, context map[string]string) (string, error)
	// Normal returns the form that all spellings of a value share.
	Normal(field, value string) string
}

// Terms are the limits of a release under the rubrics.
type Terms interface {
	// Hashes names the rubrics, ascending; none for the fallback.
	Hashes() []rubric.Hash
	// Limits bound what a release may cost.
	Limits() rubric.Limits
}

// Prices are the costs of single views, and the groups of fields that are charged
// as one.
type Prices interface {
	// Cost is the most that an operator on a field discloses.
	Cost(field string, op rubric.Op) flow.Bits
	// TopRisk is at least the cost of every field.
	TopRisk() flow.Bits
	// Group names a field's dependency component: values of fields that depend
	// on each other are one value.
	Group(field string) string
	// Root names the field that a field is a view of; itself if it is none.
	Root(field string) string
}

// Ledger commits releases; *charge.Book implements it.
type Ledger interface {
	// Head returns the state of a family, which the caller may change.
	Head(ctx context.Context, family flow.TrajectoryID) (*charge.State, error)
	// Commit appends an entry durably, if it still is the next of its family;
	// else its error wraps charge.ErrConflict. The receipt is the entry's.
	Commit(ctx context.Context, e *charge.Entry) (charge.Receipt, error)
}
