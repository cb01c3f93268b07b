package span

import (
	"cmp"
	"slices"

	"github.com/margaydev/margay/rubric"
)

// Beside are the fields of matches that count, within a place that is of another field:
// one for each of a field's matches that do not overlap. What the place's own value is
// made of is none, unless it stands beside that value.
func Beside(all []rubric.Match, field string, start, end int, counts func(rubric.Match) bool, madeOf func(field, other string) bool) (out []string) {
	within := func(m, o *rubric.Match) bool { return o.Start <= m.Start && m.End <= o.End }
	place := &rubric.Match{Start: start, End: end}
	own := slices.DeleteFunc(slices.Clone(all), func(m rubric.Match) bool { return m.Field != field || !within(&m, place) })
	ends := map[string]int{}
	for _, m := range slices.SortedFunc(slices.Values(all), func(a, b rubric.Match) int { return cmp.Or(a.End-b.End, b.Start-a.Start) }) {
		part := madeOf(field, m.Field) && (len(own) == 0 || slices.ContainsFunc(own, func(o rubric.Match) bool { return within(&m, &o) }))
		if m.Field != rubric.AnyField && m.Field != field && within(&m, place) && m.Start >= ends[m.Field] && counts(m) && !part {
			out, ends[m.Field] = append(out, m.Field), m.End
		}
	}
	return out
}
