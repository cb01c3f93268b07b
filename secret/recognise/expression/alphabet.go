package expression

import "regexp/syntax"

// Role is what a byte does to a token that is under way.
type Role uint8

// Roles.
const (
	Stops Role = iota // it ends the token
	Grows             // it belongs to the token
	Joins             // it belongs to the token if the token goes on behind it: a dot
	Pads              // it belongs to the token if the token does not go on: padding
)

// Alphabet is the role of each byte in the tokens of a rule.
type Alphabet [256]Role

// Plain is the alphabet of tokens that have no punctuation of their own.
var Plain = func() (a Alphabet) {
	for b := range a {
		if b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' {
			a[b] = Grows
		}
	}
	return a
}()

// AlphabetOf returns the alphabet of a rule's tokens: letters, digits, dashes,
// underscores, and what of base64 and of addresses the secret group has. Quotes,
// brackets, white space, commas, and what joins parameters stop every token.
func AlphabetOf(re *syntax.Regexp, group int) *Alphabet {
	a := Plain
	a.add(re, group, re.MaxCap() == 0)
	return &a
}

func (a *Alphabet) add(re *syntax.Regexp, group int, inside bool) {
	inside = inside || re.Op == syntax.OpCapture && (group == 0 || re.Cap == group)
	switch {
	case !inside:
	case re.Op == syntax.OpLiteral:
		for _, r := range re.Rune {
			switch r {
			case '.':
				a['.'] = Joins
			case '=':
				if a['='] != Grows {
					a['='] = Pads
				}
			}
		}
	case re.Op == syntax.OpCharClass && !has(re, ' ') && !has(re, '"'): // any other is a class of what does not end a value
		for _, r := range "+/~%=" {
			if has(re, r) {
				a[r] = Grows
			}
		}
		if has(re, '.') {
			a['.'] = Joins
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
