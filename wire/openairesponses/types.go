package openairesponses

import (
	"bytes"

	"github.com/margaydev/margay/flow"
)

// piece is what an event that streams a text says: in which member the piece
// is, and which text of the item it belongs to. An index in the path stands
// for the event's own index of that name.
type piece struct {
	member string
	index  string // the event's index that tells texts apart; empty for none
	field  flow.Field
	before string // of the index in the path
	after  string
	done   bool // the event repeats the whole text
}

// pieceOf returns what a type of event streams.
func pieceOf(typ []byte) (piece, bool) {
	switch string(typ) {
	case "response.output_text.delta":
		return piece{"delta", "content_index", flow.FieldContent, "content[", "].text", false}, true
	case "response.output_text.done":
		return piece{"text", "content_index", flow.FieldContent, "content[", "].text", true}, true
	case "response.refusal.delta":
		return piece{"delta", "content_index", flow.FieldRefusal, "content[", "].refusal", false}, true
	case "response.refusal.done":
		return piece{"refusal", "content_index", flow.FieldRefusal, "content[", "].refusal", true}, true
	case "response.reasoning_text.delta":
		return piece{"delta", "content_index", flow.FieldReasoning, "content[", "].text", false}, true
	case "response.reasoning_text.done":
		return piece{"text", "content_index", flow.FieldReasoning, "content[", "].text", true}, true
	case "response.reasoning_summary_text.delta":
		return piece{"delta", "summary_index", flow.FieldReasoning, "summary[", "].text", false}, true
	case "response.reasoning_summary_text.done":
		return piece{"text", "summary_index", flow.FieldReasoning, "summary[", "].text", true}, true
	case "response.function_call_arguments.delta":
		return piece{"delta", "", flow.FieldToolArguments, "arguments", "", false}, true
	case "response.function_call_arguments.done":
		return piece{"arguments", "", flow.FieldToolArguments, "arguments", "", true}, true
	case "response.custom_tool_call_input.delta":
		return piece{"delta", "", flow.FieldToolArguments, "input", "", false}, true
	case "response.custom_tool_call_input.done":
		return piece{"input", "", flow.FieldToolArguments, "input", "", true}, true
	case "response.shell_call_command.added":
		return piece{"command", "command_index", flow.FieldToolArguments, "action.commands[", "]", false}, true
	case "response.shell_call_command.delta":
		return piece{"delta", "command_index", flow.FieldToolArguments, "action.commands[", "]", false}, true
	case "response.shell_call_command.done":
		return piece{"command", "command_index", flow.FieldToolArguments, "action.commands[", "]", true}, true
	case "response.apply_patch_call_operation_diff.delta":
		return piece{"delta", "", flow.FieldToolArguments, "operation.diff", "", false}, true
	case "response.apply_patch_call_operation_diff.done":
		return piece{"diff", "", flow.FieldToolArguments, "operation.diff", "", true}, true
	case "response.mcp_call_arguments.delta", "response.mcp_call.arguments.delta":
		return piece{"delta", "", flow.FieldOther, "arguments", "", false}, true
	case "response.mcp_call_arguments.done", "response.mcp_call.arguments.done":
		return piece{"arguments", "", flow.FieldOther, "arguments", "", true}, true
	case "response.code_interpreter_call_code.delta":
		return piece{"delta", "", flow.FieldOther, "code", "", false}, true
	case "response.code_interpreter_call_code.done":
		return piece{"code", "", flow.FieldOther, "code", "", true}, true
	case "response.audio.transcript.delta":
		return piece{"delta", "", flow.FieldContent, "audio.transcript", "", false}, true
	}
	return piece{}, false
}

// isWhole reports whether the API has a type of event, whose strings are whole
// texts then, but for the piece that it may have. Those of other types may all
// be pieces of texts.
func isWhole(typ []byte) bool {
	switch string(typ) {
	case "error", "keepalive", "response.queued", "response.created", "response.in_progress", "response.completed", "response.incomplete",
		"response.failed", "response.cancelled", "response.output_item.added", "response.output_item.done", "response.content_part.added",
		"response.content_part.done", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
		"response.output_text.annotation.added", "response.shell_call_output_content.delta",
		"response.shell_call_output_content.done", "response.audio.delta", "response.audio.done", "response.audio.transcript.done",
		"response.image_generation_call.partial_image", "response.image_generation_call.in_progress",
		"response.image_generation_call.generating", "response.image_generation_call.completed",
		"response.file_search_call.in_progress", "response.file_search_call.searching", "response.file_search_call.completed",
		"response.web_search_call.in_progress", "response.web_search_call.searching", "response.web_search_call.completed",
		"response.code_interpreter_call.in_progress", "response.code_interpreter_call.interpreting", "response.code_interpreter_call.completed",
		"response.mcp_call.in_progress", "response.mcp_call.completed", "response.mcp_call.failed",
		"response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed", "response.mcp_list_tools.failed",
		"response.compaction.compacting":
		return true
	}
	_, ok := pieceOf(typ)
	return ok
}

// isType reports whether a string can be the type of an event.
func isType(raw []byte) bool {
	rest, ok := bytes.CutPrefix(raw, []byte("response."))
	if !ok || len(rest) > 64 {
		return false
	}
	for _, c := range rest {
		if !(c >= 'a' && c <= 'z' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// isCall reports whether an item is a call that the client makes.
func isCall(typ []byte) bool {
	switch string(typ) {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	}
	return false
}
