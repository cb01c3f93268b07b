package rubric

import (
	"errors"

	"github.com/margaydev/margay/flow"
)

// Errors of Resolved. None holds a value.
var (
	// ErrOutside says that a value is outside of its field's population: its
	// cost is TopRisk.
	ErrOutside = errors.New("the value is outside of the field's population")
	// ErrLevel says that a field has no such level, or none that all rubrics
	// agree on.
	ErrLevel = errors.New("the field has no such level")
	// ErrTemplate says that there is no such template, or that what it needs
	// is missing or not fit to be shown.
	ErrTemplate = errors.New("the template can't be filled")
)

// TopRiskLeast is the least that top risk costs, more than any budget.
const TopRiskLeast = 256 * flow.Bit

// Resolved is what the rubrics of a release say together: operators
// intersected, costs at their maximum, limits at their minimum. It is
// immutable and safe for concurrent use.
type Resolved struct{}

// Fallback is what holds where no rubric does: redact and drop alone, and one
// bit.
func Fallback() *Resolved { return &Resolved{} }

// Hashes names the rubrics, sorted; none for the fallback.
func (r *Resolved) Hashes() []Hash { return nil }

// Fields returns the secret fields, sorted.
func (r *Resolved) Fields() []string { return nil }

// Match returns what the coverage predicates match in the text at a path, in
// order. Of a text that is longer than what is looked at the whole is
// AnyField.
func (r *Resolved) Match(path, text string) []Match { return nil }

// Residual reports whether free text that no predicate matches may pass.
func (r *Resolved) Residual(path string, class flow.Class) bool { return false }

// Necessity says how much sinks of a class need a field; unnecessary where
// nothing is said.
func (r *Resolved) Necessity(field string, class flow.Class) Necessity { return Unnecessary }

// Operators returns what may be done with a field, in disclosure order. Drop
// and Redact are always among it; nothing else for an unknown field.
func (r *Resolved) Operators(field string, class flow.Class) []Op {
	return []Op{{Kind: Drop}, {Kind: Redact}}
}

// Generalize returns a value's name at a level; level 0 is the value itself,
// if it is in the population. Errors wrap ErrOutside or ErrLevel.
func (r *Resolved) Generalize(field string, level int, value string) (string, error) {
	return "", ErrLevel
}

// Fill fills a template from non-secret task fields. Errors wrap ErrTemplate.
func (r *Resolved) Fill(template string, context map[string]string) (string, error) {
	return "", ErrTemplate
}

// Cost is what an operator on a field tells at most, over all values of the
// population, to the Bayes-optimal adversary. It is TopRisk for an unknown
// field or level.
func (r *Resolved) Cost(field string, op Op) flow.Bits {
	if op.Kind <= Redact {
		return 0
	}
	return r.TopRisk()
}

// TopRisk is the cost of what can't be told, at least that of every field.
func (r *Resolved) TopRisk() flow.Bits { return TopRiskLeast }

// Joint is what views of one value, with its parts and dependent fields, tell
// together at most: exact where the population can be enumerated, and
// otherwise a sound bound.
func (r *Resolved) Joint(views []View) flow.Bits {
	if len(views) == 0 {
		return 0
	}
	return r.TopRisk()
}

// Group names a field's dependency component; fields of one group share the
// value's identity.
func (r *Resolved) Group(field string) string { return field }

// Graph is the dependency graph for the audit; it may be empty.
func (r *Resolved) Graph() Graph { return Graph{} }

// Observe says what showing a value at a level leaves of the graph's
// variables; nothing where the graph does not have the field. Level 0 is the
// value itself. Errors are as of Generalize.
func (r *Resolved) Observe(field string, level int, value string) ([]Seen, error) { return nil, nil }

// Shape names the meaning of a field's levels: where two Resolved differ in
// it, their levels can't be compared.
func (r *Resolved) Shape(field string) Hash { return Hash{} }

// Limits are the least of all rubrics' limits.
func (r *Resolved) Limits() Limits {
	return Limits{B: flow.Bit, Cap: [4]flow.Bits{0, flow.Bit, flow.Bit, flow.Bit}, Lambda: [4]int64{0, 1000, 2000, 4000}}
}

// Utility says which fields must survive, and at which level, for sinks of a
// class.
func (r *Resolved) Utility(class flow.Class) []Need { return nil }
