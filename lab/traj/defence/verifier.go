package defence

import (
	"context"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// Decide takes one candidate to the verifier itself, with names of the family's
// own, for benchmarks that look at its atoms. It must not be called on an
// ablation.
func (m *Margay) Decide(ctx context.Context, c *declassify.Candidate) (declassify.Release, error) {
	own := *c
	own.Names = &names{of: string(c.Trajectory), given: map[string]string{}}
	return m.verifier.Release(ctx, own)
}

// Price is what a whole value of a field costs where a tool sends it.
func (m *Margay) Price(t *schema.Tool, f world.Field) (flow.Bits, error) {
	rules, err := m.cfg.Resolve(rubric.Query{Action: t.Action, Tool: t.Name, Sink: t.Sink, Channel: t.Channel, Class: t.Class.Known(), Fields: []string{string(f)}})
	if err != nil {
		return 0, err
	}
	return rules.Cost(string(f), rubric.Op{Kind: rubric.Identity}), nil
}
