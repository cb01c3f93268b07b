package hook

import "github.com/margaydev/margay/flow"

// codex is OpenAI's Codex: https://developers.openai.com/codex/hooks, and the
// schemas in its repository below codex-rs/hooks.
//
// It proceeds if an answer has an unknown member or an empty reason. It blocks
// by an answer, not by an exit code: on Windows, a shell between turns 2 into 1.
var codex = harness{
	name:    "codex",
	session: []string{"session_id"},
	own: []string{
		"session_id", "turn_id", "transcript_path", "cwd", "hook_event_name", "model", "permission_mode", "agent_id", "agent_type", "tool_name", "tool_use_id",
	},
	events: map[string]event{
		// An edit counts only with "allow", which skips no question here: people
		// approve calls after the hooks.
		"PreToolUse":        {verb: flow.Call, flows: []string{"tool_input"}, edits: true, calls: true},
		"PermissionRequest": {verb: flow.Call, flows: []string{"tool_input"}},
		"PostToolUse":       {verb: flow.Observe, flows: []string{"tool_response"}, edits: true, result: true, past: []string{"tool_input"}},
		"UserPromptSubmit":  {verb: flow.Prompt, flows: []string{"prompt"}},

		"Stop":          {verb: flow.Tell, flows: []string{"last_assistant_message"}, own: []string{"stop_hook_active"}},
		"SubagentStop":  {verb: flow.Tell, flows: []string{"last_assistant_message"}, own: []string{"stop_hook_active", "agent_transcript_path"}},
		"StopFailure":   {verb: flow.Tell, flows: []string{"last_assistant_message", "error_details"}, own: []string{"error"}},
		"SessionStart":  {own: []string{"source"}},
		"SessionEnd":    {own: []string{"reason"}},
		"SubagentStart": {},
		"PreCompact":    {own: []string{"trigger"}},
		"PostCompact":   {own: []string{"trigger"}},
		"Interrupt":     {},
	},
	answers: forms{
		"allow": "",
		"note":  `{"systemMessage":$reason}`,
		"edit PreToolUse": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":$value,` +
			`"additionalContext":$reason}}`,
		// The reason replaces the result, so the edited result is part of it.
		"edit PostToolUse":        `{"decision":"block","reason":$text}`,
		"block PreToolUse":        `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":$reason}}`,
		"block PermissionRequest": `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":$reason}}}`,
		"block UserPromptSubmit":  `{"decision":"block","reason":$reason}`,
		"block PostToolUse":       `{"decision":"block","reason":$reason}`,
	},
	servers: "mcp__",
}
