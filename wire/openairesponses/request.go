package openairesponses

import (
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// Request is the body of a request for a response, for the number of its
// tokens, or for a compaction. Its messages are the instructions, and the items
// of the input.
type Request struct{ body.Request }

// ParseRequest implements wire.API.
func (API) ParseRequest(raw []byte, lim wire.Limits) (wire.Request, error) {
	r := &Request{}
	if err := r.Parse(raw, lim, vocabulary); err != nil {
		return nil, err
	}
	instructions := r.Doc.Find(0, "instructions")
	if instructions >= 0 && r.Doc.Nodes[instructions].Kind == strictjson.Null {
		instructions = -1
	}
	r.Collect(instructions, "input", r.item, func(c int) bool {
		switch {
		case r.Is(c, "input", strictjson.String):
			r.Walk(c, r.Add(c, flow.RoleUser))
		case r.Is(c, "client_metadata", strictjson.Object):
			for m := range r.Doc.All(c) {
				r.metadata(m)
			}
		default:
			return false
		}
		return true
	})
	return r, nil
}

// metadata takes a member of what the client reports about itself. Codex writes
// some members as JSON.
func (r *Request) metadata(m int) {
	if r.Doc.Nodes[m].Kind == strictjson.String {
		if tags, ok := wire.Tags(r.Doc.Bytes(m)); ok {
			for _, tag := range append(tags, r.Doc.Key(m)) {
				r.Inside(m, body.Outside, tag)
			}
			return
		}
	}
	r.Walk(m, body.Outside)
}

// item reads an item of the input.
func (r *Request) item(i int) {
	role, tool := authorOf(&r.Document, i)
	s := r.Add(i, role)
	s.Tool = tool
	if id := r.Get(i, "call_id"); id != "" && s.Tool != "" {
		r.Called(id, s.Tool)
	} else if id != "" && s.Role == flow.RoleTool {
		s.Tool = r.ToolOf(id)
	}
	walkItem(&r.Document, i, s)
	if s.Role != flow.RoleAssistant {
		for _, part := range r.others(i, s.Role) {
			r.ByOthers(part)
		}
	}
}

// authorOf returns an item's author, and the tool that it is about.
func authorOf(doc *body.Document, i int) (role flow.Role, tool string) {
	d := &doc.Doc
	if i < 0 || d.Nodes[i].Kind != strictjson.Object {
		return "", ""
	}
	typ := doc.Get(i, "type")
	if role := d.Find(i, "role"); role >= 0 && (typ == "" || typ == "message") {
		return flow.Role(d.Text(role)), ""
	}
	tool = doc.Get(i, "name")
	switch typ {
	case "item_reference", "mcp_approval_response", "additional_tools", "configuration_update", "compaction_trigger":
		return flow.RoleUser, ""
	case "tool_search_output", "program_output":
		return flow.RoleTool, tool
	}
	if strings.HasSuffix(typ, "_call_output") {
		return flow.RoleTool, tool
	}
	return flow.RoleAssistant, tool
}

// typeOf is the type of an item or a part; empty for none.
func typeOf(d *strictjson.Doc, node int) []byte { return d.Bytes(max(d.Find(node, "type"), 0)) }

// walkItem collects the strings of an item, of the input or the output.
func walkItem(doc *body.Document, i int, s body.Scope) {
	d := &doc.Doc
	if d.Nodes[i].Kind != strictjson.Object {
		doc.Walk(i, s)
		return
	}
	typ := string(typeOf(d, i))
	for c := range d.All(i) {
		key, at := string(d.KeyBytes(c)), len(doc.Parts())
		if k := d.Nodes[c].Kind; (typ == "function_call" && key == "arguments" || typ == "custom_tool_call" && key == "input") && k != strictjson.String && k != strictjson.Null {
			doc.TakeWhole(c) // JSON, and not JSON in a string
		}
		doc.Walk(c, s)
		if field, ok := itemField(typ, key); ok {
			for _, p := range doc.Parts()[at:] {
				if !p.Key {
					doc.Part(p.ID).Field = field
				}
			}
		}
	}
}

// itemField returns the field of a member's text in an item of a type.
func itemField(typ, key string) (flow.Field, bool) {
	switch {
	case isCall([]byte(typ)) && key == "name":
		return flow.FieldToolName, true
	case isCall([]byte(typ)) && callTexts.Has([]byte(key)):
		return flow.FieldToolArguments, true
	case typ == "reasoning" && (key == "content" || key == "summary"):
		return flow.FieldReasoning, true
	case typ == "mcp_call" && key == "arguments":
		return flow.FieldOther, true
	}
	return flow.FieldOther, false
}

// callTexts are the members of a call with what it does.
var callTexts = body.Set("arguments input action actions operation")

// Previous implements wire.Request: the name is a response's or a conversation's.
func (r *Request) Previous() string {
	if id := r.Get(0, "previous_response_id"); id != "" {
		return id
	}
	c := r.Doc.Find(0, "conversation")
	if id := r.Get(c, "id"); id != "" {
		return id
	}
	return r.Doc.Text(c)
}

// closed are the members that bring no content of the server's.
var closed = body.Set("model input instructions tools tool_choice parallel_tool_calls max_tool_calls text reasoning include temperature top_p " +
	"top_logprobs max_output_tokens truncation stream stream_options store metadata user service_tier prompt_cache_key prompt_cache_retention " +
	"safety_identifier background")

// Closed implements wire.Request.
func (r *Request) Closed() bool { return r.Previous() == "" && r.Only(closed) }

// logprobsWanted is what a request includes that wants logprobs.
const logprobsWanted = "message.output_text.logprobs"

// AskLogprobs implements wire.Request. It asks for the 20 most probable
// alternatives of each token.
func (r *Request) AskLogprobs(raw []byte) ([]byte, bool) {
	e, ok := body.Edit(raw)
	if !ok {
		return raw, false
	}
	d := e.Doc
	if d.Find(0, "top_logprobs") >= 0 || d.Find(0, "input") < 0 {
		return raw, false
	}
	more, wanted := `"top_logprobs":20`, `"`+logprobsWanted+`"`
	switch include := d.Find(0, "include"); {
	case include < 0:
		more = `"include":[` + wanted + `],` + more
	case d.Nodes[include].Kind == strictjson.Null:
		e.PutString(include, "["+wanted+"]")
	case d.Nodes[include].Kind != strictjson.Array:
		return raw, false
	default:
		for c := range d.All(include) {
			if d.Text(c) == logprobsWanted {
				return raw, false
			}
		}
		e.Extend(include, []byte(wanted))
	}
	e.Extend(0, []byte(more))
	return checked(e, raw)
}

// checked returns an edited body, or the body from before if one of its keys
// differs from an added one by case alone.
func checked(e *body.Editor, raw []byte) ([]byte, bool) {
	out := e.Bytes()
	if !body.IsJSON(out, wire.Limits{MaxBytes: len(out)}) {
		return raw, false
	}
	return out, true
}
