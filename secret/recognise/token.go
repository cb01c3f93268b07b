package recognise

import "regexp/syntax"

// A rule matches what its vendor issued when the rule was written; the
// credential in a text may be longer. So a match is only the core of what is
// reported: it grows to the boundary of the token around it, over the
// characters that tokens of the rule are made of. To the left it grows as far
// as text is held. To the right it may be open when the rule's run ends: then
// it is held, with what was read of it, until its token ends. Text behind the
// token is held no longer than it would be without.

// role is what a byte does to a token that is under way.
type role uint8

const (
	stops role = iota // it ends the token
	grows             // it belongs to the token
	joins             // it belongs to the token if the token goes on behind it: a dot
	pads              // it belongs to the token if the token does not go on: padding
)

// tokenPiece is how many bytes of a token are reported at a time where the token
// is longer than what may be held.
const tokenPiece = 64

// alphabet is the role of each byte in the tokens of a rule.
type alphabet [256]role

// plain is the alphabet of tokens that have no punctuation of their own.
var plain = func() (a alphabet) {
	for b := range a {
		if b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			a[b] = grows
		}
	}
	return a
}()

// alphabetOf returns the alphabet of a rule's tokens: letters, digits, dashes,
// underscores, and what of base64 and of addresses the secret group has. Quotes,
// brackets, white space, commas, and what joins parameters stop every token.
func alphabetOf(re *syntax.Regexp, group int) *alphabet {
	a := plain
	a.add(re, group, re.MaxCap() == 0)
	return &a
}

func (a *alphabet) add(re *syntax.Regexp, group int, inside bool) {
	inside = inside || re.Op == syntax.OpCapture && (group == 0 || re.Cap == group)
	switch {
	case !inside:
	case re.Op == syntax.OpLiteral:
		for _, r := range re.Rune {
			switch r {
			case '.':
				a['.'] = joins
			case '=':
				if a['='] != grows {
					a['='] = pads
				}
			}
		}
	case re.Op == syntax.OpCharClass && !has(re, ' ') && !has(re, '"'): // any other is a class of what does not end a value
		for _, r := range "+/~%=" {
			if has(re, r) {
				a[r] = grows
			}
		}
		if has(re, '.') {
			a['.'] = joins
		}
	}
	for _, sub := range re.Sub {
		a.add(sub, group, inside)
	}
}

func has(class *syntax.Regexp, r rune) bool {
	for i := 0; i < len(class.Rune); i += 2 {
		if class.Rune[i] <= r && r <= class.Rune[i+1] {
			return true
		}
	}
	return false
}

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
func (t *token) step(a *alphabet, b byte, at int64, last func() byte) bool {
	if at < t.end {
		return true
	}
	switch a[b] {
	case grows:
		if at > t.end && a[last()] == pads {
			return false
		}
		t.end = at + 1
		return true
	case joins:
		return at == t.end // two dots in a row are an ellipsis
	case pads:
		return at == t.end || last() == b
	default:
		if at > t.end && a[last()] == pads {
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
	if plain[s.win[start-s.base]] == grows {
		for least := max(s.Hold(), s.base); start > least && plain[s.win[start-1-s.base]] == grows; {
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
		if at := s.pos; at > t.end && s.set.rules[t.rule].alphabet[s.win[at-1-s.base]] == pads {
			t.end = at
		}
		s.reportToken(t)
	}
	s.tokens = s.tokens[:0]
}
