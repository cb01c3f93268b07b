package match

import (
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/rarity"
)

// maxCandidates bounds the starts that are followed at once. Past it the
// oldest is taken for a secret: an attacker who makes text that keeps
// beginning like one gets it redacted.
const maxCandidates = 64

// Matcher finds the secrets of one index in one view. It reads units in
// order; the hits depend on the units alone, not on how they were cut into
// calls. Not safe for concurrent use. A Matcher must be made by NewMatcher.
type Matcher struct {
	ix      *Index
	now     int64 // Unix milliseconds, for expiry; fixed for the text
	maxHeld int64
	read    int64 // the end of the last unit
	alpha   [alphabets]alphaState
	words   *wordState
	doze    doze
	units   []canon.Unit
}

type alphaState struct {
	w      uint64 // the last canonical bytes
	n      int    // how many of them there are, at most gramLen
	pre    uint8  // by bytes since: the four up to there may begin or end a gram
	starts [gramLen]int64
	leads  [gramLen]int64 // the same, with a sign right before
	sign   [2]int64       // the last sign that was left out, from and to
	gaps   [gramLen]gap
	at     uint8 // next place in starts
	gap    gap   // before the next character
	cands  []candidate
	tail   tail

	recent [recentLen]byte // the last characters, by count
	apart  [recentLen]bool // something stood before them
	last   int64           // where the last one ends
	count  uint8
	run    run
}

// recentLen is how much of a run is weighed. Whatever is that long and no
// repetition is rare enough.
const recentLen = 32

// run is text that has been, gram after gram, a part of a secret.
type run struct {
	n     int     // characters that its last grams cover without a gap; 0: no run
	since int     // characters behind it that no gram has confirmed
	bits  float64 // of what lies before the last gap
	rec   uint32
	start int64 // raw offset; once it is a fragment, of what is not yet reported
	end   int64
	hit   Hit // what was reported of it; Fragment is false before
}

// tail takes in what follows a hit and belongs to it: the characters behind
// the last that the canonical text keeps, and the padding of an encoding.
type tail struct {
	hit  Hit
	left uint8
	more bool // the last one was a dot, which may have been put there
	soft bool // it is a fragment's: only what follows it at once and occurs in secrets
	pads uint8
}

// maxPads bounds the padding that a hit takes in.
const maxPads = 6

// candidate is a text that began like a secret.
type candidate struct {
	acc    uint64
	n      int
	start  int64 // of the text; where capped, of what is not yet reported
	gap    gap
	capped bool
}

// NewMatcher returns a matcher for one view of one text. Expiry is judged at
// now (Unix milliseconds). A text that could be a secret but spans more than
// maxHeld raw bytes is reported as a capped hit.
func (ix *Index) NewMatcher(now, maxHeld int64) *Matcher {
	m := &Matcher{ix: ix, now: now, maxHeld: maxHeld}
	if ix.longest > 0 {
		m.words = &wordState{}
	}
	return m
}

// Write reads units and appends the hits that end in them. Where a candidate
// outgrows maxHeld, the hits after the first of it go on where the last one
// ended (Continues), as long as it may still be a secret.
func (m *Matcher) Write(hits []Hit, in []canon.Unit) []Hit {
	m.wake()
	if len(m.ix.wholes) > 0 {
		for rest := in; len(rest) > 0; {
			n := min(len(rest), probeLen)
			hits = m.write(hits, rest[:n])
			rest = rest[n:]
		}
	}
	if m.words != nil {
		for i := range in {
			hits = m.words.step(hits, m, &in[i])
		}
	}
	return hits
}

// probeLen is how many units are probed together.
const probeLen = 64

func (m *Matcher) write(hits []Hit, in []canon.Unit) []Hit {
	var grams [probeLen]bool
	if m.ix.dense {
		m.probe(&grams, in)
	}
	for i := range in {
		u := &in[i]
		m.read = u.End
		switch {
		case u.C == canon.Alnum:
			hits = m.step(hits, skeleton, u, grams[i])
			if m.ix.hasExact {
				hits = m.step(hits, exact, u, true)
			}
		case u.C == canon.Punct:
			hits = m.alpha[skeleton].skip(hits, u, m.ix.hasLead)
			if m.ix.hasExact {
				hits = m.step(hits, exact, u, true)
			}
		case u.C == canon.Break:
			m.reset()
		case u.C != canon.Space:
			hits = m.alpha[skeleton].skip(hits, u, m.ix.hasLead)
			if m.ix.hasExact {
				hits = m.alpha[exact].skip(hits, u, m.ix.hasLead)
			}
		case m.ix.hasLead:
			for a := range m.alpha {
				m.alpha[a].gap.space(u.Start)
			}
		}
	}
	return hits
}

