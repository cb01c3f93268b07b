package tagger

import (
	"fmt"
	"slices"
)

const maxSenses = 1 << 16

// Senses say what words stand for: each is a word's hash and the number of a kind, a
// symptom or a tool. Words that the training never saw are so read like others of their
// kind. They are in order; what is not used is the greatest.
type Senses [maxSenses]uint32

const (
	noSense  = 1<<32 - 1
	kindBits = 9
	maxKinds = 1<<kindBits - 1 // the greatest stands for none
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

// wordHash has zeros where the kind stands.
func wordHash(form []byte) uint32 { return mix('k', form) >> kindBits << kindBits }

// of are the senses of a word, or of the one that it is a form of.
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

// endings that make other forms of a word, and what stands for them in the word itself.
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

// exact are the senses of a normal form.
func (s *Senses) exact(form []byte) []uint32 {
	h := wordHash(form)
	at, _ := slices.BinarySearch(s[:], h)
	end := at
	for end < len(s) && s[end]>>kindBits == h>>kindBits && s[end] != noSense {
		end++
	}
	return s[at:end]
}

// sound reports whether senses are in order.
func (s *Senses) sound() bool { return slices.IsSorted(s[:]) }
