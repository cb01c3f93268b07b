package canon

// Sieve lets through what is text of decoded bytes: runs of at least leastText
// bytes that are printable, white space, or characters in UTF-8. A wrong
// alignment's bytes are random, and nearly all of them end here. Runs are told
// apart by Break units, and what is shorter is left out: nothing that short is
// recognised. The zero value is ready.
type Sieve struct {
	pend [leastText]Unit
	n    int // of pend
	on   bool
	utf  utf8State
}

// leastText is the length of the shortest text in which anything is recognised:
// an address of mail, a gram of a secret.
const leastText = 6

// On reports whether a run is let through.
func (s *Sieve) On() bool { return s.on }

// Reset forgets the text read so far.
func (s *Sieve) Reset() { s.n, s.on, s.utf = 0, false, 0 }

// Hold returns the offset from which raw text is still undecided here.
func (s *Sieve) Hold() int64 {
	if s.n > 0 && !s.on {
		return s.pend[0].Start
	}
	return NoHold
}

// Write appends to dst what is let through. Padding goes with the run that it
// ends.
func (s *Sieve) Write(dst, in []Unit) []Unit {
	for i := range in {
		u := &in[i]
		switch {
		case u.C == Break:
			dst = s.end(dst, u)
			continue
		case u.C == Pad:
			if s.on {
				dst = append(dst, *u)
			} else {
				s.Reset()
			}
			continue
		case s.utf == 0 && u.B < 0x80:
			if u.C == Junk {
				dst = s.end(dst, u)
				continue
			}
		default:
			was := s.utf
			if s.utf = s.utf.next(u.B); s.utf == notUTF8 {
				dst = s.end(dst, u)
				if was == 0 || !startsText(u) {
					continue
				}
				s.utf = utf8State(0).next(u.B)
			}
		}
		if s.on {
			dst = append(dst, *u)
			continue
		}
		s.pend[s.n] = *u
		if s.n++; s.n == leastText {
			s.on = true
			dst = append(dst, s.pend[:]...)
		}
	}
	return dst
}

// startsText reports whether text may start with a unit.
func startsText(u *Unit) bool {
	if u.B < 0x80 {
		return u.C != Junk
	}
	return utf8State(0).next(u.B) != notUTF8
}

func (s *Sieve) end(dst []Unit, at *Unit) []Unit {
	if s.on {
		dst = append(dst, Unit{Start: at.Start, End: at.Start, C: Break})
	}
	s.Reset()
	return dst
}

// utf8State is how much of a character has been read: 0 for none of one.
type utf8State uint8

const (
	tail1   utf8State = iota + 1 // so many bytes of 80..BF follow
	tail2                        //
	tail3                        //
	afterE0                      // A0..BF, then one more
	afterED                      // 80..9F, then one more
	afterF0                      // 90..BF, then two more
	afterF4                      // 80..8F, then two more
	notUTF8
)

// next returns the state behind a byte (RFC 3629, section 4).
func (s utf8State) next(b byte) utf8State {
	low, high, to := byte(0x80), byte(0xbf), utf8State(0)
	switch s {
	case 0:
		switch {
		case b < 0x80:
			return 0
		case b >= 0xc2 && b <= 0xdf:
			return tail1
		case b == 0xe0:
			return afterE0
		case b == 0xed:
			return afterED
		case b >= 0xe1 && b <= 0xef:
			return tail2
		case b == 0xf0:
			return afterF0
		case b == 0xf4:
			return afterF4
		case b >= 0xf1 && b <= 0xf3:
			return tail3
		}
		return notUTF8
	case tail1:
	case tail2:
		to = tail1
	case tail3:
		to = tail2
	case afterE0:
		low, to = 0xa0, tail1
	case afterED:
		high, to = 0x9f, tail1
	case afterF0:
		low, to = 0x90, tail2
	case afterF4:
		high, to = 0x8f, tail2
	}
	if b < low || b > high {
		return notUTF8
	}
	return to
}
