// Package choice chooses the operator of an atom: the least-disclosing one that is
// useful. It looks at fields, the sink and the rubrics, and is shown no value.
package choice

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// Pseudonym is the operator that puts a pseudonym in a value's place.
var Pseudonym = rubric.Op{Kind: rubric.Substitute, Template: rubric.Pseudonym}

// Shows is the level at which an operator shows a value; above every level if it
// shows nothing.
func Shows(op rubric.Op) int {
	switch op.Kind {
	case rubric.Identity:
		return 0
	case rubric.Generalize:
		return op.Level
	default:
		return 1 << 30
	}
}

// Enough reports whether an operator shows as much as a level. A pseudonym is enough
// for the model: a later boundary resolves it.
func Enough(op rubric.Op, level int, ch flow.Channel) bool {
	return Shows(op) <= level || ch == flow.ChannelModel && op == Pseudonym
}

// Atom is what is known of an atom.
type Atom struct {
	Ops       []rubric.Op // admissible, in disclosure order; Drop and Redact are the first
	Necessity rubric.Necessity
	Typed     bool // the whole of a typed argument
	Plain     bool // in a typed argument of no field
	Lone      bool // in a text whose rest may not pass
	Named     bool // a pseudonym stands there
	Known     bool // it has a field that the sink may need
	Need      int  // the level at which it must survive, plus one; 0: it need not
	Waived    bool // a person agreed to withhold it
}

// Choose returns the operator, and the least that utility allows. Lost says that no
// operator is enough.
func (a *Atom) Choose(ch flow.Channel, class flow.Class) (op, floor int, lost bool) {
	at := func(f func(rubric.Op) bool) int { return slices.IndexFunc(a.Ops, f) }
	is := func(kind rubric.OpKind) int { return at(func(o rubric.Op) bool { return o.Kind == kind }) }
	pseudonym := slices.Index(a.Ops, Pseudonym)
	op = -1
	switch {
	case a.Need > 0:
		op = at(func(o rubric.Op) bool { return Enough(o, a.Need-1, ch) })
		floor = op
	case a.Lone && class >= flow.SemiTrusted && ch != flow.ChannelModel:
		// A cell of a hierarchy in redacted text is of no use, and would spend
		// the budget of sinks that ask by their schema.
	case a.Necessity == rubric.Required && !a.Waived && a.Known:
		op = at(func(o rubric.Op) bool {
			return o.Kind >= rubric.Generalize || ch == flow.ChannelModel && o == Pseudonym
		})
		floor = op
	case a.Necessity == rubric.Useful && (a.Typed || a.Plain) && class == flow.RequiredService:
		// A service that the task needs asks for it by its schema, and the rubric
		// calls it useful: use the finest form that is admitted and fits.
		op = len(a.Ops) - 1
	case a.Necessity == rubric.Useful && ch == flow.ChannelModel && pseudonym >= 0:
		// It plans with the pseudonym; a cell of the hierarchy would only spend
		// the budget of sinks that ask for it.
		op = pseudonym
	case a.Necessity == rubric.Useful:
		if op = is(rubric.Generalize); op < 0 {
			op = pseudonym
		}
	case ch == flow.ChannelModel || a.Named: // a pseudonym is enough
		op = pseudonym
	}
	if !a.Typed { // text besides the arguments: the call works without it
		floor = 0
	}
	if op < 0 {
		op = slices.IndexFunc(a.Ops, func(o rubric.Op) bool { return o.Kind == rubric.Redact })
	}
	return op, max(floor, 0), floor < 0
}

// Needs are the fields that must reach a sink, and at which level; not those that a
// person agreed to withhold.
func Needs(utility []rubric.Need, waived []string) map[string]int {
	needs := map[string]int{}
	for _, n := range utility {
		if l, ok := needs[n.Field]; !slices.Contains(waived, n.Field) && (!ok || n.Level < l) {
			needs[n.Field] = n.Level
		}
	}
	return needs
}
