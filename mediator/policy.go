package mediator

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// Policy says what is done with findings, by direction and kind. The zero
// Policy is the default one.
type Policy struct {
	Prompt   map[secret.Kind]flow.Action
	Generate map[secret.Kind]flow.Action
	// Halt ends a generation at its first redaction (on_red: halt).
	Halt bool
	// Risk says what the risk model's verdicts do.
	Risk RiskMode
	// Vocabulary is the size of the model's, for its entropies; 0 for
	// monitor.DefaultVocabulary.
	Vocabulary int
}

// Action returns what is done with a kind in the direction of a verb. Where
// the policy names none: credentials and registered secrets are replaced by
// pseudonyms on their way to a model or a tool and redacted on their way from
// it; personal data is reported.
func (p *Policy) Action(verb flow.Verb, kind secret.Kind) flow.Action {
	by, otherwise := p.Generate, flow.ActRedact
	if verb == flow.Prompt || verb == flow.Observe {
		by, otherwise = p.Prompt, flow.ActPseudonym
	}
	if a, ok := by[kind]; ok {
		return a
	}
	if kind.Personal() {
		return flow.ActReport
	}
	return otherwise
}

// halts reports whether a finding ends a generation. A masked token does not.
func (p *Policy) halts(f *stream.Finding) bool {
	return p.Halt && f.Action == flow.ActRedact && (f.Rule != stream.RuleRisk || f.Name != zoneYellow)
}
