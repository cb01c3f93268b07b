// Package openairesponses reads and edits the bodies of OpenAI's Responses
// API: requests, whole responses with what else its paths answer, and the
// events of a stream.
//
// A stream tells its texts several times: piece by piece, whole at the end of
// each, and again with each part, item and response that holds them. All are
// told as copies of one text (flow.Delta.Copy), so that they go out alike.
// Strings that are only ever told whole stand for themselves.
//
// Edits are surgical: they replace JSON values and leave every other byte
// alone. The numbers of a stream's events are only touched behind an event
// that was put in or left out.
package openairesponses

import (
	"bytes"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// API is the codec. The zero value is ready.
type API struct{}

// Name implements wire.API.
func (API) Name() string { return "openai-responses" }

// Shape implements wire.API.
func (API) Shape() wire.Shape { return wire.Shape{Ends: true, Repeats: true} }

// ParseRequest implements wire.API.
func (API) ParseRequest(body []byte, lim wire.Limits) (wire.Request, error) {
	return ParseRequest(body, lim)
}

// ParseResponse implements wire.API.
func (API) ParseResponse(body []byte, lim wire.Limits) (wire.Response, error) {
	return ParseResponse(body, lim)
}

// NewStream implements wire.API.
func (API) NewStream() wire.Stream { return &Stream{} }

// ErrorBody implements wire.API.
func (API) ErrorBody(p *wire.Problem) []byte {
	return append(appendError([]byte(`{"error":`), p), '}')
}

func appendError(b []byte, p *wire.Problem) []byte {
	b = strictjson.AppendQuote(append(b, `{"message":`...), []byte(p.Message))
	b = strictjson.AppendQuote(append(b, `,"type":`...), []byte("margay_"+strings.ReplaceAll(p.Code, "-", "_")))
	b = strictjson.AppendQuote(append(b, `,"param":null,"code":`...), []byte(p.Code))
	return append(b, '}')
}

func vocabulary(server bool) *wire.Vocabulary {
	v := &wire.Vocabulary{
		Word: structural, ID: isID, Key: knownKey, Field: fieldOf, Opaque: opaque,
		Sealed: func(d *strictjson.Doc, node int) bool { return sealed(d.KeyBytes(node), content(d, node)) },
		Media: func(key []byte) bool {
			switch string(key) {
			case "image_url", "file_data", "input_audio", "input_image_mask":
				return true
			}
			return false
		},
	}
	if !server {
		v.Word = func(key, raw []byte) bool { return structural(key, raw) && isWord(raw) }
	}
	return v
}

// content is what a string is written as, between its quotes.
func content(d *strictjson.Doc, node int) []byte {
	n := &d.Nodes[node]
	return d.Raw[n.Start+1 : n.End-1]
}

// opaque tells images from text.
func opaque(d *strictjson.Doc, node int) string {
	switch string(d.KeyBytes(node)) {
	case "result", "partial_image_b64":
		if raw := content(d, node); len(raw) > 64 && wire.IsBase64(raw) {
			return "image"
		}
	}
	return ""
}

// sealed reports whether a string is reasoning, or a conversation, that the
// server encrypted.
func sealed(key, raw []byte) bool { return string(key) == "encrypted_content" && isSealed(raw) }

// isSealed reports whether a string can be what the server encrypted: base64
// of either alphabet, and no word.
func isSealed(raw []byte) bool {
	if len(raw) < 64 {
		return false
	}
	body := bytes.TrimRight(raw, "=")
	for _, c := range body {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_') {
			return false
		}
	}
	return len(raw)-len(body) <= 2
}
