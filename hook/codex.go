package hook

import (
	"strings"

	"github.com/margaydev/margay/flow"
)

// codex is OpenAI's Codex: https://developers.openai.com/codex/hooks, and the
// schemas in its repository below codex-rs/hooks.
//
// Its answers may have no member that it does not know, and reasons must not be
// empty, or it goes on. It blocks by an answer, not by an exit code: on Windows
// a shell stands between, which makes 1 of 2.
var codex = harness{
	name:    "codex",
	session: []string{"session_id"},
	own: []string{
		"session_id", "turn_id", "transcript_path", "cwd", "hook_event_name", "model", "permission_mode", "agent_id", "agent_type", "tool_name", "tool_use_id",
	},
	events: map[string]event{
		// An edit counts only with "allow", which here skips no question: what
		// has to be approved is approved after the hooks.
		"PreToolUse":        {verb: flow.Call, flows: []string{"tool_input"}, edits: true, calls: true},
		"PermissionRequest": {verb: flow.Call, flows: []string{"tool_input"}},
		"PostToolUse":       {verb: flow.Observe, flows: []string{"tool_response"}, edits: true, tells: true, past: []string{"tool_input"}},
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
	write: writeCodex,
	mcp:   func(tool string) bool { return strings.HasPrefix(tool, "mcp__") },
}

func writeCodex(in *input, d decision) Answer {
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
			return specific("permissionDecision", "allow", "updatedInput", raw(d.value), "additionalContext", d.reason)
		case "PostToolUse":
			// The reason stands in the place of the result, so that the edited
			// result is the reason.
			return answer(object("decision", "block", "reason", d.reason+"\n"+plain(d.value)))
		}
	default:
	}
	switch in.name {
	case "PreToolUse":
		return specific("permissionDecision", "deny", "permissionDecisionReason", d.reason)
	case "PermissionRequest":
		return specific("decision", object("behavior", "deny", "message", d.reason))
	case "UserPromptSubmit", "PostToolUse":
		return answer(object("decision", "block", "reason", d.reason))
	}
	return Answer{Exit: Block, Err: []byte(d.reason + "\n")}
}
