package clear

import (
	"crypto/hmac"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Needs is what a call needs to be made. The zero Needs is a call that may
// follow from trusted, public text alone.
type Needs struct {
	Limit   Limit // a call whose basis flows to it may be made
	Confirm bool  // ask, whatever the basis
	Deny    bool  // never
	// Kinds are all that the call does which needs this; none where a grant must be
	// for the call itself.
	Kinds []string
}

// Proposal is a call that a model proposed, with what it needs.
type Proposal struct {
	Call  flow.ToolCall
	Needs Needs
}

// Step is what a model proposed at once, and what that follows from.
type Step struct {
	Lattice label.Lattice
	From    Basis
	Calls   []Proposal
	Grants  []Grant
	Digests Digests // that the grants were made with
}

// Verdict is what becomes of one call.
type Verdict struct {
	Call flow.ToolCall
	// Outcome is Allow: make it; Confirm: ask; Deny: skip it and tell the model
	// so. Whoever has more to say against a call may make it stricter: an
	// Outcome that is made laxer clears nothing.
	Outcome flow.Outcome
	Fits    bool // the basis flows to the limit, or a grant covers the call
	Granted bool // a grant covers it

	decided flow.Outcome
	call    flow.ToolCall
}

// Ruling is what becomes of a step.
type Ruling struct {
	Verdicts []Verdict
	// High: the basis is too high for some call, and a step made at Level may
	// not be. Level is the meet of what all calls need that are not denied.
	High  bool
	Level Level
}

// Decide says for each call of a step whether it is made, asked about or
// skipped: it is made if the basis flows to its limit or a grant covers it.
func Decide(s *Step) Ruling {
	r := Ruling{Level: Everything()}
	for _, p := range s.Calls {
		v := Verdict{Call: p.Call, call: p.Call, Outcome: flow.Allow}
		v.Fits = s.From.flowsTo(s.Lattice, p.Needs.Limit)
		if v.Granted = !p.Needs.Deny && (!v.Fits || p.Needs.Confirm) && s.granted(p); v.Granted {
			v.Fits = true
		}
		switch {
		case p.Needs.Deny:
			v.Outcome = flow.Deny
		case !v.Fits || p.Needs.Confirm && !v.Granted:
			v.Outcome = flow.Confirm
		}
		v.decided = v.Outcome
		if !p.Needs.Deny {
			r.High = r.High || !v.Fits
			r.Level = r.Level.Meet(At(p.Needs.Limit))
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

// granted reports whether a grant covers a call of the step, or grants together cover
// all that it does.
func (s *Step) granted(p Proposal) bool {
	var kinds []string
	for i := range s.Grants {
		g := &s.Grants[i]
		if !s.From.known || !s.Lattice.FlowsTo(s.From.label, g.Label) {
			continue
		}
		if g.Covers(s.Lattice, s.Digests, p.Call, s.From.label) {
			return true
		}
		kinds = append(kinds, g.Kinds...)
	}
	return len(p.Needs.Kinds) > 0 && !slices.ContainsFunc(p.Needs.Kinds, func(k string) bool { return k == "" || !slices.Contains(kinds, k) })
}

// Cleared is a call that may be made: one that Decide let pass, or that a
// person said yes to. The zero Cleared is no call.
type Cleared struct {
	call flow.ToolCall
	ok   bool
}

// Call returns the call; false for the zero Cleared.
func (c Cleared) Call() (flow.ToolCall, bool) { return c.call, c.ok }

// Covers reports whether it is this very call that may be made: the same tool,
// with the same arguments as they are written, under the same id.
func (c Cleared) Covers(call flow.ToolCall) bool { return c.ok && c.call == call }

// Cleared returns the call of a verdict that allows; false for any other.
func (v *Verdict) Cleared() (Cleared, bool) {
	if v.decided != flow.Allow || v.Outcome != flow.Allow {
		return Cleared{}, false
	}
	return Cleared{v.call, true}, true
}

// Confirmed returns the call that a person said yes to, by its digest. A
// verdict that denies has none.
func (v *Verdict) Confirmed(d Digests, yes Digest) (Cleared, bool) {
	if v.decided == "" || v.decided == flow.Deny || v.Outcome == flow.Deny {
		return Cleared{}, false
	}
	own, err := d.Digest(v.call)
	if err != nil || !hmac.Equal(own[:], yes[:]) {
		return Cleared{}, false
	}
	return Cleared{v.call, true}, true
}
