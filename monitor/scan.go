package monitor

import "math/bits"

// Window is how many tokens the features look back.
const Window = 10

// scanner reads the text byte by byte and remembers in which token each kind
// of pattern was last seen. It keeps bounded state, so that a pattern longer
// than the window, or cut over any number of tokens, is still found.
type scanner struct {
	now int // the current token

	identifier, digits, credential int    // last seen in
	keywords                       uint16 // of the last tokens, the newest lowest: a keyword ended there

	state  uint16 // of the automaton
	last   uint64 // the last eight bytes, the newest lowest
	starts uint64 // of the last bytes: a word or a part of an identifier began there

	// a keyword that counts depending on what follows
	pending   kind
	pendingIn int

	denied uint64 // words that turned out to be examples

	value  value
	shape  shape
	random random
}

func (s *scanner) reset() {
	*s = scanner{identifier: -Window, digits: -Window, credential: -Window}
}

func (s *scanner) seen(in int) float64 {
	if s.now-in < Window {
		return 1
	}
	return 0
}

// begin starts a token.
func (s *scanner) begin() {
	s.now++
	s.keywords = s.keywords << 1 & (1<<Window - 1)
}

func (s *scanner) read(text string) {
	for i := range len(text) {
		s.next(text[i])
	}
	if s.pending == wordOnly { // until it is found to go on
		s.keywords |= 1
	}
}

func (s *scanner) next(c byte) {
	before, cl := byte(s.last), classes[c]
	was := classes[before]
	start := isLetter(cl) && (!isLetter(was) || was == lower && cl == upper)
	s.last = s.last<<8 | uint64(c)
	s.starts <<= 1
	switch {
	case start:
		s.starts |= 1
	case cl == lower && was == upper && classes[byte(s.last>>16)] == upper:
		s.starts |= 2 // the P of DBPass
	}
	if s.pending != none {
		s.decide(c, cl, start)
	}
	s.state = words.next[s.state][symbols[c]]
	// What so far may become an example is not yet a credential.
	example := words.example[s.state]
	value, random := s.value.next(c, cl, s.last), s.random.next(c, cl)
	if value && s.value.since > max(example, s.value.name(words.name[s.state])) ||
		random && s.value.may() && (s.random.length-s.random.from > example || s.random.singles >= alone) {
		s.credential = s.now
	}
	if s.random.public() { // so is what follows, where it is cut in parts
		s.value.publish()
	}
	for at := s.state; at != 0; at = words.also[at] {
		if p := &words.out[at]; p.kind != none {
			s.found(p)
		}
	}
	if id, run := s.shape.next(c, cl, before); id || run {
		if id {
			s.identifier = s.now
		}
		if run {
			s.digits = s.now
		}
	}
}

// found takes an entry of the lexicon that ends with the current byte.
func (s *scanner) found(p *pattern) {
	begins := s.starts>>(p.length-1)&1 == 1
	if s.value.public == publicWithin { // a longer one that ends here, such as "public key"
		return
	}
	switch p.kind {
	case keyword:
		if s.value.example() {
			s.credential = -Window
			s.denied++
			return
		}
		s.confirm(s.now)
		s.value.phrase = p.phrase
	case wordOnly:
		if begins {
			s.pending, s.pendingIn = wordOnly, s.now
		}
	case nameOnly:
		if !begins {
			return
		}
		s.pending, s.pendingIn = nameOnly, s.now
		if p.length < 8 {
			if b := byte(s.last >> (8 * p.length)); b == '_' || b == '-' || isLetter(classes[b]) {
				s.pending = wordOnly
			}
		}
	case prefix:
		if s.last&p.mask == p.tail && (p.length > 7 || !alphanumeric(byte(s.last>>(8*p.length)))) {
			s.value.prefixed()
		}
	case publicName:
		s.pending = none
		s.keywords &^= 1
		s.value.publish()
	case block, publicBlock, blockEnd:
		s.value.enter(p.kind)
	case placeholder, published:
		if s.value.deny() || s.random.length >= uint8(p.length) {
			s.credential = -Window
			s.denied++
			s.random.denied = true
			s.random.exempt = s.random.exempt || p.kind == published
		}
	}
}

// decide settles a pending keyword by the byte behind it.
func (s *scanner) decide(c byte, cl class, start bool) {
	ends := !isLetter(cl) || start
	switch {
	case s.pending == wordOnly && ends, s.pending == nameOnly && (c == ':' || c == '='):
		s.confirm(s.pendingIn)
	case s.pending == nameOnly && c == ' ': // "the pin is"
		s.value.mentioned()
	case s.pending == wordOnly:
		if age := s.now - s.pendingIn; age < Window {
			s.keywords &^= 1 << age
		}
	}
	s.pending = none
}

// confirm counts a keyword that ended in the token.
func (s *scanner) confirm(token int) {
	if age := s.now - token; age < Window {
		s.keywords |= 1 << age
	}
	s.value.named()
}

func isLetter(c class) bool { return c >= lower }

func alphanumeric(b byte) bool {
	c := classes[b]
	return c == digit || c == lower || c == upper
}

// density is how many of the window's tokens end a keyword.
func (s *scanner) density() int { return bits.OnesCount16(s.keywords) }
