package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Headers of a hook's request: the member of the event that flows, and where
// the answer holds its new value, if the harness takes one.
const (
	HookIn = "In"
	HookAt = "At"
)

// hookEvent is an event of a harness that carries something.
type hookEvent struct {
	name, in string
	fate     Fate
	at       string
	note     string
	nested   bool // all but a text is JSON in a string
}

var hookEvents = map[string][]hookEvent{
	"claude-code": {
		{name: "PreToolUse", in: "tool_input", at: "hookSpecificOutput.updatedInput"},
		{name: "PermissionRequest", in: "tool_input", fate: Refused},
		{name: "PostToolUse", in: "tool_response", at: "hookSpecificOutput.updatedToolOutput"},
		{name: "PostToolUseFailure", in: "error", fate: Refused},
		{name: "UserPromptSubmit", in: "prompt", fate: Refused},
		{name: "UserPromptExpansion", in: "command_args", fate: Refused},
		{name: "ElicitationResult", in: "content", at: "hookSpecificOutput.content"},
		{name: "PreCompact", in: "custom_instructions", fate: Refused},
		{name: "TaskCreated", in: "task_description", fate: Refused},
		{name: "PostToolBatch", in: "tool_calls", fate: Reported},
		{name: "Elicitation", in: "message", fate: Reported},
		{name: "PermissionDenied", in: "tool_input", fate: Reported},
		{name: "Notification", in: "message", fate: Reported},
		{name: "Stop", in: "last_assistant_message", fate: Reported},
		{name: "StopFailure", in: "error_details", fate: Reported},
		{name: "SubagentStop", in: "last_assistant_message", fate: Reported},
		{name: "PostCompact", in: "compact_summary", fate: Reported},
		{name: "MessageDisplay", in: "delta", fate: Reported},
		{name: "TaskCompleted", in: "task_subject", fate: Reported},
	},
	"codex": {
		{name: "PreToolUse", in: "tool_input", at: "hookSpecificOutput.updatedInput"},
		{name: "PermissionRequest", in: "tool_input", fate: Refused},
		{name: "PostToolUse", in: "tool_response", fate: Refused, note: "the edited result replaces it"},
		{name: "UserPromptSubmit", in: "prompt", fate: Refused},
		{name: "Stop", in: "last_assistant_message", fate: Reported},
		{name: "SubagentStop", in: "last_assistant_message", fate: Reported},
		{name: "StopFailure", in: "error_details", fate: Reported},
	},
	"cursor": {
		{name: "beforeShellExecution", in: "command", fate: Refused},
		{name: "beforeMCPExecution", in: "tool_input", fate: Refused, nested: true},
		{name: "preToolUse", in: "tool_input", at: "updated_input"},
		{name: "subagentStart", in: "task", fate: Refused},
		{name: "beforeReadFile", in: "content", fate: Refused},
		{name: "beforeTabFileRead", in: "content", fate: Refused},
		{name: "beforeSubmitPrompt", in: "prompt", fate: Refused},
		{name: "postToolUse", in: "tool_output", at: "updated_mcp_tool_output", nested: true},
		{name: "afterMCPExecution", in: "result_json", at: "updated_mcp_tool_output", nested: true},
		{name: "postToolUseFailure", in: "error_message", fate: Reported},
		{name: "afterShellExecution", in: "output", fate: Reported, nested: true},
		{name: "afterFileEdit", in: "edits", fate: Reported, nested: true},
		{name: "afterTabFileEdit", in: "edits", fate: Reported, nested: true},
		{name: "afterAgentResponse", in: "text", fate: Reported, nested: true},
		{name: "afterAgentThought", in: "text", fate: Reported, nested: true},
		{name: "subagentStop", in: "summary", fate: Reported},
	},
}

// Hooks are the hooks of a harness: claude-code, codex or cursor. A request is
// an event, and what reaches the far side is what the harness goes on with.
func Hooks(harness string) *API {
	api := &API{
		Name: "hook-" + harness, Title: "Hooks of `" + harness + "`", Check: hookCheck, Refusal: hookRefusal, Reported: hookReported, Either: true, Far: "where it flows",
		Envelope: []string{"hook_event_name", "session_id", "conversation_id", "tool_name"},
		Uncovered: []string{
			"what the harness does without a hook ([agents.md](agents.md)), and what it does with an answer",
			"the names of events, sessions and tools, which the harness itself writes",
		},
	}
	for _, e := range hookEvents[harness] {
		f := Field{Name: e.name, To: true, Known: e.fate, Unknown: e.fate, ASCII: e.nested, Note: e.note, Whole: func(Place) Script { return Script{} }}
		if strings.EqualFold(e.name, "preToolUse") || e.name == "ElicitationResult" {
			f.PrivateKey = Refused
		}
		for _, form := range []string{
			`"«t»"`, `{"stdout":"«t»","interrupted":false,"n":1.50,"none":null}`,
			`{"content":[{"type":"text","text":"«t»"},{"type":"text","text":"é \" \\ \u2028"}]}`, `["x",["«t»"],true]`,
		} {
			if e.nested && form[0] != '"' {
				form = `"` + quoted(strings.ReplaceAll(form, "«t»", "«r»")) + `"`
			}
			f.Also = append(f.Also, &Request{
				Path: harness, Header: []Header{{HookIn, e.in}, {HookAt, e.at}},
				Body: `{"hook_event_name":"` + e.name + `","session_id":"s1","conversation_id":"s1","tool_name":"MCP:x","` + e.in + `":` + form + `}`,
			})
		}
		f.Request, f.Also = f.Also[0], f.Also[1:]
		api.Fields = append(api.Fields, f)
	}
	return api
}

func hookCheck(_, _ bool, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	var v map[string]any
	return strict(raw, &v)
}

// hookRefusal says whether an answer keeps something back, in any of the
// harnesses' contracts. Status is the exit code, of which 2 blocks, with the
// reason on standard error.
func hookRefusal(r *Result) error {
	if r.Status == 2 {
		if len(strings.TrimSpace(string(r.Body))) == 0 {
			return errors.New("it is blocked without a word")
		}
		return nil
	}
	if r.Status != 0 {
		return fmt.Errorf("exit code %d", r.Status)
	}
	var d struct {
		Decision, Permission string
		Continue             *bool
		Specific             struct {
			Decision           struct{ Behavior string }
			PermissionDecision string
			Action             string
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(r.Body, &d); err != nil {
		return err
	}
	if d.Decision == "block" || d.Permission == "deny" || d.Continue != nil && !*d.Continue || d.Specific.Decision.Behavior == "deny" ||
		d.Specific.PermissionDecision == "deny" || d.Specific.Action == "decline" {
		return nil
	}
	return errors.New("nothing is kept back")
}

func hookReported(r *Result) error {
	var d struct {
		System string `json:"systemMessage"`
		User   string `json:"user_message"`
	}
	if r.Status != 0 {
		return fmt.Errorf("exit code %d", r.Status)
	}
	if err := json.Unmarshal(r.Body, &d); err != nil {
		return err
	}
	if !strings.Contains(d.System+d.User, "margay: ") {
		return errors.New("no message")
	}
	return nil
}
