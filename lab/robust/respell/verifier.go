package respell

import (
	"context"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// Of is the verifier of a row of Margay's own.
func Of(m *defence.Margay) Verifier { return margay{m} }

type margay struct{ m *defence.Margay }

func (v margay) Release(ctx context.Context, c *declassify.Candidate) (Outcome, error) {
	r, err := v.m.Decide(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Atoms: r.Atoms}
	for _, p := range r.Parts() {
		o.Parts = append(o.Parts, p.Text)
	}
	return o, nil
}

func (v margay) Price(t *schema.Tool, f world.Field) (flow.Bits, error) { return v.m.Price(t, f) }
