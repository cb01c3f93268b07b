// Package quote finds again what models said, in what users are made to say.
package quote

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/label"
)

// Quotes remembers long texts that models said under a label, and finds them in
// what users are made to say: clients sum a conversation up with a model, and
// begin the next one with the summary as the user's words. It is bounded, and
// safe for concurrent use. It finds runs of at least 2·Block-1 bytes as
// they were said; a text in other words it does not know again.
type Quotes struct {
	lattice label.Lattice
	seed    maphash.Seed
	base    uint64 // of the rolling hash: secret, so that nobody can aim at it
	out     uint64 // base to the power of a block's length

	mu     sync.Mutex
	blocks map[uint64]label.Label
	oldest []uint64           // keys of blocks, in order of entry
	judged map[uint64][]Quote // what was found in texts, by their hash, when they were first seen
}

// Quote is a part of a text with the label of where it comes from.
type Quote struct {
	Start, End int // in bytes
	Label      label.Label
}

const (
	// Block is how many bytes are looked up at once.
	Block = 32
	// maxQuoted bounds the blocks that are remembered: 2 MB of text.
	maxQuoted = 1 << 16
	// maxJudged bounds the texts whose quotes are remembered.
	maxJudged = 1 << 12
)

// New remembers nothing yet. Those of one secret key know the same blocks.
func New(lattice label.Lattice, key uint64) *Quotes {
	q := &Quotes{
		lattice: lattice, seed: maphash.MakeSeed(), base: key | 1, out: 1, blocks: map[uint64]label.Label{}, judged: map[uint64][]Quote{},
	}
	for range Block {
		q.out *= q.base
	}
	return q
}

// windows calls f with the hash of every block of a text and its offset.
func (q *Quotes) windows(text string, f func(at int, h uint64)) {
	h := uint64(0)
	for i := range len(text) {
		h = h*q.base + uint64(text[i]) + 1
		if i >= Block {
			h -= q.out * (uint64(text[i-Block]) + 1)
		}
		if i >= Block-1 {
			f(i-Block+1, mix(h))
		}
	}
}

// mix spreads a rolling hash over all bits.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>29
}

// Remember keeps what a model said under a label, but for what it repeats of
// own: the user's and the developer's texts of the conversation. It returns the
// blocks that it learnt, for Restore.
func (q *Quotes) Remember(text string, l label.Label, own []string) []uint64 {
	if l == (label.Label{}) || len(text) < 2*Block {
		return nil
	}
	said := map[uint64]bool{}
	q.windows(text, func(at int, h uint64) {
		if at%Block == 0 {
			said[h] = true
		}
	})
	for _, o := range own {
		q.windows(o, func(_ int, h uint64) {
			if said[h] {
				delete(said, h)
			}
		})
	}
	return q.Restore(l, slices.Collect(maps.Keys(said)))
}

// Restore learns blocks that were said under a label, perhaps by another
// process. It returns those that it did not know, or under a lower label.
func (q *Quotes) Restore(l label.Label, blocks []uint64) (fresh []uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range blocks {
		old, ok := q.blocks[h]
		join := q.lattice.Join(old, l)
		if ok && join == old {
			continue
		}
		fresh = append(fresh, h)
		if q.blocks[h] = join; !ok {
			q.oldest = append(q.oldest, h)
		}
	}
	if n := len(q.oldest) - maxQuoted; n > 0 {
		n += maxQuoted / 4 // not for each answer anew
		for _, h := range q.oldest[:n] {
			delete(q.blocks, h)
		}
		q.oldest = append([]uint64(nil), q.oldest[n:]...)
	}
	return fresh
}

// Find returns the parts of a text that were said before it was first seen,
// in whole lines.
func (q *Quotes) Find(text string) []Quote {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.blocks) == 0 || len(text) < Block {
		return nil
	}
	key := maphash.String(q.seed, text)
	if found, ok := q.judged[key]; ok {
		return found
	}
	var out []Quote
	q.windows(text, func(at int, h uint64) {
		l, ok := q.blocks[h]
		if !ok {
			return
		}
		n := len(out)
		if n > 0 && at < out[n-1].End {
			out[n-1].Label = q.lattice.Join(out[n-1].Label, l)
			if at+Block <= out[n-1].End {
				return
			}
			out[n-1].End = lineEnd(text, at+Block)
			return
		}
		start := strings.LastIndexByte(text[:at], '\n') + 1
		if n > 0 && start < out[n-1].End {
			start = out[n-1].End
		}
		out = append(out, Quote{start, lineEnd(text, at+Block), l})
	})
	if len(q.judged) >= maxJudged {
		clear(q.judged)
	}
	q.judged[key] = out
	return out
}

// lineEnd is the end of the line that an offset is in.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}
