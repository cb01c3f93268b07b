// Package lm is a small adaptive language model that gives true next-token
// distributions: for every position it knows the probability of every token of
// a fixed vocabulary, and they sum to one. The prism benchmark scores scripted
// agents with it, so that no entropy is made up.
//
// Two experts are mixed. One is an n-gram model over a fixed base text
// (interpolated Kneser-Ney, Chen and Goodman 1999, histories of up to three
// tokens). The other has seen only the context: every earlier occurrence of
// the last token votes for what followed it, by how far back its history
// agrees, in a PPM chain (escape method C, Moffat 1990) up to 12 tokens long.
// That is the copy mechanism: the longer the agreement, the surer the vote.
// What escapes falls back to the n-gram model. The mixing weights depend on
// the longest agreement and adapt by expectation maximisation while text is
// scored.
//
// The base text is base/opticks.txt (Isaac Newton, Opticks, fourth edition,
// 1730, an excerpt; public domain) and base/operations.txt (written for this
// package). Callers may add more of it.
package lm

import (
	_ "embed"
	"math"
	"sync"
)

//go:embed base/opticks.txt
var opticks string

//go:embed base/operations.txt
var operations string

const (
	maxHistory = 3 // tokens, of the base text's n-grams
	discount   = 0.75
)

// Model is the base text's model. It does not change and is safe for
// concurrent use.
type Model struct {
	words words
	// unigram is strictly positive and sums to one.
	unigram []float64
	// ranked has the vocabulary by unigram, the likeliest first.
	ranked []uint16
	// plogp is the sum of u·ln u over the vocabulary.
	plogp float64
	// after has a history's successors; the key is its tokens, the last lowest.
	after map[uint64]successors
}

type successors struct {
	next  []uint16
	share []float64 // discounted: (c-D)/total
	rest  float64   // left for shorter histories
}

var shared = sync.OnceValue(func() *Model { return New() })

// Default is the model of the base text alone.
func Default() *Model { return shared() }

// New makes a model of the base text and more. The vocabulary stays below
// 65,536: of further pieces the first are taken.
func New(more ...string) *Model {
	texts := append([]string{opticks, operations}, more...)
	m := &Model{words: newWords(texts)}
	m.count(texts)
	return m
}

// Vocabulary is the number of tokens.
func (m *Model) Vocabulary() int { return len(m.words.text) }

type gram struct {
	history uint64
	next    uint16
}

func key(history []uint16) uint64 {
	k := uint64(len(history)) << 56
	for i, t := range history {
		k |= uint64(t) << (16 * (len(history) - 1 - i))
	}
	return k
}

// count makes the Kneser-Ney tables. The longest histories have counts of
// occurrences, shorter ones the number of distinct longer histories that their
// gram stood in.
func (m *Model) count(texts []string) {
	m.after = map[uint64]successors{}
	counts := [maxHistory + 1]map[gram]int{}
	order := [maxHistory + 1][]gram{} // first seen first, so that sums do not vary
	for n := range counts {
		counts[n] = map[gram]int{}
	}
	add := func(n int, g gram) bool {
		c := counts[n][g]
		counts[n][g] = c + 1
		if c == 0 {
			order[n] = append(order[n], g)
		}
		return c == 0
	}
	for _, text := range texts {
		tokens := m.words.tokens(nil, text)
		for i, t := range tokens {
			for n := min(i, maxHistory); n >= 0; n-- {
				if !add(n, gram{key(tokens[i-n : i]), t}) {
					break // shorter ones have counted this one already
				}
			}
		}
	}
	for n := 1; n <= maxHistory; n++ {
		m.table(order[n], counts[n])
	}
	m.unigrams(order[0], counts[0])
}

func (m *Model) table(order []gram, counts map[gram]int) {
	total := map[uint64]int{}
	for g, c := range counts {
		total[g.history] += c
	}
	for _, g := range order {
		s := m.after[g.history]
		s.next = append(s.next, g.next)
		s.share = append(s.share, (float64(counts[g])-discount)/float64(total[g.history]))
		s.rest += discount / float64(total[g.history])
		m.after[g.history] = s
	}
}

func (m *Model) unigrams(order []gram, counts map[gram]int) {
	total := 0
	for _, c := range counts {
		total += c
	}
	v := m.Vocabulary()
	m.unigram = make([]float64, v)
	rest := discount * float64(len(order)) / float64(total)
	for i := range m.unigram {
		m.unigram[i] = rest / float64(v)
	}
	for _, g := range order {
		m.unigram[g.next] += (float64(counts[g]) - discount) / float64(total)
	}
	for _, u := range m.unigram {
		m.plogp += u * math.Log(u)
	}
	m.ranked = rank(m.unigram)
}
