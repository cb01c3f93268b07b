package openairesponses

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/wire"
)

// structural reports whether a string is a word of the API's own: a type, a
// role, a status.
func structural(key, raw []byte) bool {
	switch string(key) {
	case "type", "role", "status", "object", "phase", "detail", "tool_choice", "truncation", "service_tier", "effort", "summary", "verbosity",
		"reason", "include", "generate_summary", "search_context_size", "prompt_cache_retention", "mode", "memory_limit",
		"background", "output_format", "quality", "size", "require_approval", "button", "syntax", "ranker", "context", "input_fidelity", "moderation":
		return isWord(raw)
	}
	return false
}

// isWord reports whether a string is a word of the API itself. The list need
// not be complete: another word is text, and looked at.
func isWord(b []byte) bool {
	switch string(b) {
	case "response", "list", "response.compaction", "response.input_tokens", "conversation", "response.deleted",
		"assistant", "system", "developer", "user", "tool", "message", "commentary", "final_answer",
		"completed", "incomplete", "in_progress", "failed", "queued", "cancelled", "searching", "interpreting", "calling", "generating",
		"max_output_tokens", "content_filter",
		"output_text", "input_text", "refusal", "reasoning", "reasoning_text", "summary_text", "text", "input_image", "input_file", "input_audio",
		"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "mcp_call", "mcp_list_tools",
		"mcp_approval_request", "mcp_approval_response", "code_interpreter_call", "file_search_call", "web_search_call", "image_generation_call",
		"computer_call", "computer_call_output", "computer_screenshot", "local_shell_call", "local_shell_call_output", "shell_call",
		"shell_call_output", "apply_patch_call", "apply_patch_call_output", "item_reference", "compaction", "program", "program_output",
		"tool_search_call", "tool_search_output", "function", "custom", "mcp", "code_interpreter", "file_search", "web_search",
		"web_search_preview", "image_generation", "local_shell", "shell", "apply_patch", "computer_use_preview", "computer", "tool_search",
		"namespace", "grammar", "lark", "regex", "allowed_tools", "container", "logs", "image", "exit", "timeout", "exec",
		"url_citation", "file_citation", "file_path", "container_file_citation", "search", "open_page", "find_in_page", "url",
		"create_file", "update_file", "delete_file", "click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type", "wait",
		"left", "right", "wheel", "back", "forward",
		"json_object", "json_schema", "object", "string", "number", "integer", "boolean", "array", "null",
		"auto", "none", "required", "default", "flex", "priority", "scale", "disabled", "minimal", "low", "medium", "high", "xhigh", "max",
		"concise", "detailed", "original", "never", "always", "in_memory", "in-memory", "24h", "transparent", "opaque", "png", "webp", "jpeg",
		"1024x1024", "1024x1536", "1536x1024", "output_tokens", "approximate", "1g", "4g", "16g", "64g",
		"file_search_call.results", "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
		"computer_call_output.output.image_url", "code_interpreter_call.outputs", "reasoning.encrypted_content", "message.output_text.logprobs":
		return true
	}
	return false
}

// isID reports whether a string is an id that the server makes. Some servers
// make long ones, of base64.
func isID(key, raw []byte) bool {
	switch string(key) {
	case "id", "item_id", "call_id", "response_id", "previous_response_id", "container_id", "file_id", "approval_request_id",
		"first_id", "last_id", "fingerprint", "system_fingerprint", "obfuscation":
		return wire.IsName(raw, 128) || len(raw) <= 1024 && isSealed(raw)
	}
	return false
}

func fieldOf(key string) (flow.Field, bool) {
	switch key {
	case "input", "instructions", "content", "text", "output":
		return flow.FieldContent, true
	case "refusal":
		return flow.FieldRefusal, true
	case "arguments":
		return flow.FieldToolArguments, true
	}
	return flow.FieldOther, false
}

// knownKey reports whether a key is one of the API's own and so no text.
func knownKey(key []byte) bool {
	switch string(key) {
	case "type", "sequence_number", "output_index", "content_index", "summary_index", "command_index", "annotation_index", "item_id", "item",
		"part", "delta", "response", "obfuscation", "logprobs", "top_logprobs", "token", "logprob", "bytes",
		"text", "refusal", "arguments", "input", "code", "command", "commands", "output", "name", "call_id", "status", "role", "content", "summary",
		"annotations", "annotation", "encrypted_content", "message", "param", "error", "phase", "namespace", "action", "actions", "operation",
		"diff", "path", "queries", "query", "results", "result", "sources", "outputs", "logs", "stdout", "stderr", "outcome", "exit_code",
		"partial_image_b64", "partial_image_index",
		"access_programs", "created_at", "completed_at", "object", "model", "instructions", "metadata", "parallel_tool_calls", "temperature",
		"tool_choice", "tools", "top_p", "background", "conversation", "max_output_tokens", "max_tool_calls", "moderation",
		"previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "prompt_cache_diagnostics",
		"reasoning", "safety_identifier", "service_tier", "truncation", "usage", "user", "store", "stream", "stream_options", "include",
		"include_obfuscation", "context_management", "incomplete_details", "reason", "tool_usage", "billing", "payer",
		"frequency_penalty", "presence_penalty",
		"input_tokens", "input_tokens_details", "cached_tokens", "cache_write_tokens", "output_tokens", "output_tokens_details",
		"reasoning_tokens", "total_tokens", "effort", "generate_summary", "verbosity", "format", "context",
		"description", "parameters", "strict", "properties", "required", "items", "enum", "additionalProperties", "title", "default",
		"schema", "anyOf", "$schema", "output_schema", "allowed_callers", "defer_loading", "async", "caller",
		"server_label", "server_url", "server_description", "authorization", "headers", "require_approval", "allowed_tools", "connector_id",
		"container", "container_id", "file_ids", "file_id", "file_data", "file_url", "filename", "image_url", "detail", "memory_limit",
		"vector_store_ids", "filters", "max_num_results", "ranking_options", "ranker", "score_threshold", "score", "attributes",
		"search_context_size", "search_content_types", "external_web_access", "user_location", "country", "region", "city", "timezone", "approximate",
		"quality", "size", "output_format", "output_compression", "input_fidelity", "partial_images", "revised_prompt",
		"display_width", "display_height", "environment", "pending_safety_checks", "acknowledged_safety_checks", "button", "keys", "scroll_x", "scroll_y",
		"working_directory", "timeout_ms", "max_output_length", "execution", "approval_request_id", "approve", "input_schema",
		"start_index", "end_index", "index", "variables", "version", "data", "first_id", "last_id", "has_more", "deleted", "created_by",
		"fingerprint", "syntax", "definition", "steer", "stream_id",
		"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint":
		return true
	}
	return false
}
