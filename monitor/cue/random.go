package cue

// random follows one word, a run of characters without a space or quote, and
// says when it looks drawn at random: letters, digits and signs change too
// often for a name. Hexadecimal alone does not count, nor what starts like a
// well-known encoded object: digests, ids, images and certificates are no
// credentials. Hexadecimal that spells text does, and so do letters one by
// one between dots, and words put together to one that is too long.
type random struct {
	length   uint8
	from     uint8 // where the current part starts, behind a dash or the like
	changes  uint8
	digits   bool
	notHex   bool // a letter beyond f
	cased    bool // both cases, or a sign
	marked   bool
	exempt   bool // starts like something public
	denied   bool // the current part says that it is an example
	previous Class
	spells   uint8  // hexadecimal digits that so far spell printable ASCII
	singles  uint8  // letters or digits alone between dots
	since    uint8  // characters since the last dot
	small    uint8  // small letters in a row
	head     uint64 // the last eight characters
}

const (
	changesNeeded = 3
	spelled       = 12 // hexadecimal digits: by chance one in three thousand
	alone         = 6
	unbroken      = 24 // small letters: no word is as long, several put together are
)

// heads are the beginnings of encoded images, certificates and public keys,
// and of published identifiers of keys.
var heads = [...]string{"iVBO", "R0lG", "/9j/", "MII", "pk_", "kid-", "sha1-", "sha2"}

// Bytes that end a random word, and signs that occur in one.
var (
	wordEnds   = bytesOf("\"'`<>()[]{},;|=:")
	drawnSigns = bytesOf("@$!#^&*~")
)

// next says whether c belongs to a word that looks random.
func (r *random) next(c byte, cl Class) bool {
	if cl == Space || cl == Newline || wordEnds[c] {
		*r = random{}
		return false
	}
	r.length = bump(r.length)
	r.head = r.head<<8 | uint64(c)
	if tail(r.head, "AAAA") { // zeros, as binary formats have them
		r.exempt = true
	}
	if r.length <= 4 {
		for _, p := range heads {
			r.exempt = r.exempt || int(r.length) == len(p) && tail(r.head, p)
		}
	}
	r.dots(c)
	change := false
	switch cl {
	case Digit:
		change = r.previous == Lower || r.previous == Upper
		r.digits = true
	case Lower:
		change = r.previous == Digit
		r.notHex = r.notHex || c > 'f'
	case Upper:
		change = r.previous == Digit || r.previous == Lower
		r.notHex = r.notHex || c > 'F'
		r.cased = r.cased || r.previous == Lower
	default:
		if drawnSigns[c] {
			change = r.previous != Other
			r.cased = true
		} else { // another part of the word
			r.from, r.changes, r.digits, r.notHex, r.cased, r.denied = r.length, 0, false, false, false, false
		}
		r.spells = 0
	}
	if change {
		r.changes = bump(r.changes)
	}
	r.previous = cl
	r.hex(c, cl)
	few := uint8(3)
	if r.digits {
		few = 5
	}
	if r.changes >= changesNeeded && (r.notHex || r.cased) && r.length-r.from <= few*min(r.changes, 50) {
		r.marked = true
	}
	if r.small = bump(r.small); cl != Lower {
		r.small = 0
	}
	if r.small >= unbroken || r.spells >= spelled && r.digits && r.spells == r.length || r.singles >= alone {
		r.marked = true
	}
	return r.marked && !r.exempt && !r.denied
}

// public says whether the word is of a well-known public kind.
func (r *random) public() bool { return r.exempt && r.length >= 8 }

// hex counts digits that come in pairs from 2 to 7, as those of printable
// ASCII do.
func (r *random) hex(c byte, cl Class) {
	ok := cl == Digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	if r.spells%2 == 0 {
		ok = '2' <= c && c <= '7'
	}
	if ok && r.spells == r.length-1 {
		r.spells = r.length
	}
}

func (r *random) dots(c byte) {
	if c != '.' {
		r.since = bump(r.since)
		return
	}
	if r.since == 1 {
		r.singles = bump(r.singles)
	} else {
		r.singles = 0
	}
	r.since = 0
}
