package anthropic

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Request is the body of a request for a message or for a count of tokens.
type Request struct {
	wire.Document
	messages []message
	tools    map[string]string // the tool of a call, by the call's id
	thinking map[int]int       // by part: the block that is left out where the part is edited
}

// message is a message of the conversation.
type message struct {
	node int
	role flow.Role
}

// leftOut stands where a message would be empty.
const leftOut = `{"type":"text","text":"[margay: thinking was left out]"}`

// ParseRequest reads a request. Errors are of type *strictjson.Error.
func ParseRequest(body []byte, lim wire.Limits) (*Request, error) {
	r := &Request{Document: wire.Document{Vocabulary: vocabulary}, tools: map[string]string{}, thinking: map[int]int{}}
	d := &r.Doc
	if err := d.Parse(body, lim); err != nil {
		return nil, err
	}
	if d.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	messages := d.Find(0, "messages")
	before := 0 // messages before those of the array
	if system := d.Find(0, "system"); system >= 0 {
		r.messages = append(r.messages, message{system, flow.RoleSystem})
		before = 1
	}
	if messages >= 0 && d.Nodes[messages].Kind == strictjson.Array {
		d.Children(messages, func(m int) bool { r.messages = append(r.messages, message{m, r.role(m)}); return true })
	}
	// The turn that goes on begins with the last message that somebody wrote.
	turn := 0
	for i := range r.messages {
		if r.messages[i].role == flow.RoleUser {
			turn = i
		}
	}
	d.Children(0, func(c int) bool {
		switch {
		case before > 0 && c == r.messages[0].node:
			r.Walk(c, wire.Scope{Message: 0, Choice: -1, Role: flow.RoleSystem})
		case c == messages && d.Nodes[c].Kind == strictjson.Array:
			for i := before; i < len(r.messages); i++ {
				r.message(i, i < turn)
			}
		case d.KeyIs(c, "metadata") && d.Nodes[c].Kind == strictjson.Object:
			d.Children(c, func(m int) bool { r.metadata(m); return true })
		default:
			r.Walk(c, wire.Outside)
		}
		return true
	})
	return r, nil
}

// metadata takes a member of the metadata. Claude Code writes its user_id as
// JSON: its values are ids of a device and a session, whose names would be
// those of credentials.
func (r *Request) metadata(m int) {
	var in strictjson.Doc
	if r.Doc.KeyIs(m, "user_id") && in.Parse(r.Doc.Bytes(m), strictjson.Limits{MaxDepth: 2}) == nil && in.Nodes[0].Kind == strictjson.Object {
		in.Children(0, func(c int) bool {
			text := string(in.Value(c))
			if in.Nodes[c].Kind == strictjson.String {
				text = in.Text(c)
			}
			r.Inside(m, wire.Outside, text)
			switch key := in.Key(c); key {
			case "device_id", "account_uuid", "account_id", "session_id":
			default:
				r.Inside(m, wire.Outside, key)
			}
			return true
		})
		return
	}
	r.Walk(m, wire.Outside)
}

// role is a message's role: that of a tool for one that brings its results.
func (r *Request) role(m int) flow.Role {
	d := &r.Doc
	role := flow.Role(d.Text(d.Find(m, "role")))
	if content := d.Find(m, "content"); content >= 0 {
		d.Children(content, func(b int) bool {
			if r.kind(b) == "tool_result" {
				role = flow.RoleTool
			}
			return true
		})
	}
	return role
}

func (r *Request) kind(block int) string { return r.Doc.Text(r.Doc.Find(block, "type")) }

// message takes the strings of a message.
func (r *Request) message(i int, past bool) {
	d := &r.Doc
	m := r.messages[i].node
	s := wire.Scope{Message: i, Choice: -1, Role: flow.Role(d.Text(d.Find(m, "role")))}
	if d.Nodes[m].Kind != strictjson.Object {
		r.Walk(m, s)
		return
	}
	d.Children(m, func(c int) bool {
		if !d.KeyIs(c, "content") || d.Nodes[c].Kind != strictjson.Array {
			r.Walk(c, s)
			return true
		}
		d.Children(c, func(b int) bool { r.block(b, s, past); return true })
		return true
	})
}