// gramMask leaves the last gramLen bytes.
const gramMask = 1<<(8*gramLen) - 1

// probe says for which units the last letters and digits may be a gram.
// A large filter does not fit the cache: probes that do not wait for each
// other wait together.
func (m *Matcher) probe(grams *[probeLen]bool, in []canon.Unit) {
	var tags [probeLen]uint64
	w := m.alpha[skeleton].w
	for i := range in {
		if in[i].C == canon.Alnum {
			w = w<<8 | uint64(in[i].B)
			tags[i] = m.ix.h.gramTag(w&gramMask, skeleton)
		}
	}
	for i := range in {
		if in[i].C == canon.Alnum {
			grams[i] = m.ix.grams.may(tags[i])
		}
	}
}

// Close ends the text.
func (m *Matcher) Close(hits []Hit) []Hit {
	if m.words != nil {
		hits = m.words.step(hits, m, &canon.Unit{C: canon.Break})
	}
	m.reset()
	return hits
}

func (m *Matcher) reset() {
	m.doze.on, m.doze.n = false, 0
	for a := range m.alpha {
		s := &m.alpha[a]
		s.forget()
		s.gap.n, s.tail, s.sign = 0, tail{}, [2]int64{}
	}
}

// forget ends everything that the kept characters so far have started.
func (s *alphaState) forget() { s.n, s.cands, s.run = 0, s.cands[:0], run{} }

// Expire ends what can't go on because nothing of it was read for maxApart raw
// bytes: the text is read up to at. It changes when hits come and what is held,
// not the hits.
func (m *Matcher) Expire(hits []Hit, at int64) []Hit {
	if m.doze.on {
		return hits
	}
	for a := range m.alpha {
		s := &m.alpha[a]
		if s.n > 0 && at-s.last > maxApart {
			s.forget()
		}
		s.gap.n = uint8(s.gap.near(at))
	}
	if m.words != nil {
		hits = m.words.expire(hits, m, at)
	}
	return hits
}

// skip notes a character that the canonical text leaves out.
func (s *alphaState) skip(hits []Hit, u *canon.Unit, lead bool) []Hit {
	if u.C == canon.Pad {
		if s.tail.pads > 0 {
			s.tail.pads--
			hits = s.tail.extend(hits, u)
		}
		return hits
	}
	if leads(u.B) {
		s.sign = [2]int64{u.Start, u.End}
	}
	dot := u.B == '.'
	if lead {
		s.gap.push(u.Start, dot)
	}
	if s.tail.soft {
		if s.tail.left > 0 && inside(u.B) && u.Start == s.tail.hit.End {
			s.tail.left--
			return s.tail.extend(hits, u)
		}
		s.tail = tail{}
		return hits
	}
	switch {
	case s.tail.more:
		s.tail.more = false
	case s.tail.left > 0:
		s.tail.left--
		s.tail.more = dot
	default:
		return hits
	}
	return s.tail.extend(hits, u)
}

func (t *tail) extend(hits []Hit, u *canon.Unit) []Hit {
	h := t.hit
	h.Start, h.End, h.Continues = t.hit.End, u.End, true
	t.hit.End = u.End
	return append(hits, h)
}

// found makes the hit of a whole text: with the characters before it that
// belong to the secret, and those behind it to come.
func (m *Matcher) found(hits []Hit, s *alphaState, c *candidate, rec uint32, edge uint8, end int64) []Hit {
	h := m.ix.hit(rec, c.start, end)
	if c.capped {
		h.Capped, h.Continues = true, true
	} else if at, ok := c.gap.start(edge>>3, c.start); ok {
		h.Start = at
	}
	s.tail = tail{hit: h, left: edge & 7, pads: maxPads}
	return append(hits, h)
}

// Reset makes m ready for another text.
func (m *Matcher) Reset() {
	m.reset()
	if m.words != nil {
		*m.words = wordState{}
	}
}

// CopyTo makes dst, a matcher of the same index, read on as m would.
func (m *Matcher) CopyTo(dst *Matcher) {
	m.wake()
	dst.doze = m.doze
	dst.now, dst.maxHeld, dst.read = m.now, m.maxHeld, m.read
	for a := range m.alpha {
		c := append(dst.alpha[a].cands[:0], m.alpha[a].cands...)
		dst.alpha[a] = m.alpha[a]
		dst.alpha[a].cands = c
	}
	if m.words != nil {
		*dst.words = *m.words
	}
}

