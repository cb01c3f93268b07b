package openaichat

import (
	"bytes"
	"cmp"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Request is the body of a chat completion, completion or embedding request.
type Request struct {
	wire.Document
	messages []int // nodes
}

// ParseRequest reads a request. Errors are of type *strictjson.Error.
func ParseRequest(body []byte, lim wire.Limits) (*Request, error) {
	r := &Request{Document: wire.Document{Vocabulary: vocabulary(false)}}
	if err := r.Doc.Parse(body, lim); err != nil {
		return nil, err
	}
	if r.Doc.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	var tools map[string]string // by the id of a call: the tool's name
	r.Doc.Children(0, func(c int) bool {
		if r.Doc.KeyIs(c, "messages") && r.Doc.Nodes[c].Kind == strictjson.Array {
			r.Doc.Children(c, func(m int) bool {
				s := wire.Outside
				s.Message = len(r.messages)
				s.Role = flow.Role(r.Doc.Text(r.Doc.Find(m, "role")))
				if s.Role == flow.RoleTool {
					s.Tool = cmp.Or(tools[r.Doc.Text(r.Doc.Find(m, "tool_call_id"))], r.Doc.Text(r.Doc.Find(m, "name")))
				}
				r.calls(m, func(id string, fn, _ int) {
					if tools == nil {
						tools = map[string]string{}
					}
					tools[id] = r.Doc.Text(r.Doc.Find(fn, "name"))
				})
				r.messages = append(r.messages, m)
				r.Walk(m, s)
				return true
			})
			return true
		}
		r.Walk(c, wire.Outside)
		return true
	})
	return r, nil
}

// Stream reports whether a stream is asked for.
func (r *Request) Stream() bool {
	i := r.Doc.Find(0, "stream")
	return i >= 0 && r.Doc.Nodes[i].Kind == strictjson.True
}

// NumMessages returns the number of messages.
func (r *Request) NumMessages() int { return len(r.messages) }

// MessageRaw returns a message as it came.
func (r *Request) MessageRaw(i int) []byte { return r.Doc.Value(r.messages[i]) }

// MessageRole returns a message's role.
func (r *Request) MessageRole(i int) flow.Role {
	return flow.Role(r.Doc.Text(r.Doc.Find(r.messages[i], "role")))
}

// Previous returns nothing: the API has no conversations of its own.
func (r *Request) Previous() string { return "" }

// AskLogprobs returns a body of the request, edited or not, that asks for the
// 20 most probable alternatives of each token. It reports false where the
// request says itself whether it wants them, or is no object.
func (r *Request) AskLogprobs(body []byte) ([]byte, bool) {
	if r.Doc.Nodes[0].Kind != strictjson.Object || r.Doc.Find(0, "logprobs") >= 0 || r.Doc.Find(0, "top_logprobs") >= 0 || r.Doc.Find(0, "messages") < 0 {
		return body, false
	}
	end := bytes.LastIndexByte(body, '}')
	out := make([]byte, 0, len(body)+40)
	out = append(out, bytes.TrimRight(body[:end], " \t\r\n")...)
	out = append(out, `,"logprobs":true,"top_logprobs":20`...)
	return append(out, body[end:]...), true
}
