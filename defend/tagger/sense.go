package tagger

import (
	"fmt"
	"slices"
)

const maxSenses = 1 << 16

// Senses map words to the kinds of things that they name, such as symptom or tool, so that
// the network reads an unseen word like others of its kind. An entry has a word's hash in
// its high bits and the number of a kind in the low ones. Entries are sorted; unused ones
// are noSense, at the end.
type Senses [maxSenses]uint32

const (
	noSense  = 1<<32 - 1
	kindBits = 9
	maxKinds = 1<<kindBits - 1 // the greatest marks an unused entry
	perWord  = 2               // senses of a word, at most; the rest is left out
)

// NewSenses makes a table of words by kind. A word of several kinds has the first two.
func NewSenses(kinds [][]string) (*Senses, error) {
	if len(kinds) > maxKinds {
		return nil, fmt.Errorf("%d kinds of words; there is room for %d", len(kinds), maxKinds)
	}
	var f Features
	var all []uint32
	had := map[uint32]int{}
	for k, words := range kinds {
		for _, w := range words {
			f.read(w)
			h := wordHash(f.form)
			if had[h] < perWord {
				had[h]++
				all = append(all, h|uint32(k))
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	var out Senses
	if n := copy(out[:], all); n < len(all) {
		return nil, fmt.Errorf("%d words with a kind; there is room for %d", len(all), maxSenses)
	}
	for i := len(all); i < len(out); i++ {
		out[i] = noSense
	}
	return &out, nil
}

// wordHash leaves the bits of the kind zero.
func wordHash(form []byte) uint32 { return mix('k', form) >> kindBits << kindBits }

// of returns the senses of a word or, if it has none, of its base form. It may overwrite room.
func (s *Senses) of(form, room []byte) []uint32 {
	if out := s.exact(form); len(out) > 0 || len(form) < 4 {
		return out
	}
	for _, e := range endings {
		stem, ok := cutEnd(form, e.end)
		if !ok || len(stem) < 3 {
			continue
		}
		if n := len(stem); e.double && stem[n-1] == stem[n-2] { // stopped
			if out := s.exact(stem[:n-1]); len(out) > 0 {
				return out
			}
		}
		for _, by := range e.by {
			if out := s.exact(append(append(room[:0], stem...), by...)); len(out) > 0 {
				return out
			}
		}
	}
	return nil
}

// endings of inflected words, with what replaces each in the base form, and whether the
// consonant before it may be doubled.
var endings = []struct {
	end    string
	by     []string
	double bool
}{
	{"'s", []string{""}, false},
	{"’s", []string{""}, false},
	{"ies", []string{"y"}, false},
	{"es", []string{"", "e"}, false},
	{"s", []string{""}, false},
	{"ied", []string{"y"}, false},
	{"ed", []string{"", "e"}, true},
	{"ing", []string{"", "e"}, true},
	{"ly", []string{""}, false},
	{"er", []string{"", "e"}, true},
}

func cutEnd(form []byte, end string) ([]byte, bool) {
	at := len(form) - len(end)
	if at < 0 || string(form[at:]) != end {
		return nil, false
	}
	return form[:at], true
}

// exact returns the entries of a normal form.
func (s *Senses) exact(form []byte) []uint32 {
	h := wordHash(form)
	at, _ := slices.BinarySearch(s[:], h)
	end := at
	for end < len(s) && s[end]>>kindBits == h>>kindBits && s[end] != noSense {
		end++
	}
	return s[at:end]
}

// sound reports whether entries are sorted.
func (s *Senses) sound() bool { return slices.IsSorted(s[:]) }
