package cue

import (
	"strings"
)

// value reads what follows a keyword and a credential's prefix
// and in the user part of a URL, and says where a credential is being
// written: early, as each character that goes out before is lost.
type value struct {
	state    uint8
	distance uint8 // bytes since the keyword
	lines    uint8 // line ends before the value
	length   uint8
	since    uint8 // bytes of what is taken for a credential, at least 1
	digits   uint8
	run      uint8 // digits without a break
	humps    uint8 // capitals after small letters
	letters  bool
	marked   bool // it looks like a credential
	direct   bool // it follows a sign, not a word
	quoted   bool // it starts as prose does not: behind a quote or an equals sign, or a name's sign
	part     bool // the keyword is a part of a name: prose has none
	alpha    bool // it has a letter
	phrase   bool // it may have several words
	words    uint8
	again    bool // the value holds a keyword, and may be a name itself
	url      uint8
	public   uint8 // bytes for which a random word is the value of a public name
	armour   kind  // of the block around: none, block or publicBlock
}

// States of a value.
const (
	nowhere     uint8 = iota
	afterName         // a keyword was read; a connector may follow
	expected          // the connector was read
	inValue           // within the value
	afterPrefix       // a credential's prefix was read
	inBody            // within the credential behind a prefix
)

// States of a URL.
const (
	noURL uint8 = iota
	inAuthority
	inUserinfo // behind a colon, which may be the port's
)

const (
	connectorWithin = 40  // bytes from a keyword to its connector
	mentionWithin   = 4   // those from a word that may be one
	publicWithin    = 120 // bytes from a public name to the end of its value
	longDigits      = 6   // digits that are a credential without a letter
	shortest        = 4   // bytes of a value that may be a credential
	shortWord       = 8   // those of one that is a word
	phraseWords     = 8   // words of a passphrase, at most
)

// named takes a keyword.
func (v *value) named(part bool) {
	switch v.state {
	case nowhere, afterName, expected:
		v.state, v.distance, v.public, v.phrase, v.part = afterName, 0, 0, false, part
	case inValue:
		v.again = true
	}
}

// mentioned takes a word that names a credential where "is" follows it at once.
func (v *value) mentioned() {
	if v.state == nowhere {
		v.state, v.distance, v.public, v.phrase = afterName, connectorWithin-mentionWithin, 0, false
	}
}

// prefixed takes a credential's prefix.
func (v *value) prefixed() {
	if v.state != inBody {
		v.state = afterPrefix
	}
}

// phrased says whether the value goes on behind a space.
func (v *value) phrased() bool { return v.state == inValue && v.phrase && v.words > 0 }

// deny takes a word that says that the value around it is an example, and
// says whether there is one.
func (v *value) deny() bool {
	if v.state < inValue {
		return false
	}
	v.state = nowhere
	return true
}

// publish takes a name of what is not a credential.
func (v *value) publish() {
	if v.state < inValue {
		v.state = nowhere
	}
	v.public = publicWithin
}

// example takes a keyword, which in the place of a URL's password says that
// it is an example, and says whether it is there.
func (v *value) example() bool {
	if v.url != inUserinfo {
		return false
	}
	v.url = noURL
	return true
}

// may says whether a random word may be a credential: it is not the
// value of a public name, and not in a public block.
func (v *value) may() bool { return v.public == 0 && v.armour != publicBlock }

// enter takes the begin and end lines of PEM.
func (v *value) enter(k kind) {
	if k == blockEnd {
		k = none
	}
	v.armour = k
}

// next says whether c belongs to a credential. last are the last eight bytes,
// c the lowest.
func (v *value) next(c byte, cl Class, last uint64) bool {
	v.since = bump(v.since)
	credential := v.nextURL(c, cl, last) || v.armour == block && alphanumeric(c)
	if v.public > 0 {
		v.public--
	}
	switch v.state {
	case afterName:
		v.connect(c, last)
	case expected:
		v.begin(c, cl, last)
	case inValue:
		v.more(c, cl, last)
	case afterPrefix:
		v.state = nowhere
		if alphanumeric(c) && !(tail(last>>8, "eyJ") && strings.IndexByte("h0r", c) >= 0) { // not {"alg, {"typ, {"kid: a JWT's header
			v.state, v.since = inBody, 1
		}
	case inBody:
		if !alphanumeric(c) && !bodySigns[c] {
			v.state = nowhere
		}
	}
	return credential || v.state == inBody || v.state == inValue && v.marked && v.length >= shortest
}

// name is how many bytes of a URL's password may become a keyword, which says
// that it is an example; elsewhere a keyword says nothing.
func (v *value) name(bytes uint8) uint8 {
	if v.url == inUserinfo {
		return bytes
	}
	return 0
}

