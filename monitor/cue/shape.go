package cue

// shape finds what is written like an identifier: key=value, an e-mail
// address, a UUID, an IP address, letters and digits of a credential's
// length; and long runs of digits.
type shape struct {
	run, runDigits, runHumps uint8 // letters and digits without a break
	digits                   uint8
	hex                      uint8 // hexadecimal digits without a break, or notHex
	groups                   uint8 // of a UUID, each closed by a dash
	octets                   uint8 // of an IP address, each closed by a dot
	mail                     uint8
	equals                   bool // behind key=
}

const (
	credentialRun = 16 // letters and digits of a credential's length
	digitRun      = 8
	notHex        = 255
)

// States of an e-mail address.
const (
	noMail    uint8 = iota
	behindAt        // local@
	inDomain        // local@d
	behindDot       // local@domain.
)

// next takes c behind the byte before.
func (s *shape) next(c byte, cl Class, before byte) (identifier, digits bool) {
	identifier = s.nextUUID(c, cl)
	switch {
	case s.equals:
		s.equals = false
		identifier = identifier || c > ' ' && c != '=' && c != '>'
	case c == '=':
		s.equals = alphanumeric(before) || before == '_' || before == '"'
	}
	if s.nextIP(c, cl) || s.nextMail(c, before) {
		identifier = true
	}
	if !alphanumeric(c) {
		s.run, s.runDigits, s.runHumps, s.digits = 0, 0, 0, 0
		return identifier, false
	}
	s.run = bump(s.run)
	if cl == Digit {
		s.runDigits, s.digits = bump(s.runDigits), bump(s.digits)
	} else {
		s.digits = 0
	}
	if cl == Upper && ClassOf(before) == Lower {
		s.runHumps = bump(s.runHumps)
	}
	mixed := s.runDigits > 0 && s.runDigits < s.run || s.runHumps > 3
	return identifier || mixed && s.run >= credentialRun, s.digits >= digitRun
}

// nextUUID counts the groups 8-4-4-4-12.
func (s *shape) nextUUID(c byte, cl Class) bool {
	switch {
	case cl == Digit, 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		if s.hex != notHex {
			s.hex = min(s.hex+1, notHex-1)
		}
		return s.groups == 4 && s.hex == 12
	case isLetter(cl):
		s.hex, s.groups = notHex, 0
		return false
	case c == '-' && (s.groups == 0 && s.hex == 8 || s.groups > 0 && s.groups < 4 && s.hex == 4):
		s.groups++
	default:
		s.groups = 0
	}
	s.hex = 0
	return false
}

// nextIP counts the octets of a dotted quad, at its fourth's first digit.
// s.digits are those before c.
func (s *shape) nextIP(c byte, cl Class) bool {
	switch {
	case cl == Digit:
		return s.octets == 3 && s.digits == 0
	case c == '.' && s.digits > 0 && s.digits < 4 && s.digits == s.run:
		s.octets = min(s.octets+1, 4)
	default:
		s.octets = 0
	}
	return false
}

func (s *shape) nextMail(c byte, before byte) bool {
	part := alphanumeric(c) || c == '-'
	switch {
	case c == '@' && (alphanumeric(before) || before == '_' || before == '-'):
		s.mail = behindAt
	case s.mail == noMail:
	case s.mail == behindAt && part:
		s.mail = inDomain
	case s.mail == inDomain && c == '.':
		s.mail = behindDot
	case s.mail == inDomain && part:
	case s.mail == behindDot && part:
		s.mail = inDomain
		return isLetter(ClassOf(c))
	default:
		s.mail = noMail
	}
	return false
}

// bump counts without running over.
func bump(n uint8) uint8 {
	if n < 255 {
		n++
	}
	return n
}
