// Package span cuts a free text into spans by the pseudonyms, labels and matches
// of coverage clauses in it.
// Spans are disjoint, in order, and of whole characters; they cover every
// match and every label.
package span

import (
	"slices"
	"unicode/utf8"

	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/rubric"
)

// Place is the place of a pseudonym in a text.
type Place struct{ Start, End int }

// Text is a text and everything known of it.
type Text struct {
	Text    string
	Names   []Place          // in order, disjoint
	Labels  []evidence.Label // of this text, as evidence.Check leaves them
	Matches []rubric.Match   // in any order
	// Only reports whether a match is of its field and no other.
	Only func(rubric.Match) bool
	// Passes: text without a label or a match may pass.
	Passes bool
}

// Span is one stretch of a text. It is a name, or labelled, or neither.
type Span struct {
	Start, End int      // bytes
	Label      int      // index of its label; -1: none
	Name       int      // index of the name; -1: none
	Match      bool     // something matches in it
	Only       []string // fields of sure matches of all of it
	Fire       []string // fields of all matches in it
}

// Cut cuts the text. Labels and names are spans of their own. A match that no label
// covers is a span without label, together with all labels that it touches. The
// text between is a span without label, unless it passes.
func (t *Text) Cut() []Span {
	out := make([]Span, 0, len(t.Names)+len(t.Labels)+len(t.Matches))
	for i, n := range t.Names {
		out = append(out, Span{Start: n.Start, End: n.End, Label: -1, Name: i})
	}
	for i := range t.Labels {
		l := &t.Labels[i]
		if l.Field == evidence.None || touching(out[:len(t.Names)], l.Start, l.End) {
			continue // none needs no span; a name is surer than a label
		}
		out = append(out, Span{Start: l.Start, End: l.End, Label: i, Name: -1})
	}
	slices.SortFunc(out, func(a, b Span) int { return a.Start - b.Start })
	for _, m := range t.Matches {
		m.Start, m.End = widen(t.Text, m.Start, m.End)
		if m.Start < m.End {
			out = t.cover(out, m)
		}
	}
	if t.Passes {
		return out
	}
	return fill(out, len(t.Text))
}

// widen moves the ends of a match to whole characters within the text.
func widen(text string, start, end int) (int, int) {
	start, end = max(start, 0), min(end, len(text))
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return start, end
}

func touching(s []Span, start, end int) bool {
	return slices.ContainsFunc(s, func(x Span) bool { return x.Start < end && start < x.End })
}

// cover adds a match to spans: into the one that holds it, or as a span of its own
// that replaces all that it touches.
func (t *Text) cover(out []Span, m rubric.Match) []Span {
	i, _ := slices.BinarySearchFunc(out, m.Start, func(s Span, at int) int {
		if s.End <= at {
			return -1
		}
		return 1
	})
	j := i
	for j < len(out) && out[j].Start < m.End {
		j++
	}
	if j == i+1 && out[i].Start <= m.Start && m.End <= out[i].End {
		s := &out[i]
		s.Match = true
		if m.Field == rubric.AnyField {
			return out
		}
		s.Fire = append(s.Fire, m.Field)
		if s.Start == m.Start && s.End == m.End && t.Only(m) {
			s.Only = append(s.Only, m.Field)
		}
		return out
	}
	s := Span{Start: m.Start, End: m.End, Label: -1, Name: -1, Match: true}
	if j > i {
		s.Start, s.End = min(s.Start, out[i].Start), max(s.End, out[j-1].End)
	}
	return slices.Replace(out, i, j, s)
}

// fill makes one span of everything between two labelled spans.
func fill(in []Span, n int) []Span {
	out := make([]Span, 0, 2*len(in)+1)
	gap := func(start, end int, match bool) {
		if start >= end {
			return
		}
		if k := len(out) - 1; k >= 0 && out[k].Label < 0 && out[k].Name < 0 && out[k].End == start {
			out[k].End, out[k].Match = end, out[k].Match || match
			return
		}
		out = append(out, Span{Start: start, End: end, Label: -1, Name: -1, Match: match})
	}
	at := 0
	for _, s := range in {
		gap(at, s.Start, false)
		if s.Label < 0 && s.Name < 0 {
			gap(s.Start, s.End, s.Match)
		} else {
			out = append(out, s)
		}
		at = s.End
	}
	gap(at, n, false)
	return out
}
