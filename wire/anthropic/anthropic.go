// Package anthropic reads and edits the bodies of Anthropic's Messages API
// (https://docs.anthropic.com/en/api/messages): requests, whole answers, the
// events of a stream, counts of tokens and lists of models.
//
// Its table of members is vocabulary, in words.go and vocabulary.txt.
//
// How the API differs from others:
//
//   - An answer is one choice of content blocks. The events of a stream name
//     the block that they are about, and mark the end of each. Blocks start
//     in order and without gaps, so a text block replaces a call that is not
//     made.
//   - Thinking is signed and can't be edited. A stream ends before an edit to
//     it (stop_reason "refusal", like the API's own filters), and a refused
//     answer replaces a whole one: after an HTTP error, clients would ask
//     again. In a request, thinking of earlier turns is left out, since the
//     API does not need it; thinking of the current turn denies the request.
//     So does the summary of a compacted conversation, which is signed, too.
//   - Only the server can read signatures, redacted thinking and other
//     encrypted data. On their way to the client they are checked like
//     identifiers; on their way back to the server they are not. Anything that
//     could be read as something else is text.
//   - Calls of the server's own tools were made before the answer shows them.
//     They are text, not proposals.
package anthropic

import (
	_ "embed"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// API is the codec. The zero value is ready.
type API struct{}

// Shape implements wire.API.
func (API) Shape() wire.Shape { return wire.Shape{Ends: true} }

// NewStream implements wire.API.
func (API) NewStream() wire.Stream { return &Stream{} }

// ErrorBody implements wire.API. The API has no place for Margay's code, so it
// follows the message.
func (API) ErrorBody(p *wire.Problem) []byte {
	return strictjson.Appendf(nil, `{"type":"error","error":{"type":%q,"message":%q}}`, errorType(p.Status), p.Message+" ["+p.Code+"]")
}

// errorType is the API's word for an HTTP status.
func errorType(status int) string {
	if t, ok := errorTypes[status]; ok {
		return t
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

var errorTypes = map[int]string{
	401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
	429: "rate_limit_error", 501: "not_found_error", 504: "timeout_error", 529: "overloaded_error",
}

//go:embed vocabulary.txt
var lists string

var vocabulary = body.Table{
	Lists:  body.Lists(lists),
	IsID:   func(raw []byte) bool { return body.IsName(raw, 96) },
	Opaque: opaque,
	Sealed: sealed,
}.New()

// sealed reports whether a string is data that the server alone can read:
// long, in one of the alphabets of base64, and where the API has such data.
func sealed(d *strictjson.Doc, n int) bool {
	node := &d.Nodes[n]
	if node.End-node.Start < 102 || node.Parent < 0 {
		return false
	}
	typ := d.Find(node.Parent, "type")
	in, ok := sealedIn[string(d.KeyBytes(n))]
	if typ < 0 || !ok || in != nil && !in.Has(d.Bytes(typ)) {
		return false
	}
	return body.IsEitherBase64(body.Content(d, n)) && ownPlace(d, n)
}

// sealedIn are the members with such data, and the types of their objects; nil
// means any type.
var sealedIn = map[string]body.Words{
	"signature": body.Set("thinking signature_delta compaction compaction_delta"), "data": body.Set("redacted_thinking"),
	"encrypted_content": nil, "encrypted_index": nil, "encrypted_stdout": nil, "encrypted_stderr": nil,
}

// opaque reports whether a string is the content of an image or a file.
func opaque(d *strictjson.Doc, n int) string {
	node := &d.Nodes[n]
	if node.End-node.Start <= 66 || !d.KeyIs(n, "data") || node.Parent < 0 || !d.KeyIs(node.Parent, "source") {
		return ""
	}
	if string(d.Bytes(max(d.Find(node.Parent, "type"), 0))) != "base64" || !body.IsEitherBase64(body.Content(d, n)) || !ownPlace(d, n) {
		return ""
	}
	if typ := d.Find(d.Nodes[node.Parent].Parent, "type"); typ >= 0 && string(d.Bytes(typ)) == "image" {
		return "image"
	}
	return "file"
}

// ownPlace reports whether the API defines what is at a place, and not a tool.
func ownPlace(d *strictjson.Doc, n int) bool {
	for up := n; d.Nodes[up].Parent >= 0; up = d.Nodes[up].Parent {
		if d.Nodes[d.Nodes[up].Parent].Kind != strictjson.Object {
			continue
		}
		switch string(d.KeyBytes(up)) {
		case "input", "input_schema", "tools", "metadata":
			return false
		}
	}
	return true
}
