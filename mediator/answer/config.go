package answer

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// config is how the texts of an answer are looked at. What the model made up
// passes where a rule of discovery found it as it stands: a value of which nothing
// stands in what the model was shown is no secret of it.
func config(s *session.Session, t *flow.Text) *stream.Config {
	c := s.Scan(flow.Generate, t, nil)
	c.HoldURLs = !s.Observes()
	decide := c.Decide
	c.Decide = func(f *stream.Finding, raw []byte) flow.Action {
		if decide(f, raw) != flow.ActAllow && f.Class == recognise.ClassDiscovery && f.View == "raw" && f.Rule != stream.RuleVault && !f.Capped && s.Shown.MadeUp(raw) {
			f.Action = flow.ActAllow
		}
		return f.Action
	}
	return c
}
