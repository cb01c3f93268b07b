package mcp

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Part is a text of a message.
type Part struct {
	ID     int // its place in Parts
	Field  flow.Field
	Text   string // decoded, or as it is written where JSON
	Key    bool   // an object's key: it can't be edited
	JSON   bool   // a value whose members the protocol does not know, such as arguments
	Opaque string // "image", "audio" or "file": content that is no text; Text is empty

	arguments bool // of a call
	blob      bool // it stands there in base64
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
	m.doc.Children(0, func(c int) bool {
		switch key := m.doc.KeyBytes(c); {
		case c == m.body:
			m.walk(c, &scope{request: request, list: "params"})
		case !slices.Contains([]string{"jsonrpc", "id", "method"}, string(key)):
			m.member(0, c, &scope{request: request}) // it should not be there
		}
		return true
	})
	return m.parts
}

// Names returns the ids, tokens and names of the message, which hold the
// protocol together and can't be edited. Parts must have been called.
func (m *Message) Names() []string { return m.names }

// States returns what the other side hands back unread: cursors and the like,
// which can't be edited. Parts must have been called.
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
		d.Children(n, func(c int) bool { m.member(n, c, s); return true })
	case strictjson.Array:
		below := *s
		below.list = ""
		if s.list == "params" && node.KeyEnd > node.KeyStart {
			below.list = d.Key(n)
		}
		d.Children(n, func(c int) bool { m.walk(c, &below); return true })
	case strictjson.String:
		m.add(n, Part{Field: fieldOf(d.KeyBytes(n)), Text: d.Text(n)})
	default:
	}
}

// member collects the texts of a member of the object in.
func (m *Message) member(in, n int, s *scope) {
	d := &m.doc
	key := d.KeyBytes(n)
	if len(key) >= 4 && !knownKey(key) {
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
	case str && s.list == "params" && isState(key):
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

func isState(key []byte) bool {
	switch string(key) {
	case "cursor", "nextCursor", "requestState":
		return true
	}
	return false
}

// isArguments reports whether a member is what a call hands to its tool.
func (m *Message) isArguments(in int, key []byte) bool {
	return m.Method == "tools/call" && in == m.body && string(key) == "arguments"
}

// value reports whether a member is JSON that the protocol knows nothing
// about. Such a value is one text: what a key says of its value counts.
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
	switch string(key) {
	case "progressToken", "requestId", "toolUseId", "taskId", "elicitationId", "protocolVersion", "io.modelcontextprotocol/subscriptionId", "io.modelcontextprotocol/protocolVersion":
		return true
	case "name":
		switch {
		case in == m.body:
			return s.request == "tools/call" || s.request == "prompts/get"
		case s.list == "tools", s.list == "prompts":
			return true
		}
	}
	return false
}

// media takes content that is no text, and text that stands there in base64.
func (m *Message) media(in, n int, key []byte) bool {
	d := &m.doc
	node := &d.Nodes[n]
	raw := d.Raw[node.Start+1 : node.End-1]
	switch string(key) {
	case "data":
		what := d.Text(d.Find(in, "type"))
		if what != "image" && what != "audio" || !isBase64(raw) {
			return false
		}
		m.add(n, Part{Opaque: what})
		return true
	case "blob":
		if !isBase64(raw) {
			return false
		}
		if text, err := base64.StdEncoding.DecodeString(string(raw)); err == nil && isText(text) {
			m.add(n, Part{Field: flow.FieldContent, Text: string(text), blob: true})
			return true
		}
		m.add(n, Part{Opaque: "file"})
		return true
	case "src":
		head, body, ok := bytes.Cut(raw, []byte(";base64,"))
		if ok && len(head) <= 64 && bytes.HasPrefix(head, []byte("data:image/")) && isBase64(body) && !bytes.ContainsAny(head, " ,;") {
			m.add(n, Part{Opaque: "image"})
			return true
		}
	}
	return false
}

// isBase64 reports whether a string can be base64. Anything else is text,
// whatever the field says.
func isBase64(b []byte) bool {
	body := bytes.TrimRight(b, "=")
	if len(b)-len(body) > 2 || len(b)%4 != 0 {
		return false
	}
	for _, c := range body {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}

// isText reports whether bytes can be read as text.
func isText(b []byte) bool {
	return utf8.Valid(b) && bytes.IndexFunc(b, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r)
	}) < 0
}

func fieldOf(key []byte) flow.Field {
	switch string(key) {
	case "text", "content", "systemPrompt", "message", "instructions", "description":
		return flow.FieldContent
	}
	return flow.FieldOther
}

// knownKey reports whether a key is one of the protocol's own and so no text.
// The list need not be complete.
func knownKey(key []byte) bool {
	switch string(key) {
	case "jsonrpc", "method", "params", "result", "error", "code", "message", "data", "content", "type", "text", "mimeType", "annotations",
		"audience", "priority", "lastModified", "_meta", "isError", "structuredContent", "arguments", "name", "title", "description",
		"inputSchema", "outputSchema", "properties", "required", "items", "enum", "default", "format", "additionalProperties", "$schema",
		"tools", "prompts", "resources", "resourceTemplates", "uriTemplate", "contents", "blob", "roots", "nextCursor", "cursor", "icons",
		"role", "messages", "model", "stopReason", "systemPrompt", "includeContext", "temperature", "maxTokens", "stopSequences", "metadata",
		"modelPreferences", "hints", "costPriority", "speedPriority", "intelligencePriority", "progressToken", "progress", "total",
		"level", "logger", "requestId", "reason", "capabilities", "clientInfo", "serverInfo", "protocolVersion", "version", "instructions",
		"logging", "completions", "completion", "values", "hasMore", "sampling", "elicitation", "experimental", "listChanged", "subscribe",
		"action", "mode", "requestedSchema", "elicitationId", "resultType", "inputRequests", "inputResponses", "requestState", "argument",
		"value", "context", "resource", "size", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "ttlMs", "cacheScope",
		"supportedVersions", "notifications", "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
		"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/logLevel":
		return true
	}
	return false
}
