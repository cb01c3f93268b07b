package hook

import "github.com/margaydev/margay/flow"

// cursor is Cursor: https://cursor.com/docs/hooks.
//
// Every answer is an object: an empty answer is a failure, which blocks if the
// hook is installed to fail closed. "allow" would skip questions to the user,
// and is never given.
var cursor = harness{
	name:    "cursor",
	session: []string{"conversation_id", "session_id"},
	own: []string{
		"conversation_id", "generation_id", "session_id", "model", "model_id", "model_params", "hook_event_name", "cursor_version", "workspace_roots",
		"user_email", "transcript_path", "cwd", "mcp_server_name", "mcp_server_url", "tool_name", "tool_use_id", "duration", "sandbox", "timestamp",
	},
	events: map[string]event{
		"beforeShellExecution": {verb: flow.Call, flows: []string{"command"}, calls: true, asks: true},
		// How the server is reached is configuration, and flows nowhere.
		"beforeMCPExecution": {verb: flow.Call, flows: []string{"tool_input"}, nested: true, calls: true, asks: true, own: []string{"url", "command"}},
		"preToolUse":         {verb: flow.Call, flows: []string{"tool_input"}, edits: true, nested: true, calls: true, own: []string{"agent_message"}},
		"subagentStart":      {verb: flow.Call, flows: []string{"task", "prompt"}, own: []string{"subagent_id", "subagent_type", "subagent_model", "parent_conversation_id", "tool_call_id", "is_parallel_worker", "git_branch"}},
		"beforeReadFile":     {verb: flow.Observe, flows: []string{"content"}, own: []string{"file_path", "attachments"}},
		"beforeTabFileRead":  {verb: flow.Observe, flows: []string{"content"}, own: []string{"file_path"}},
		"beforeSubmitPrompt": {verb: flow.Prompt, flows: []string{"prompt"}, own: []string{"attachments", "composer_mode"}},

		// Only the results of MCP servers can be replaced.
		"postToolUse":         {verb: flow.Observe, flows: []string{"tool_output"}, edits: true, foreign: true, nested: true, result: true, past: []string{"tool_input"}},
		"afterMCPExecution":   {verb: flow.Observe, flows: []string{"result_json"}, edits: true, nested: true, result: true, past: []string{"tool_input"}},
		"postToolUseFailure":  {verb: flow.Tell, flows: []string{"error_message"}, result: true, past: []string{"tool_input"}, own: []string{"failure_type", "is_interrupt"}},
		"afterShellExecution": {verb: flow.Tell, flows: []string{"output"}, result: true, past: []string{"command"}},
		"afterFileEdit":       {verb: flow.Tell, flows: []string{"edits"}, own: []string{"file_path"}},
		"afterTabFileEdit":    {verb: flow.Tell, flows: []string{"edits"}, own: []string{"file_path"}},
		"afterAgentResponse":  {verb: flow.Tell, flows: []string{"text"}},
		"afterAgentThought":   {verb: flow.Tell, flows: []string{"text"}, own: []string{"duration_ms"}},
		"subagentStop":        {verb: flow.Tell, flows: []string{"summary", "task", "description"}, own: []string{"subagent_type", "status", "duration_ms", "message_count", "tool_call_count", "loop_count", "modified_files", "agent_transcript_path"}},
		"stop":                {own: []string{"status", "loop_count"}},
		"sessionStart":        {own: []string{"is_background_agent", "composer_mode"}},
		"sessionEnd":          {own: []string{"reason", "duration_ms", "is_background_agent", "final_status", "error_message"}},
		"preCompact":          {own: []string{"trigger", "context_usage_percent", "context_tokens", "context_window_size", "message_count", "messages_to_compact", "is_first_compaction"}},
		"workspaceOpen":       {},
	},
	answers: forms{
		"allow":                  `{}`,
		"note":                   `{"user_message":$reason,"additional_context":$reason}`,
		"edit preToolUse":        `{"updated_input":$value,"agent_message":$reason}`,
		"edit afterMCPExecution": `{"updated_mcp_tool_output":$value}`,
		"edit postToolUse":       `{"updated_mcp_tool_output":$value,"additional_context":$reason}`,
		"ask":                    `{"permission":"ask","continue":false,"user_message":$reason,"agent_message":$reason}`,
		// A result can only be replaced as a whole.
		"block postToolUse":        `{"updated_mcp_tool_output":{"content":[{"type":"text","text":$reason}]},"additional_context":$reason}`,
		"block afterMCPExecution":  `{"updated_mcp_tool_output":{"content":[{"type":"text","text":$reason}]},"additional_context":$reason}`,
		"block beforeSubmitPrompt": `{"continue":false,"user_message":$reason}`,
		"block":                    `{"permission":"deny","user_message":$reason,"agent_message":$reason}`,
	},
	servers: "MCP:",
	// "ask" counts only at the events of shells and servers, which come after
	// the general one.
	later: func(in *input) bool { return in.name == "preToolUse" && (in.tool == "Shell" || in.mcp()) },
}
