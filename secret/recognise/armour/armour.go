// Package armour finds private keys in PEM and PGP armour in a stream of bytes.
package armour

import "bytes"

const (
	maxPEMHeader  = 160 // of "-----BEGIN … PRIVATE KEY-----"
	minPEMBody    = 24  // base64 characters before a header is believed
	maxPEMBefore  = 512 // bytes of header lines and white space before the body
	pemPiece      = 64  // bytes of body reported at a time
	pemSpaceAfter = 16  // a space inside the body follows at least so many characters
)

// State finds private keys in PEM and PGP armour, on many lines, on one
// line, or with the line ends written as \n. The key is reported from its
// header on as soon as some of its body has been read, and then piece by
// piece, so that nothing of it is held for long or let go; it ends with the
// END line or with the first byte that can't belong to it.
//
// Only the lines as such are looked at: a header without a body, as in source
// code that looks for keys, is not a key. The zero value waits for a header.
type State struct {
	// Spans are what was found: the user takes them, and empties the list.
	Spans []Span

	on    bool
	body  bool  // some of the body has been read and reported
	start int64 // of the header, then of what is not yet reported
	head  int   // bytes of the header line seen
	text  [maxPEMHeader]byte
	ready bool // the header line is complete

	before int  // bytes between header and body
	token  int  // base64 characters of the current token
	colon  bool // the current line is a header line such as Proc-Type
	escape bool // after a backslash
	dashes int  // of the END line
	ending bool
	tail   int  // bytes of the END line
	closes bool // words of it have been seen
}

// Span is a key, or a piece of one: the bytes [Start, End) of the text. One that
// Continues goes on where the last one ended.
type Span struct {
	Start, End int64
	Continues  bool
}

// Header is what a header begins with, in lower case.
const Header = "-----begin"

// On reports whether a header or a key is being read.
func (p *State) On() bool { return p.on }

// Begin starts with what was read of a header, whose first byte is at start.
func (p *State) Begin(header []byte, start int64) {
	if p.on && p.body {
		return
	}
	*p = State{Spans: p.Spans, on: true, start: start}
	p.head = copy(p.text[:], header)
}

// Hold returns the offset before which text is decided, where pos bytes were read.
func (p *State) Hold(pos int64) int64 {
	if p.on {
		return p.start
	}
	return pos
}

// Step reads the byte at pos.
func (p *State) Step(b byte, pos int64) {
	switch {
	case !p.on:
	case !p.ready:
		p.header(b)
	case p.ending:
		p.endLine(b, pos)
	default:
		p.bodyByte(b, pos)
	}
}

// Close ends the text, at pos.
func (p *State) Close(pos int64) { p.stop(pos) }

func (p *State) header(b byte) {
	if p.head == len(p.text) || b == '\n' || b == '\r' {
		p.on = false
		return
	}
	p.text[p.head] = b
	p.head++
	line := bytes.ToUpper(p.text[:p.head])
	if b != '-' || len(line) < 24 || !bytes.HasSuffix(line, []byte("-----")) {
		return
	}
	title := line[len("-----BEGIN") : len(line)-5]
	if !bytes.HasSuffix(title, []byte("PRIVATE KEY")) && !bytes.HasSuffix(title, []byte("PRIVATE KEY BLOCK")) {
		if len(bytes.Trim(title, "-")) > 0 {
			p.on = false
		}
		return
	}
	p.ready = true
}

func isBase64(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '+' || b == '/' || b == '='
}

// bodyByte reads a byte at pos behind the header.
func (p *State) bodyByte(b byte, pos int64) {
	if !p.body {
		p.before++
		if p.before > maxPEMBefore {
			p.on = false
			return
		}
	}
	switch {
	case p.escape:
		p.escape = false
		if b == 'n' || b == 'r' || b == '\n' {
			p.token, p.colon = 0, false
			break
		}
		if b == '\\' {
			p.escape = true // written twice: \\n
			break
		}
		p.stop(pos)
		return
	case b == '\\':
		p.escape = true
	case b == '\n' || b == '\r':
		p.token, p.colon = 0, false
	case p.colon:
	case isBase64(b):
		p.token++
		if !p.body && p.token >= minPEMBody {
			p.body = true
			p.report(pos+1, false)
		}
	case b == '-' && p.token == 0 || b == '-' && p.body:
		p.ending, p.tail = true, 1
	case b == ' ' || b == '\t':
		if p.token > 0 && p.token < pemSpaceAfter && p.body {
			p.stop(pos)
			return
		}
		p.token = 0
	case !p.body && (b == ':' || b == '-' || b == ',' || b == '"' || b == '\'' || b == '.' || b == '(' || b == ')'):
		p.colon = b == ':' || p.colon
		p.token = 0
	default:
		p.stop(pos)
		return
	}
	if p.body && pos+1-p.start >= pemPiece {
		p.report(pos+1, true)
	}
}

// endLine reads "-----END … KEY-----" after its first dash.
func (p *State) endLine(b byte, pos int64) {
	p.tail++
	if b == '-' {
		p.dashes++
	} else {
		p.dashes = 0
		p.closes = p.closes || p.tail > 5
	}
	switch {
	case p.closes && p.dashes == 5:
		if p.body {
			p.report(pos+1, true)
		}
		p.on = false
	case p.tail > maxPEMHeader || b == '\n' || b == '\r' || !p.closes && b != '-' && p.tail <= 5:
		p.stop(pos)
	}
}

// stop ends the key before the byte at pos.
func (p *State) stop(pos int64) {
	if p.on && p.body {
		p.report(pos, true)
	}
	p.on = false
}

func (p *State) report(end int64, continues bool) {
	if end > p.start {
		p.Spans = append(p.Spans, Span{p.start, end, continues})
		p.start = end
	}
}
