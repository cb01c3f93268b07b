// Package terms says what rubrics allow in the terms of the ledger.
package terms

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/fallback"
)

// LimitsOf returns what a rubric allows a family, by its canonical bytes, for
// ledger.Check.
func LimitsOf(canonical []byte) (charge.Limits, error) {
	if fallback.IsText(canonical) {
		return Limits(rubric.Fallback().Limits()), nil
	}
	r, err := rubric.ParseCanonical("rubric", canonical)
	if err != nil {
		return charge.Limits{}, err
	}
	return Limits(r.Limits()), nil
}

// Limits converts the limits of rubrics to those of the ledger.
func Limits(l rubric.Limits) charge.Limits {
	return charge.Limits{B: l.B, Cap: l.Cap, Lambda: l.Lambda, Screened: l.Screened}
}

// Hashes names the rubrics of a release; the fallback where there are none.
func Hashes(of []rubric.Hash) []charge.Hash {
	var out []charge.Hash
	for _, h := range of {
		out = append(out, charge.Hash(h))
	}
	if len(out) == 0 {
		out = append(out, charge.Hash(fallback.Hash()))
	}
	return out
}

// Fallback returns the rubric that entries name if no other matched. A
// ledger must keep it.
func Fallback() []byte { return fallback.Text() }

// Tightens holds a release to the limits of its own rubrics: they bound its own
// addition.
func Tightens(l rubric.Limits, e *charge.Entry, s *charge.State) error {
	if e.Charge > l.B {
		return charge.Budget.Errorf("the release costs %v, its rubrics allow %v", e.Charge, l.B)
	}
	if e.Screened > l.Screened {
		return charge.Doubt.Errorf("the release costs %v, its rubrics allow %v", e.Screened, l.Screened)
	}
	for k := 1; k < charge.Classes; k++ {
		if add := e.Caps[k] - s.Caps[k]; add > l.Cap[k] {
			return charge.Cap.Errorf("the release discloses %v to sinks that are %v or worse, its rubrics allow %v", add, flow.Class(k), l.Cap[k])
		}
	}
	return nil
}
