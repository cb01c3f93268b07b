package anthropic

import (
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Response is a message, or any other whole answer: a count of tokens, models,
// an error.
type Response struct {
	wire.Document
	message bool
	calls   []callAt
}

// callAt is a call that an answer proposes.
type callAt struct {
	wire.Call
	block, input int // nodes; input is -1 for none
}

// ParseResponse reads a whole answer. Errors are of type *strictjson.Error.
func ParseResponse(body []byte, lim wire.Limits) (*Response, error) {
	r := &Response{Document: wire.Document{Vocabulary: vocabulary, Server: true}}
	d := &r.Doc
	if err := d.Parse(body, lim); err != nil {
		return nil, err
	}
	content := d.Find(0, "content")
	r.message = d.Text(d.Find(0, "type")) == "message" && content >= 0 && d.Nodes[content].Kind == strictjson.Array
	if !r.message {
		r.Walk(0, wire.Outside)
		return r, nil
	}
	d.Children(0, func(c int) bool {
		if c == content {
			d.Children(c, func(b int) bool { r.block(b); return true })
		} else {
			r.Walk(c, wire.Outside)
		}
		return true
	})
	return r, nil
}

func (r *Response) block(b int) {
	d := &r.Doc
	s := wire.Scope{Message: -1, Choice: 0, Role: flow.RoleAssistant}
	switch kind := kindOf(d, b); kind {
	case signedBlock:
		s.Fixed = true
	case callBlock, serverCall:
		s.Tool = d.Text(d.Find(b, "name"))
		call := callAt{Call: wire.Call{Name: s.Tool, Arguments: -1}, block: b, input: -1}
		d.Children(b, func(c int) bool {
			in := s
			switch {
			case d.KeyIs(c, "name"):
				in.Field = flow.FieldToolName
			case d.KeyIs(c, "input") && kind == callBlock && d.Nodes[c].Kind != strictjson.Null:
				if r.Whole == nil {
					r.Whole = map[int]bool{}
				}
				r.Whole[c] = true
				r.Walk(c, in)
				call.Arguments, call.input = r.PartOf(c), c
				return true
			}
			r.Walk(c, in)
			return true
		})
		if kind == callBlock {
			r.calls = append(r.calls, call)
		}
		return
	}
	r.Walk(b, s)
}

// Tokens implements wire.Response: the API tells nothing of them.
func (r *Response) Tokens(*wire.Part) (tokens []flow.Token, telemetry []byte) { return nil, nil }

// Logprobs implements wire.Response.
func (r *Response) Logprobs() bool { return false }

// DropLogprobs implements wire.Response.
func (r *Response) DropLogprobs() {}

// ID implements wire.Response: no later request goes on with an answer by its
// id.
func (r *Response) ID() string { return "" }

// Calls implements wire.Response.
func (r *Response) Calls() []wire.Call {
	out := make([]wire.Call, len(r.calls))
	for i := range r.calls {
		out[i] = r.calls[i].Call
	}
	return out
}

// Rewrite implements wire.Response. A call that is not made leaves a text
// block that says so; where none is left, the answer ends its turn.
func (r *Response) Rewrite(edits, refused map[int]string) []byte {
	d := &r.Doc
	var sp []strictjson.Splice
	written := map[int]string{} // edits of strings
	for id, text := range edits {
		written[id] = text
	}
	left := len(r.calls)
	for i, c := range r.calls {
		text, edited := edits[c.Arguments]
		edited = edited && c.Arguments >= 0
		delete(written, c.Arguments)
		if say, ok := refused[i]; ok {
			left--
			block := &d.Nodes[c.block]
			for id := range written {
				if at := r.Node(id); at >= c.block && at < block.Next {
					delete(written, id)
				}
			}
			b := strictjson.AppendQuote([]byte(`{"type":"text","text":`), []byte(say))
			sp = append(sp, strictjson.Splice{Start: block.Start, End: block.End, Text: append(b, '}')})
		} else if edited {
			n := &d.Nodes[c.input]
			sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: asValue(text)})
		}
	}
	if stop := d.Find(0, "stop_reason"); len(refused) > 0 && left == 0 && stop >= 0 && d.Text(stop) == "tool_use" {
		sp = append(sp, strictjson.Splice{Start: d.Nodes[stop].Start, End: d.Nodes[stop].End, Text: []byte(`"end_turn"`)})
	}
	sp = append(sp, r.Splices(written)...)
	slices.SortFunc(sp, func(a, b strictjson.Splice) int { return a.Start - b.Start })
	return strictjson.Apply(nil, d.Raw, sp)
}

// asValue is what stands for the input of a call. What is JSON no more is left
// out.
func asValue(text string) []byte {
	var check strictjson.Doc
	if check.Parse([]byte(text), strictjson.Limits{}) != nil {
		return []byte("{}")
	}
	return []byte(text)
}

// Halted implements wire.Halter. None of the upstream's strings is in it.
func (r *Response) Halted(model, why string) ([]byte, bool) {
	if !r.message {
		return nil, false
	}
	b := strictjson.AppendQuote([]byte(`{"id":"msg_margay","type":"message","role":"assistant","model":`), []byte(model))
	b = strictjson.AppendQuote(append(b, `,"content":[{"type":"text","text":`...), []byte("["+why+"]"))
	b = append(append(b, `}],"stop_reason":"refusal","stop_sequence":null,"stop_details":`...), refusal...)
	usage := r.Doc.Find(0, "usage")
	for i, key := range [...]string{"input_tokens", "output_tokens"} {
		b = append(b, [...]string{`,"usage":{"input_tokens":`, `,"output_tokens":`}[i]...)
		n, _ := r.Doc.Int(r.Doc.Find(usage, key))
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, "}}"...), true
}

// refusal are the details of an answer that was stopped.
const refusal = `{"type":"refusal","category":null,"explanation":"margay: the answer was stopped, as it held a secret that may not leave"}`
