package taint

import (
	"hash/maphash"
	"sync"

	"github.com/margaydev/margay/label"
)

// Memory is a Cache and Steps in memory, bounded. What was not used for long
// goes first. It compares texts whole, so that no hash can be made to collide.
// It is safe for concurrent use. A Memory belongs to one policy and one
// trajectory, or at most to one user: that a text is known says that it was
// read before.
type Memory struct {
	lattice label.Lattice
	seed    maphash.Seed
	most    int

	mu       sync.Mutex
	new, old generation
}

// generation is half of what is remembered.
type generation struct {
	results map[uint64]keptResult
	said    map[uint64]keptSaid
	bytes   int
}

type keptResult struct {
	key    CacheKey
	result Result
}

type keptSaid struct {
	turn  Turn
	label label.Label
}

// NewMemory makes a Memory of at most about so many bytes.
func NewMemory(p *Policy, mostBytes int) *Memory {
	return &Memory{lattice: p.scheme.Lattice, seed: maphash.MakeSeed(), most: mostBytes, new: newGeneration(), old: newGeneration()}
}

func newGeneration() generation {
	return generation{results: map[uint64]keptResult{}, said: map[uint64]keptSaid{}}
}

func (m *Memory) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, p := range parts {
		_, _ = h.WriteString(p)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// room makes a new generation where this one is half of all.
func (m *Memory) room(n int) {
	if m.new.bytes+n > m.most/2 {
		m.old, m.new = m.new, newGeneration()
	}
	m.new.bytes += n
}

// overhead is what an entry takes besides its texts, roughly.
const overhead = 256

// Result implements Cache.
func (m *Memory) Result(k CacheKey) (Result, bool) {
	h := m.hash(k.Tool, k.Arguments, k.Text, string(k.Under.Integrity), string(k.Under.Confidentiality))
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.new.results[h]; ok && r.key == k {
		return r.result, true
	}
	r, ok := m.old.results[h]
	if !ok || r.key != k {
		return Result{}, false
	}
	m.keep(h, r)
	return r.result, true
}

// Keep implements Cache.
func (m *Memory) Keep(k CacheKey, r Result) {
	h := m.hash(k.Tool, k.Arguments, k.Text, string(k.Under.Integrity), string(k.Under.Confidentiality))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(h, keptResult{k, r})
}

func (m *Memory) keep(h uint64, r keptResult) {
	n := len(r.key.Arguments) + len(r.key.Text) + overhead + 96*len(r.result.Regions)
	if n > m.most/2 {
		return
	}
	m.room(n)
	m.new.results[h] = r
}

func sameTurn(a, b *Turn) bool {
	return a.Role == b.Role && a.Kind == b.Kind && a.Tool == b.Tool && a.Call == b.Call && a.Text == b.Text
}

func (m *Memory) turnHash(t *Turn) uint64 {
	return m.hash(string(t.Role), string(rune('0'+t.Kind)), t.Tool, t.Call, t.Text)
}

// Say remembers the label that a model's turn was generated under, joined to
// what is remembered of the same turn.
func (m *Memory) Say(t Turn, l label.Label) {
	h := m.turnHash(&t)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range []*generation{&m.new, &m.old} {
		if s, ok := g.said[h]; ok && sameTurn(&s.turn, &t) {
			l = m.lattice.Join(l, s.label)
		}
	}
	m.room(len(t.Text) + overhead)
	m.new.said[h] = keptSaid{t, l}
}

// Said implements Steps.
func (m *Memory) Said(t *Turn) (label.Label, bool) {
	h := m.turnHash(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.new.said[h]; ok && sameTurn(&s.turn, t) {
		return s.label, true
	}
	s, ok := m.old.said[h]
	if !ok || !sameTurn(&s.turn, t) {
		return label.Label{}, false
	}
	m.room(len(t.Text) + overhead)
	m.new.said[h] = s
	return s.label, true
}
