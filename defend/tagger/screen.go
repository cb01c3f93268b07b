package tagger

import (
	"context"

	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/flow"
)

// ClearFrom is the probability that nothing private is in a sentence from which on the
// sentence is clear.
const ClearFrom = 0.9

// doubt bounds the share of texts in which a private sentence is clear although an
// attacker wrote them, as a share of a bit: by margay-lab train tagger --attack.
const doubt = 280_000

// Screener implements declassify.Screener by a model. It is safe for concurrent use.
type Screener struct{ model *Model }

// NewScreener returns a screener that reads by a model.
func NewScreener(m *Model) *Screener { return &Screener{m} }

// Doubt implements declassify.Screener.
func (*Screener) Doubt() flow.Bits { return doubt }

// Clear returns the sentences that are clear, and that no span of the network is in.
func (s *Screener) Clear(ctx context.Context, text string) ([]span.Place, error) {
	r, err := s.model.Read(ctx, text)
	if err != nil {
		return nil, err
	}
	var out []span.Place
	k := 0
	for _, x := range r.Sentences {
		for k < len(r.Spans) && r.Spans[k].End <= x.Start {
			k++
		}
		if x.Clear >= ClearFrom && (k == len(r.Spans) || r.Spans[k].Start >= x.End) {
			out = append(out, span.Place{Start: x.Start, End: x.End})
		}
	}
	return out, nil
}
