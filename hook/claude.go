package hook

import "github.com/margaydev/margay/flow"

// claudeCode is Claude Code: https://code.claude.com/docs/en/hooks, and the
// types of @anthropic-ai/claude-agent-sdk.
//
// After an empty answer, a call goes through the user's permission rules, and so
// do edited arguments. "allow" would skip them, and is never given.
var claudeCode = harness{
	name:    "claude-code",
	session: []string{"session_id"},
	own: []string{
		"session_id", "transcript_path", "cwd", "hook_event_name", "permission_mode", "prompt_id", "agent_id", "agent_type", "effort",
		"tool_name", "tool_use_id", "mcp_server", "duration_ms",
	},
	events: map[string]event{
		"PreToolUse":        {verb: flow.Call, flows: []string{"tool_input"}, edits: true, calls: true, asks: true},
		"PermissionRequest": {verb: flow.Call, flows: []string{"tool_input"}, own: []string{"permission_suggestions"}},
		"ElicitationResult": {verb: flow.Call, flows: []string{"content"}, edits: true, own: []string{"mcp_server_name", "elicitation_id", "mode", "action"}},
		"PostToolUse":       {verb: flow.Observe, flows: []string{"tool_response"}, edits: true, result: true, past: []string{"tool_input"}},
		// The model sees the error as it is: only the whole can be stopped.
		"PostToolUseFailure":  {verb: flow.Observe, flows: []string{"error"}, result: true, past: []string{"tool_input"}, own: []string{"is_interrupt"}},
		"UserPromptSubmit":    {verb: flow.Prompt, flows: []string{"prompt"}, own: []string{"source", "session_title"}},
		"UserPromptExpansion": {verb: flow.Prompt, flows: []string{"prompt", "command_args"}, own: []string{"expansion_type", "command_name", "command_source"}},
		"PreCompact":          {verb: flow.Prompt, flows: []string{"custom_instructions"}, own: []string{"trigger"}},
		"TaskCreated":         {verb: flow.Remember, flows: []string{"task_subject", "task_description"}, own: []string{"task_id", "teammate_name", "team_name"}},

		"PostToolBatch":    {verb: flow.Tell, flows: []string{"tool_calls"}},
		"Elicitation":      {verb: flow.Tell, flows: []string{"message", "requested_schema", "url"}, own: []string{"mcp_server_name", "mode", "elicitation_id"}},
		"PermissionDenied": {verb: flow.Tell, flows: []string{"tool_input"}, own: []string{"reason"}},
		"Notification":     {verb: flow.Tell, flows: []string{"message"}, own: []string{"title", "notification_type"}},
		"Stop":             {verb: flow.Tell, flows: []string{"last_assistant_message"}, own: []string{"stop_hook_active", "background_tasks", "session_crons"}},
		"StopFailure":      {verb: flow.Tell, flows: []string{"last_assistant_message", "error_details"}, own: []string{"error"}},
		"SubagentStop": {
			verb: flow.Tell, flows: []string{"last_assistant_message"},
			own: []string{"stop_hook_active", "agent_transcript_path", "background_tasks", "session_crons"},
		},
		"PostCompact":    {verb: flow.Tell, flows: []string{"compact_summary"}, own: []string{"trigger"}},
		"MessageDisplay": {verb: flow.Tell, flows: []string{"delta"}, own: []string{"turn_id", "message_id", "index", "final"}},
		"TaskCompleted":  {verb: flow.Tell, flows: []string{"task_subject", "task_description"}, own: []string{"task_id", "teammate_name", "team_name"}},

		"SessionStart": {own: []string{
			"source", "model", "session_title", "seconds_since_last_response", "context_tokens", "prompt_cache_likely_expired", "estimated_cache_write_usd",
		}},
		"SessionEnd":         {own: []string{"reason"}},
		"SubagentStart":      {},
		"TeammateIdle":       {own: []string{"teammate_name", "team_name"}},
		"Setup":              {own: []string{"trigger"}},
		"ConfigChange":       {own: []string{"source", "file_path"}},
		"InstructionsLoaded": {own: []string{"file_path", "memory_type", "load_reason", "globs", "trigger_file_path", "parent_file_path"}},
		"CwdChanged":         {own: []string{"old_cwd", "new_cwd"}},
		"FileChanged":        {own: []string{"file_path", "event"}},
		"DirectoryAdded":     {own: []string{"directory", "source"}},
	},
	answers: forms{
		"allow":                  "",
		"note":                   `{"systemMessage":$reason}`,
		"edit PreToolUse":        `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":$value,"additionalContext":$reason}}`,
		"edit PostToolUse":       `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":$value,"updatedMCPToolOutput":$mcp,"additionalContext":$reason}}`,
		"edit ElicitationResult": `{"hookSpecificOutput":{"hookEventName":"ElicitationResult","action":$action,"content":$value}}`,
		"ask PreToolUse": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":$reason,` +
			`"updatedInput":$value}}`,
		"block PreToolUse":          `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":$reason}}`,
		"block PermissionRequest":   `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":$reason}}}`,
		"block ElicitationResult":   `{"hookSpecificOutput":{"hookEventName":"ElicitationResult","action":"decline"}}`,
		"block UserPromptSubmit":    `{"decision":"block","reason":$reason,"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","suppressOriginalPrompt":true}}`,
		"block UserPromptExpansion": `{"decision":"block","reason":$reason}`,
		// "block" would only add the reason to what the model reads; these end
		// the turn before it reads anything.
		"block PostToolUse":        `{"continue":false,"stopReason":$reason,"decision":"block","reason":$reason}`,
		"block PostToolUseFailure": `{"continue":false,"stopReason":$reason,"decision":"block","reason":$reason}`,
	},
	servers: "mcp__",
}
