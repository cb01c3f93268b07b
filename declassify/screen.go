package declassify

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/flow"
)

// Screener is a model that finds what no clause does. It is an adviser: what passes by
// its judgement alone is charged with its error, as a measurement.
type Screener interface {
	// Clear returns the places in a text, in order and disjoint, in which nothing
	// private is left. Names of fields in brackets stand for what is withheld.
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

// mask stands for what is withheld in a text that a model reads.
const mask = "[private]"

// clear are the places of a text, without what is withheld, that a model finds nothing
// private in. Where it fails, there are none.
func (k *cutter) clear(part int, text string, held []span.Span) []span.Place {
	s := &k.screen
	class := k.class
	if s.by == nil || s.off || k.lost || class > flow.SemiTrusted {
		return nil
	}
	doubt, ok := k.rules.Screened(k.c.Parts[part].Path, class)
	if !ok {
		return nil
	}
	var b strings.Builder
	type move struct{ at, to int } // from a place in the masked text on, how far back the text is
	var moves []move
	at := 0
	for _, h := range held {
		b.WriteString(text[at:h.Start])
		b.WriteString(mask)
		at = h.End
		moves = append(moves, move{b.Len(), at})
	}
	b.WriteString(text[at:])
	masked := b.String()
	places, ok := s.seen[masked]
	if !ok {
		var err error
		if places, err = s.by.Clear(s.ctx, masked); err != nil {
			places = nil
		}
		if s.seen == nil {
			s.seen = map[string][]span.Place{}
		}
		s.seen[masked] = places
	}
	back := func(p int) int {
		i, _ := slices.BinarySearchFunc(moves, p, func(m move, p int) int {
			if m.at <= p {
				return -1
			}
			return 1
		})
		switch {
		case i == 0:
			return min(p, startOf(held, 0, len(text)))
		default:
			return min(moves[i-1].to+p-moves[i-1].at, startOf(held, i, len(text)))
		}
	}
	out := make([]span.Place, 0, len(places))
	for _, p := range places {
		if p.Start < 0 || p.End > len(masked) || p.Start > p.End {
			return nil
		}
		out = append(out, span.Place{Start: back(p.Start), End: back(p.End)})
	}
	s.doubt = max(s.doubt, doubt, s.by.Doubt())
	return out
}

// startOf is where a held place starts; the end of the text behind the last.
func startOf(held []span.Span, i, end int) int {
	if i < len(held) {
		return held[i].Start
	}
	return end
}

// screened leaves out of spans what passes by a model's judgement.
func (k *cutter) screened(part int, text string, spans []span.Span) []span.Span {
	held := slices.DeleteFunc(slices.Clone(spans), func(s span.Span) bool { return s.Label < 0 && s.Name < 0 && !s.Match })
	places := k.clear(part, text, held)
	if len(places) == 0 {
		return spans
	}
	var out []span.Span
	passed := false
	for _, s := range spans {
		if s.Label >= 0 || s.Name >= 0 || s.Match {
			out = append(out, s)
			continue
		}
		at := s.Start
		keep := func(to int) {
			if at < to && says(text[at:to]) {
				out = append(out, span.Span{Start: at, End: to, Label: -1, Name: -1})
			}
		}
		for _, p := range places {
			if p.End <= at || p.Start >= s.End {
				continue
			}
			keep(max(at, p.Start))
			at = min(p.End, s.End)
			passed = true
		}
		keep(s.End)
	}
	if passed {
		if k.screen.parts == nil {
			k.screen.parts = map[int]bool{}
		}
		k.screen.parts[part] = true
	}
	return out
}

// says reports whether a text has a letter or a digit.
func says(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) })
}

// charged is what the release is charged for what passed: in each text the bound of the
// error, of the worst field.
func (s *screen) charged(rules Prices) flow.Bits {
	one := flow.Bits((int64(min(rules.TopRisk(), maxWorst)/1000)*int64(s.doubt) + 999) / 1000)
	return one * flow.Bits(len(s.parts))
}

const maxWorst = 1 << 20 * flow.Bit
