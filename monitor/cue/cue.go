// Package cue scans a text byte by byte for signs that a credential is being
// written: words that name one and what follows them, prefixes of known kinds,
// passwords in URLs, words that look random, and identifiers.
//
// The state is bounded, so that a pattern is found even if it is longer than
// the window, or split over any number of tokens. How a text is split into
// tokens changes only how long a cue stays in the window. Reading allocates
// nothing.
package cue

import "math/bits"

// Window is how many tokens back a cue counts.
const Window = 10

// Cues are what the tokens of the window show.
type Cues struct {
	Identifier, Digits, Credential bool
	// Keywords is the share of the tokens that end a keyword.
	Keywords float64
}

// Scanner reads one text, token by token. It belongs to one goroutine; the zero
// Scanner is not ready, see Reset.
type Scanner struct {
	now int // the current token

	identifier, digits, credential int    // last seen in
	keywords                       uint16 // of the last tokens, the newest lowest: a keyword ended there

	state  uint16 // of the automaton
	last   uint64 // the last eight bytes, the newest lowest
	starts uint64 // of the last bytes: a word or a part of an identifier began there
	parts  uint64 // the same for parts that others of the identifier precede

	// a keyword that counts depending on what follows
	pending   kind
	pendingIn int
	part      bool // it is a part of a name

	denied uint64 // words that turned out to be examples

	value  value
	shape  shape
	random random
}

// Reset starts a new text.
func (s *Scanner) Reset() {
	*s = Scanner{identifier: -Window, digits: -Window, credential: -Window}
}

// Token reads the next token.
func (s *Scanner) Token(text string) Cues {
	s.now++
	s.keywords = s.keywords << 1 & (1<<Window - 1)
	for i := range len(text) {
		s.next(text[i])
	}
	if s.pending == wordOnly { // until it is found to go on
		s.keywords |= 1
	}
	return Cues{s.seen(s.identifier), s.seen(s.digits), s.seen(s.credential), float64(bits.OnesCount16(s.keywords)) / float64(min(s.now, Window))}
}

// Phrase says whether what was read ends within a value that may have several
// words: a space does not end it.
func (s *Scanner) Phrase() bool { return s.value.phrased() }

func (s *Scanner) seen(in int) bool { return s.now-in < Window }

// Credentials calls found for each word of a text that holds a credential.
func Credentials(text string, found func(word string)) {
	var s Scanner
	s.Reset()
	from, private := 0, false
	for i := range len(text) {
		c := text[i]
		denied := s.denied
		s.now++ // a byte is a token here
		s.next(c)
		private = (private || s.credential == s.now) && s.denied == denied
		if Ends(c) && !(c == ' ' && s.Phrase()) {
			if private {
				found(text[from:i])
			}
			from, private = i+1, false
		}
	}
	if private {
		found(text[from:])
	}
}

// Ends says whether c parts what is private from what is not.
func Ends(c byte) bool {
	return ClassOf(c) == Space || ClassOf(c) == Newline || wordEnds[c] || c == '@'
}

func (s *Scanner) next(c byte) {
	before, cl := byte(s.last), ClassOf(c)
	was := ClassOf(before)
	start := isLetter(cl) && (!isLetter(was) || was == Lower && cl == Upper)
	s.last = s.last<<8 | uint64(c)
	s.starts, s.parts = s.starts<<1, s.parts<<1
	switch {
	case start:
		s.starts |= 1
		if before == '_' || before == '-' || isLetter(was) {
			s.parts |= 1
		}
	case cl == Lower && was == Upper && ClassOf(byte(s.last>>16)) == Upper:
		s.starts |= 2 // the P of DBPass
		s.parts |= 2
	}
	if s.pending != none {
		s.decide(c, cl, start)
	}
	s.state = words.Step(s.state, c)
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
func (s *Scanner) found(p *pattern) {
	begins, part := s.starts>>(p.length-1)&1 == 1, s.parts>>(p.length-1)&1 == 1
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
		s.confirm(s.now, !begins || part)
		s.value.phrase = p.phrase
	case wordOnly:
		if begins {
			s.pending, s.pendingIn, s.part = wordOnly, s.now, part
		}
	case nameOnly:
		if !begins {
			return
		}
		s.pending, s.pendingIn, s.part = nameOnly, s.now, part
		if part {
			s.pending = wordOnly
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
func (s *Scanner) decide(c byte, cl Class, start bool) {
	ends := !isLetter(cl) || start
	switch {
	case s.pending == wordOnly && ends, s.pending == nameOnly && (c == ':' || c == '='):
		s.confirm(s.pendingIn, s.part)
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
func (s *Scanner) confirm(token int, part bool) {
	if age := s.now - token; age < Window {
		s.keywords |= 1 << age
	}
	s.value.named(part)
}

func isLetter(c Class) bool { return c >= Lower }

func alphanumeric(b byte) bool {
	c := ClassOf(b)
	return c == Digit || c == Lower || c == Upper
}
