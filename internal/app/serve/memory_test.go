package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/mediation/mediationtest"
	"github.com/margaydev/margay/internal/app/state"
)

// What one session of a harness writes to its memory, the next one can use: in
// processes of their own, under a rubric of the library.
func TestRememberedByHooks(t *testing.T) {
	c := mediationtest.Travel(t)
	c.Declassify.Tools["crm"] = config.ReleaseTool{Trusted: true}
	c.Declassify.Tools["Write"] = config.ReleaseTool{
		Memory: true, Files: map[string][]string{"file_path": {"CLAUDE.md"}}, Action: "travel-booking", Sink: "notes", Class: "semi-trusted",
		Args: map[string]string{"file_path": "plain", "content": "text"},
	}
	event := func(session, name, tool, member, value string) string {
		t.Helper()
		st, err := state.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		h, err := NewHooks(c, st, "", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		a := h.Handle(t.Context(), "claude-code", fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":%q,"tool_name":%q,%q:%s}`, session, name, tool, member, value))
		var out struct {
			HookSpecificOutput struct {
				UpdatedInput      json.RawMessage
				UpdatedToolOutput json.RawMessage
			}
		}
		if len(a.Out.Bytes()) > 0 {
			if err := json.Unmarshal(a.Out.Bytes(), &out); err != nil {
				t.Fatal(err)
			}
		}
		o := out.HookSpecificOutput
		return string(o.UpdatedInput) + string(o.UpdatedToolOutput)
	}
	name := regexp.MustCompile(`margay-[a-z-]+-[a-z2-7]{14}`)
	mine := name.FindString(event("s1", "PostToolUse", "crm", "tool_response", `"please book it for Maria Silva"`))
	wrote := event("s1", "PreToolUse", "Write", "tool_input", `{"file_path":"/home/a/CLAUDE.md","content":"for `+mine+`"}`)
	kept := name.FindString(wrote)
	if mine == "" || kept == "" || kept == mine || strings.Contains(wrote, "Maria") {
		t.Fatalf("%q is remembered as %s", mine, wrote)
	}
	booked := event("s2", "PreToolUse", "book", "tool_input", `{"name":"`+kept+`","dob":"1985-03-02","seat":"12A"}`)
	if !strings.Contains(booked, `"name":"Maria Silva"`) {
		t.Errorf("the next session books %s", booked)
	}
	// The first session's own name means nothing there.
	if booked = event("s2", "PreToolUse", "book", "tool_input", `{"name":"`+mine+`","dob":"1985-03-02","seat":"12A"}`); strings.Contains(booked, "Maria") {
		t.Errorf("another session's name becomes %s", booked)
	}
	if quoted := event("s2", "PreToolUse", "quote", "tool_input", `{"name":"`+kept+`","dob":"1985-03-02","seat":"12A"}`); strings.Contains(quoted, "Maria") {
		t.Errorf("a curious sink gets %s", quoted)
	}
}
