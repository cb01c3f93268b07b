package openairesponses

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Request is the body of a request for a response, for the number of its
// tokens, or for a compaction.
type Request struct {
	wire.Document
	messages []message
	tools    map[string]string // by the id of a call: the tool's name
}

// message is the instructions or an item of the input.
type message struct {
	node int
	role flow.Role
}

// ParseRequest reads a request. Errors are of type *strictjson.Error.
func ParseRequest(body []byte, lim wire.Limits) (*Request, error) {
	r := &Request{Document: wire.Document{Vocabulary: vocabulary(false)}}
	d := &r.Doc
	if err := d.Parse(body, lim); err != nil {
		return nil, err
	}
	if d.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	// The instructions come first, wherever they stand.
	if i := d.Find(0, "instructions"); i >= 0 && d.Nodes[i].Kind != strictjson.Null {
		r.messages = append(r.messages, message{i, flow.RoleSystem})
	}
	d.Children(0, func(c int) bool {
		switch {
		case d.KeyIs(c, "instructions") && len(r.messages) > 0:
			r.Walk(c, wire.Scope{Message: 0, Choice: -1, Role: flow.RoleSystem})
		case d.KeyIs(c, "input") && d.Nodes[c].Kind == strictjson.Array:
			d.Children(c, func(i int) bool { r.item(i); return true })
		case d.KeyIs(c, "input") && d.Nodes[c].Kind == strictjson.String:
			s := wire.Scope{Message: len(r.messages), Choice: -1, Role: flow.RoleUser}
			r.messages = append(r.messages, message{c, flow.RoleUser})
			r.Walk(c, s)
		case d.KeyIs(c, "client_metadata") && d.Nodes[c].Kind == strictjson.Object:
			d.Children(c, func(m int) bool { r.metadata(m); return true })
		default:
			r.Walk(c, wire.Outside)
		}
		return true
	})
	return r, nil
}

// metadata takes a member of what the client says about itself. Codex writes
// some as JSON.
func (r *Request) metadata(m int) {
	if r.Doc.Nodes[m].Kind == strictjson.String {
		if tags, ok := wire.Tags(r.Doc.Bytes(m)); ok {
			for _, tag := range append(tags, r.Doc.Key(m)) {
				r.Inside(m, wire.Outside, tag)
			}
			return
		}
	}
	r.Walk(m, wire.Outside)
}

// item reads an item of the input.
func (r *Request) item(i int) {
	s := wire.Scope{Message: len(r.messages), Choice: -1}
	s.Role, s.Tool = authorOf(&r.Doc, i)
	if id := r.Doc.Text(r.Doc.Find(i, "call_id")); id != "" && s.Tool != "" {
		if r.tools == nil {
			r.tools = map[string]string{}
		}
		r.tools[id] = s.Tool
	} else if id != "" && s.Role == flow.RoleTool {
		s.Tool = r.tools[id]
	}
	r.messages = append(r.messages, message{i, s.Role})
	walkItem(&r.Document, i, s)
}

// authorOf says whose an item is, and the tool that it is about.
func authorOf(d *strictjson.Doc, i int) (role flow.Role, tool string) {
	if i < 0 || d.Nodes[i].Kind != strictjson.Object {
		return "", ""
	}
	typ := d.Text(d.Find(i, "type"))
	if role := d.Find(i, "role"); role >= 0 && (typ == "" || typ == "message") {
		return flow.Role(d.Text(role)), ""
	}
	tool = d.Text(d.Find(i, "name"))
	switch typ {
	case "item_reference", "mcp_approval_response", "additional_tools", "configuration_update", "compaction_trigger":
		return flow.RoleUser, ""
	case "tool_search_output", "program_output":
		return flow.RoleTool, tool
	}
	if bytes.HasSuffix([]byte(typ), []byte("_call_output")) {
		return flow.RoleTool, tool
	}
	return flow.RoleAssistant, tool
}

