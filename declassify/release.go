package declassify

import (
	"fmt"
	"time"

	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Release is the decision about a candidate.
type Release struct {
	// Outcome is Allow (unchanged), Rewrite, Confirm or Deny. After Confirm and
	// Deny nothing may be sent.
	Outcome flow.Outcome
	Reasons []flow.Reason
	// Receipt proves that Entry has charged the release. Without one nothing
	// can be sent.
	Receipt charge.Receipt
	Entry   *charge.Entry
	// Atoms are the decisions about the pieces of the candidate.
	Atoms []Atom
	// Named are the values that were replaced by pseudonyms.
	Named []Named
	// Missing are the fields that the sink needs and must not get: a person may
	// agree to withhold them (Candidate.Waived).
	Missing []string
	Phases  Phases

	sealed charge.Sealed
}

// Parts are what may be sent: one for each part of the candidate, or none
// without a receipt for them. Untrusted is not set.
func (r *Release) Parts() []Part {
	texts, ok := r.Receipt.Open(r.sealed)
	if !ok {
		return nil
	}
	parts := make([]Part, len(texts))
	for i, t := range texts {
		parts[i] = Part{Path: t.Path, Text: t.Text}
	}
	return parts
}

// Released reports whether there is a receipt for what is released.
func (r *Release) Released() bool {
	_, ok := r.Receipt.Open(r.sealed)
	return ok && (r.Outcome == flow.Allow || r.Outcome == flow.Rewrite)
}

func seal(key *[32]byte, parts []Part) charge.Sealed {
	texts := make([]charge.Text, len(parts))
	for i := range parts {
		texts[i] = charge.Text{Path: parts[i].Path, Text: parts[i].Text}
	}
	return charge.Seal(key, texts)
}

// Atom is one piece of a candidate and the decision about it.
type Atom struct {
	Part, Start, End int
	Field            string
	Op               rubric.Op
	Necessity        rubric.Necessity
	Cost             flow.Bits
	// Resolved: a pseudonym stood there, and stays or became its value.
	Resolved bool
}

// Named is a value that was replaced by a pseudonym.
type Named struct{ Field, Value, Name string }

// Phases are the times of the phases, all rounds together.
type Phases struct {
	Defend, Bind, Validate, Cost, Audit, Commit time.Duration
	Rounds                                      int
}

// lap adds the time since the last lap to a phase.
type lap struct{ at time.Time }

func (l *lap) to(d *time.Duration) {
	now := time.Now()
	*d += now.Sub(l.at)
	l.at = now
}

const maxReasons = 64

func (r *Release) because(code rule.Rule, format string, args ...any) {
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, flow.Reason{Code: string(code), Detail: fmt.Sprintf(format, args...)})
	}
}

func deny(code rule.Rule, format string, args ...any) Release {
	r := Release{Outcome: flow.Deny}
	r.because(code, format, args...)
	return r
}
