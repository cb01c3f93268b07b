package monitor

import "github.com/margaydev/margay/monitor/cue"

// Source is the private material that ngram_overlap compares with, as a set
// of hashed 3-grams of pieces. Any number of monitors may share it, while
// nothing is added.
type Source struct {
	grams map[uint64]struct{}
}

// NewSource returns the 3-grams of what is private in texts that a model is
// shown: of each whole word that looks like a credential (credential_style).
// The rest of what tools return, prose, names and ids, is copied all the time
// and says nothing. A space before a piece makes no difference, so that a value
// is known again behind another separator.
func NewSource(texts ...string) *Source {
	s := &Source{grams: make(map[uint64]struct{})}
	for _, text := range texts {
		s.Add(text)
	}
	return s
}

// Add reads a further text.
func (s *Source) Add(text string) { cue.Credentials(text, s.add) }

// add takes the 3-grams of a private word.
func (s *Source) add(word string) {
	var g grams
	for word != "" {
		n := NextPiece(word)
		if h, ok := g.add(hashPiece(word[:n])); ok {
			s.grams[h] = struct{}{}
		}
		word = word[n:]
	}
}

func (s *Source) has(h uint64) bool {
	_, ok := s.grams[h]
	return ok
}

// grams makes 3-grams of the pieces it is given.
type grams struct {
	last [2]uint64 // hashes of the two pieces before
	n    int
}

// add returns the 3-gram that ends with the piece of hash h. Spaces and line
// ends alone, where word is false, are not pieces here.
func (g *grams) add(h uint64, word bool) (gram uint64, ok bool) {
	if !word {
		return 0, false
	}
	gram, ok = g.with(h), g.n >= 2
	g.last[0], g.last[1] = g.last[1], h
	g.n++
	return gram, ok
}

// with is the 3-gram that a piece of hash h would end.
func (g *grams) with(h uint64) uint64 {
	return mix(mix(g.last[0]) + 3*mix(g.last[1]) + h)
}

// hashPiece hashes a piece without the space before it.
func hashPiece[T string | []byte](p T) (h uint64, word bool) {
	for len(p) > 0 && (cue.ClassOf(p[0]) == cue.Space || cue.ClassOf(p[0]) == cue.Newline) {
		p = p[1:]
	}
	return hash(p), len(p) > 0
}

// hash is FNV-1a with a last mixing. Nobody gains by a collision: it is one
// of sixteen features, and of a set of the reader's own making.
func hash[T string | []byte](s T) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h)
}

// mix is the finaliser of splitmix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// overlap compares the last Window pieces of a text with a source. The text
// is cut into pieces anew, as its tokens are another tokenizer's.
type overlap struct {
	source *Source
	grams  grams
	ring   [Window - 2]struct {
		gram uint64
		hit  bool
	}
	n       int // 3-grams seen
	rest    [restSize]byte
	restLen int // bytes that don't make a whole piece yet
}

const restSize = 32

// next reads a token's text and returns the share of the window's distinct
// 3-grams that the source has, the unfinished piece taken as it is.
func (o *overlap) next(text string) float64 {
	if len(o.source.grams) == 0 {
		return 0
	}
	for text != "" {
		n := copy(o.rest[o.restLen:], text)
		text = text[n:]
		o.restLen += n
		o.cut()
	}
	hits, distinct := 0, 0
	kept := min(o.n, len(o.ring))
	unfinished, ok := uint64(0), false
	if h, word := hashPiece(o.rest[:o.restLen]); word && o.grams.n >= 2 {
		unfinished, ok = o.grams.with(h), true
		distinct++
		if o.source.has(unfinished) {
			hits++
		}
	}
	for i := range kept {
		g := &o.ring[i]
		known := ok && g.gram == unfinished
		for j := 0; j < i && !known; j++ {
			known = o.ring[j].gram == g.gram
		}
		if known {
			continue
		}
		distinct++
		if g.hit {
			hits++
		}
	}
	if distinct == 0 {
		return 0
	}
	return float64(hits) / float64(distinct)
}

// cut takes the whole pieces off the rest.
func (o *overlap) cut() {
	at := 0
	for at < o.restLen {
		n, whole := piece(o.rest[at:o.restLen])
		if !whole {
			break
		}
		if g, ok := o.grams.add(hashPiece(o.rest[at : at+n])); ok {
			e := &o.ring[o.n%len(o.ring)]
			e.gram, e.hit = g, o.source.has(g)
			o.n++
		}
		at += n
	}
	o.restLen = copy(o.rest[:], o.rest[at:o.restLen])
}
