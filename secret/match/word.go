package match

import (
	"github.com/margaydev/margay/secret/canon"
)

// wordState matches the short secrets: whole words of folded text.
type wordState struct {
	ring [maxWord + 1]canon.Unit
	n    int // units in the ring
	at   int // next place
}

func (s *wordState) get(back int) *canon.Unit { // 1: the last unit
	return &s.ring[(s.at-back+2*len(s.ring))%len(s.ring)]
}

func isWord(u *canon.Unit) bool { return u.C == canon.Alnum || u.C == canon.Joiner && u.B == '_' }

// step looks at what ends before u, then takes u in.
func (s *wordState) step(hits []Hit, m *Matcher, u *canon.Unit) []Hit {
	if u.C != canon.Break {
		hits = s.expire(hits, m, u.Start)
	}
	if s.n > 0 && (!isWord(s.get(1)) || !isWord(u)) {
		hits = s.match(hits, m)
	}
	if u.C == canon.Break {
		s.n = 0
		return hits
	}
	s.ring[s.at] = *u
	s.at = (s.at + 1) % len(s.ring)
	s.n = min(s.n+1, len(s.ring))
	return hits
}

// expire ends the words that are too far from what follows.
func (s *wordState) expire(hits []Hit, m *Matcher, at int64) []Hit {
	if s.n > 0 && at-s.get(1).End > maxApart {
		if isWord(s.get(1)) {
			hits = s.match(hits, m)
		}
		s.n = 0
	}
	return hits
}

func (s *wordState) match(hits []Hit, m *Matcher) []Hit {
	var word [maxWord]byte
	longest := min(s.n, m.ix.longest)
	for l := 1; l <= longest; l++ {
		u := s.get(l)
		word[maxWord-l] = u.B
		if !m.ix.wordLen[l] || isWord(u) && l < s.n && isWord(s.get(l+1)) {
			continue
		}
		rec, ok := m.ix.words[m.ix.h.wordTag(word[maxWord-l:])]
		if !ok || m.ix.expired(rec, m.now) {
			continue
		}
		hits = append(hits, m.ix.hit(rec, u.Start, s.get(1).End))
	}
	return hits
}

// hold covers every word start within the longest short secret's length.
func (s *wordState) hold(m *Matcher) int64 {
	for l := min(s.n, m.ix.longest); l > 0; l-- {
		u := s.get(l)
		if l == s.n || !isWord(u) || !isWord(s.get(l+1)) {
			return u.Start
		}
	}
	return canon.NoHold
}

// gap are the characters left out right before one that is kept: where each
// began, the nearest first, and which of them are dots. A dot may be a
// disguise between the secret's own characters, so it does not count for one.
type gap struct {
	n    uint8
	dots uint16
	back [maxGap]int64
}

const maxGap = 10

// space notes a space that may stand for a character left out.
func (g *gap) space(at int64) {
	if g.n == 0 {
		g.n, g.dots, g.back[0] = 1, 0, at
	}
}

// push notes a character that is left out.
func (g *gap) push(at int64, dot bool) {
	copy(g.back[1:], g.back[:])
	g.back[0] = at
	g.n = min(g.n+1, maxGap)
	g.dots <<= 1
	if dot {
		g.dots |= 1
	}
}

// softEdge is how many characters that secrets have inside a fragment takes in
// behind it: base64's padding, the dash before the next group. In front it
// takes one (leads).
const softEdge = 2

// leads reports whether a character that canonical text leaves out is taken in
// right before a fragment: not those by which values are assigned, listed and
// quoted.
func leads(b byte) bool {
	switch b {
	case '_', '#', '!', '&', '@', '%', '$', '*', '~', '^', '?':
		return true
	}
	return false
}

// inside reports whether a character that canonical text leaves out occurs
// inside secrets, and not around them in code and prose.
func inside(b byte) bool {
	switch b {
	case '-', '_', '=', '+', '/', '#', '!', '?', '&', '@', '%', '$', '*', '~', '^':
		return true
	}
	return false
}

// maxApart is how many raw bytes may be between two characters of a secret,
// and before its first: more would hold text back for as long as there are
// spaces, dashes or invisible characters.
const maxApart = canon.MaxApart

// start returns where the nth character before the one kept at a place starts,
// dots put between them aside.
func (g *gap) start(n uint8, at int64) (int64, bool) {
	near := g.near(at)
	i := -1
	for ; n > 0; n-- {
		i++
		if i+1 < near && g.dots&(1<<i) != 0 {
			i++
		}
	}
	i = min(i, near-1)
	if i < 0 {
		return 0, false
	}
	return g.back[i], true
}

// near is how many of the characters are near enough to a place.
func (g *gap) near(at int64) int {
	n := int(g.n)
	for n > 0 && at-g.back[n-1] > maxApart {
		n--
	}
	return n
}
