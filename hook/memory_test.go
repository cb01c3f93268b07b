package hook_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
	"github.com/margaydev/margay/hook"
)

// What an agent remembers, as hooks see it.
func TestMemory(t *testing.T) {
	e, store := gatewaytest.Remembering(t)
	h := hook.New(hook.Config{Engine: e, Key: [32]byte{9}})
	event := func(t testing.TB, trajectory int, name, tool, flows, value string) (hook.Answer, json.RawMessage) {
		t.Helper()
		a := h.Handle(t.Context(), "claude-code", fmt.Appendf(nil, `{"session_id":"s%d","hook_event_name":%q,"tool_name":%q,%q:%s}`, trajectory, name, tool, flows, value))
		if name == "PreToolUse" {
			return a, member(a.Out.Bytes(), "hookSpecificOutput.updatedInput")
		}
		return a, member(a.Out.Bytes(), "hookSpecificOutput.updatedToolOutput")
	}
	connectortest.Memory(t, connectortest.Agent{
		Kept:    func() []byte { return gatewaytest.Decisions(t, store) },
		Entries: func(channel string) int { return gatewaytest.Entries(t, store, channel) },
		Tells: func(t testing.TB, trajectory int, tool, text string) string {
			value, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			a, edited := event(t, trajectory, "PostToolUse", tool, "tool_response", string(value))
			if a.Exit != hook.Done {
				t.Fatalf("refused: %s", a.Err.Bytes())
			}
			if edited == nil {
				return text
			}
			if err := json.Unmarshal(edited, &text); err != nil {
				t.Fatal(err)
			}
			return text
		},
		Calls: func(t testing.TB, trajectory int, tool, args string) string {
			a, edited := event(t, trajectory, "PreToolUse", tool, "tool_input", args)
			switch {
			case edited != nil:
				return string(edited)
			case plain(a):
				return args
			}
			return ""
		},
	})
}
