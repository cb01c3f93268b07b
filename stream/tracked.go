package stream

import (
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/recognise"
)

// tracked is a recogniser over a canonical text that remembers which raw
// bytes the text not yet decided came from.
type tracked struct {
	rules *recognise.Scanner
	base  int64 // canonical offset of at[0]
	at    []extent
	last  int64 // raw end of what was read
}

type extent struct{ start, end int64 }

func (t *tracked) write(s *Scanner, v *view, sc *scratch, units []canon.Unit) {
	if t.rules == nil {
		return
	}
	sc.bytes = sc.bytes[:0]
	for i := range units {
		if units[i].Start-t.last > canon.MaxApart {
			t.read(s, v, sc)
			t.end(s, v, sc)
		}
		t.last = units[i].End
		sc.bytes = append(sc.bytes, units[i].B)
		t.at = append(t.at, extent{units[i].Start, units[i].End})
	}
	t.read(s, v, sc)
	t.trim()
}

// writeRaw is write for raw bytes at off.
func (t *tracked) writeRaw(s *Scanner, v *view, sc *scratch, p []byte, off int64) {
	if t.rules == nil || len(p) == 0 {
		return
	}
	if off-t.last > canon.MaxApart {
		t.end(s, v, sc)
	}
	for i := range p {
		t.at = append(t.at, extent{off + int64(i), off + int64(i) + 1})
	}
	t.last = off + int64(len(p))
	t.rules.Write(p)
	t.take(s, v, sc)
	t.trim()
}

func (t *tracked) read(s *Scanner, v *view, sc *scratch) {
	t.rules.Write(sc.bytes)
	sc.bytes = sc.bytes[:0]
	t.take(s, v, sc)
}

// expire ends the text where nothing of it was read for MaxApart raw bytes.
func (t *tracked) expire(s *Scanner, v *view, sc *scratch, at int64) {
	if t.rules != nil && len(t.at) > 0 && at-t.last > canon.MaxApart {
		t.end(s, v, sc)
	}
}

func (t *tracked) take(s *Scanner, v *view, sc *scratch) {
	sc.matches = t.rules.Take(sc.matches[:0])
	for i := range sc.matches {
		m := &sc.matches[i]
		if m.End <= m.Start {
			continue
		}
		s.addMatch(m, t.at[m.Start-t.base].start, t.at[m.End-1-t.base].end, v.name+"+clean")
	}
}

func (t *tracked) trim() {
	n := min(t.rules.Hold()-t.base, int64(len(t.at)))
	if n > 0 && (n == int64(len(t.at)) || n >= 64) {
		t.at = t.at[:copy(t.at, t.at[n:])]
		t.base += n
	}
}

func (t *tracked) end(s *Scanner, v *view, sc *scratch) {
	if t.rules == nil {
		return
	}
	t.rules.Close()
	t.take(s, v, sc)
	t.rules.Reset()
	t.base, t.at = 0, t.at[:0]
}

func (t *tracked) hold() int64 {
	if t.rules == nil {
		return canon.NoHold
	}
	i := max(t.rules.Hold()-t.base, 0)
	if i >= int64(len(t.at)) {
		return canon.NoHold
	}
	return t.at[i].start
}
