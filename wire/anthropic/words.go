package anthropic

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

var vocabulary = &wire.Vocabulary{
	Word: structural, ID: isID, Key: knownKey, Field: fieldOf, Opaque: opaque, Sealed: sealed,
	Media: func([]byte) bool { return false },
}

// structural reports whether a string is a word of the API's own.
func structural(key, raw []byte) bool {
	switch string(key) {
	case "type", "role", "stop_reason", "media_type", "service_tier", "ttl", "display", "effort", "inference_geo", "speed", "status":
		return isWord(raw)
	}
	return false
}

// isID reports whether a string is an id that the server makes.
func isID(key, raw []byte) bool {
	switch string(key) {
	case "id", "tool_use_id", "request_id", "file_id", "first_id", "last_id", "tool_id":
		return wire.IsName(raw, 96)
	}
	return false
}

// isWord reports whether a string is a word of the API itself. The list need
// not be complete: another word is text, and looked at.
func isWord(b []byte) bool {
	switch string(b) {
	case "message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta", "content_block_stop", "ping", "error",
		"text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta",
		"message", "text", "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use", "mcp_tool_use", "mcp_tool_result",
		"compaction", "compaction_delta", "image", "document", "search_result", "container_upload", "tool_reference",
		"web_search_tool_result", "web_search_result", "web_search_tool_result_error", "web_fetch_tool_result", "web_fetch_result", "web_fetch_tool_result_error",
		"code_execution_tool_result", "code_execution_result", "code_execution_output", "bash_code_execution_tool_result", "bash_code_execution_result",
		"text_editor_code_execution_tool_result", "tool_search_tool_result",
		"char_location", "page_location", "content_block_location", "web_search_result_location", "search_result_location",
		"base64", "url", "file", "content", "ephemeral", "5m", "1h",
		"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain",
		"assistant", "user", "system",
		"end_turn", "max_tokens", "stop_sequence", "pause_turn", "refusal", "model_context_window_exceeded",
		"auto", "any", "tool", "none", "custom", "enabled", "disabled", "adaptive", "summarized", "omitted", "direct",
		"standard", "priority", "batch", "standard_only", "fast", "low", "medium", "high", "xhigh", "max", "us", "global", "not_available",
		"object", "string", "number", "integer", "boolean", "array", "null", "json_schema", "model",
		"invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error", "request_too_large",
		"rate_limit_error", "timeout_error", "api_error", "overloaded_error":
		return true
	}
	return false
}

func fieldOf(key string) (flow.Field, bool) {
	switch key {
	case "content", "text", "system":
		return flow.FieldContent, true
	case "thinking":
		return flow.FieldReasoning, true
	case "partial_json":
		return flow.FieldToolArguments, true
	}
	return flow.FieldOther, false
}

// knownKey reports whether a key is one of the API's own and so no text.
func knownKey(key []byte) bool {
	switch string(key) {
	case "type", "role", "content", "text", "name", "input", "model", "usage", "index", "delta", "message", "error", "system", "tools", "tool_choice",
		"messages", "stream", "metadata", "user_id", "thinking", "signature", "data", "source", "media_type", "title", "context", "citations", "citation",
		"content_block", "stop_reason", "stop_sequence", "stop_sequences", "stop_details", "partial_json", "input_tokens", "output_tokens", "max_tokens",
		"cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens",
		"service_tier", "server_tool_use", "web_search_requests", "web_fetch_requests", "inference_geo", "output_tokens_details", "thinking_tokens",
		"tool_use_id", "is_error", "caller", "toolset_name", "server_name", "cache_control", "description", "input_schema", "properties", "required",
		"items", "enum", "additionalProperties", "strict", "temperature", "budget_tokens", "display", "output_config", "effort", "container",
		"expires_at", "cited_text", "document_index", "document_title", "start_char_index", "end_char_index", "start_page_number", "end_page_number",
		"start_block_index", "end_block_index", "encrypted_index", "encrypted_content", "page_age", "search_result_index", "file_id", "stdout", "stderr",
		"return_code", "request_id", "category", "explanation", "display_name", "created_at", "has_more", "first_id", "last_id", "disable_parallel_tool_use",
		"context_management", "mcp_servers", "speed", "diagnostics", "tool_changes", "details", "error_code", "defer_loading", "allowed_callers", "eager_input_streaming", "input_examples":
		return true
	}
	return false
}

// sealed reports whether a string is data that the server alone can read:
// long, in one of the alphabets of base64, and where the API has such data.
func sealed(d *strictjson.Doc, n int) bool {
	node := &d.Nodes[n]
	if node.End-node.Start < 102 || node.Parent < 0 {
		return false
	}
	typ := d.Find(node.Parent, "type")
	if typ < 0 {
		return false
	}
	switch string(d.KeyBytes(n)) {
	case "signature":
		switch string(d.Bytes(typ)) {
		case "thinking", "signature_delta", "compaction", "compaction_delta":
		default:
			return false
		}
	case "data":
		if string(d.Bytes(typ)) != "redacted_thinking" {
			return false
		}
	case "encrypted_content", "encrypted_index", "encrypted_stdout", "encrypted_stderr":
	default:
		return false
	}
	return isBase64(d.Raw[node.Start+1:node.End-1]) && ownPlace(d, n)
}

// opaque says what a string is that is the content of an image or a file.
func opaque(d *strictjson.Doc, n int) string {
	node := &d.Nodes[n]
	if node.End-node.Start <= 66 || !d.KeyIs(n, "data") || node.Parent < 0 || !d.KeyIs(node.Parent, "source") {
		return ""
	}
	if string(d.Bytes(max(d.Find(node.Parent, "type"), 0))) != "base64" || !isBase64(d.Raw[node.Start+1:node.End-1]) || !ownPlace(d, n) {
		return ""
	}
	if typ := d.Find(d.Nodes[node.Parent].Parent, "type"); typ >= 0 && string(d.Bytes(typ)) == "image" {
		return "image"
	}
	return "file"
}

// ownPlace reports whether the API says what stands at a place: not below what
// tools define.
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

// isBase64 reports whether a string can be base64, of either alphabet.
func isBase64(b []byte) bool {
	body := bytes.TrimRight(b, "=")
	if len(b)-len(body) > 2 {
		return false
	}
	for _, c := range body {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}
