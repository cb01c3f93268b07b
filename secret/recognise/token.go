package recognise

import "github.com/margaydev/margay/secret/recognise/expression"

// A rule matches what its vendor issued when the rule was written; the
// credential in a text may be longer. So a match is only the core of what is
// reported: it grows to the boundary of the token around it, over the
// characters that tokens of the rule are made of. To the left it grows as far
// as text is held. To the right it may be open when the rule's run ends: then
// it is held, with what was read of it, until its token ends. Text behind the
// token is held no longer than it would be without.

// tokenPiece is how many bytes of a token are reported at a time where the token
// is longer than what may be held.
const tokenPiece = 64

// token is a match under way to its boundary.
type token struct {
	rule   uint16
	capped bool
	goesOn bool  // some of it is reported
	from   int64 // of the token
	start  int64 // of what is not reported
	end    int64 // of what belongs to the token for sure
}

// step reads the byte at an offset and reports whether the token goes on.
func (t *token) step(a *expression.Alphabet, b byte, at int64, last func() byte) bool {
	if at < t.end {
		return true
	}
	switch a[b] {
	case expression.Grows:
		if at > t.end && a[last()] == expression.Pads {
			return false
		}
		t.end = at + 1
		return true
	case expression.Joins:
		return at == t.end // two dots in a row are an ellipsis
	case expression.Pads:
		return at == t.end || last() == b
	default:
		if at > t.end && a[last()] == expression.Pads {
			t.end = at
		}
		return false
	}
}

// grow reports a match of a rule at the boundaries of its token.
func (s *Scanner) grow(id uint16, start, end int64, capped bool) {
	c := s.set.rules[id]
	if c.alphabet == nil {
		s.found = append(s.found, Match{Rule: c.rule, Start: start, End: end, Capped: capped})
		return
	}
	for i := range s.tokens {
		if t := &s.tokens[i]; t.rule == id && t.from <= start && start <= t.end {
			return // it lies in a token of the same rule
		}
	}
	if expression.Plain[s.win[start-s.base]] == expression.Grows {
		for least := max(s.Hold(), s.base); start > least && expression.Plain[s.win[start-1-s.base]] == expression.Grows; {
			start--
		}
	}
	t := token{rule: id, capped: capped, from: start, start: start, end: end}
	for at := end; at < s.pos; at++ {
		if !s.stepToken(&t, s.win[at-s.base], at) {
			s.reportToken(&t)
			return
		}
	}
	s.tokens = append(s.tokens, t)
}

// stepTokens moves all tokens over b, which is at s.pos.
func (s *Scanner) stepTokens(b byte) {
	kept := s.tokens[:0]
	for i := range s.tokens {
		t := s.tokens[i]
		if s.stepToken(&t, b, s.pos) {
			kept = append(kept, t)
		} else {
			s.reportToken(&t)
		}
	}
	s.tokens = kept
}

func (s *Scanner) stepToken(t *token, b byte, at int64) bool {
	last := func() byte { return s.win[at-1-s.base] }
	if !t.step(s.set.rules[t.rule].alphabet, b, at, last) {
		return false
	}
	if most := s.maxHeld; t.end-t.start >= most || t.goesOn && t.end-t.start >= tokenPiece {
		s.reportToken(t)
		t.start, t.goesOn = t.end, true
	}
	return at-t.end < tokenPiece // so much padding is none
}

func (s *Scanner) reportToken(t *token) {
	if t.end > t.start {
		s.found = append(s.found, Match{Rule: s.set.rules[t.rule].rule, Start: t.start, End: t.end, Capped: t.capped, Continues: t.goesOn})
	}
}

// closeTokens ends all tokens with the text.
func (s *Scanner) closeTokens() {
	for i := range s.tokens {
		t := &s.tokens[i]
		if at := s.pos; at > t.end && s.set.rules[t.rule].alphabet[s.win[at-1-s.base]] == expression.Pads {
			t.end = at
		}
		s.reportToken(t)
	}
	s.tokens = s.tokens[:0]
}
