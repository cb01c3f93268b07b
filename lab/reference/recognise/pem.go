package recognise

import "bytes"

// pemUse marks the literal that may begin a private key.
const pemUse = ^uint16(0)

const (
	maxPEMHeader  = 160 // of "-----BEGIN … PRIVATE KEY-----"
	minPEMBody    = 24  // base64 characters before a header is believed
	maxPEMBefore  = 512 // bytes of header lines and white space before the body
	pemPiece      = 64  // bytes of body reported at a time
	pemSpaceAfter = 16  // a space inside the body follows at least so many characters
)

// pemState finds private keys in PEM and PGP armour, on many lines, on one
// line, or with the line ends written as \n. The key is reported from its
// header on as soon as some of its body has been read, and then piece by
// piece, so that nothing of it is held for long or let go; it ends with the
// END line or with the first byte that can't belong to it.
//
// Only the lines as such are looked at: a header without a body, as in source
// code that looks for keys, is not a key.
type pemState struct {
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

// begin starts at "-----begin", whose first byte is at start.
func (p *pemState) begin(s *Scanner, start int64) {
	if p.on && p.body {
		return
	}
	*p = pemState{on: true, start: start}
	p.head = copy(p.text[:], s.win[start-s.base:s.pos-s.base])
}

func (p *pemState) hold(pos int64) int64 {
	if p.on {
		return p.start
	}
	return pos
}

func (p *pemState) step(s *Scanner, b byte) {
	switch {
	case !p.ready:
		p.header(b)
	case p.ending:
		p.endLine(s, b)
	default:
		p.bodyByte(s, b)
	}
}

func (p *pemState) header(b byte) {
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

// bodyByte reads a byte at s.pos behind the header.
func (p *pemState) bodyByte(s *Scanner, b byte) {
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
		p.stop(s)
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
			p.report(s, s.pos+1, false)
		}
	case b == '-' && p.token == 0 || b == '-' && p.body:
		p.ending, p.tail = true, 1
	case b == ' ' || b == '\t':
		if p.token > 0 && p.token < pemSpaceAfter && p.body {
			p.stop(s)
			return
		}
		p.token = 0
	case !p.body && (b == ':' || b == '-' || b == ',' || b == '"' || b == '\'' || b == '.' || b == '(' || b == ')'):
		p.colon = b == ':' || p.colon
		p.token = 0
	default:
		p.stop(s)
		return
	}
	if p.body && s.pos+1-p.start >= pemPiece {
		p.report(s, s.pos+1, true)
	}
}

// endLine reads "-----END … KEY-----" after its first dash.
func (p *pemState) endLine(s *Scanner, b byte) {
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
			p.report(s, s.pos+1, true)
		}
		p.on = false
	case p.tail > maxPEMHeader || b == '\n' || b == '\r' || !p.closes && b != '-' && p.tail <= 5:
		p.stop(s)
	}
}

// stop ends the key before the byte at s.pos.
func (p *pemState) stop(s *Scanner) {
	if p.body {
		p.report(s, s.pos, true)
	}
	p.on = false
}

func (p *pemState) close(s *Scanner) {
	if p.on && p.body {
		p.report(s, s.pos, true)
	}
	p.on = false
}

func (p *pemState) report(s *Scanner, end int64, continues bool) {
	if end > p.start {
		s.found = append(s.found, Match{Rule: s.set.pem, Start: p.start, End: end, Continues: continues})
		p.start = end
	}
}
