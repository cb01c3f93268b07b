package method

import (
	"cmp"
	"slices"
)

// join orders spans and merges those that overlap or touch. Spans are cut to
// the text; empty ones are dropped.
func join(text string, spans []span) []Removed {
	if len(spans) == 0 {
		return nil
	}
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	var out []Removed
	for _, s := range spans {
		s.start, s.end = max(s.start, 0), min(s.end, len(text))
		switch n := len(out); {
		case s.start >= s.end:
		case n > 0 && s.start <= out[n-1].End:
			out[n-1].End = max(out[n-1].End, s.end)
		default:
			out = append(out, Removed{s.start, s.end})
		}
	}
	return out
}
