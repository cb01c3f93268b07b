package hook_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
)

// tainting turns labels on: strangers write pages, and shells run what the user
// asked for.
func tainting(t testing.TB, store *memory.Store) func(*mediator.Config) {
	t.Helper()
	shell := []taint.Rule{{Source: taint.ReachLow, Reader: taint.ReachHigh}}
	p, err := taint.New(taint.Config{Scheme: observe.FourPoint(), Tools: []taint.Tool{
		{Name: "Read", Args: []string{"file_path"}, Rules: []taint.Rule{{Source: taint.ReachAny, Reader: taint.ReachAny}}},
		{Name: "Bash", Args: []string{"command"}, Rules: shell},
		{Name: "beforeShellExecution", Args: []string{"command"}, Rules: shell},
		{Name: "Write", Args: []string{"path"}, Rules: shell},
		{Name: "Wipe", Rules: []taint.Rule{{Deny: true, Why: "never"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *mediator.Config) {
		c.Taint = &mediator.Taint{Policy: p, Desk: confirm.New(confirm.Config{Store: store, Sealer: &keys, Poll: time.Millisecond})}
	}
}

const (
	begins  = `{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}`
	resumes = `{"session_id":"s","hook_event_name":"SessionStart","source":"resume"}`
	shorter = `{"session_id":"s","hook_event_name":"SessionStart","source":"compact"}`
	reads   = `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__web__get","tool_input":{"u":"x"},"tool_response":[{"type":"text","text":"run this"}]}`
	fails   = `{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"mcp__web__get","tool_input":{"u":"x"},"error":"run this"}`
	looks   = `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"x"}}`
	runs    = `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"make \"x\""}}`
	ran     = `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"make \"x\""},"tool_response":{"stdout":""}}`
	wipes   = `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Wipe","tool_input":{}}`
	shells  = `{"conversation_id":"c","hook_event_name":"beforeShellExecution","command":"make","cwd":"/"}`
	writes  = `{"conversation_id":"c","hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"path":"x"}}`
	first   = `{"conversation_id":"c","hook_event_name":"sessionStart"}`
	general = `{"conversation_id":"c","hook_event_name":"preToolUse","tool_name":"Shell","tool_input":{"command":"make"}}`
)

// What the last of some events is answered.
func TestClear(t *testing.T) {
	const asks, denies = `"permissionDecision":"ask"`, `"permissionDecision":"deny"`
	for _, c := range []struct {
		name, harness string
		events        []string
		want          string // empty: it goes on
	}{
		{"nothing told", "claude-code", []string{begins, runs}, ""},
		{"a stranger's words", "claude-code", []string{begins, reads, runs}, asks},
		{"a stranger's error", "claude-code", []string{begins, fails, runs}, asks},
		{"harmless", "claude-code", []string{begins, reads, looks}, ""},
		{"its beginning is unknown", "claude-code", []string{runs}, asks},
		{"unknown and harmless", "claude-code", []string{looks}, ""},
		{"known from its second event", "claude-code", []string{looks, begins, runs}, asks},
		{"taken up again", "claude-code", []string{begins, resumes, runs}, asks},
		{"compacted", "claude-code", []string{begins, shorter, runs}, ""},
		{"compacted elsewhere", "claude-code", []string{shorter, runs}, asks},
		{"never", "claude-code", []string{begins, wipes}, denies},
		{"codex does not ask", "codex", []string{begins, reads, runs}, denies},
		{"codex, nothing told", "codex", []string{begins, runs}, ""},
		{"cursor's shell", "cursor", []string{shells}, `"permission":"ask"`},
		{"cursor never shows all", "cursor", []string{first, shells}, `"permission":"ask"`},
		{"cursor's other tools", "cursor", []string{writes}, `"permission":"deny"`},
		{"cursor's shell comes again", "cursor", []string{general}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := memory.New()
			h := handler(t, store, tainting(t, store))
			var a hook.Answer
			for _, e := range c.events {
				a = h.Handle(context.Background(), c.harness, []byte(e))
			}
			check(t, a)
			if c.want == "" != plain(a) || !strings.Contains(string(a.Out.Bytes()), c.want) {
				t.Errorf("%d %s%s", a.Exit, a.Out.Bytes(), a.Err.Bytes())
			}
			// Without labels none of it is there.
			if a := handler(t, memory.New(), nil).Handle(context.Background(), c.harness, []byte(c.events[len(c.events)-1])); !plain(a) {
				t.Errorf("without labels: %s%s", a.Out.Bytes(), a.Err.Bytes())
			}
		})
	}
}

// A process that decides about one event alone has not seen what came before.
func TestClearAlone(t *testing.T) {
	store := memory.New()
	handler(t, store, tainting(t, store)).Handle(context.Background(), "claude-code", []byte(begins))
	if a := handler(t, store, tainting(t, store)).Handle(context.Background(), "claude-code", []byte(runs)); !strings.Contains(string(a.Out.Bytes()), `"ask"`) {
		t.Errorf("%s%s", a.Out.Bytes(), a.Err.Bytes())
	}
}

// The question is at the desk; that the call was made is a yes, and one at the
// desk lets the same call be made once, whatever the process.
func TestClearAnswered(t *testing.T) {
	ctx, store := context.Background(), memory.New()
	desk := confirm.New(confirm.Config{Store: store, Sealer: &keys})
	do := func(harness, event string) string {
		a := handler(t, store, tainting(t, store)).Handle(ctx, harness, []byte(event))
		check(t, a)
		return string(a.Out.Bytes())
	}
	rows := func(all bool) []confirm.Row {
		rows, err := desk.Rows(ctx, all, 10)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	do("claude-code", runs)
	if open := rows(false); len(open) != 1 {
		t.Fatalf("%d questions", len(open))
	}
	do("claude-code", ran)
	if open, all := rows(false), rows(true); len(open) != 0 || all[0].Answer != confirm.Once || all[0].By != "claude-code" || !all[0].Used {
		t.Fatalf("after the call: %d open, %+v", len(open), all)
	}
	if out := do("claude-code", runs); !strings.Contains(out, `"ask"`) {
		t.Errorf("again: %s", out)
	}
	if out := do("codex", runs); !strings.Contains(out, "margay approve show ") {
		t.Fatalf("codex: %s", out)
	}
	for _, r := range rows(false) {
		if err := desk.Answer(ctx, r.ID, confirm.Once, "terminal"); err != nil {
			t.Fatal(err)
		}
	}
	if out := do("codex", strings.Replace(runs, "make", "wget", 1)); !strings.Contains(out, `"deny"`) {
		t.Errorf("another call: %s", out)
	}
	if out := do("codex", runs); out != "" {
		t.Errorf("allowed, and yet: %s", out)
	}
	if out := do("codex", runs); !strings.Contains(out, `"deny"`) {
		t.Errorf("a yes counted twice: %s", out)
	}
}
