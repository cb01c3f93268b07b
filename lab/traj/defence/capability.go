package defence

import (
	"context"

	"github.com/margaydev/margay/lab/traj/world"
)

// Capability is a capability system in the manner of CaMeL: every value carries
// who may read it, what is computed from it inherits that, and a call with a
// value that its tool may not read is denied. The user's records and words, and
// what tools answered, may be read by services that the task needs; words of
// the task by everybody. It grants whole values or nothing.
type Capability struct{}

// Name implements Defence.
func (Capability) Name() string { return "capability" }

// Begin implements Defence.
func (Capability) Begin(context.Context, Known) (Session, error) {
	return stateless(func(c *Candidate) Outcome {
		if !trusted(c) {
			for i := range c.Parts {
				if c.Parts[i].From != world.FromTask {
					return denied()
				}
			}
		}
		return all(c)
	}), nil
}
