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
	hidden map[string]bool
}

// NewFinder makes one under rubrics that have some fields, sorted.
func NewFinder(seen *Family, fields []string) *Finder {
	return &Finder{seen, fields, map[string][]Match{}, map[string]bool{}}
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

// Hide leaves a text out of Matches.
func (f *Finder) Hide(text string) { f.hidden[text] = true }

// Matches are those of Find in the form of a clause's, unless the text is hidden.
func (f *Finder) Matches(text string) []rubric.Match {
	if f.hidden[text] {
		return nil
	}
	return f.matches(text)
}

// Hidden are those of Find in a text that is hidden.
func (f *Finder) Hidden(text string) []rubric.Match {
	if !f.hidden[text] {
		return nil
	}
	return f.matches(text)
}

func (f *Finder) matches(text string) []rubric.Match {
	all := f.Find(text)
	out := make([]rubric.Match, len(all))
	for i, m := range all {
		out[i] = rubric.Match{Start: m.Start, End: m.End, Field: m.Field, Clause: Clause}
	}
	return out
}
