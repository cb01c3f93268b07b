package match

import (
	"bytes"

	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/match/memo"
)

// Nearly all text has nothing of a secret. A matcher that follows nothing dozes:
// of each letter or digit it asks only whether the last four may begin or end a
// gram, or in a dense index, whether the last six are one. What it would know besides
// is in the last bytes of the text, which it keeps, and reads again when it wakes.

const (
	dozeTail = 128 // raw bytes that a dozing matcher keeps
	dozeBack = 8   // letters and digits of them that its state depends on
	dozeGap  = 31  // most bytes between two of those
	wakeFor  = 16  // bytes that are read before it may doze again
)

// doze is the state of a matcher that dozes, and the text's last raw bytes, which it
// keeps in any case.
type doze struct {
	on  bool
	w   memo.Gram // the last letters and digits
	pre uint8     // as in alphaState
	gap int       // bytes since the last of them
	n   int       // of tail
	end int64     // where the tail ends
	buf [dozeTail]byte
}

// keep takes in raw bytes at off.
func (d *doze) keep(p []byte, off int64) {
	if off != d.end {
		d.n = 0
	}
	d.end = off + int64(len(p))
	if len(p) >= dozeTail {
		d.n = copy(d.buf[:], p[len(p)-dozeTail:])
		return
	}
	if over := d.n + len(p) - dozeTail; over > 0 {
		d.n = copy(d.buf[:], d.buf[over:d.n])
	}
	d.n += copy(d.buf[d.n:], p)
}

// back returns where in the tail the last n letters and digits begin, each at
// most dozeGap bytes before the next; -1 if they are not all there.
func (d *doze) back(n int) int {
	gap := 0
	for i := d.n - 1; i >= 0 && gap <= dozeGap; i-- {
		if gap++; memo.Letter[d.buf[i]] > 0 {
			if gap, n = 0, n-1; n == 0 {
				return i
			}
		}
	}
	return -1
}

// same reports whether two matchers doze in the same state.
func (d *doze) same(o *doze) bool {
	if !d.on || !o.on || d.end != o.end || d.pre != o.pre {
		return false
	}
	i := d.back(dozeBack)
	n := d.n - i
	return i >= 0 && n <= o.n && bytes.Equal(d.buf[i:d.n], o.buf[o.n-n:o.n])
}

// Read reads raw bytes of ASCII at off, as Write reads units.
func (m *Matcher) Read(hits []Hit, p []byte, off int64) []Hit {
	mayDoze := m.words == nil && !m.ix.hasExact
	for len(p) > 0 {
		if !m.doze.on && mayDoze {
			m.fallAsleep(off)
		}
		var n int
		if m.doze.on {
			n = m.dozeOver(p)
			m.doze.keep(p[:n], off)
			m.read = m.doze.end
			if p, off = p[n:], off+int64(n); len(p) == 0 {
				break
			}
			m.wake()
		}
		n = len(p)
		if mayDoze {
			n = min(n, wakeFor)
		}
		m.units = canon.Units(m.units[:0], p[:n], off)
		hits = m.Write(hits, m.units)
		m.doze.keep(p[:n], off)
		p, off = p[n:], off+int64(n)
	}
	return hits
}

// fallAsleep dozes if nothing is followed and the tail, which ends at off, says all
// there is.
func (m *Matcher) fallAsleep(off int64) {
	s, d := &m.alpha[skeleton], &m.doze
	if s.n < gramLen || !m.ix.dense && s.pre&gramEnds == gramEnds || len(s.cands) > 0 || s.run.n > 0 || s.tail != (tail{}) || d.end != off {
		return
	}
	i := d.back(dozeBack)
	if i < 0 {
		return
	}
	d.on, d.pre, d.gap = true, s.pre, 0
	for _, b := range d.buf[i:d.n] {
		if d.gap++; memo.Letter[b] > 0 {
			d.w, d.gap = d.w.Then(memo.Letter[b]), 0
		}
	}
}

// gramEnds are the bits of alphaState.pre that a gram has.
const gramEnds = 1<<(gramLen-prefixLen) | 1

// dozeOver returns how many bytes can be read without waking.
func (m *Matcher) dozeOver(p []byte) int {
	if m.ix.dense {
		return m.dozeDense(p)
	}
	d, ix := &m.doze, m.ix
	tags, w, pre, gap := ix.h.tags, d.w, d.pre, d.gap
	for i, b := range p {
		c := memo.Letter[b]
		if c == 0 {
			if gap++; gap > dozeGap {
				return i
			}
			continue
		}
		next := w.Then(c)
		tag, ok := tags.Get(next)
		if !ok {
			tag = ix.h.prefixTag(uint32(next.Bytes(prefixLen)), skeleton)
			tags.Put(next, tag)
		}
		hit := pre << 1
		if ix.isPrefix(tag) {
			if hit |= 1; hit&gramEnds == gramEnds {
				return i
			}
		}
		w, pre, gap = next, hit, 0
	}
	d.w, d.pre, d.gap = w, pre, gap
	return len(p)
}

// dozeDense is dozeOver where nearly all that four letters begin is in the filter.
func (m *Matcher) dozeDense(p []byte) int {
	d, ix := &m.doze, m.ix
	w, gap := d.w, d.gap
	for i, b := range p {
		c := memo.Letter[b]
		if c == 0 {
			if gap++; gap > dozeGap {
				return i
			}
			continue
		}
		next := w.Then(c)
		if !ix.absent.Has(next) {
			if _, head, part := ix.grams.find(ix.h.gramTag(next.Bytes(gramLen), skeleton)); head || part {
				return i
			}
			ix.absent.Put(next)
		}
		w, gap = next, 0
	}
	d.w, d.pre, d.gap = w, 1<<(gramLen-prefixLen)-1, gap
	return len(p)
}

// wake brings a matcher to the state that it would be in.
func (m *Matcher) wake() {
	d := &m.doze
	if !d.on {
		return
	}
	d.on = false
	s := &m.alpha[skeleton]
	s.forget()
	s.gap.n, s.tail, s.sign, s.pre = 0, tail{}, [2]int64{}, 0
	from := d.back(dozeBack - 1)
	if from < 0 { // the tail was cut short
		from = 0
	}
	at := d.end - int64(d.n)
	m.units = canon.Units(m.units[:0], d.buf[from:d.n], at+int64(from))
	m.write(nil, m.units)
}

// holdDozing is Hold of a dozing matcher.
func (m *Matcher) holdDozing() int64 {
	d := &m.doze
	n := prefixLen - 1
	switch {
	case d.pre&2 != 0:
		n = prefixLen + 1
	case d.pre&1 != 0:
		n = prefixLen
	}
	at := d.end - int64(d.n)
	i := d.back(n)
	if i < 0 {
		return at
	}
	start := at + int64(i)
	if i > 0 && leads(d.buf[i-1]) {
		start--
	}
	if m.ix.hasLead {
		var g gap
		for j := d.before(i); j < i; j++ {
			if b := d.buf[j]; canon.IsSpace(b) {
				g.space(at + int64(j))
			} else {
				g.push(at+int64(j), b == '.')
			}
		}
		if g.n > 0 {
			start = min(start, g.back[g.n-1])
		}
	}
	return start
}

// before returns where what stands between the letter or digit at i and the one
// before begins.
func (d *doze) before(i int) int {
	for i > 0 && memo.Letter[d.buf[i-1]] == 0 {
		i--
	}
	return i
}
