package known

import (
	"slices"

	"github.com/margaydev/margay/rubric"
)

// Clause is the clause of matches of values that the family has seen.
const Clause = "known value"

// Finder finds what a family has seen in the texts of one release. It is not safe for
// concurrent use.
type Finder struct {
	seen   *Family
	fields []string
	found  map[string][]Match // by text
}

// NewFinder makes one under rubrics that have some fields, sorted. In the texts that are
// planted nothing is found, unless they are among the others, too.
func NewFinder(seen *Family, fields, planted, others []string) *Finder {
	f := &Finder{seen, fields, map[string][]Match{}}
	for _, text := range planted {
		if !slices.Contains(others, text) {
			f.found[text] = nil
		}
	}
	return f
}

// Find finds values in a text. A field that the rubrics do not have is any field.
func (f *Finder) Find(text string) []Match {
	out, ok := f.found[text]
	if ok {
		return out
	}
	out = f.seen.Find(text)
	for i := range out {
		if _, has := slices.BinarySearch(f.fields, out[i].Field); !has {
			out[i].Field, out[i].Value = rubric.AnyField, ""
		}
	}
	f.found[text] = out
	return out
}

// Matches are those of Find in the form of a clause's.
func (f *Finder) Matches(text string) []rubric.Match {
	all := f.Find(text)
	out := make([]rubric.Match, len(all))
	for i, m := range all {
		out[i] = rubric.Match{Start: m.Start, End: m.End, Field: m.Field, Clause: Clause}
	}
	return out
}