func (r *Request) block(b int, s wire.Scope, past bool) {
	d := &r.Doc
	s.Field = flow.FieldContent
	switch r.kind(b) {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		s.Tool = d.Text(d.Find(b, "name"))
		if id := d.Text(d.Find(b, "id")); id != "" {
			r.tools[id] = s.Tool
		}
		s.Field = flow.FieldOther
		d.Children(b, func(c int) bool {
			in := s
			if d.KeyIs(c, "input") {
				in.Field = flow.FieldToolArguments
			}
			r.Walk(c, in)
			return true
		})
		return
	case "tool_result":
		s.Role, s.Tool = flow.RoleTool, r.tools[d.Text(d.Find(b, "tool_use_id"))]
	case "compaction":
		s.Fixed = true
	case "thinking", "redacted_thinking":
		s.Fixed = !past
		from := len(r.Parts())
		r.Walk(b, s)
		if past {
			for id := from; id < len(r.Parts()); id++ {
				r.thinking[id] = b
			}
		}
		return
	}
	r.Walk(b, s)
}

// Rewrite implements wire.Request. A block of thinking whose text would change
// is left out.
func (r *Request) Rewrite(edits map[int]string) []byte {
	gone := map[int]bool{}
	rest := edits
	for id := range edits {
		if b, ok := r.thinking[id]; ok && !r.Part(id).Key {
			gone[b] = true
		}
	}
	if len(gone) > 0 {
		rest = map[int]string{}
		for id, text := range edits {
			if b, ok := r.thinking[id]; !ok || !gone[b] {
				rest[id] = text
			}
		}
	}
	sp := r.Splices(rest)
	for b := range gone {
		sp = append(sp, r.without(b, gone))
	}
	slices.SortFunc(sp, func(a, b strictjson.Splice) int { return a.Start - b.Start })
	return strictjson.Apply(nil, r.Doc.Raw, sp)
}

// without takes a block out of its array, with the comma that it needed.
func (r *Request) without(b int, gone map[int]bool) strictjson.Splice {
	d := &r.Doc
	prev, next, kept := -1, -1, -1 // its neighbours, and the first that stays
	d.Children(d.Nodes[b].Parent, func(c int) bool {
		if kept < 0 && !gone[c] {
			kept = c
		}
		if c < b {
			prev = c
		}
		if c > b && next < 0 {
			next = c
		}
		return true
	})
	n := &d.Nodes[b]
	switch {
	case kept >= 0 && kept < b:
		return strictjson.Splice{Start: d.Nodes[prev].End, End: n.End}
	case kept >= 0 || next >= 0:
		return strictjson.Splice{Start: n.Start, End: d.Nodes[next].Start}
	}
	return strictjson.Splice{Start: n.Start, End: n.End, Text: []byte(leftOut)}
}

// NumMessages implements wire.Request.
func (r *Request) NumMessages() int { return len(r.messages) }

// MessageRole implements wire.Request.
func (r *Request) MessageRole(i int) flow.Role { return r.messages[i].role }

// billing begins a block that Claude Code puts before its system text. It is
// another in every request.
var billing = []byte(`"x-anthropic-billing-header:`)

// MessageRaw implements wire.Request. Clients move the marks of the prompt
// cache on from turn to turn, and write a text as a block to set one.
func (r *Request) MessageRaw(i int) []byte {
	d := &r.Doc
	content := r.messages[i].node
	if r.messages[i].role != flow.RoleSystem || content != d.Find(0, "system") {
		if content = d.Find(content, "content"); content < 0 {
			return d.Value(r.messages[i].node)
		}
	}
	out := []byte{'['}
	if d.Nodes[content].Kind != strictjson.Array {
		return append(appendText(out, d.Value(content)), ']')
	}
	d.Children(content, func(b int) bool {
		text := d.Find(b, "text")
		if text >= 0 && r.kind(b) == "text" {
			if content != r.messages[i].node || !bytes.HasPrefix(d.Value(text), billing) {
				out = appendText(out, d.Value(text))
			}
			return true
		}
		if d.Nodes[b].Kind != strictjson.Object {
			out = append(out, d.Value(b)...)
			return true
		}
		out = append(out, '{')
		d.Children(b, func(c int) bool {
			if !d.KeyIs(c, "cache_control") {
				out = append(append(strictjson.AppendQuote(out, d.KeyBytes(c)), ':'), d.Value(c)...)
			}
			return true
		})
		out = append(out, '}')
		return true
	})
	return append(out, ']')
}

func appendText(dst, literal []byte) []byte {
	return append(append(append(dst, `{"text":`...), literal...), '}')
}

// Previous implements wire.Request: the API has no conversations of its own.
func (r *Request) Previous() string { return "" }
