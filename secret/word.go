package secret

import "github.com/margaydev/margay/secret/canon"

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

// expire ends the words that what follows stands too far from.
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
