// Package recent has a map that keeps a bounded number of entries: the one that
// was put or used longest ago goes first.
package recent

import (
	"container/list"
	"sync"
)

// Map is a map of at most a number of entries. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	most  int
	mu    sync.Mutex
	at    map[K]*list.Element
	order list.List // of entry[K, V], the one that goes next in front
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty map of at most most entries.
func New[K comparable, V any](most int) *Map[K, V] {
	return &Map[K, V]{most: most, at: map[K]*list.Element{}}
}

// Get returns what a key has. It does not count as use.
func (m *Map[K, V]) Get(key K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	el, ok := m.at[key]
	if ok {
		v = el.Value.(entry[K, V]).value
	}
	return v, ok
}

// Put sets what a key has.
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
	m.add(key, v)
}

// Use returns what a key has, which is v where it had nothing.
func (m *Map[K, V]) Use(key K, v V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if el, ok := m.at[key]; ok {
		m.order.MoveToBack(el)
		return el.Value.(entry[K, V]).value
	}
	m.add(key, v)
	return v
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.at)
}

// Delete forgets a key.
func (m *Map[K, V]) Delete(key K) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(key)
}

func (m *Map[K, V]) add(key K, v V) {
	m.at[key] = m.order.PushBack(entry[K, V]{key, v})
	if len(m.at) > m.most {
		m.remove(m.order.Front().Value.(entry[K, V]).key)
	}
}

func (m *Map[K, V]) remove(key K) {
	if el, ok := m.at[key]; ok {
		m.order.Remove(el)
		delete(m.at, key)
	}
}
