package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/store/memory"
)

// power is what a harness lets a hook do with what flows at an event.
type power string

const (
	edits  power = "edit"  // it goes on as edited
	blocks power = "block" // it is kept back
	tells  power = "tell"  // it is only said
)

// places are the events that carry something, by harness, with the member that
// does, and what can be done about it. It is the coverage of this connector,
// and written by hand: the tables of the package are held to it.
var places = map[string]map[string]struct {
	in    string
	power power
	at    string // where the edited value stands in the answer
}{
	"claude-code": {
		"PreToolUse": {"tool_input", edits, "hookSpecificOutput.updatedInput"}, "PermissionRequest": {"tool_input", blocks, ""},
		"ElicitationResult": {"content", edits, "hookSpecificOutput.content"}, "PostToolUse": {"tool_response", edits, "hookSpecificOutput.updatedToolOutput"},
		"PostToolUseFailure": {"error", blocks, ""}, "UserPromptSubmit": {"prompt", blocks, ""}, "UserPromptExpansion": {"command_args", blocks, ""},
		"PreCompact": {"custom_instructions", blocks, ""}, "TaskCreated": {"task_description", blocks, ""},
		"PostToolBatch": {"tool_calls", tells, ""}, "Elicitation": {"message", tells, ""}, "PermissionDenied": {"tool_input", tells, ""},
		"Notification": {"message", tells, ""}, "Stop": {"last_assistant_message", tells, ""}, "StopFailure": {"error_details", tells, ""},
		"SubagentStop": {"last_assistant_message", tells, ""}, "PostCompact": {"compact_summary", tells, ""}, "MessageDisplay": {"delta", tells, ""},
		"TaskCompleted": {"task_subject", tells, ""},
	},
	"codex": {
		"PreToolUse": {"tool_input", edits, "hookSpecificOutput.updatedInput"}, "PermissionRequest": {"tool_input", blocks, ""},
		"PostToolUse": {"tool_response", edits, ""}, "UserPromptSubmit": {"prompt", blocks, ""},
		"Stop": {"last_assistant_message", tells, ""}, "SubagentStop": {"last_assistant_message", tells, ""}, "StopFailure": {"error_details", tells, ""},
	},
	"cursor": {
		"beforeShellExecution": {"command", blocks, ""}, "beforeMCPExecution": {"tool_input", blocks, ""}, "preToolUse": {"tool_input", edits, "updated_input"},
		"subagentStart": {"task", blocks, ""}, "beforeReadFile": {"content", blocks, ""}, "beforeTabFileRead": {"content", blocks, ""},
		"beforeSubmitPrompt": {"prompt", blocks, ""}, "postToolUse": {"tool_output", edits, "updated_mcp_tool_output"}, "afterMCPExecution": {"result_json", edits, "updated_mcp_tool_output"},
		"postToolUseFailure": {"error_message", tells, ""}, "afterShellExecution": {"output", tells, ""}, "afterFileEdit": {"edits", tells, ""},
		"afterTabFileEdit": {"edits", tells, ""}, "afterAgentResponse": {"text", tells, ""}, "afterAgentThought": {"text", tells, ""}, "subagentStop": {"summary", tells, ""},
	},
}

