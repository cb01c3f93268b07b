package match

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match/memo"
)

const (
	prefixBits = 1 << 20 // size of the filter over four-byte prefixes
	maxEntries = 4 << 20 // grams of an index
	wordLens   = maxWord + 1
)

// Index finds the secrets of a set of records in canonical text. It is
// immutable and safe for concurrent use. Its cost per character does not grow
// with the number of secrets, apart from cache misses in its filter.
//
// Besides whole secrets it finds fragments: runs of a secret's own characters,
// anywhere in it, that ordinary text would not have by chance. A run is a
// fragment when every gram of it is the secret's and its text is rarer than
// 2^-b in ordinary text (package rarity), b = max(24, 14 + log2 of the grams in
// the index): six random letters and digits, seven hexadecimal digits, eight
// decimal digits, eight letters of rare words, four common words.
//
// False positives of whole secrets: a position of a view is taken for a given
// secret's end with probability at most n/2^61 + 2^-64, n its canonical length,
// against whoever does not know the key. Over a set of N secrets and T
// characters in V views that is below T·V·4N·2^-49 (n ≤ 4096), under one in a
// million for a gigabyte of text, 16 views and a thousand secrets. Text that
// *is* the secret's letters and digits, separators aside, counts as the secret.
//
// False positives of fragments: a position of a view ends a run by truncation
// with probability at most 4·G·2^-48 for G grams (four forms share a tag), and
// by background mass with at most 4·G·2^-b ≤ 2^-12: for text that is as random
// as the secrets are, one in 4,000 characters; for ordinary text, which is
// made of words, far less (the tests count both).
//
// An index keeps at most maxEntries grams. Past that it keeps every second,
// fourth, … gram of each secret, and a fragment must be long enough to hold one
// or two of those.
type Index struct {
	h     *hasher
	grams grams
	short [2]int // least and greatest canonical length

	prefix []uint64     // by the lower bits of a prefix's tag
	dense  bool         // the filter is too full to be worth asking
	absent *memo.Absent // of a dense index: grams that it has not
	checks buckets
	wholes []uint64 // tags of whole texts, sorted
	recs   []uint32 // by tag: the record, and its edges in the top bits
	wholeB []uint32 // bucket starts into wholes by the top bits
	wholeS uint8

	words    map[uint64]uint32
	wordLen  [wordLens]bool
	longest  int // of words; 0: none
	hasExact bool
	hasLead  bool // some secret starts with a character that its text leaves out

	metas []meta
	names []byte
}

// wholeEntry is a whole text while the index is built.
type wholeEntry struct {
	tag uint64
	rec uint32
}

// A record's number and the edges of one of its texts share a word.
const (
	recBits = 24
	recMask = 1<<recBits - 1
)

type meta struct {
	fp      secret.Fingerprint
	id      [26]byte
	name    uint32 // into names, length-prefixed
	kind    uint8
	source  uint8
	expires int64 // Unix milliseconds; 0: never
}

// Hit is one secret found.
type Hit struct {
	Start, End  int64 // raw offsets
	ID          string
	Name        string
	Kind        secret.Kind
	Source      secret.Source
	Fingerprint secret.Fingerprint
	Capped      bool // taken for a secret because it could not be decided in bounds
	Continues   bool // goes on where the last capped hit or fragment ended
	Fragment    bool // a part of the secret
}

// ErrPrint says that a record's print was not made by this version of Margay.
var ErrPrint = fmt.Errorf("matching fingerprint of an unknown format; register the secret again")

// NewIndex builds the index of records. Records whose Expires has passed at
// the time now are left out.
func NewIndex(keys *secret.Keys, recs iter.Seq2[secret.Record, error], now time.Time) (*Index, error) {
	b := newBuilder(keys)
	for r, err := range recs {
		if err != nil {
			return nil, err
		}
		if !r.Expires.IsZero() && !r.Expires.After(now) {
			continue
		}
		if err := b.add(&r); err != nil {
			return nil, fmt.Errorf("secret %s: %w", r.ID, err)
		}
	}
	return b.done(), nil
}

// Len returns the number of secrets in the index.
func (ix *Index) Len() int { return len(ix.metas) }

type builder struct {
	ix     *Index
	prefix []uint64 // prefixBits of them
	grams  gramBuilder
	checks []uint32
	wholes []wholeEntry
}

