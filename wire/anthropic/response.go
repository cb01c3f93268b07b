package anthropic

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// Response is a message, or any other whole answer: a count of tokens, models,
// an error.
type Response struct {
	body.Response
	message bool
}

// ParseResponse implements wire.API.
func (API) ParseResponse(raw []byte, lim wire.Limits) (wire.Response, error) {
	r := &Response{}
	if object, err := r.Parse(raw, lim, vocabulary); !object {
		return r, err
	}
	d := &r.Doc
	content := d.Find(0, "content")
	r.message = r.Get(0, "type") == "message" && content >= 0 && d.Nodes[content].Kind == strictjson.Array
	if !r.message {
		r.Walk(0, body.Outside)
		return r, nil
	}
	for c := range d.All(0) {
		if c != content {
			r.Walk(c, body.Outside)
			continue
		}
		for b := range d.All(c) {
			r.block(b)
		}
	}
	return r, nil
}

func (r *Response) block(b int) {
	d := &r.Doc
	s := body.Scope{Message: -1, Choice: 0, Role: flow.RoleAssistant}
	kind := kindOf(d, b)
	if kind != callBlock && kind != serverCall {
		s.Fixed = kind == signedBlock
		r.Walk(b, s)
		return
	}
	s.Tool = r.Get(b, "name")
	call := body.Call{Call: wire.Call{Name: s.Tool, Arguments: -1}, Node: b, In: -1}
	for c := range d.All(b) {
		s.Field = flow.FieldOther
		input := d.KeyIs(c, "input") && kind == callBlock && d.Nodes[c].Kind != strictjson.Null
		switch {
		case d.KeyIs(c, "name"):
			s.Field = flow.FieldToolName
		case input:
			r.TakeWhole(c)
		}
		r.Walk(c, s)
		if input {
			call.Arguments, call.In = r.PartOf(c), c
		}
	}
	if kind == callBlock {
		r.Proposed = append(r.Proposed, call)
	}
}

// Rewrite implements wire.Response. A text block that says so replaces a call
// that is not made; if no call is left, the answer ends its turn.
func (r *Response) Rewrite(edits, refused map[int]string) []byte {
	d, e := &r.Doc, &body.Editor{Doc: &r.Doc}
	left := len(r.Proposed)
	for i, c := range r.Proposed {
		if say, ok := refused[i]; ok {
			left--
			e.Put(c.Node, textBlock(say))
		} else if text, ok := edits[c.Arguments]; ok && c.Arguments >= 0 {
			e.Put(c.In, asValue(text))
		}
	}
	if stop := d.Find(0, "stop_reason"); len(refused) > 0 && left == 0 && stop >= 0 && d.Text(stop) == "tool_use" {
		e.PutString(stop, `"end_turn"`)
	}
	r.Put(e, edits)
	return e.Bytes()
}

// textBlock is a content block of Margay's.
func textBlock(text string) []byte {
	return strictjson.Appendf(nil, `{"type":"text","text":%q}`, text)
}

// asValue is the input of a call. A text that is no longer JSON is left out.
func asValue(text string) []byte {
	if !body.IsJSON([]byte(text), wire.Limits{}) {
		return []byte("{}")
	}
	return []byte(text)
}

// Halted implements wire.Response. It has none of the upstream's strings.
func (r *Response) Halted(model, why string) ([]byte, bool) {
	if !r.message {
		return nil, false
	}
	usage := r.Doc.Find(0, "usage")
	in, _ := r.Doc.Int(r.Doc.Find(usage, "input_tokens"))
	out, _ := r.Doc.Int(r.Doc.Find(usage, "output_tokens"))
	return strictjson.Appendf(nil, `{"id":"msg_margay","type":"message","role":"assistant","model":%q,"content":[%s],`+
		`"stop_reason":"refusal","stop_sequence":null,"stop_details":%s,"usage":{"input_tokens":%d,"output_tokens":%d}}`,
		model, textBlock("["+why+"]"), refusal, in, out), true
}

// refusal are the details of an answer that was stopped.
const refusal = `{"type":"refusal","category":null,"explanation":"margay: the answer was stopped, as it held a secret that may not leave"}`