// SameAs reports whether m and o, matchers of one index, are in the same
// state. It may report false where they are.
func (m *Matcher) SameAs(o *Matcher) bool {
	if m.doze.on || o.doze.on {
		return m.doze.same(&o.doze)
	}
	if m.words != nil {
		return false
	}
	for a := range m.alpha {
		x, y := &m.alpha[a], &o.alpha[a]
		if x.w != y.w || x.n != y.n || x.pre != y.pre || len(x.cands)+len(y.cands)+x.run.n+y.run.n > 0 || x.tail != (tail{}) || y.tail != (tail{}) || x.gap != y.gap || x.sign != y.sign {
			return false
		}
		for i := 1; i <= x.n; i++ {
			j, k := (int(x.at)+gramLen-i)%gramLen, (int(y.at)+gramLen-i)%gramLen
			if x.starts[j] != y.starts[k] || x.leads[j] != y.leads[k] || x.gaps[j] != y.gaps[k] {
				return false
			}
		}
	}
	return true
}

// step reads one character of an alphabet's text. In a dense index, may says
// whether a gram may end there.
func (m *Matcher) step(hits []Hit, a alphabet, u *canon.Unit, may bool) []Hit {
	s := &m.alpha[a]
	if s.tail.pads > 0 || s.tail.soft {
		s.tail = tail{}
	}
	if s.n > 0 && u.Start-s.last > maxApart {
		s.forget()
	}
	if len(s.cands) > 0 {
		hits = m.follow(hits, s, a, u)
	}
	s.w = s.w<<8 | uint64(u.B)
	s.recent[s.count%recentLen], s.apart[s.count%recentLen] = u.B, u.Start != s.last
	s.last = u.End
	s.count++
	s.starts[s.at], s.leads[s.at] = u.Start, u.Start
	if s.sign[1] == u.Start && s.sign[0] < s.sign[1] {
		s.leads[s.at] = s.sign[0]
	}
	if m.ix.hasLead {
		if s.gap.n > 0 || s.gaps[s.at].n > 0 {
			s.gaps[s.at] = s.gap
		}
		s.gap.n = 0
	}
	s.at = (s.at + 1) % gramLen
	s.pre <<= 1
	if s.n < gramLen {
		s.n++
		if s.n < prefixLen {
			return hits
		}
	}
	if m.ix.dense || m.ix.isPrefix(m.ix.h.prefixTag(uint32(s.w), a)) {
		s.pre |= 1
	}
	if s.n < gramLen {
		return hits
	}
	var rec uint32
	var head, ok bool
	if s.pre&gramEnds == gramEnds && (may || !m.ix.dense) {
		rec, head, ok = m.ix.grams.find(m.ix.h.gramTag(s.w&gramMask, a))
	}
	if ok && m.ix.expired(rec, m.now) {
		ok = false
	}
	if ok || s.run.n > 0 {
		hits = m.extend(hits, s, u, rec, ok)
	}
	if !head {
		return hits
	}
	c := candidate{n: gramLen, start: s.starts[s.at], gap: s.gaps[s.at]}
	for i := gramLen - 1; i >= 0; i-- {
		c.acc = m.ix.h.extend(c.acc, byte(s.w>>(8*i)))
	}
	if len(s.cands) == maxCandidates {
		hits = append(hits, Hit{Start: s.cands[0].start, End: u.End, Kind: secret.KindSecret, Source: secret.SourceRegistered, Capped: true})
		s.cands = append(s.cands[:0], s.cands[1:]...)
	}
	s.cands = append(s.cands, c)
	return hits
}

// extend goes on with the run by one character; ok says that the gram which
// ends there is record rec's.
func (m *Matcher) extend(hits []Hit, s *alphaState, u *canon.Unit, rec uint32, ok bool) []Hit {
	r := &s.run
	r.since++
	if !ok {
		if r.since >= m.ix.grams.reach {
			*r = run{}
		}
		return hits
	}
	switch {
	case r.n > 0 && r.since <= gramLen:
		r.n += r.since
	case r.n > 0 && r.rec == rec: // a thinned index: what lies between is taken on trust
		r.bits += s.rarity(r.n, r.since)
		r.n = gramLen
	default:
		*r = run{n: gramLen, rec: rec, start: s.leads[s.at]}
	}
	r.since, r.end = 0, u.End
	if r.hit.Fragment {
		h := r.hit
		h.Start, h.End, h.Continues = r.start, r.end, true
		r.start = r.end
		s.softTail(&h)
		return append(hits, h)
	}
	if r.bits+s.rarity(r.n, 0) < m.ix.grams.bits {
		return hits
	}
	r.hit = m.ix.hit(rec, r.start, r.end)
	r.hit.Fragment = true
	r.start = r.end
	s.softTail(&r.hit)
	return append(hits, r.hit)
}