func newBuilder(keys *secret.Keys) *builder {
	return &builder{ix: &Index{h: newHasher(keys), words: map[uint64]uint32{}, short: [2]int{maxCanon + 1, 0}}, prefix: make([]uint64, prefixBits/64)}
}

// ErrTooMany says that an index can't hold so many secrets.
var ErrTooMany = errors.New("more secrets than one index holds (16 million)")

var (
	kindTable = []secret.Kind{
		secret.KindSecret, secret.KindAPIKey, secret.KindToken, secret.KindPassword, secret.KindPrivateKey, secret.KindConnectionString, secret.KindWebhook,
		secret.KindEmail, secret.KindPhone, secret.KindCard, secret.KindIBAN, secret.KindNationalID, secret.KindIP, secret.KindUUID,
	}
	sourceTable = []secret.Source{secret.SourceRegistered, secret.SourceDiscovered, secret.SourceDeclared}
)

func (b *builder) add(r *secret.Record) error {
	p := r.Print
	if len(p) < 3 || p[0] != printVersion {
		return ErrPrint
	}
	ix := b.ix
	if len(ix.metas) > recMask {
		return ErrTooMany
	}
	rec := uint32(len(ix.metas))
	switch p[1] {
	case printWords:
		if len(p) != 11 || int(p[2]) >= wordLens {
			return ErrPrint
		}
		tag := binary.LittleEndian.Uint64(p[3:])
		if _, ok := ix.words[tag]; !ok {
			ix.words[tag] = rec
		}
		ix.wordLen[p[2]] = true
		ix.longest = max(ix.longest, int(p[2]))
	case printText:
		if err := b.addText(p[2:], rec); err != nil {
			return err
		}
	default:
		return ErrPrint
	}
	m := meta{
		fp: r.Fingerprint, name: uint32(len(ix.names)),
		kind: uint8(max(0, slices.Index(kindTable, r.Kind))), source: uint8(max(0, slices.Index(sourceTable, r.Source))),
	}
	copy(m.id[:], r.ID)
	if !r.Expires.IsZero() {
		m.expires = r.Expires.UnixMilli()
	}
	name := r.Name[:min(len(r.Name), 255)]
	ix.names = append(append(ix.names, byte(len(name))), name...)
	ix.metas = append(ix.metas, m)
	return nil
}

func (b *builder) addText(p []byte, rec uint32) error {
	ix := b.ix
	if len(p) < 3 || p[0] >= byte(alphabets) {
		return ErrPrint
	}
	a, n := alphabet(p[0]), int(binary.LittleEndian.Uint16(p[1:]))
	p, ok := b.addGrams(p[3:], a, rec)
	if !ok {
		return ErrPrint
	}
	checks := 0
	for _, at := range checkAt {
		if at < n {
			checks++
		}
	}
	size := 1 + 4*checks + 8
	if n < leastText || n > 4*maxCanon || len(p) == 0 || len(p)%size != 0 {
		return ErrPrint
	}
	if a == exact {
		ix.hasExact = true
	}
	ix.short = [2]int{min(ix.short[0], n), max(ix.short[1], n)}
	for ; len(p) > 0; p = p[size:] {
		if p[0]&0x88 != 0 {
			return ErrPrint
		}
		edge := uint32(p[0]&7) | uint32(p[0]>>4)<<3
		ix.hasLead = ix.hasLead || edge>>3 > 0
		for i := range checks {
			b.checks = append(b.checks, binary.LittleEndian.Uint32(p[1+4*i:]))
		}
		b.wholes = append(b.wholes, wholeEntry{binary.LittleEndian.Uint64(p[size-8:]), rec | edge<<recBits})
	}
	return nil
}

func (b *builder) done() *Index {
	ix := b.ix
	ix.grams = b.grams.done(ix)
	if ix.prefix, ix.dense = fold(b.prefix); ix.dense {
		ix.absent = new(memo.Absent)
	}
	ix.checks = newBuckets(b.checks)
	// Slices are copied to their length: growing left up to a quarter unused.
	ix.names, ix.metas = slices.Clone(ix.names), slices.Clone(ix.metas)
	slices.SortFunc(b.wholes, func(x, y wholeEntry) int {
		return cmp.Or(cmp.Compare(x.tag, y.tag), cmp.Compare(x.rec, y.rec))
	})
	ix.wholes, ix.recs = make([]uint64, len(b.wholes)), make([]uint32, len(b.wholes))
	for i, w := range b.wholes {
		ix.wholes[i], ix.recs[i] = w.tag, w.rec
	}
	ix.wholeS, ix.wholeB = bucketStarts(len(ix.wholes), func(i int) uint64 { return ix.wholes[i] })
	return ix
}

