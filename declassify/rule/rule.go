// Package rule names why a release is changed or refused.
package rule

import (
	"errors"

	"github.com/margaydev/margay/declassify/bound"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/ledger/charge"
)

// Rule names why a release was changed or refused. It is the code of a reason,
// and an error. Rules of evidence are reasons too.
type Rule = evidence.Rule

// Rules that change or refuse a release.
const (
	Unlabelled     Rule = clause.Unlabelled  // an atom of unknown field was redacted
	Coverage       Rule = clause.Coverage    // a predicate matches what is labelled none
	Mislabelled    Rule = "mislabelled"      // a typed argument is labelled as another field
	Undeclared     Rule = "undeclared"       // the rubrics do not have the field
	Utility        Rule = clause.Utility     // a field that the sink needs does not survive
	OutOfRange     Rule = "out-of-range"     // a value is outside of its population
	Needed         Rule = "needed"           // what must stay as it is would be changed
	Audit          Rule = "audit"            // the dependency graph discloses more than is charged
	Budget         Rule = "budget"           // the charges do not fit
	Doubt          Rule = "doubt"            // no more text passes by the judgement of a model
	Rubric         Rule = "rubric"           // the rubrics of the release can't be relied on
	Candidate      Rule = "candidate"        // the candidate is too large or not valid UTF-8
	ValidatorError Rule = "validator-failed" // the validator failed
	LedgerFailed   Rule = "ledger-failed"    // the entry could not be kept
	Busy           Rule = "head-moved"       // others kept committing first
)

// Of returns the rule that an error wraps.
func Of(err error, otherwise Rule) Rule {
	_ = errors.As(err, &otherwise)
	return otherwise
}

// Short returns the rule by which a release does not fit as it is, while one
// that discloses less might; "" for any other error.
func Short(err error) Rule {
	switch {
	case errors.Is(err, bound.ErrExcess):
		return Audit
	case errors.Is(err, charge.Budget), errors.Is(err, charge.Cap):
		return Budget
	default:
		return ""
	}
}
