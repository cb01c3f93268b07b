package anthropic

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// Request is the body of a request for a message or for a count of tokens.
type Request struct {
	body.Request
	thinking map[int]int // by part: the block that is left out where the part is edited
}

// leftOut replaces thinking whose message would be empty without it.
const leftOut = `{"type":"text","text":"[margay: thinking was left out]"}`

// ParseRequest implements wire.API.
func (API) ParseRequest(raw []byte, lim wire.Limits) (wire.Request, error) {
	r := &Request{thinking: map[int]int{}}
	if err := r.Parse(raw, lim, vocabulary); err != nil {
		return nil, err
	}
	last := -1 // the last message that a person wrote: the current turn starts with it
	if messages := r.Doc.Find(0, "messages"); messages >= 0 && r.Is(messages, "messages", strictjson.Array) {
		for m := range r.Doc.All(messages) {
			if r.role(m) == flow.RoleUser {
				last = m
			}
		}
	}
	r.Collect(r.Doc.Find(0, "system"), "messages", func(m int) { r.message(m, m < last) }, func(c int) bool {
		if !r.Is(c, "metadata", strictjson.Object) {
			return false
		}
		for m := range r.Doc.All(c) {
			r.metadata(m)
		}
		return true
	})
	return r, nil
}

// metadata takes a member of the metadata. Claude Code writes its user_id as
// JSON with the ids of a device and a session. Next to their names, such values
// would look like credentials.
func (r *Request) metadata(m int) {
	var in strictjson.Doc
	if !r.Doc.KeyIs(m, "user_id") || in.Parse(r.Doc.Bytes(m), strictjson.Limits{MaxDepth: 2}) != nil || in.Nodes[0].Kind != strictjson.Object {
		r.Walk(m, body.Outside)
		return
	}
	for c := range in.All(0) {
		text := string(in.Value(c))
		if in.Nodes[c].Kind == strictjson.String {
			text = in.Text(c)
		}
		r.Inside(m, body.Outside, text)
		switch key := in.Key(c); key {
		case "device_id", "account_uuid", "account_id", "session_id":
		default:
			r.Inside(m, body.Outside, key)
		}
	}
}

// role is a message's role: that of a tool for a message with results.
func (r *Request) role(m int) flow.Role {
	for b := range r.Doc.All(r.Doc.Find(m, "content")) {
		if r.kind(b) == "tool_result" {
			return flow.RoleTool
		}
	}
	return r.author(m)
}

// author is the role that a message states.
func (r *Request) author(m int) flow.Role { return flow.Role(r.Get(m, "role")) }

func (r *Request) kind(block int) string { return r.Get(block, "type") }

// message takes the strings of a message.
func (r *Request) message(m int, past bool) {
	s := r.Add(m, r.role(m))
	s.Role = r.author(m)
	if r.Doc.Nodes[m].Kind != strictjson.Object {
		r.Walk(m, s)
		return
	}
	for c := range r.Doc.All(m) {
		if !r.Is(c, "content", strictjson.Array) {
			r.Walk(c, s)
			continue
		}
		for b := range r.Doc.All(c) {
			r.block(b, s, past)
			if kind := r.kind(b); kind != "tool_result" && r.strange(m, kind) {
				r.ByOthers(b)
			}
		}
	}
}

func (r *Request) block(b int, s body.Scope, past bool) {
	s.Field = flow.FieldContent
	switch r.kind(b) {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		s.Tool = r.Get(b, "name")
		if id := r.Get(b, "id"); id != "" {
			r.Called(id, s.Tool)
		}
		for c := range r.Doc.All(b) {
			s.Field = flow.FieldOther
			if r.Doc.KeyIs(c, "input") {
				s.Field = flow.FieldToolArguments
			}
			r.Walk(c, s)
		}
		return
	case "tool_result":
		s.Role, s.Tool = flow.RoleTool, r.ToolOf(r.Get(b, "tool_use_id"))
	case "compaction":
		s.Fixed = true
	case "thinking", "redacted_thinking":
		s.Fixed = !past
		from := len(r.Parts())
		r.Walk(b, s)
		for id := from; past && id < len(r.Parts()); id++ {
			r.thinking[id] = b
		}
		return
	}
	r.Walk(b, s)
}

// Rewrite implements wire.Request. A block of thinking whose text would change
// is left out.
func (r *Request) Rewrite(edits map[int]string) []byte {
	dropped := map[int]bool{}
	for id := range edits {
		if b, ok := r.thinking[id]; ok && !r.Part(id).Key {
			dropped[b] = true
		}
	}
	e := &body.Editor{Doc: &r.Doc}
	for b := range dropped {
		r.leaveOut(e, b, dropped)
	}
	r.Put(e, edits)
	return e.Bytes()
}

// leaveOut takes a block and its comma out of its array.
func (r *Request) leaveOut(e *body.Editor, b int, dropped map[int]bool) {
	d := &r.Doc
	prev, next, kept := -1, -1, -1 // its neighbours, and the first that stays
	for c := range d.All(d.Nodes[b].Parent) {
		if kept < 0 && !dropped[c] {
			kept = c
		}
		if c < b {
			prev = c
		}
		if c > b && next < 0 {
			next = c
		}
	}
	n := &d.Nodes[b]
	switch {
	case kept >= 0 && kept < b:
		e.Splice(d.Nodes[prev].End, n.End, nil)
	case kept >= 0 || next >= 0:
		e.Splice(n.Start, d.Nodes[next].Start, nil)
	default:
		e.PutString(b, leftOut)
	}
}

// billing starts a block that Claude Code puts before its system text. The block
// differs in every request.
var billing = []byte(`"x-anthropic-billing-header:`)

// MessageRaw implements wire.Request. From turn to turn, clients move the marks
// of the prompt cache, and write a text as a block to set one.
func (r *Request) MessageRaw(i int) []byte {
	d := &r.Doc
	m := r.Messages[i].Node
	content := r.content(i)
	if content < 0 {
		return d.Value(m)
	}
	out := []byte{'['}
	if d.Nodes[content].Kind != strictjson.Array {
		return append(appendText(out, d.Value(content)), ']')
	}
	for b := range d.All(content) {
		text := d.Find(b, "text")
		if text >= 0 && r.kind(b) == "text" {
			if content != m || !bytes.HasPrefix(d.Value(text), billing) {
				out = appendText(out, d.Value(text))
			}
			continue
		}
		if d.Nodes[b].Kind != strictjson.Object {
			out = append(out, d.Value(b)...)
			continue
		}
		out = append(out, '{')
		for c := range d.All(b) {
			if !d.KeyIs(c, "cache_control") {
				out = strictjson.Appendf(out, "%q:%s", d.KeyBytes(c), d.Value(c))
			}
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

func appendText(dst, literal []byte) []byte { return strictjson.Appendf(dst, `{"text":%s}`, literal) }