func (ix *Index) isPrefix(tag uint32) bool {
	tag &= uint32(len(ix.prefix)*64 - 1)
	return ix.prefix[tag/64]&(1<<(tag%64)) != 0
}

// fold makes a filter as small as leaves it nearly empty, by laying its parts
// over each other. Trajectories have an index each, most of a few secrets.
func fold(filter []uint64) (small []uint64, dense bool) {
	n := 0
	for _, w := range filter {
		n += bits.OnesCount64(w)
	}
	size := min(1<<bits.Len(uint(128*max(n, 256)-1)), prefixBits) // a power of two
	small = make([]uint64, size/64)
	for i, w := range filter {
		small[i%len(small)] |= w
	}
	return small, n > prefixBits/4
}

// lookup returns the first live record with a whole tag, and the edges of its
// text.
func (ix *Index) lookup(tag uint64, now int64) (rec uint32, edge uint8, ok bool) {
	if len(ix.wholes) == 0 {
		return 0, 0, false
	}
	b := tag >> ix.wholeS
	for i := ix.wholeB[b]; i < ix.wholeB[b+1]; i++ {
		if r := ix.recs[i]; ix.wholes[i] == tag && !ix.expired(r&recMask, now) {
			return r & recMask, uint8(r >> recBits), true
		}
	}
	return 0, 0, false
}

func (ix *Index) expired(rec uint32, now int64) bool {
	e := ix.metas[rec].expires
	return e != 0 && now >= e
}

func (ix *Index) hit(rec uint32, start, end int64) Hit {
	m := &ix.metas[rec]
	n := uint32(ix.names[m.name])
	return Hit{
		Start: start, End: end, ID: string(m.id[:]), Name: string(ix.names[m.name+1 : m.name+1+n]),
		Kind: kindTable[m.kind], Source: sourceTable[m.source], Fingerprint: m.fp,
	}
}

// buckets is a set of tags, sorted, with an index over the top bits. A tag
// costs its size and about one byte more for the index.
type buckets struct {
	tags   []uint32
	starts []uint32
	shift  uint8
}

func newBuckets(tags []uint32) buckets {
	slices.Sort(tags)
	b := buckets{tags: slices.Clone(slices.Compact(tags))}
	b.shift, b.starts = bucketStarts(len(b.tags), func(i int) uint64 { return uint64(b.tags[i]) << 32 })
	return b
}

// bucketStarts indexes n sorted tags by their top bits, a few tags a bucket.
func bucketStarts(n int, tag func(int) uint64) (shift uint8, starts []uint32) {
	size := 1
	for 8<<size < n {
		size++
	}
	shift = uint8(64 - size)
	starts = make([]uint32, 1<<size+1)
	i := 0
	for b := range uint64(1) << size {
		for i < n && tag(i)>>shift < b {
			i++
		}
		starts[b] = uint32(i)
	}
	starts[1<<size] = uint32(n)
	return shift, starts
}

func (b *buckets) has(tag uint32) bool {
	if len(b.tags) == 0 {
		return false
	}
	i := uint64(tag) << 32 >> b.shift
	_, ok := slices.BinarySearch(b.tags[b.starts[i]:b.starts[i+1]], tag)
	return ok
}

// Prepare makes the record of a value for a store or an index. The id is the
// caller's (a ULID); now is its time of creation. The value is not kept.
// Errors are ErrTooShort and ErrTooLong, wrapped.
func Prepare(keys *secret.Keys, id, name string, kind secret.Kind, src secret.Source, origin string, value []byte, now time.Time) (secret.Record, Strength, error) {
	prints, st, err := Print(keys, value)
	if err != nil {
		return secret.Record{}, st, fmt.Errorf("%s: %w", name, err)
	}
	return secret.Record{
		ID: id, Name: name, Kind: kind, Source: src, Origin: origin,
		Fingerprint: keys.FingerprintOf(value), Print: prints, Length: len(value),
		Created: now.UTC().Truncate(time.Millisecond),
	}, st, nil
}
