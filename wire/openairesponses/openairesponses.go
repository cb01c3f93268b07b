// Package openairesponses reads and edits the bodies of OpenAI's Responses
// API: requests, whole responses and the other answers of its paths, and the
// events of a stream.
//
// A stream sends its texts several times: piece by piece, whole at the end of
// each, and again with each part, item and response that holds them. This
// package reports all of them as copies of one text (flow.Delta.Copy), so they
// are released alike. Strings that are only sent whole are texts of their own.
//
// Its tables of members and of events are in vocabulary.go and vocabulary.txt.
// The numbers of a stream's events change only after an event that was inserted
// or left out.
package openairesponses

import (
	"bytes"
	_ "embed"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// API is the codec. The zero value is ready.
type API struct{}

// Shape implements wire.API.
func (API) Shape() wire.Shape { return wire.Shape{Ends: true, Repeats: true} }

// NewStream implements wire.API.
func (API) NewStream() wire.Stream { return &Stream{} }

// ErrorBody implements wire.API.
func (API) ErrorBody(p *wire.Problem) []byte {
	return strictjson.Appendf(nil, `{"error":%s}`, problem(p))
}

// problem is a problem in the API's shape.
func problem(p *wire.Problem) []byte {
	return strictjson.Appendf(nil, `{"message":%q,"type":%q,"param":null,"code":%q}`, p.Message, "margay_"+strings.ReplaceAll(p.Code, "-", "_"), p.Code)
}

//go:embed vocabulary.txt
var file string

var lists = body.Lists(file)

var vocabulary = body.Table{
	Lists:  lists,
	IsID:   func(raw []byte) bool { return body.IsName(raw, 128) || len(raw) <= 1024 && isSealed(raw) }, // some servers make long ones, of base64
	Opaque: opaque,
	Sealed: func(d *strictjson.Doc, node int) bool {
		return d.KeyIs(node, "encrypted_content") && isSealed(body.Content(d, node))
	},
	Repeats: isLogprobs,
}.New()

// opaque distinguishes images from text.
func opaque(d *strictjson.Doc, node int) string {
	switch string(d.KeyBytes(node)) {
	case "result", "partial_image_b64":
		if raw := body.Content(d, node); len(raw) > 64 && body.IsBase64(raw) {
			return "image"
		}
	}
	return ""
}

// isSealed reports whether a string can be data that the server encrypted:
// base64 of either alphabet, too long for a word.
func isSealed(raw []byte) bool { return len(raw) >= 64 && body.IsEitherBase64(raw) }

// isLogprobs reports whether a node is a list of tokens. It repeats the text
// beside it.
func isLogprobs(d *strictjson.Doc, i int) bool {
	n := &d.Nodes[i]
	return n.Kind == strictjson.Array && n.Next > i+1 && d.KeyIs(i, "logprobs") && d.Find(i+1, "token") >= 0
}

// piece describes an event that streams a text: the member with the piece, and
// the text of the item that it belongs to. An index in the path is the event's
// own index of that name.
type piece struct {
	member string
	index  string // the event's index that tells texts apart; empty for none
	field  flow.Field
	before string // of the index in the path
	after  string
	done   bool // the event repeats the whole text
}

// pieces are the types of events that stream a text.
var pieces = map[string]piece{
	"response.output_text.delta":                     {"delta", "content_index", flow.FieldContent, "content[", "].text", false},
	"response.output_text.done":                      {"text", "content_index", flow.FieldContent, "content[", "].text", true},
	"response.refusal.delta":                         {"delta", "content_index", flow.FieldRefusal, "content[", "].refusal", false},
	"response.refusal.done":                          {"refusal", "content_index", flow.FieldRefusal, "content[", "].refusal", true},
	"response.reasoning_text.delta":                  {"delta", "content_index", flow.FieldReasoning, "content[", "].text", false},
	"response.reasoning_text.done":                   {"text", "content_index", flow.FieldReasoning, "content[", "].text", true},
	"response.reasoning_summary_text.delta":          {"delta", "summary_index", flow.FieldReasoning, "summary[", "].text", false},
	"response.reasoning_summary_text.done":           {"text", "summary_index", flow.FieldReasoning, "summary[", "].text", true},
	"response.function_call_arguments.delta":         {"delta", "", flow.FieldToolArguments, "arguments", "", false},
	"response.function_call_arguments.done":          {"arguments", "", flow.FieldToolArguments, "arguments", "", true},
	"response.custom_tool_call_input.delta":          {"delta", "", flow.FieldToolArguments, "input", "", false},
	"response.custom_tool_call_input.done":           {"input", "", flow.FieldToolArguments, "input", "", true},
	"response.shell_call_command.added":              {"command", "command_index", flow.FieldToolArguments, "action.commands[", "]", false},
	"response.shell_call_command.delta":              {"delta", "command_index", flow.FieldToolArguments, "action.commands[", "]", false},
	"response.shell_call_command.done":               {"command", "command_index", flow.FieldToolArguments, "action.commands[", "]", true},
	"response.apply_patch_call_operation_diff.delta": {"delta", "", flow.FieldToolArguments, "operation.diff", "", false},
	"response.apply_patch_call_operation_diff.done":  {"diff", "", flow.FieldToolArguments, "operation.diff", "", true},
	"response.mcp_call_arguments.delta":              {"delta", "", flow.FieldOther, "arguments", "", false},
	"response.mcp_call.arguments.delta":              {"delta", "", flow.FieldOther, "arguments", "", false},
	"response.mcp_call_arguments.done":               {"arguments", "", flow.FieldOther, "arguments", "", true},
	"response.mcp_call.arguments.done":               {"arguments", "", flow.FieldOther, "arguments", "", true},
	"response.code_interpreter_call_code.delta":      {"delta", "", flow.FieldOther, "code", "", false},
	"response.code_interpreter_call_code.done":       {"code", "", flow.FieldOther, "code", "", true},
	"response.audio.transcript.delta":                {"delta", "", flow.FieldContent, "audio.transcript", "", false},
}

// wholes are the other types of events that the API has. Their strings are
// whole texts; those of types that are not known may all be pieces of texts.
var wholes = body.Set(lists["wholes"])

// isWhole reports whether the API has a type of event, whose strings are whole
// texts then, but for the piece that it may have.
func isWhole(typ []byte) bool {
	_, streams := pieces[string(typ)]
	return streams || wholes.Has(typ)
}

// isType reports whether a string can be the type of an event.
func isType(raw []byte) bool {
	rest, ok := bytes.CutPrefix(raw, []byte("response."))
	return ok && len(rest) <= 64 && len(bytes.Trim(rest, "abcdefghijklmnopqrstuvwxyz_.")) == 0
}

// isCall reports whether an item is a call that the client makes.
func isCall(typ []byte) bool { return calls.Has(typ) }

var calls = body.Set("function_call custom_tool_call local_shell_call shell_call apply_patch_call computer_call")
