// Package anthropic reads and edits the bodies of Anthropic's Messages API
// (https://docs.anthropic.com/en/api/messages): requests, whole answers, the
// events of a stream, counts of tokens and lists of models.
//
// Every string of a body is text unless the API gives it another meaning, so
// a field that this package has not heard of is still looked at. Edits are
// surgical: they replace string literals and leave every other byte alone.
//
// What the API makes different from others:
//
//   - An answer is one choice of content blocks. The events of a stream name
//     the block that they are about, and tell the end of each. Blocks begin in
//     order and without gaps, so a call that is not made leaves a text block
//     in its place.
//   - Thinking is signed and can't be edited. A stream ends where it would
//     have to be (stop_reason "refusal", as the API's own filters say it), and
//     a whole answer is replaced by one that is refused: an HTTP error would
//     make clients ask again. In a request thinking of earlier turns, which
//     the API does not need, is left out; that of the turn that goes on
//     denies the request. So does the summary of a compacted conversation,
//     which is signed, too.
//   - Signatures, redacted thinking and other encrypted data are the server's
//     alone. Coming, they are looked at as identifiers are, going back to it
//     they are not; what could be read as something else is text.
//   - Calls of the server's own tools have been made when they are told. They
//     are text, not proposals.
package anthropic

import (
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// API is the codec. The zero value is ready.
type API struct{}

// Name implements wire.API.
func (API) Name() string { return "anthropic" }

// Shape implements wire.API.
func (API) Shape() wire.Shape { return wire.Shape{Ends: true} }

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

// ErrorBody implements wire.API. The API has no place for a code of ours: it
// stands behind the message.
func (API) ErrorBody(p *wire.Problem) []byte {
	b := strictjson.AppendQuote([]byte(`{"type":"error","error":{"type":`), []byte(errorType(p.Status)))
	b = strictjson.AppendQuote(append(b, `,"message":`...), []byte(p.Message+" ["+p.Code+"]"))
	return append(b, `}}`...)
}

// errorType is the API's word for an HTTP status.
func errorType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404, 501:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 400 && status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}
