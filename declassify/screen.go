package declassify

import (
	"context"

	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/flow"
)

// Screener is a model that finds what no clause does. It is an adviser: what passes by
// its judgement alone is charged with its error, as a measurement.
type Screener interface {
	// Clear returns the places in a text, in order and disjoint, in which nothing
	// private is left. span.Mask stands for what is withheld.
	Clear(ctx context.Context, text string) ([]span.Place, error)
	// Doubt bounds the share of texts of which that is wrong although an attacker
	// wrote them, as a share of a bit.
	Doubt() flow.Bits
}

// screen is what is known of the texts that a model may release.
type screen struct {
	ctx   context.Context //nolint:containedctx // of one release
	by    Screener
	off   bool         // there is no room for it
	parts map[int]bool // that something passed in
	doubt flow.Bits    // the worst, as a share of a bit
	seen  map[string][]span.Place
}

// screened leaves out of the spans of a part what passes by a model's judgement. Where
// the model fails, nothing does.
func (k *cutter) screened(part int, text string, spans []span.Span) []span.Span {
	s := &k.screen
	doubt, ok := k.rules.Screened(k.c.Parts[part].Path, k.class)
	if s.by == nil || s.off || k.lost || k.class > flow.SemiTrusted || !ok {
		return spans
	}
	masked := span.NewMasked(text, span.Held(spans))
	found, ok := s.seen[masked.Text]
	if !ok {
		var err error
		if found, err = s.by.Clear(s.ctx, masked.Text); err != nil {
			found = nil
		}
		s.seen[masked.Text] = found
	}
	places := make([]span.Place, len(found))
	for i, p := range found {
		if p.Start < 0 || p.End > len(masked.Text) || p.Start > p.End || i > 0 && p.Start < found[i-1].End {
			return spans
		}
		places[i] = span.Place{Start: masked.Original(p.Start), End: masked.Original(p.End)}
	}
	out, some := span.Without(text, spans, places)
	if some {
		if s.parts == nil {
			s.parts = map[int]bool{}
		}
		s.parts[part], s.doubt = true, max(s.doubt, doubt, s.by.Doubt())
	}
	return out
}

// charged is what the release is charged for what passed: in each text the bound of the
// error, of the worst field.
func (s *screen) charged(rules Prices) flow.Bits {
	const most = 1 << 20 * flow.Bit
	one := flow.Bits((int64(min(rules.TopRisk(), most)/1000)*int64(s.doubt) + 999) / 1000)
	return one * flow.Bits(len(s.parts))
}
