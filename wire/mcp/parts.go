package mcp

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

// Part is a text of a message.
type Part struct {
	ID     int // its place in Parts
	Field  flow.Field
	Text   string // decoded, or as it is written where JSON
	Key    bool   // an object's key: it can't be edited
	JSON   bool   // a value whose members the protocol does not know, such as arguments
	Opaque string // "image", "audio" or "file": content that is not text; Text is empty

	arguments bool // of a call
	blob      bool // it is written in base64
}

// Parts returns the texts of the message. request is the method that a
// Response answers.
func (m *Message) Parts(request string) []Part {
	if m.done {
		return m.parts
	}
	m.done = true
	if m.Method != "" {
		request = m.Method
		m.names = append(m.names, m.Method)
	}
	if m.ID != "" && m.ID[0] == '"' {
		m.names = append(m.names, m.doc.Text(m.doc.Find(0, "id")))
	}
	for c := range m.doc.All(0) {
		switch key := m.doc.KeyBytes(c); {
		case c == m.body:
			m.walk(c, &scope{request: request, list: "params"})
		case !slices.Contains([]string{"jsonrpc", "id", "method"}, string(key)):
			m.member(0, c, &scope{request: request}) // it should not be there
		}
	}
	return m.parts
}

// Names returns the ids, tokens and names of the message, which hold the
// protocol together and can't be edited. Parts must have been called.
func (m *Message) Names() []string { return m.names }

// States returns values that the other side returns unread, such as cursors.
// They can't be edited. Parts must have been called.
func (m *Message) States() []string { return m.states }

// Arguments returns the part with the arguments of a tool call, or -1.
func (m *Message) Arguments() int {
	return slices.IndexFunc(m.parts, func(p Part) bool { return p.arguments })
}

// Path returns where a part is, such as result.content[0].text. Keys are named
// by the object that they are in.
func (m *Message) Path(p *Part) string {
	n := m.node[p.ID]
	if p.Key {
		return m.doc.Path(m.doc.Nodes[n].Parent) + "{}"
	}
	return m.doc.Path(n)
}

// scope is what is known about the place of a node.
type scope struct {
	request string // the method
	list    string // "params" directly in params or result, else the array that a member is in
}

func (m *Message) add(n int, p Part) {
	p.ID = len(m.parts)
	m.parts, m.node = append(m.parts, p), append(m.node, n)
}

// walk collects the texts of a node.
func (m *Message) walk(n int, s *scope) {
	d := &m.doc
	switch node := &d.Nodes[n]; node.Kind {
	case strictjson.Object:
		for c := range d.All(n) {
			m.member(n, c, s)
		}
	case strictjson.Array:
		below := *s
		below.list = ""
		if s.list == "params" && node.KeyEnd > node.KeyStart {
			below.list = d.Key(n)
		}
		for c := range d.All(n) {
			m.walk(c, &below)
		}
	case strictjson.String:
		m.add(n, Part{Field: fieldOf(d.KeyBytes(n)), Text: d.Text(n)})
	default:
	}
}

// member collects the texts of a member of the object in.
func (m *Message) member(in, n int, s *scope) {
	d := &m.doc
	key := d.KeyBytes(n)
	if len(key) >= 4 && !knownKeys.Has(key) {
		m.add(n, Part{Text: string(key), Key: true})
	}
	str := d.Nodes[n].Kind == strictjson.String
	switch {
	case m.value(n, key):
		m.add(n, Part{Field: flow.FieldToolArguments, Text: string(d.Value(n)), JSON: true, arguments: m.isArguments(in, key)})
		return
	case str && m.name(in, key, s):
		m.names = append(m.names, d.Text(n))
		return
	case str && s.list == "params" && stateKeys.Has(key):
		m.states = append(m.states, d.Text(n))
		return
	case str && m.media(in, n, key):
		return
	}
	below := *s
	if d.Nodes[n].Kind == strictjson.Object {
		below.list = ""
	}
	m.walk(n, &below)
}

// stateKeys are the members whose value the other side returns unread.
var stateKeys = body.Set(lists["states"])

// isArguments reports whether a member is the arguments of a call.
func (m *Message) isArguments(in int, key []byte) bool {
	return m.Method == "tools/call" && in == m.body && string(key) == "arguments"
}

// value reports whether a member is JSON that the protocol does not define. Such
// a value is one text, because its keys describe its values.
func (m *Message) value(n int, key []byte) bool {
	d := &m.doc
	if m.isArguments(d.Nodes[n].Parent, key) {
		return true
	}
	kind := d.Nodes[n].Kind
	if kind != strictjson.Object && (kind != strictjson.Array || string(key) == "arguments") {
		return false
	}
	switch string(key) {
	case "structuredContent", "data", "input", "metadata", "arguments":
		return true
	case "content": // of a form that was filled in; blocks have a type
		return kind == strictjson.Object && d.Find(n, "type") < 0
	}
	return false
}

// name reports whether a string holds the protocol together, so that editing
// it would break more than its text.
func (m *Message) name(in int, key []byte, s *scope) bool {
	switch {
	case nameKeys.Has(key):
		return true
	case string(key) != "name":
		return false
	case in == m.body:
		return s.request == "tools/call" || s.request == "prompts/get"
	}
	return s.list == "tools" || s.list == "prompts"
}

// nameKeys are the members that only hold the protocol together.
var nameKeys = body.Set(lists["names"])

// maxWord is the length from which base64 is content that is not text: a shorter
// one is looked at, as it may be a credential.
const maxWord = 64

// media takes content that is not text, and text that is written in base64.
func (m *Message) media(in, n int, key []byte) bool {
	d := &m.doc
	raw := body.Content(d, n)
	what := ""
	if string(key) == "data" {
		what = d.Text(d.Find(in, "type"))
	}
	switch {
	case (what == "image" || what == "audio") && len(raw) > maxWord && isBase64(raw):
		m.add(n, Part{Opaque: what})
	case string(key) == "blob" && isBase64(raw):
		if text, err := base64.StdEncoding.DecodeString(string(raw)); err == nil && isText(text) {
			m.add(n, Part{Field: flow.FieldContent, Text: string(text), blob: true})
		} else if len(raw) > maxWord {
			m.add(n, Part{Opaque: "file"})
		} else {
			return false
		}
	case string(key) == "src" && isImage(raw):
		m.add(n, Part{Opaque: "image"})
	default:
		return false
	}
	return true
}

// isImage reports whether a string is an image as a data URI.
func isImage(raw []byte) bool {
	head, image, ok := bytes.Cut(raw, []byte(";base64,"))
	return ok && len(head) <= 64 && bytes.HasPrefix(head, []byte("data:image/")) && isBase64(image) && !bytes.ContainsAny(head, " ,;")
}

// isBase64 reports whether a string can be base64, with its padding.
func isBase64(b []byte) bool { return len(b)%4 == 0 && body.IsBase64(b) }

// isText reports whether bytes can be read as text.
func isText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r)
	}) < 0
}

func fieldOf(key []byte) flow.Field {
	if contentKeys.Has(key) {
		return flow.FieldContent
	}
	return flow.FieldOther
}

var contentKeys = body.Set(lists["content"])

//go:embed vocabulary.txt
var file string

// lists are the members of the protocol's messages.
var lists = body.Lists(file)

// knownKeys are the protocol's own and so no text. The list need not be
// complete.
var knownKeys = body.Set(lists["keys"])
