package stream

import (
	"bytes"

	"github.com/margaydev/margay/secret/canon"
)

// stretch is how many bytes are read at a time where forms differ.
const stretch = 8

// readRaw reads raw bytes of the root at off, a part of p, and returns how many.
func (v *view) readRaw(s *Scanner, p []byte, off int64) int {
	n := v.readStretch(s, p, off)
	v.tail = append(v.tail[:0], v.behind(p, n)...)
	return n
}

// behind returns the last bytes before p[n:], where p is what the root is reading. The
// text itself may be decided and gone.
func (v *view) behind(p []byte, n int) []byte {
	if n >= backBytes {
		return p[n-backBytes : n]
	}
	k := copy(v.back[:], v.tail[max(0, len(v.tail)+n-backBytes):])
	return append(v.back[:k], p[:n]...)
}

func (v *view) readStretch(s *Scanner, p []byte, off int64) int {
	if !v.forked && v.raw != nil {
		if apart := v.raw.Apart(&v.lag); apart == 0 {
			v.fork()
		} else {
			p = p[:min(int64(len(p)), apart)]
		}
	}
	n, ascii := canon.Plain(p)
	plain := n > 0
	if plain && ascii && (!v.forked || v.idle()) {
		if v.forked {
			if i := bytes.IndexByte(p[:n], '\n'); i >= 0 && i+joinAfter < n {
				n = i + joinAfter
			}
		}
		v.writeRaw(s, p[:n], off)
		return n
	}
	sc := &s.sc[0]
	switch {
	case plain && !v.forked:
		sc.units = canon.Units(sc.units[:0], p[:n], off)
		sc.folded = v.folds[0].Write(sc.folded[:0], sc.units)
		v.feed(s, sc, 0, sc.folded)
		v.decode(s, sc, sc.folded)
		return n
	case plain:
		plain = v.idle()
	default:
		n = min(len(p), stretch)
		if i := bytes.IndexByte(p[1:n], '\n'); i >= 0 {
			n = i + 1
		}
	}
	if !plain {
		n = min(n, stretch)
	}
	sc.units = canon.Units(sc.units[:0], p[:n], off)
	v.readUnits(s, sc.units, plain)
	return n
}

// joinAfter is how much of a line is read before forms that differed are
// compared.
const joinAfter = 32

// writeRaw is write for raw bytes of the root at off, which are ASCII and which
// all forms read alike.
func (v *view) writeRaw(s *Scanner, p []byte, off int64) {
	sc := &s.sc[0]
	for i, of := range v.matchers() {
		for _, m := range of {
			sc.hits = m.Read(sc.hits[:0], p, off)
			v.report(s, sc.hits, i)
		}
	}
	if v.forked {
		v.clean.writeRaw(s, v, sc, p, off)
		if i := bytes.IndexByte(p, '\n'); v.line < 0 && i >= 0 {
			v.line = v.calm + i + 1
		}
		v.calm += len(p)
	}
	out := sc.room(len(v.decoders), len(canon.Bases))
	v.numbers.Read(out, p, off)
	v.list(s, out)
	d := v.decoders
	for n := 0; n < len(p); {
		n += canon.ReadIdle(&d[0].Decoder, &d[1].Decoder, &d[2].Decoder, p[n:], off+int64(n))
		if n == len(p) {
			break
		}
		part := p[n:min(len(p), n+runBytes)]
		if !d[2].Active() {
			part = part[:min(len(part), canon.RunEnd(part)+1)]
		}
		back := v.behind(p, n)
		for i := range d {
			v.decodeRaw(s, sc, &d[i], i, part, off+int64(n), back)
			d[i].Bare()
		}
		n += len(part)
	}
}
