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
		if h, ok := g.add(pieceOf(word[:n])); ok {
			s.grams[h] = struct{}{}
		}
		word = word[n:]
	}
}

func (s *Source) has(h uint64) bool {
	_, ok := s.grams[h]
	return ok
}

// part is a piece of a text without the space before it.
type part struct {
	hash   uint64
	starts bool // a word starts here, or what stands between words
	ends   bool // it stands between words
}

// pieceOf reads a piece. Spaces and line ends alone, where it is false, are not
// pieces here.
func pieceOf[T string | []byte](p T) (w part, ok bool) {
	for len(p) > 0 && (cue.ClassOf(p[0]) == cue.Space || cue.ClassOf(p[0]) == cue.Newline) {
		p = p[1:]
		w.starts = true
	}
	if len(p) == 0 {
		return w, false
	}
	w.hash, w.ends = folded(p), cue.Ends(p[0])
	w.starts = w.starts || w.ends
	return w, true
}

// grams makes 3-grams of the pieces it is given.
type grams struct {
	last [2]part // the two pieces before
	n    int
}

// add returns the 3-gram that ends with the piece.
func (g *grams) add(w part, ok bool) (gram uint64, whole bool) {
	if !ok {
		return 0, false
	}
	gram, whole = g.with(w), g.n >= 2
	g.last[0], g.last[1] = g.last[1], w
	g.n++
	return gram, whole
}

// with is the 3-gram that a piece would end.
func (g *grams) with(w part) uint64 {
	return mix(mix(g.last[0].hash) + 3*mix(g.last[1].hash) + w.hash)
}

// within says whether the 3-gram that a piece would end is within one word.
func (g *grams) within(w part) bool {
	return !w.starts && !g.last[1].starts && !g.last[0].ends
}

// hash is FNV-1a with a last mixing. Nobody gains by a collision: it is one
// of sixteen features, and of a set of the reader's own making.
func hash[T string | []byte](s T) uint64 {
	h := uint64(offset)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * prime
	}
	return mix(h)
}

const offset, prime = 14695981039346656037, 1099511628211

// mix is the finaliser of splitmix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// folded hashes a piece whatever the case of its letters.
func folded[T string | []byte](s T) uint64 {
	h := uint64(offset)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if cue.ClassOf(c) == cue.Upper {
			c |= 0x20
		}
		h = (h ^ uint64(c)) * prime
	}
	return mix(h)
}

// overlap compares the pieces of a text with a source: those of the current
// word, and of the words before it that a private phrase has in a row, the last
// Window of them. The text is cut into pieces anew, as its tokens are another
// tokenizer's.
type overlap struct {
	source *Source
	grams  grams
	ring   [Window - 2]struct {
		gram uint64
		hit  bool
	}
	n       int // 3-grams seen in the word
	rest    [restSize]byte
	restLen int // bytes that don't make a whole piece yet
}

const restSize = 32

// next reads a token's text and returns the share of the window's distinct
// 3-grams that the source has; the unfinished piece counts if it has its.
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
	if w, piece := pieceOf(o.rest[:o.restLen]); piece && o.grams.n >= 2 {
		unfinished = o.grams.with(w)
		switch ok = o.source.has(unfinished); {
		case ok:
			hits, distinct = 1, 1
		case w.starts:
			return 0
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
		o.add(pieceOf(o.rest[at : at+n]))
		at += n
	}
	o.restLen = copy(o.rest[:], o.rest[at:o.restLen])
}

// add takes a whole piece. A word that the source does not have behind the words
// before it starts anew.
func (o *overlap) add(w part, ok bool) {
	if !ok {
		return
	}
	within := o.grams.within(w)
	gram, whole := o.grams.add(w, true)
	hit := whole && o.source.has(gram)
	switch {
	case hit, whole && within:
		e := &o.ring[o.n%len(o.ring)]
		e.gram, e.hit = gram, hit
		o.n++
	case w.starts:
		o.n = 0
	}
}
