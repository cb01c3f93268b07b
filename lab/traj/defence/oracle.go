package defence

import (
	"context"

	"github.com/margaydev/margay/lab/traj/world"
)

// Oracle is shown the truth and sends the least that does: what a service needs,
// as coarse as it needs it, and the words of the task. It is not a defence; what
// leaks under it can't be avoided by anybody whose tasks succeed.
type Oracle struct{}

// Name implements Defence.
func (Oracle) Name() string { return "oracle" }

// Begin implements Defence: without the truth it can do nothing.
func (Oracle) Begin(context.Context, Known) (Session, error) {
	return stateless(func(*Candidate) Outcome { return denied() }), nil
}

// BeginWith implements Informed.
func (Oracle) BeginWith(t *world.Task) Session {
	return stateless(func(c *Candidate) Outcome {
		s := &t.Steps[c.Step]
		if !s.Essential {
			return denied()
		}
		out := all(c)
		// Only what is asked for: what people say in passing stays here, too.
		out.Parts = t.Least(c.Step)
		return out
	})
}
