package recognise

import (
	"slices"

	"github.com/margaydev/margay/internal/ahocorasick"
	"github.com/margaydev/margay/internal/dfa"
)

// firstBytes returns the bytes that a match can begin with.
func firstBytes(d *dfa.DFA) (first [256]bool) {
	for b := range first {
		for before := dfa.Nothing; before <= dfa.Other; before++ {
			first[b] = first[b] || !d.Step(d.Start(before), byte(b)).Dead()
		}
	}
	return first
}

// armourUse marks the literal that may begin a private key.
const armourUse = ^uint16(0)

// words finds the literals, in any case.
type words struct {
	*ahocorasick.Automaton
	out   [][]wordUse
	ends  []bool      // by state: it has out
	class *[256]uint8 // of ahocorasick.Automaton.Table, marked by ends
	next  []uint32
	held  []uint8 // by state: bytes that may begin a literal inside a secret
}

// wordUse is what a literal does when it is complete.
type wordUse struct {
	rule   uint16
	length uint8
	gate   bool // it opens the rule's gate instead of starting a run
	inside bool // the literal lies in the secret group
}

func newWords(uses map[string][]wordUse) *words {
	var class [256]uint8 // 0: in no literal
	width := 1
	for lit := range uses {
		for _, c := range []byte(lit) {
			if class[c] == 0 {
				class[c] = uint8(width)
				width++
				if c >= 'a' && c <= 'z' {
					class[c-32] = class[c]
				}
			}
		}
	}
	w := &words{Automaton: ahocorasick.New(class, width)}
	for lit := range uses {
		w.Add(lit)
	}
	w.out, w.ends, w.held = make([][]wordUse, w.Len()), make([]bool, w.Len()), make([]uint8, w.Len())
	for lit, us := range uses {
		path := w.Add(lit)
		w.out[path[len(path)-1]] = us
		if slices.ContainsFunc(us, func(u wordUse) bool { return u.inside }) {
			for i, s := range path {
				w.held[s] = uint8(i + 1)
			}
		}
	}
	w.Link(func(s, suffix uint16) {
		w.out[s] = slices.Concat(w.out[s], w.out[suffix])
		w.held[s] = max(w.held[s], w.held[suffix])
		w.ends[s] = len(w.out[s]) > 0
	})
	w.class, w.next = w.Table(w.ends)
	return w
}