// walkItem collects the strings of an item, of the input or the output.
func walkItem(doc *wire.Document, i int, s wire.Scope) {
	d := &doc.Doc
	typ := d.Bytes(max(d.Find(i, "type"), 0))
	if d.Nodes[i].Kind != strictjson.Object {
		doc.Walk(i, s)
		return
	}
	call := isCall(typ)
	written(doc, i, typ)
	d.Children(i, func(c int) bool {
		key, at := d.KeyBytes(c), len(doc.Parts())
		doc.Walk(c, s)
		field := flow.FieldOther
		switch {
		case call && string(key) == "name":
			field = flow.FieldToolName
		case call && (string(key) == "arguments" || string(key) == "input" || string(key) == "action" || string(key) == "actions" || string(key) == "operation"):
			field = flow.FieldToolArguments
		case string(typ) == "reasoning" && (string(key) == "content" || string(key) == "summary"):
			field = flow.FieldReasoning
		case string(typ) == "mcp_call" && string(key) == "arguments":
		default:
			return true
		}
		for _, p := range doc.Parts()[at:] {
			if !p.Key {
				doc.Part(p.ID).Field = field
			}
		}
		return true
	})
}

// written makes arguments that are JSON and not a string of it one text.
func written(doc *wire.Document, i int, typ []byte) {
	d := &doc.Doc
	for _, key := range [...]string{"arguments", "input"} {
		if !(string(typ) == "function_call" && key == "arguments" || string(typ) == "custom_tool_call" && key == "input") {
			continue
		}
		if c := d.Find(i, key); c >= 0 && d.Nodes[c].Kind != strictjson.String && d.Nodes[c].Kind != strictjson.Null {
			if doc.Whole == nil {
				doc.Whole = map[int]bool{}
			}
			doc.Whole[c] = true
		}
	}
}

// NumMessages returns the number of messages: the instructions, and the items
// of the input.
func (r *Request) NumMessages() int { return len(r.messages) }

// MessageRaw returns a message as it came.
func (r *Request) MessageRaw(i int) []byte { return r.Doc.Value(r.messages[i].node) }

// MessageRole returns whose a message is.
func (r *Request) MessageRole(i int) flow.Role { return r.messages[i].role }

// Previous names the response or the conversation that the request goes on
// with.
func (r *Request) Previous() string {
	d := &r.Doc
	if id := d.Text(d.Find(0, "previous_response_id")); id != "" {
		return id
	}
	c := d.Find(0, "conversation")
	if id := d.Text(d.Find(c, "id")); id != "" {
		return id
	}
	if c >= 0 && d.Nodes[c].Kind == strictjson.String {
		return d.Text(c)
	}
	return ""
}

// logprobsWanted is what a request includes that wants logprobs.
const logprobsWanted = "message.output_text.logprobs"

// AskLogprobs returns a body of the request, edited or not, that asks for the
// 20 most probable alternatives of each token. It reports false where the
// request says itself whether it wants them.
func (r *Request) AskLogprobs(body []byte) ([]byte, bool) {
	var d strictjson.Doc
	if d.Parse(body, wire.Limits{MaxBytes: max(len(body), 1)}) != nil || d.Find(0, "top_logprobs") >= 0 || d.Find(0, "input") < 0 {
		return body, false
	}
	var sp []strictjson.Splice
	var more []byte
	switch include := d.Find(0, "include"); {
	case include < 0 || d.Nodes[include].Kind == strictjson.Null:
		if include >= 0 {
			sp = append(sp, strictjson.Splice{Start: d.Nodes[include].Start, End: d.Nodes[include].End, Text: []byte(`["` + logprobsWanted + `"]`)})
		} else {
			more = []byte(`,"include":["` + logprobsWanted + `"]`)
		}
	case d.Nodes[include].Kind != strictjson.Array:
		return body, false
	default:
		wanted, empty := false, true
		d.Children(include, func(c int) bool {
			wanted, empty = wanted || d.Text(c) == logprobsWanted, false
			return true
		})
		if wanted {
			return body, false
		}
		text := `,"` + logprobsWanted + `"`
		if empty {
			text = text[1:]
		}
		end := d.Nodes[include].End - 1
		sp = append(sp, strictjson.Splice{Start: end, End: end, Text: []byte(text)})
	}
	last := d.Nodes[0].End - 1
	sp = append(sp, strictjson.Splice{Start: last, End: last, Text: append(more, `,"top_logprobs":20`...)})
	out := splice(body, sp)
	if d.Parse(out, wire.Limits{MaxBytes: len(out)}) != nil {
		return body, false // it has a key that differs from ours by case alone
	}
	return out, true
}
