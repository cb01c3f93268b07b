package robust

import (
	"context"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/rubric"
)

// Forger is a defender that has been turned: it lies in its evidence, in one
// of the ways of the OCELOT paper (Pre-Registration B).
type Forger struct {
	Kind  string
	Inner declassify.Defender // whose labels it starts from
}

// Forgeries are the kinds of a Forger.
var Forgeries = []string{"omission", "relabel", "distributed", "context"}

// Evidence lies.
func (f Forger) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	raw, err := f.Inner.Evidence(ctx, r)
	if err != nil {
		return nil, err
	}
	honest, err := evidence.Parse(raw)
	if err != nil {
		return nil, err
	}
	ev := evidence.Statement{Context: r.Context}
	for _, l := range honest.Atoms {
		switch f.Kind {
		case "omission": // nothing is there
			continue
		case "relabel": // it is there, and harmless
			l.Field, l.Relation, l.Necessity = evidence.None, "none", rubric.Required.String()
			ev.Atoms = append(ev.Atoms, l)
		case "distributed": // each half of it is harmless
			half := l.Start + (l.End-l.Start)/2
			for half < l.End && r.Parts[l.Part].Text[half]&0xC0 == 0x80 {
				half++
			}
			l.Field, l.Relation, l.Necessity = evidence.None, "none", rubric.Useful.String()
			a, b := l, l
			a.End, b.Start = half, half
			for _, part := range []evidence.Label{a, b} {
				if part.Start < part.End {
					ev.Atoms = append(ev.Atoms, part)
				}
			}
		case "context": // it is sensitive, and the sink needs it
			l.Necessity = rubric.Required.String()
			ev.Atoms = append(ev.Atoms, l)
		}
	}
	for i := range ev.Atoms {
		ev.Operators = append(ev.Operators, evidence.Proposal{Atom: i, Op: rubric.Identity.String()})
	}
	if ev.Variant, err = r.Variant(ev.Atoms, ev.Operators); err != nil {
		return nil, err
	}
	return ev.Marshal()
}

// Answers sticks to the lie as well as it can: what it is asked about is
// harmless and needed.
func (f Forger) Answers(_ context.Context, _ *declassify.Request, cs []evidence.Challenge) ([]byte, error) {
	yes := make([]bool, len(cs))
	for i := range cs {
		yes[i] = cs[i].Field == evidence.None || cs[i].Necessity == rubric.Required.String()
	}
	return evidence.MarshalAnswers(yes)
}
