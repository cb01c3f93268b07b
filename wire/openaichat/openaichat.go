// Package openaichat reads and edits the bodies of OpenAI's Chat Completions
// API and its older relatives (completions, embeddings): requests, whole
// responses, and the chunks of a stream.
//
// Every string of a body is text unless the API gives it another meaning, so
// a field that this package has not heard of is still looked at. Edits are
// surgical: they replace string literals and leave every other byte alone.
package openaichat

import (
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// API is the codec. The zero value is ready.
type API struct{}

// Name implements wire.API.
func (API) Name() string { return "openai-chat" }

// Shape implements wire.API: a further tool call ends the one before it.
func (API) Shape() wire.Shape { return wire.Shape{} }

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
	b := strictjson.AppendQuote([]byte(`{"error":{"message":`), []byte(p.Message))
	b = strictjson.AppendQuote(append(b, `,"type":`...), []byte("margay_"+strings.ReplaceAll(p.Code, "-", "_")))
	b = strictjson.AppendQuote(append(b, `,"param":null,"code":`...), []byte(p.Code))
	return append(b, `}}`...)
}

func vocabulary(server bool) *wire.Vocabulary {
	v := &wire.Vocabulary{
		Word: structural, ID: isID, Key: knownKey, Field: fieldOf,
		Media: func(key []byte) bool {
			switch string(key) {
			case "image_url", "input_audio", "file", "audio":
				return true
			}
			return false
		},
	}
	if !server {
		// A vector is the server's alone.
		v.Word = func(key, raw []byte) bool { return structural(key, raw) && isWord(raw) }
	}
	return v
}

// structural reports whether a string is a word of the API's own: a type, a
// role, an object kind.
func structural(key, raw []byte) bool {
	switch string(key) {
	case "type", "role", "object", "finish_reason", "detail", "format", "encoding_format", "service_tier", "reasoning_effort", "tool_choice", "verbosity":
		return isWord(raw)
	case "embedding":
		return len(raw) > 256 && wire.IsBase64(raw) // a vector; numbers are no strings anyway
	}
	return false
}

// isID reports whether a string is an id that the server makes.
func isID(key, raw []byte) bool {
	switch string(key) {
	case "id", "tool_call_id", "system_fingerprint":
		return wire.IsName(raw, 64)
	}
	return false
}

// isWord reports whether a string is a word of the API itself. The list need
// not be complete: another word is text, and looked at.
func isWord(b []byte) bool {
	switch string(b) {
	case "assistant", "system", "developer", "user", "tool", "function",
		"stop", "length", "tool_calls", "content_filter", "function_call",
		"chat.completion.chunk", "chat.completion", "text_completion", "list", "model", "embedding",
		"text", "image_url", "input_audio", "file", "refusal", "custom", "url_citation",
		"json_object", "json_schema", "object", "string", "number", "integer", "boolean", "array", "null",
		"auto", "none", "required", "default", "flex", "priority", "minimal", "low", "medium", "high", "float", "base64":
		return true
	}
	return false
}

func fieldOf(key string) (flow.Field, bool) {
	switch key {
	case "content", "text", "prompt", "input":
		return flow.FieldContent, true
	case "refusal":
		return flow.FieldRefusal, true
	case "reasoning_content", "reasoning", "thinking":
		return flow.FieldReasoning, true
	case "arguments":
		return flow.FieldToolArguments, true
	}
	return flow.FieldOther, false
}

// knownKey reports whether a key is one of the API's own and so no text.
func knownKey(key []byte) bool {
	switch string(key) {
	case "messages", "content", "role", "type", "text", "tool_calls", "function", "arguments", "name", "tool_call_id", "description", "parameters",
		"properties", "required", "model", "stream", "tools", "choices", "message", "delta", "index", "finish_reason", "usage", "object", "created",
		"items", "enum", "temperature", "max_tokens", "logprobs", "top_logprobs", "refusal", "strict", "additionalProperties",
		"system_fingerprint", "service_tier", "obfuscation", "reasoning_content", "function_call", "prompt_tokens", "completion_tokens", "total_tokens",
		"prompt_tokens_details", "completion_tokens_details", "cached_tokens", "audio_tokens", "reasoning_tokens", "accepted_prediction_tokens",
		"rejected_prediction_tokens", "annotations", "native_finish_reason", "stop_reason", "token_ids", "prompt_token_ids", "prompt_logprobs":
		return true
	}
	return false
}
