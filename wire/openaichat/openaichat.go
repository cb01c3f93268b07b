// Package openaichat reads and edits the bodies of OpenAI's Chat Completions
// API and its older relatives (completions, embeddings): requests, whole
// responses, and the chunks of a stream.
//
// Its table of members is in this file and in vocabulary.txt. How the API differs
// from others: an answer has several choices, tool calls are counted within each,
// and the chunks of a stream have no types. Older clients and servers write a
// call as function_call.
package openaichat

import (
	"bytes"
	"cmp"
	_ "embed"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// API is the codec. The zero value is ready.
type API struct{}

// Shape implements wire.API: a further tool call ends the one before it.
func (API) Shape() wire.Shape { return wire.Shape{} }

// NewStream implements wire.API.
func (API) NewStream() wire.Stream { return &Stream{} }

// ErrorBody implements wire.API.
func (API) ErrorBody(p *wire.Problem) []byte {
	return strictjson.Appendf(nil, `{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, p.Message, "margay_"+strings.ReplaceAll(p.Code, "-", "_"), p.Code)
}

// telemetryKey is the extension's member (docs/format/telemetry.md).
const telemetryKey = "margay_telemetry"

//go:embed vocabulary.txt
var lists string

var vocabulary = body.Table{
	Lists: body.Lists(lists),
	IsID:  func(raw []byte) bool { return body.IsName(raw, 64) },
}.New()

// Request is the body of a chat completion, completion or embedding request.
type Request struct{ body.Request }

// ParseRequest implements wire.API.
func (API) ParseRequest(raw []byte, lim wire.Limits) (wire.Request, error) {
	r := &Request{}
	if err := r.Parse(raw, lim, vocabulary); err != nil {
		return nil, err
	}
	r.Collect(-1, "messages", func(m int) {
		s := r.Add(m, flow.Role(r.Get(m, "role")))
		if s.Role == flow.RoleTool {
			s.Tool = cmp.Or(r.ToolOf(r.Get(m, "tool_call_id")), r.Get(m, "name"))
		}
		r.calls(m, func(id string, fn, _ int) { r.Called(id, r.Get(fn, "name")) })
		r.Walk(m, s)
		for _, part := range r.others(m, s.Role) {
			r.ByOthers(part)
		}
	}, func(int) bool { return false })
	return r, nil
}

// AskLogprobs implements wire.Request. It asks for the 20 most probable
// alternatives of each token.
func (r *Request) AskLogprobs(raw []byte) ([]byte, bool) {
	if r.Doc.Find(0, "logprobs") >= 0 || r.Doc.Find(0, "top_logprobs") >= 0 || r.Doc.Find(0, "messages") < 0 {
		return raw, false
	}
	end := bytes.LastIndexByte(raw, '}')
	out := make([]byte, 0, len(raw)+40)
	out = append(out, bytes.TrimRight(raw[:end], " \t\r\n")...)
	out = append(out, `,"logprobs":true,"top_logprobs":20`...)
	return append(out, raw[end:]...), true
}
