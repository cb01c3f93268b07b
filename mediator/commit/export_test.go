package commit

import "github.com/margaydev/margay/flow"

// Decision returns the decision. That of a zero Committed denies.
func (c *Committed) Decision() flow.Decision {
	d := c.decision
	if !c.minted {
		d.Outcome = flow.Deny
	}
	return d
}
