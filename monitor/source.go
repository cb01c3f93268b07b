package monitor

// Source is the private material that ngram_overlap compares with, as a set
// of hashed 3-grams of pieces. It never changes once made; any number of
// monitors may share it.
type Source struct {
	grams map[uint64]struct{}
}

// NewSource returns the 3-grams of texts. A space before a piece makes no
// difference, so that a value is known again behind another separator.
func NewSource(texts ...string) *Source {
	s := &Source{grams: make(map[uint64]struct{})}
	for _, text := range texts {
		var g grams
		for text != "" {
			n := NextPiece(text)
			if h, ok := g.add(text[:n]); ok {
				s.grams[h] = struct{}{}
			}
			text = text[n:]
		}
	}
	return s
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

// add returns the 3-gram that ends with the piece. Spaces and line ends alone
// are no pieces here.
func (g *grams) add(piece string) (gram uint64, ok bool) {
	h, ok := hashPiece(piece)
	if !ok {
		return 0, false
	}
	gram, ok = g.with(h), g.n >= 2
	g.last[0], g.last[1] = g.last[1], h
	g.n++
	return gram, ok
}

// with is the 3-gram that a piece of hash h would end.
func (g *grams) with(h uint64) uint64 {
	return mix(mix(g.last[0])+3*mix(g.last[1]) + h)
}

// hashPiece hashes a piece without the space before it.
func hashPiece(p string) (h uint64, ok bool) {
	for len(p) > 0 && (classes[p[0]] == space || classes[p[0]] == newline) {
		p = p[1:]
	}
	return hash(p), p != ""
}

// hash is FNV-1a with a last mixing. Nobody gains by a collision: it is one
// of sixteen features, and of a set of the reader's own making.
func hash(s string) uint64 {
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