// TestConformance: {harness × event × form of what flows × known secret, unknown
// secret, none}, with three oracles: nothing of the secret is in the answer; what
// carries none goes on without a word; and what is edited differs from what came
// in the secret alone.
func TestConformance(t *testing.T) {
	h := handler(t, memory.New(), nil)
	forms := map[string]any{
		"text":    "before SECRET after\nand more",
		"object":  map[string]any{"stdout": "a SECRET\n", "interrupted": false, "n": 1.5, "none": nil},
		"content": map[string]any{"content": []any{map[string]any{"type": "text", "text": "SECRET"}, map[string]any{"type": "text", "text": "é \" \\ \u2028"}}},
		"list":    []any{"x", []any{"SECRET"}, true},
	}
	for harness, events := range places {
		for name, place := range events {
			for form, shape := range forms {
				for what, value := range map[string]string{"registered": registered, "unknown": unknown, "none": "ordinary words"} {
					t.Run(strings.Join([]string{harness, name, form, what}, "/"), func(t *testing.T) {
						in := fill(shape, value)
						carried := in
						nested := harness == "cursor" && form != "text" && (strings.HasPrefix(name, "after") || name == "postToolUse" || name == "beforeMCPExecution")
						if nested { // these are JSON in a string
							b, _ := json.Marshal(in)
							carried = string(b)
						}
						event, err := json.Marshal(map[string]any{
							"hook_event_name": name, "session_id": "s-" + harness, "conversation_id": "s-" + harness, "tool_name": "MCP:x", place.in: carried,
						})
						if err != nil {
							t.Fatal(err)
						}
						a := h.Handle(context.Background(), harness, event)
						out := check(t, a, registered, unknown)
						switch {
						case what == "none":
							if !plain(a) {
								t.Errorf("said something: %s%s", a.Out, a.Err)
							}
						case place.power == tells:
							if a.Exit != hook.Done || plain(a) || !said(out) {
								t.Errorf("not told: %d %s%s", a.Exit, a.Out, a.Err)
							}
						case place.power == edits:
							if place.at == "" { // in words
								if !strings.Contains(string(a.Out), "margay-") && !strings.Contains(string(a.Out), "REDACTED") {
									t.Errorf("not edited: %s", a.Out)
								}
								return
							}
							got := walk(out, place.at)
							if got == nil || !reflect.DeepEqual(mask(got), mask(fill(shape, "margay-"))) {
								t.Errorf("edited to %s", a.Out)
							}
						default:
							if !blocked(a, out) {
								t.Errorf("not blocked: %d %s%s", a.Exit, a.Out, a.Err)
							}
						}
					})
				}
			}
		}
		// Nothing that carries something is missing above.
		for _, e := range hook.Carries(harness) {
			if _, ok := events[e]; !ok {
				t.Errorf("%s: %s is in no matrix", harness, e)
			}
		}
	}
}

// fill puts a value where SECRET stands.
func fill(v any, value string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "SECRET", value)
	case []any:
		var out []any
		for _, x := range v {
			out = append(out, fill(x, value))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = fill(x, value)
		}
		return out
	}
	return v
}

// mask is a value with what replaces secrets made alike.
func mask(v any) any {
	b, _ := json.Marshal(v)
	for _, head := range []string{"margay-", "[REDACTED:"} {
		parts := bytes.Split(b, []byte(head))
		for i := range parts[1:] {
			rest := parts[i+1]
			n := 0
			for n < len(rest) && (rest[n] >= 'a' && rest[n] <= 'z' || rest[n] >= '2' && rest[n] <= '7' || rest[n] == '-' || rest[n] == ']') {
				n++
			}
			parts[i+1] = rest[n:]
		}
		b = bytes.Join(parts, []byte("#"))
	}
	var out any
	_ = json.Unmarshal(b, &out)
	return out
}

func walk(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		o, _ := v.(map[string]any)
		v = o[key]
	}
	return v
}

func said(out map[string]any) bool {
	for _, key := range []string{"systemMessage", "user_message"} {
		if s, _ := out[key].(string); strings.Contains(s, "margay: ") {
			return true
		}
	}
	return false
}

// blocked reports whether an answer keeps something back, in any of the
// contracts.
func blocked(a hook.Answer, out map[string]any) bool {
	decision, _ := walk(out, "hookSpecificOutput.decision.behavior").(string)
	return a.Exit == hook.Block || out["decision"] == "block" || out["continue"] == false || out["permission"] == "deny" ||
		decision == "deny" || walk(out, "hookSpecificOutput.permissionDecision") == "deny" || walk(out, "hookSpecificOutput.action") == "decline"
}

// The verbs in the log are those of the boundary.
func TestVerbs(t *testing.T) {
	for event, verb := range map[string]flow.Verb{
		`"PreToolUse","tool_input":{"a":"$R"}`: flow.Call, `"PostToolUse","tool_response":"$R"`: flow.Observe, `"UserPromptSubmit","prompt":"$R"`: flow.Prompt,
	} {
		store := memory.New()
		handler(t, store, nil).Handle(context.Background(), "claude-code", []byte(expand(`{"hook_event_name":`+event+`}`)))
		entries, err := store.Decisions(context.Background(), "", 9)
		if err != nil || len(entries) != 1 || entries[0].Verb != verb {
			t.Errorf("%s: %v, %+v", event, err, entries)
		}
	}
}
