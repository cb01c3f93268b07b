package defence

import (
	"context"

	"github.com/margaydev/margay/lab/traj/world"
)

// Taint is information-flow control in the manner of RTBAS: arguments that come
// from the user's records or from tools are redacted where the sink is below
// their label. What the user says is the user's to say; a screener (the
// monitor) takes out what it recognises in it.
type Taint struct{ m *monitor }

// Name implements Defence.
func (*Taint) Name() string { return "taint" }

// Begin implements Defence.
func (d *Taint) Begin(_ context.Context, k Known) (Session, error) {
	v := newVault(k.Records)
	return stateless(func(c *Candidate) Outcome {
		out := all(c)
		if trusted(c) {
			return out
		}
		for i := range c.Parts {
			switch p := &c.Parts[i]; p.From {
			case world.FromProfile, world.FromTool:
				out.Parts[i] = Redaction
			case world.FromUser:
				out.Parts[i] = redact(p.Text, d.m.find(v, p.Text), everything)
			}
		}
		return out
	}), nil
}
