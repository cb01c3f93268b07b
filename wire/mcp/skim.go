package mcp

import (
	"bytes"

	"github.com/margaydev/margay/internal/strictjson"
)

// About is what can be told of a message that can't be parsed, so that whoever
// waits for it gets an answer. Nothing else depends on it.
type About struct {
	ID     ID
	Method bool // it has one: it is a request
}

// maxAbout bounds the messages of one batch that are told.
const maxAbout = 64

// Skim looks for the ids of the message or the batch of messages in bytes that
// may be anything.
func Skim(raw []byte) []About {
	var s skimmer
	s.write(raw)
	return s.all()
}

// skimmer finds the members id and method of the outermost objects, in
// constant memory.
type skimmer struct {
	found    []About
	now      About
	depth    int // of brackets that are open
	at       int // depth of the messages' members
	inString bool
	escaped  bool
	isValue  bool   // behind a colon, at the depth at
	key      []byte // the last string there, as it is written
	value    []byte // the value that is read, bounded
	started  bool
}

func (s *skimmer) write(p []byte) {
	for _, c := range p {
		s.next(c)
	}
}

func (s *skimmer) next(c byte) {
	if s.inString {
		s.keep(c)
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.inString = false
		}
		return
	}
	switch c {
	case '"':
		s.inString = true
		if s.depth == s.at && !s.isValue {
			s.key = s.key[:0]
		}
		s.keep(c)
	case '{', '[':
		if !s.started {
			s.started = true
			s.at = 1
			if c == '[' {
				s.at = 2
			}
		}
		s.depth++
		if c == '{' && s.depth == s.at {
			s.now, s.isValue, s.key = About{}, false, s.key[:0]
		}
	case '}', ']':
		if s.depth == s.at {
			s.member()
			if c == '}' {
				s.message()
			}
		}
		s.depth = max(0, s.depth-1)
	case ':':
		if s.depth == s.at {
			s.isValue, s.value = true, s.value[:0]
		}
	case ',':
		if s.depth == s.at {
			s.member()
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.keep(c)
	}
}

// keep remembers a byte of a key or a value at the depth of the messages.
func (s *skimmer) keep(c byte) {
	switch {
	case s.depth != s.at:
	case s.isValue:
		if len(s.value) <= maxID {
			s.value = append(s.value, c)
		}
	case len(s.key) <= 16:
		s.key = append(s.key, c)
	}
}

func (s *skimmer) member() {
	switch string(s.key) {
	case `"id"`:
		s.now.ID = skimID(s.value)
	case `"method"`:
		s.now.Method = true
	}
	s.isValue, s.key, s.value = false, s.key[:0], s.value[:0]
}

func (s *skimmer) message() {
	if s.now.ID != "" && len(s.found) < maxAbout {
		s.found = append(s.found, s.now)
	}
	s.now = About{}
}

// all returns what was found, also in a message that is cut.
func (s *skimmer) all() []About {
	if s.depth >= s.at && s.at > 0 {
		if s.depth == s.at && !s.inString {
			s.member()
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
