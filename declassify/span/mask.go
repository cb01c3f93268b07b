package span

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mask stands for a place of a text that is withheld, where a model reads the rest.
const Mask = "[private]"

// Masked is a text with a mask in place of each of some spans, which are in order and
// disjoint.
type Masked struct {
	Text  string
	spans []Span
	moves []move
	size  int // of the original
}

// move says that the masked text from at on is the original from to on.
type move struct{ at, to int }

// NewMasked masks spans of a text.
func NewMasked(text string, spans []Span) *Masked {
	m := &Masked{spans: spans, moves: []move{{}}, size: len(text)}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.Start])
		b.WriteString(Mask)
		at = s.End
		m.moves = append(m.moves, move{b.Len(), at})
	}
	b.WriteString(text[at:])
	m.Text = b.String()
	return m
}

// Original is where a byte of the masked text is in the original; of a mask, where what
// is masked starts.
func (m *Masked) Original(at int) int {
	i, found := slices.BinarySearchFunc(m.moves, at, func(x move, at int) int { return x.at - at })
	if !found {
		i--
	}
	to := m.size
	if i < len(m.spans) {
		to = m.spans[i].Start
	}
	return min(m.moves[i].to+at-m.moves[i].at, to)
}

// Held reports whether a span is more than text without a label or a match.
func (s *Span) Held() bool { return s.Label >= 0 || s.Name >= 0 || s.Match }

// Held are the spans that are more than text without a label or a match.
func Held(spans []Span) []Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s Span) bool { return !s.Held() })
}

// Without leaves some places, in order and disjoint, out of those spans of a text that
// are no more than text, with what between them has neither a letter, a digit nor a
// symbol. If a withheld number ends in a digit and more digits follow, they stay withheld
// up to the next space; so do digits before one. It reports whether there was any.
func Without(text string, spans []Span, places []Place) (out []Span, some bool) {
	for i, s := range spans {
		for len(places) > 0 && places[0].End <= s.Start {
			places = places[1:]
		}
		if s.Held() {
			out = append(out, s)
			continue
		}
		at, from, to := s.Start, s.Start, s.End
		if r, _ := utf8.DecodeLastRuneInString(text[:from]); i > 0 && unicode.IsDigit(r) {
			if n := strings.IndexFunc(text[from:to]+" ", unicode.IsSpace); digits(text[from : from+n]) {
				from += n
			}
		}
		if r, _ := utf8.DecodeRuneInString(text[to:]); i+1 < len(spans) && unicode.IsDigit(r) {
			if n := strings.LastIndexFunc(text[from:to], unicode.IsSpace) + 1; digits(text[from+n : to]) {
				to = from + n
			}
		}
		keep := func(to int) {
			if at < to && says(text[at:to]) {
				out = append(out, Span{Start: at, End: to, Label: -1, Name: -1})
			}
		}
		for _, p := range places {
			if p.Start >= s.End {
				break
			}
			if p.Start, p.End = max(p.Start, from, at), min(p.End, to); p.Start < p.End {
				keep(p.Start)
				at, some = p.End, true
			}
		}
		keep(s.End)
	}
	return out, some
}

func digits(text string) bool { return strings.ContainsFunc(text, unicode.IsDigit) }

func says(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) })
}
