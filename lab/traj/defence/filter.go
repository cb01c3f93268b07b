package defence

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
)

// Filter is a per-release filter of contextual integrity: a value may flow
// where the norm of the context has it flow, else it is taken out. A service
// that the task needs, or an honest one, may have what its own schema asks for,
// in whole; what stands in free text besides, or goes to anybody else, may not.
// It has no memory.
type Filter struct{ m *monitor }

// Name implements Defence.
func (*Filter) Name() string { return "filter" }

// Begin implements Defence.
func (f *Filter) Begin(_ context.Context, k Known) (Session, error) {
	v := newVault(k.Records)
	return stateless(func(c *Candidate) Outcome {
		out := all(c)
		asked := map[world.Field]bool{}
		for i := range c.Parts {
			asked[c.Parts[i].Field] = true
		}
		for i := range c.Parts {
			p := &c.Parts[i]
			switch {
			case p.Field != "" && c.Sink.Class.Known() == flow.Adversarial:
				out.Parts[i] = Redaction
			case p.Field == "":
				out.Parts[i] = redact(p.Text, f.m.find(v, p.Text), func(x *finding) bool { return !trusted(c) || x.field == "" || !asked[x.field] })
			}
		}
		return out
	}), nil
}
