package world

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Finder finds a repository's secrets in text that no generator wrote: stretches
// of MinFragment characters and more, plain or in one of Encodings. It is the
// truth for recorded models, compares values with text and nothing else, and
// shares no code with a detector. It is safe for concurrent use.
type Finder struct {
	forms []shape
	at    map[string][]place // by MinFragment bytes
}

// shape is a secret in an encoding.
type shape struct {
	text, encoding string
	secret, chars  int
}

type place struct{ form, from int }

// Finder returns one for the repository's secrets.
func (r *Repository) Finder() *Finder {
	f := &Finder{at: map[string][]place{}}
	for i := range r.Secrets {
		value := r.Secrets[i].Value
		f.add(shape{value, Raw, i, utf8.RuneCountInString(value)})
		for _, e := range encodings {
			if text := e.f(value); text != value {
				f.add(shape{text, e.name, i, utf8.RuneCountInString(value)})
			}
		}
	}
	return f
}

func (f *Finder) add(s shape) {
	n := len(f.forms)
	f.forms = append(f.forms, s)
	for i := 0; i+MinFragment <= len(s.text); i++ {
		k := s.text[i : i+MinFragment]
		f.at[k] = append(f.at[k], place{n, i})
	}
}

// Find returns what of the secrets stands in a text, in order and disjoint.
// Where stretches overlap, the one that carries more characters counts.
func (f *Finder) Find(text string) []Emission {
	var all []Emission
	for i := 0; i+MinFragment <= len(text); i++ {
		for _, p := range f.at[text[i:i+MinFragment]] {
			s := &f.forms[p.form]
			if i > 0 && p.from > 0 && text[i-1] == s.text[p.from-1] {
				continue // part of a longer one
			}
			n := MinFragment
			for i+n < len(text) && p.from+n < len(s.text) && text[i+n] == s.text[p.from+n] {
				n++
			}
			if chars := n * s.chars / len(s.text); chars >= MinFragment && strings.TrimSpace(text[i:i+n]) != "" {
				all = append(all, Emission{Secret: s.secret, Start: i, End: i + n, Encoding: s.encoding, Whole: n == len(s.text), Chars: chars})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Emission) int { return cmp.Compare(b.Chars, a.Chars) })
	var out []Emission
	for _, e := range all {
		if !slices.ContainsFunc(out, func(o Emission) bool { return e.Start < o.End && o.Start < e.End }) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b Emission) int { return cmp.Compare(a.Start, b.Start) })
	return out
}
