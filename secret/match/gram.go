package match

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// grams is a set of gram tags, sorted, with an index over the top bits and a
// filter in front, so that nearly all text costs one probe and nothing else.
type grams struct {
	filter []uint64
	fshift uint8
	tags   []uint64 // 48 bits; gramHead and gramPart in the lowest
	recs   []uint32
	starts []uint32
	shift  uint8
	reach  int     // characters after which the next gram of a run must have come
	bits   float64 // that make a run a fragment
}

const (
	gramHead = 1 // a whole text may begin with it
	gramPart = 2 // it is evidence of a part
	tagMask  = ^uint64(0xffff)
)

// filterBits are the three bits of a tag in its word of the filter: a blocked
// Bloom filter of at least eight bits a tag, which lets one other in a hundred
// pass and fits the cache where buckets would not.
func filterBits(tag uint64) uint64 { return 1<<(tag>>16&63) | 1<<(tag>>22&63) | 1<<(tag>>28&63) }

func (g *grams) may(tag uint64) bool {
	m := filterBits(tag)
	return g.filter[tag>>g.fshift]&m == m
}

// find returns the record of a tag, whether a whole text may begin there, and
// whether it is evidence of a part of one.
func (g *grams) find(tag uint64) (rec uint32, head, part bool) {
	if !g.may(tag) {
		return 0, false, false
	}
	b := tag >> g.shift
	for i := g.starts[b]; i < g.starts[b+1]; i++ {
		if g.tags[i]&tagMask == tag&tagMask {
			return g.recs[i], g.tags[i]&gramHead != 0, g.tags[i]&gramPart != 0
		}
	}
	return 0, false, false
}

// gramBuilder collects grams and thins them out when they become too many.
type gramBuilder struct {
	all  []gramEntry
	thin int // only positions that it divides are kept, as a power of two
	step int // the greatest of any record
}

type gramEntry struct {
	key uint64 // 48 bits of tag, then position and headBit
	rec uint32
}

func (e *gramEntry) kept(thin int) bool {
	pos := int(e.key & 0xffff)
	return pos&headBit != 0 || pos&(thin-1) == 0
}

func (b *builder) addGrams(p []byte, a alphabet, rec uint32) (rest []byte, ok bool) {
	if len(p) < 3 {
		return nil, false
	}
	g := &b.grams
	g.thin, g.step = max(g.thin, 1), max(g.step, int(p[0]))
	n := int(binary.LittleEndian.Uint16(p[1:]))
	p = p[3:]
	if n == 0 || len(p) < n*gramSize+2 {
		return nil, false
	}
	for ; n > 0; n-- {
		if e := (gramEntry{binary.LittleEndian.Uint64(p), rec}); e.kept(g.thin) {
			g.all = append(g.all, e)
		}
		p = p[gramSize:]
	}
	for len(g.all) > maxEntries && g.thin < headBit {
		g.thin *= 2
		g.all = slices.DeleteFunc(g.all, func(e gramEntry) bool { return !e.kept(g.thin) })
	}
	n = int(binary.LittleEndian.Uint16(p))
	p = p[2:]
	if len(p) < 3*n {
		return nil, false
	}
	for ; n > 0; n-- {
		t := uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16
		if t >= prefixBits {
			return nil, false
		}
		b.prefix[t/64] |= 1 << (t % 64)
		p = p[3:]
	}
	return p, true
}

// done sorts the grams in. Of several records with one gram, that which lives
// longest stands for all.
func (b *gramBuilder) done(ix *Index) grams {
	lives := func(rec uint32) int64 {
		if e := ix.metas[rec].expires; e != 0 {
			return e
		}
		return math.MaxInt64
	}
	slices.SortFunc(b.all, func(x, y gramEntry) int {
		return cmp.Or(cmp.Compare(x.key>>16, y.key>>16), cmp.Compare(lives(y.rec), lives(x.rec)), cmp.Compare(x.rec, y.rec))
	})
	n := 0
	for _, e := range b.all {
		if n > 0 && b.all[n-1].key>>16 == e.key>>16 {
			last := &b.all[n-1].key
			if *last&headOnly == headOnly && e.key&headOnly != headOnly {
				b.all[n-1].rec = e.rec
				*last = e.key | *last&headBit
			}
			*last |= e.key & headBit
			continue
		}
		b.all[n] = e
		n++
	}
	all := b.all[:n]
	g := grams{
		tags: make([]uint64, n), recs: make([]uint32, n), reach: max(b.step, 1) * max(b.thin, 1),
		bits: max(24, 14+math.Log2(float64(n+1))),
	}
	size := 4
	for 8<<size < n {
		size++
	}
	g.filter, g.fshift = make([]uint64, 1<<size), uint8(64-size)
	for i, e := range all {
		g.tags[i], g.recs[i] = e.key&tagMask, e.rec
		if e.key&headBit != 0 {
			g.tags[i] |= gramHead
		}
		if e.key&headOnly != headOnly {
			g.tags[i] |= gramPart
		}
		g.filter[e.key>>g.fshift] |= filterBits(e.key)
	}
	g.shift, g.starts = bucketStarts(n, func(i int) uint64 { return all[i].key })
	b.all = nil
	return g
}

// canonGram returns what stands for all forms of a gram: the least of the
// gram, its ROT13, and both backwards. One tag then finds any of them.
func canonGram(w uint64) uint64 {
	const rest = 64 - 8*gramLen
	r := rot13(w)
	return min(w, r, bits.ReverseBytes64(w)>>rest, bits.ReverseBytes64(r)>>rest)
}

// canonPrefix is canonGram for four bytes.
func canonPrefix(w uint32) uint32 {
	r := uint32(rot13(uint64(w)))
	return min(w, r, bits.ReverseBytes32(w), bits.ReverseBytes32(r))
}

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// rot13 rotates the ASCII letters among eight bytes at once. All comparisons
// are of seven bits plus a constant, which can't carry into the next byte.
func rot13(w uint64) uint64 {
	low := w&^high | 0x20*ones
	letter := (low + (0x80-'a')*ones) &^ (low + (0x80-'z'-1)*ones) &^ w & high
	second := letter & (low + (0x80-'n')*ones)
	first := letter &^ second
	return w + first>>7*13 - second>>7*13
}