// softTail takes what follows a fragment at once with it, unless the
// whole secret has just ended there and says itself what does.
func (s *alphaState) softTail(h *Hit) {
	if s.tail.pads == 0 {
		s.tail = tail{hit: *h, left: softEdge, soft: true}
	}
}

// rarity weighs n characters, the last of which was read some characters ago.
func (s *alphaState) rarity(n, ago int) float64 {
	var text [recentLen]byte
	var apart [recentLen]bool
	n = min(n, recentLen-ago)
	if n <= 0 {
		return 0
	}
	for i := range n {
		k := (s.count - uint8(ago+n-i)) % recentLen
		text[i], apart[i] = s.recent[k], s.apart[k]
	}
	return rarity.InText(text[:n], apart[:n])
}

// follow extends the candidates by one character.
func (m *Matcher) follow(hits []Hit, s *alphaState, a alphabet, u *canon.Unit) []Hit {
	kept := s.cands[:0]
	for _, c := range s.cands {
		c.acc = m.ix.h.extend(c.acc, u.B)
		c.n++
		if c.n >= m.ix.short[0] {
			if rec, edge, ok := m.ix.lookup(m.ix.h.wholeTag(c.acc, c.n, a), m.now); ok {
				hits = m.found(hits, s, &c, rec, edge, u.End)
			}
		}
		if c.n > m.ix.short[1] || !m.ix.mayGoOn(&c, a) {
			continue
		}
		if c.capped || u.End-c.start > m.maxHeld {
			hits = append(hits, Hit{
				Start: c.start, End: u.End, Kind: secret.KindSecret, Source: secret.SourceRegistered, Capped: true, Continues: c.capped,
			})
			c.start, c.capped = u.End, true
		}
		if c.n < m.ix.short[1] {
			kept = append(kept, c)
		}
	}
	s.cands = kept
	return hits
}

// mayGoOn reports whether c is, as far as the check points tell, still a
// prefix of some secret.
func (ix *Index) mayGoOn(c *candidate, a alphabet) bool {
	for i, at := range checkAt {
		if c.n == at {
			return ix.checks.has(ix.h.checkTag(c.acc, i, a))
		}
	}
	return true
}

// Hold returns the raw offset from which text may still become part of a hit:
// no later hit starts before it. It is canon.NoHold where nothing is held.
func (m *Matcher) Hold() int64 {
	if m.doze.on {
		return m.holdDozing()
	}
	hold := canon.NoHold
	if len(m.ix.wholes) > 0 {
		hold = m.holdOf(skeleton)
		if m.ix.hasExact {
			hold = min(hold, m.holdOf(exact))
		}
	}
	if m.words != nil {
		hold = min(hold, m.words.hold(m))
	}
	return hold
}

func (m *Matcher) holdOf(a alphabet) int64 {
	s := &m.alpha[a]
	hold := canon.NoHold
	for i := range s.cands {
		hold = min(hold, s.cands[i].start)
		if g := &s.cands[i].gap; m.ix.hasLead && g.n > 0 && !s.cands[i].capped {
			hold = min(hold, g.back[g.n-1])
		}
	}
	if s.run.n > 0 {
		hold = min(hold, s.run.start)
	}
	// The last characters may begin a gram. From the fourth on the
	// prefix filter knows better.
	for j := min(s.n, gramLen-1); j > 0; j-- {
		if j >= prefixLen && s.pre&(1<<(j-prefixLen)) == 0 {
			continue
		}
		start := s.leads[(int(s.at)+gramLen-j)%gramLen]
		if start >= hold {
			break
		}
		if g := &s.gaps[(int(s.at)+gramLen-j)%gramLen]; m.ix.hasLead && g.n > 0 {
			start = min(start, g.back[g.n-1])
		}
		return min(hold, start, m.ahead(s))
	}
	return min(hold, m.ahead(s))
}

// ahead is what the next character of an alphabet may take in before it.
func (m *Matcher) ahead(s *alphaState) int64 {
	hold := canon.NoHold
	if m.ix.hasLead && s.gap.n > 0 {
		hold = s.gap.back[s.gap.n-1]
	}
	if s.sign[1] == m.read && s.sign[0] < s.sign[1] {
		hold = min(hold, s.sign[0])
	}
	return hold
}
