package openaichat

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Request is the body of a chat completion, completion or embedding request.
type Request struct {
	document
	messages []int // nodes
}

// ParseRequest reads a request. Errors are of type *strictjson.Error.
func ParseRequest(body []byte, lim Limits) (*Request, error) {
	r := &Request{}
	if err := r.doc.Parse(body, lim); err != nil {
		return nil, err
	}
	if r.doc.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	outside := scope{message: -1, choice: -1}
	r.doc.Children(0, func(c int) bool {
		if r.doc.KeyIs(c, "messages") && r.doc.Nodes[c].Kind == strictjson.Array {
			r.doc.Children(c, func(m int) bool {
				s := outside
				s.message = len(r.messages)
				s.role = flow.Role(r.doc.Text(r.doc.Find(m, "role")))
				if s.role == flow.RoleTool {
					s.tool = r.doc.Text(r.doc.Find(m, "name"))
				}
				r.messages = append(r.messages, m)
				r.walk(m, s)
				return true
			})
			return true
		}
		r.walk(c, outside)
		return true
	})
	return r, nil
}

// Model returns the model asked for.
func (r *Request) Model() string { return r.doc.Text(r.doc.Find(0, "model")) }

// Stream reports whether a stream is asked for.
func (r *Request) Stream() bool {
	i := r.doc.Find(0, "stream")
	return i >= 0 && r.doc.Nodes[i].Kind == strictjson.True
}

// NumMessages returns the number of messages.
func (r *Request) NumMessages() int { return len(r.messages) }

// MessageRaw returns a message as it came.
func (r *Request) MessageRaw(i int) []byte { return r.doc.Value(r.messages[i]) }

// MessageRole returns a message's role.
func (r *Request) MessageRole(i int) flow.Role {
	return flow.Role(r.doc.Text(r.doc.Find(r.messages[i], "role")))
}

// AskLogprobs returns a body of the request, edited or not, that asks for the
// 20 most probable alternatives of each token. It reports false where the
// request says itself whether it wants them, or is no object.
func (r *Request) AskLogprobs(body []byte) ([]byte, bool) {
	if r.doc.Nodes[0].Kind != strictjson.Object || r.doc.Find(0, "logprobs") >= 0 || r.doc.Find(0, "top_logprobs") >= 0 || r.doc.Find(0, "messages") < 0 {
		return body, false
	}
	end := bytes.LastIndexByte(body, '}')
	out := make([]byte, 0, len(body)+40)
	out = append(out, bytes.TrimRight(body[:end], " \t\r\n")...)
	out = append(out, `,"logprobs":true,"top_logprobs":20`...)
	return append(out, body[end:]...), true
}
