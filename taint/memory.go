package taint

import (
	"crypto/sha256"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/observe"
)

// Memory remembers annotated results and what a model said (Steps), in bounded
// memory. It drops first what was not used for long. It compares texts whole, or
// long ones by their SHA-256, so that no hash can be made to collide. It is safe for concurrent use. A Memory
// belongs to one policy and one trajectory, or at most to one user: whether a
// text is known shows whether it was read before.
type Memory struct {
	lattice label.Lattice
	most    int
	grew    func(bytes int) // nil for nobody

	mu       sync.Mutex
	new, old generation
}

// generation is half of what is remembered.
type generation struct {
	results map[resultKey]observe.Result
	said    map[saidKey]label.Label
	bytes   int
}

// saidKey is what tells a model's turns apart.
type saidKey struct {
	role             flow.Role
	kind             clear.Kind
	tool, call, text string
	digest           [sha256.Size]byte // of a long text
}

// longText is the length from which a digest stands for a text.
const longText = 1024

func keyOf(t *Turn) (k saidKey) {
	k = saidKey{role: t.Role, kind: t.Kind, tool: t.Tool, call: t.Call, text: t.Text}
	k.text, k.digest = digested(k.text)
	return k
}

func digested(text string) (short string, digest [sha256.Size]byte) {
	if len(text) < longText {
		return text, digest
	}
	return "", sha256.Sum256([]byte(text))
}

// NewMemory makes a Memory of at most about so many bytes. Grew is called with
// what it takes more, or less; it may be nil, and must not call the Memory.
func NewMemory(p *Policy, mostBytes int, grew func(bytes int)) *Memory {
	return &Memory{lattice: p.scheme.Lattice, most: mostBytes, grew: grew, new: newGeneration(), old: newGeneration()}
}

func newGeneration() generation {
	return generation{results: map[resultKey]observe.Result{}, said: map[saidKey]label.Label{}}
}

// room makes a new generation where this one is half of all.
func (m *Memory) room(n int) {
	more := n
	if m.new.bytes+n > m.most/2 {
		more -= m.old.bytes
		m.old, m.new = m.new, newGeneration()
	}
	m.new.bytes += n
	if m.grew != nil {
		m.grew(more)
	}
}

// overhead is what an entry takes besides its texts, roughly.
const overhead = 256

// result returns a result that is remembered.
func (m *Memory) result(k resultKey) (observe.Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.new.results[k]
	if ok {
		return r, true
	}
	if r, ok = m.old.results[k]; ok {
		m.keep(k, r)
	}
	return r, ok
}

// keepResult remembers a result.
func (m *Memory) keepResult(k resultKey, r observe.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(k, r)
}

func (m *Memory) keep(k resultKey, r observe.Result) {
	n := len(k.Arguments) + len(k.Text) + overhead + 96*len(r.Regions)
	if n > m.most/2 {
		return
	}
	if _, ok := m.new.results[k]; !ok {
		m.room(n)
	}
	m.new.results[k] = r
}

// Remember keeps the label that a model's turn was generated under, joined to
// what is remembered of the same turn.
func (m *Memory) Remember(t Turn, l label.Label) {
	k := keyOf(&t)
	m.mu.Lock()
	defer m.mu.Unlock()
	l = m.lattice.Join(l, m.lattice.Join(m.new.said[k], m.old.said[k]))
	m.say(k, l)
}

func (m *Memory) say(k saidKey, l label.Label) {
	if _, ok := m.new.said[k]; !ok {
		m.room(len(k.text) + len(k.call) + len(k.tool) + overhead)
	}
	m.new.said[k] = l
}

// Recall implements Steps.
func (m *Memory) Recall(t *Turn) (label.Label, bool) {
	k := keyOf(t)
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.new.said[k]
	if ok {
		return l, true
	}
	if l, ok = m.old.said[k]; ok {
		m.say(k, l)
	}
	return l, ok
}