// connect looks for what leads from a keyword to its value.
func (v *value) connect(c byte, last uint64) {
	v.distance++
	switch {
	case v.distance == 1 && isLetter(ClassOf(c)), v.distance == 2 && isLetter(ClassOf(c)) && (tail(last>>8, "_") || tail(last>>8, "-")):
		v.state = nowhere // TOKEN_TTL is not a token
	case c == '=', c == ':', c == '|', c == '`', c == '>' && (tail(last, "->") || tail(last, "=>")),
		c == ' ' && (tail(last, " is ") || tail(last, " was ") || tail(last, " to ")),
		c == ' ' && v.distance == 1 && (tail(last, "earer ") || tail(last, "EARER ")):
		v.state, v.lines, v.direct = expected, 0, c != ' ' || v.part
		v.quoted = v.part && (c == '|' || c == '>' || c == ':')
	case c == '\n', v.distance > connectorWithin, tail(last, ". "), tail(last, "; "):
		v.state = nowhere
	}
}

// begin takes what precedes a value, and its first byte. A bracket or a
// dollar starts a reference or a place to fill in, not a value.
func (v *value) begin(c byte, cl Class, last uint64) {
	switch {
	case cl == Newline:
		if v.lines++; v.lines > 1 {
			v.state = nowhere
		}
	case tail(last, "***"):
		v.state = nowhere
	case cl == Space, beforeValue[c]:
	case noValue[c]:
		v.state = nowhere
	default:
		v.state, v.length, v.since, v.digits, v.run, v.humps = inValue, 0, 1, 0, 0, 0
		v.letters, v.alpha, v.again, v.marked, v.words = false, false, false, false, 0
		v.quoted = v.quoted || strings.IndexByte("='\"`", byte(last>>8)) >= 0
		v.more(c, cl, last)
	}
}

// more takes a byte of a value. Digits beside letters, signs that words have
// not, and capitals in between make it a credential.
func (v *value) more(c byte, cl Class, last uint64) {
	switch {
	case c == ' ' && v.phrase && v.direct && v.words < phraseWords && last>>8&0xff != ' ':
		v.words++
	case cl == Space, cl == Newline, valueEnds[c]:
		v.state = nowhere
		if v.again && !v.marked {
			v.state, v.distance = afterName, 0
		}
		return
	case c == '(', c == '{', c == '[', c == '/' && tail(last, "://"): // a call, a template, an address
		v.state = nowhere
		return
	case cl == Digit:
		v.digits, v.run = bump(v.digits), bump(v.run)
	case cl == Upper && v.length > 0 && v.letters:
		v.humps++
		v.letters = false
	case cl == Lower:
		v.letters = true
	case valueSigns[c]:
		v.marked = v.marked || v.length > 0
	}
	v.length = bump(v.length)
	v.alpha = v.alpha || isLetter(cl)
	if cl != Digit {
		v.run = 0
	}
	v.marked = v.marked || v.digits > 0 && v.alpha || v.run >= longDigits || v.humps > 1 && 4*v.humps > v.length ||
		v.alpha && (v.quoted && (v.length >= shortWord || v.phrase && v.length > shortest) || v.words > 1)
}

// nextURL finds the password in scheme://user:password@host. A colon followed
// by digits may still be a port.
func (v *value) nextURL(c byte, cl Class, last uint64) bool {
	switch {
	case c == '/' && tail(last, "://"):
		v.url = inAuthority
	case v.url == noURL:
	case cl == Space, cl == Newline, urlEnds[c]:
		v.url = noURL
	case c == '@':
		was := v.url
		v.url = noURL
		return was == inUserinfo
	case v.url == inAuthority && c == ':':
		v.url, v.since = inUserinfo, 0
	case v.url == inUserinfo:
		return cl != Digit && c != '.'
	}
	return false
}

// tail says whether the last bytes are s, of at most eight.
func tail(last uint64, s string) bool {
	var t uint64
	for i := range len(s) {
		t = t<<8 | uint64(s[i])
	}
	return last&(1<<(8*len(s))-1) == t
}

// bytesOf is the set of the bytes of s.
func bytesOf(s string) (in [256]bool) {
	for i := range len(s) {
		in[s[i]] = true
	}
	return in
}

// Signs of credentials behind a prefix, what precedes a value, what starts
// none, what ends one, signs that words have not, and what ends an authority.
var (
	bodySigns   = bytesOf("_-./+=%~")
	beforeValue = bytesOf("\"'`>:=*|-\\")
	noValue     = bytesOf("<([{$,;.)]}")
	valueEnds   = bytesOf("\"'`,;)]}<>|")
	valueSigns  = bytesOf("!@#$%^&*+~?")
	urlEnds     = bytesOf("/\"'`()[]{}<>,;?$")
)

// Class is what kind of character a byte belongs to.
type Class uint8

// Classes.
const (
	Other Class = iota // punctuation and control characters
	Space
	Newline
	Digit
	Lower
	Upper
	Wide // bytes of characters beyond ASCII, which count as letters
)

var classes = func() (c [256]Class) {
	for b := range c {
		switch {
		case b == ' ', b == '\t':
			c[b] = Space
		case b == '\n', b == '\r':
			c[b] = Newline
		case '0' <= b && b <= '9':
			c[b] = Digit
		case 'a' <= b && b <= 'z':
			c[b] = Lower
		case 'A' <= b && b <= 'Z':
			c[b] = Upper
		case b >= 0x80:
			c[b] = Wide
		}
	}
	return c
}()

// ClassOf returns the class of a byte.
func ClassOf(b byte) Class { return classes[b] }
