package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Headers of a hook's request: the member of the event that flows, and where
// its new value stands in the answer, if the harness takes one.
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
		{name: "PostToolBatch", in: "tool_calls", fate: Told},
		{name: "Elicitation", in: "message", fate: Told},
		{name: "PermissionDenied", in: "tool_input", fate: Told},
		{name: "Notification", in: "message", fate: Told},
		{name: "Stop", in: "last_assistant_message", fate: Told},
		{name: "StopFailure", in: "error_details", fate: Told},
		{name: "SubagentStop", in: "last_assistant_message", fate: Told},
		{name: "PostCompact", in: "compact_summary", fate: Told},
		{name: "MessageDisplay", in: "delta", fate: Told},
		{name: "TaskCompleted", in: "task_subject", fate: Told},
	},
	"codex": {
		{name: "PreToolUse", in: "tool_input", at: "hookSpecificOutput.updatedInput"},
		{name: "PermissionRequest", in: "tool_input", fate: Refused},
		{name: "PostToolUse", in: "tool_response", fate: Refused, note: "the edited result stands in its place"},
		{name: "UserPromptSubmit", in: "prompt", fate: Refused},
		{name: "Stop", in: "last_assistant_message", fate: Told},
		{name: "SubagentStop", in: "last_assistant_message", fate: Told},
		{name: "StopFailure", in: "error_details", fate: Told},
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
		{name: "postToolUseFailure", in: "error_message", fate: Told},
		{name: "afterShellExecution", in: "output", fate: Told, nested: true},
		{name: "afterFileEdit", in: "edits", fate: Told, nested: true},
		{name: "afterTabFileEdit", in: "edits", fate: Told, nested: true},
		{name: "afterAgentResponse", in: "text", fate: Told, nested: true},
		{name: "afterAgentThought", in: "text", fate: Told, nested: true},
		{name: "subagentStop", in: "summary", fate: Told},
	},
}

// Hooks are the hooks of a harness: claude-code, codex or cursor. A request is
// an event, and what reaches the far side is what the harness goes on with.
func Hooks(harness string) *API {
	api := &API{
		Name: "hook-" + harness, Title: "Hooks of `" + harness + "`", Check: hookCheck, Refusal: hookRefusal, Told: hookTold, Either: true, Far: "where it flows",
		Uncovered: []string{"what the harness does without a hook ([agents.md](agents.md)), and what it does with an answer"},
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

func hookTold(r *Result) error {
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
