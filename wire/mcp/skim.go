package mcp

import (
	"bytes"

	"github.com/margaydev/margay/internal/strictjson"
)

// About is what is known about a message that can't be parsed, so that the sender
// gets an answer. Nothing else depends on it.
type About struct {
	ID     ID
	Method bool // it has one: it is a request
}

// maxAbout bounds the messages of one batch that are reported.
const maxAbout = 64

// Skim finds the ids of a message or a batch of messages in bytes that may be
// anything.
func Skim(raw []byte) []About {
	var s skimmer
	s.write(raw)
	return s.all()
}

// skimmer finds the members id and method of the outermost objects, in
// constant memory.
type skimmer struct {
	found             []About
	now               About
	depth             int // of open brackets
	at                int // depth of the messages' members; 0 before the first bracket
	inString, escaped bool
	member            []byte // the open one, without space and what is nested in it; bounded
}

func (s *skimmer) write(p []byte) {
	for _, c := range p {
		s.next(c)
	}
}

func (s *skimmer) next(c byte) {
	if s.inString {
		s.keep(c)
		s.inString = s.escaped || c != '"'
		s.escaped = !s.escaped && c == '\\'
		return
	}
	switch c {
	case '{', '[':
		if s.at == 0 {
			s.at = 1
			if c == '[' {
				s.at = 2
			}
		}
		s.depth++
		if c == '{' && s.depth == s.at {
			s.now, s.member = About{}, s.member[:0]
		}
	case '}', ']':
		if s.depth == s.at {
			s.end()
			if c == '}' {
				s.message()
			}
		}
		s.depth = max(0, s.depth-1)
	case ',':
		if s.depth == s.at {
			s.end()
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.inString = c == '"'
		s.keep(c)
	}
}

// keep remembers a byte of a member at the depth of the messages.
func (s *skimmer) keep(c byte) {
	if s.depth == s.at && len(s.member) <= len(`"id":`)+maxID {
		s.member = append(s.member, c)
	}
}

// end reads the member that ends.
func (s *skimmer) end() {
	if id, ok := bytes.CutPrefix(s.member, []byte(`"id":`)); ok {
		s.now.ID = skimID(id)
	}
	s.now.Method = s.now.Method || bytes.HasPrefix(s.member, []byte(`"method"`))
	s.member = s.member[:0]
}

func (s *skimmer) message() {
	if s.now.ID != "" && len(s.found) < maxAbout {
		s.found = append(s.found, s.now)
	}
	s.now = About{}
}

// all returns what was found, even in a message that is cut off.
func (s *skimmer) all() []About {
	if s.depth >= s.at && s.at > 0 {
		if s.depth == s.at && !s.inString {
			s.end()
		}
		s.message()
	}
	return s.found
}

func skimID(raw []byte) ID {
	var d strictjson.Doc
	if len(raw) > maxID || d.Parse(bytes.TrimSpace(raw), strictjson.Limits{}) != nil {
		return ""
	}
	if id, ok := idOf(&d, 0); ok && id != NullID {
		return id
	}
	return ""
}
