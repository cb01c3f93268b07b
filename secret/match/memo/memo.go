// Package memo remembers, in memory alone, what was worked out about the last letters
// and digits of texts. Text has the same ones again and again, and a keyed tag costs as
// much as all else about a character.
package memo

import (
	"sync"
	"sync/atomic"
)

// Gram is letters and digits of ASCII, six bits each, the last one lowest.
type Gram uint64

// Letter has the letters and digits: what a [Gram] has of them, plus one; 0 for others.
var Letter = func() (t [256]uint8) {
	for i := range len(letters) {
		t[letters[i]] = uint8(i + 1)
	}
	return t
}()

const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Then returns the last ten letters of a gram and one more, which has a code in Letter.
func (g Gram) Then(code uint8) Gram { return g<<6 | Gram(code-1) }

// Bytes returns the last n letters, at most eight, the last one lowest.
func (g Gram) Bytes(n int) (w uint64) {
	for i := range n {
		w |= uint64(letters[g>>(6*i)&63]) << (8 * i)
	}
	return w
}

// Both tables keep what stands in one place: a product by an odd number, of which no
// two keys have the same, says the place with its upper bits, and whose it is with the
// lower ones.
const odd = 0x9e3779b97f4a7c15

// Tags remembers tags of 20 bits of four letters each.
type Tags [1 << tagPlaces]atomic.Uint32

const (
	tagPlaces = 17
	tagBits   = 20
	tagRest   = 24 - tagPlaces
	tagKnown  = 1 << tagRest
)

// Get returns the tag of the last four letters.
func (m *Tags) Get(g Gram) (tag uint32, ok bool) {
	k := uint32(g*(odd&(1<<24-1))) & (1<<24 - 1)
	e := m[k>>tagRest].Load()
	return e & (1<<tagBits - 1), e>>tagBits == k&(tagKnown-1)|tagKnown
}

// Put remembers a tag.
func (m *Tags) Put(g Gram, tag uint32) {
	k := uint32(g*(odd&(1<<24-1))) & (1<<24 - 1)
	m[k>>tagRest].Store((k&(tagKnown-1)|tagKnown)<<tagBits | tag)
}

// TagsOf returns the tags under a key. They are shared by all indexes under the same
// key: there are many, and a process has one set of keys.
func TagsOf(key [2]uint64) *Tags {
	last.Lock()
	defer last.Unlock()
	if last.tags == nil || last.key != key {
		last.key, last.tags = key, new(Tags)
	}
	return last.tags
}

var last struct {
	sync.Mutex
	key  [2]uint64
	tags *Tags
}

// Absent remembers six letters each that are not there.
type Absent [1 << absentPlaces]atomic.Uint32

const (
	absentPlaces = 18
	absentRest   = 36 - absentPlaces
	absentKnown  = 1 << absentRest
)

// Has reports whether the last six letters are known not to be there.
func (m *Absent) Has(g Gram) bool {
	k := uint64(g*(odd&(1<<36-1))) & (1<<36 - 1)
	return m[k>>absentRest].Load() == uint32(k)&(absentKnown-1)|absentKnown
}

// Put remembers that six letters are not there.
func (m *Absent) Put(g Gram) {
	k := uint64(g*(odd&(1<<36-1))) & (1<<36 - 1)
	m[k>>absentRest].Store(uint32(k)&(absentKnown-1) | absentKnown)
}
