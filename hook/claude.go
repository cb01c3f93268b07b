package hook

import (
	"strings"

	"github.com/margaydev/margay/flow"
)

// claudeCode is Claude Code: https://code.claude.com/docs/en/hooks, and the
// types of @anthropic-ai/claude-agent-sdk.
//
// An empty answer lets a call go its usual way, through the user's permission
// rules; "allow" would skip them, and is never given. Edited arguments go the
// usual way, too.
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
		"PostToolUse":       {verb: flow.Observe, flows: []string{"tool_response"}, edits: true, tells: true, past: []string{"tool_input"}},
		// The error is shown to the model as it is: only the whole can be
		// stopped.
		"PostToolUseFailure":  {verb: flow.Observe, flows: []string{"error"}, tells: true, past: []string{"tool_input"}, own: []string{"is_interrupt"}},
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
	write: writeClaude,
	mcp:   func(tool string) bool { return strings.HasPrefix(tool, "mcp__") },
}

func writeClaude(in *input, d decision) Answer {
	specific := func(pairs ...any) Answer {
		return answer(object("hookSpecificOutput", object(append([]any{"hookEventName", in.name}, pairs...)...)))
	}
	switch d.outcome {
	case allow:
		return Answer{Exit: Done}
	case note:
		return answer(object("systemMessage", d.reason))
	case edit:
		switch in.name {
		case "PreToolUse":
			return specific("updatedInput", raw(d.value), "additionalContext", d.reason)
		case "PostToolUse":
			var mcp raw
			if in.harness.mcp(in.tool) { // versions before updatedToolOutput know this
				mcp = d.value
			}
			return specific("updatedToolOutput", raw(d.value), "updatedMCPToolOutput", mcp, "additionalContext", d.reason)
		case "ElicitationResult":
			return specific("action", in.doc.Text(in.doc.Find(0, "action")), "content", raw(d.value))
		}
	case ask:
		if in.name == "PreToolUse" {
			return specific("permissionDecision", "ask", "permissionDecisionReason", d.reason, "updatedInput", raw(d.value))
		}
	default:
	}
	// Blocked, or nobody to ask at such an event.
	switch in.name {
	case "PreToolUse":
		return specific("permissionDecision", "deny", "permissionDecisionReason", d.reason)
	case "PermissionRequest":
		return specific("decision", object("behavior", "deny", "message", d.reason))
	case "ElicitationResult":
		return specific("action", "decline")
	case "UserPromptSubmit":
		return answer(object("decision", "block", "reason", d.reason, "hookSpecificOutput", object("hookEventName", in.name, "suppressOriginalPrompt", true)))
	case "UserPromptExpansion":
		return answer(object("decision", "block", "reason", d.reason))
	case "PostToolUse", "PostToolUseFailure":
		// "block" would only add the reason to what the model reads; this ends
		// the turn before it reads anything.
		return answer(object("continue", false, "stopReason", d.reason, "decision", "block", "reason", d.reason))
	}
	return Answer{Exit: Block, Err: []byte(d.reason + "\n")}
}
