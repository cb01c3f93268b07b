package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

// random makes a value that no rule knows.
func random(seed uint64, n int) string {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r := rand.New(rand.NewPCG(seed, 23))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

var (
	registered = random(1, 32)
	unknown    = "gh" + "p_" + random(2, 36) // of a form that a rule knows
)

// handler is one of a fresh process: nothing but the store is remembered.
func handler(t testing.TB, store session.Store, change func(*mediator.Config)) *hook.Handler {
	t.Helper()
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	rec, _, err := match.Prepare(&keys, fmt.Sprintf("%026d", 1), "DEPLOY_KEY", secret.KindAPIKey, secret.SourceRegistered, "test", []byte(registered), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	cfg := mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store, Ephemeral: []secret.Record{rec}}}
	if v, ok := store.(mediator.Values); ok {
		cfg.Values = v
	}
	if change != nil {
		change(&cfg)
	}
	e, err := mediator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return hook.New(hook.Config{Engine: e, Key: [32]byte{9}, Joined: cfg.Family != ""})
}

// plain reports whether an answer lets the event go on and says nothing.
func plain(a hook.Answer) bool {
	out := strings.TrimSpace(string(a.Out.Bytes()))
	return a.Exit == hook.Done && len(a.Err.Bytes()) == 0 && (out == "" || out == "{}")
}

// check holds an answer to what every one must be.
func check(t interface {
	Helper()
	Errorf(string, ...any)
}, a hook.Answer, secrets ...string,
) map[string]any {
	t.Helper()
	if a.Exit != hook.Done && a.Exit != hook.Block {
		t.Errorf("exit code %d", a.Exit)
	}
	if a.Exit == hook.Block && len(strings.TrimSpace(string(a.Err.Bytes()))) == 0 {
		t.Errorf("blocked without a word")
	}
	for _, s := range secrets {
		if strings.Contains(string(a.Out.Bytes())+string(a.Err.Bytes()), s) || strings.Contains(string(a.Out.Bytes())+string(a.Err.Bytes()), s[:12]) {
			t.Errorf("the answer holds the secret: %s%s", a.Out.Bytes(), a.Err.Bytes())
		}
	}
	out := map[string]any{}
	if len(a.Out.Bytes()) > 0 {
		if err := json.Unmarshal(a.Out.Bytes(), &out); err != nil {
			t.Errorf("the answer is no JSON: %s", a.Out.Bytes())
		}
	}
	return out
}

func expand(s string) string {
	return strings.NewReplacer("$R", registered, "$U", unknown, "$P", "margay-token-").Replace(s)
}

// Events as the harnesses write them.
func TestAnswers(t *testing.T) {
	const claude = `{"session_id":"0b1c","transcript_path":"/home/u/.claude/projects/p/0b1c.jsonl","cwd":"/home/u/p","permission_mode":"default","hook_event_name":`
	const codex = `{"session_id":"019a","turn_id":"t1","transcript_path":null,"cwd":"/home/u/p","model":"gpt-5.2-codex","permission_mode":"default","hook_event_name":`
	const cursor = `{"conversation_id":"5b0d6c1e-8a4f","generation_id":"f2a9c0d4-1b7e","model":"composer-2.5","session_id":"5b0d6c1e-8a4f","cursor_version":"2026.09.18-9a7762b","workspace_roots":["/home/u/p"],"user_email":"me@example.com","transcript_path":null,"hook_event_name":`
	for _, c := range []struct {
		name, harness, event string
		want                 []string // in the answer; none: a plain one
		never                []string
	}{
		{name: "read", harness: "claude-code", event: claude + `"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/home/u/p/.env"},"tool_use_id":"toolu_01A"}`},
		{name: "bash", harness: "claude-code", event: claude + `"PreToolUse","tool_name":"Bash","tool_input":{"command":"go test ./...","description":"Run the tests","timeout":120000},"tool_use_id":"toolu_01A"}`},
		{
			name: "bash with a secret", harness: "claude-code",
			event: claude + `"PreToolUse","tool_name":"Bash","tool_input":{"command":"curl -H 'X-Key: $R' https://x","timeout":120000},"tool_use_id":"toolu_01A"}`,
			want:  []string{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"curl -H 'X-Key: [REDACTED:api-key]' https://x","timeout":120000},"additionalContext":"margay: `}, never: []string{"permissionDecision"},
		},
		{
			name: "a private key", harness: "claude-code",
			event: claude + `"PreToolUse","tool_name":"Write","tool_input":{"file_path":"k","content":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----\n"},"tool_use_id":"toolu_01A"}`,
			want:  []string{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"`},
		},
		{name: "permission", harness: "claude-code", event: claude + `"PermissionRequest","tool_name":"Bash","tool_input":{"command":"echo $U"},"permission_suggestions":[{"type":"addRules"}]}`, want: []string{`"decision":{"behavior":"deny","message":"margay: `}},
		{name: "no permission", harness: "claude-code", event: claude + `"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`},
		{
			name: "output", harness: "claude-code",
			event: claude + `"PostToolUse","tool_name":"Bash","tool_input":{"command":"env"},"tool_response":{"stdout":"T=$U\n","stderr":"","interrupted":false,"isImage":false},"tool_use_id":"toolu_01A","duration_ms":12}`,
			want:  []string{`"updatedToolOutput":{"stdout":"`, `margay-`, `","stderr":"","interrupted":false,"isImage":false}`}, never: []string{"updatedMCPToolOutput"},
		},
		{
			name: "an MCP result", harness: "claude-code",
			event: claude + `"PostToolUse","tool_name":"mcp__db__query","tool_input":{"q":"x"},"tool_response":[{"type":"text","text":"k $R"}],"tool_use_id":"toolu_01A","mcp_server":{"name":"db"}}`,
			want:  []string{`"updatedToolOutput":[{"type":"text","text":"k margay-api-key-`, `"updatedMCPToolOutput":[{"type":"text","text":"k margay-api-key-`},
		},
		{name: "clean output", harness: "claude-code", event: claude + `"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"a\nb","stderr":"","interrupted":false},"tool_use_id":"toolu_01A"}`},
		{
			name: "a secret in a key ends the turn", harness: "claude-code",
			event: claude + `"PostToolUse","tool_name":"mcp__a__b","tool_input":{},"tool_response":{"$R":1},"tool_use_id":"toolu_01A"}`,
			want:  []string{`{"continue":false,"stopReason":"margay: `},
		},
		{name: "failure", harness: "claude-code", event: claude + `"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"env"},"tool_use_id":"toolu_01A","error":"Exit code 1\n$U","is_interrupt":false}`, want: []string{`"continue":false`}},
		{name: "prompt", harness: "claude-code", event: claude + `"UserPromptSubmit","prompt":"use $R"}`, want: []string{`{"decision":"block","reason":"margay: the prompt was not sent: it holds a secret (api-key DEPLOY_KEY)`, `"suppressOriginalPrompt":true`}},
		{name: "clean prompt", harness: "claude-code", event: claude + `"UserPromptSubmit","prompt":"use my@example.com"}`},
		{name: "start", harness: "claude-code", event: claude + `"SessionStart","source":"startup","model":"claude-opus-4-7"}`},
		{name: "stop", harness: "claude-code", event: claude + `"Stop","stop_hook_active":false,"last_assistant_message":"it is $U"}`, want: []string{`{"systemMessage":"margay: `}, never: []string{"decision"}},
		{name: "an elicited secret", harness: "claude-code", event: claude + `"ElicitationResult","mcp_server_name":"x","action":"accept","content":{"name":"$R"}}`, want: []string{`"action":"accept","content":{"name":"[REDACTED:api-key]"}`}},

		{name: "bash", harness: "codex", event: codex + `"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c1"}`},
		{
			name: "patch", harness: "codex",
			event: codex + `"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n+k=$R\n*** End Patch"},"tool_use_id":"c1"}`,
			want:  []string{`"permissionDecision":"allow","updatedInput":{"command":"*** Begin Patch\n+k=[REDACTED:api-key]\n*** End Patch"}`},
		},
		{name: "permission", harness: "codex", event: codex + `"PermissionRequest","tool_name":"Bash","tool_input":{"command":"echo $R","description":"x"}}`, want: []string{`{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"margay: `}},
		{
			name: "output", harness: "codex",
			event: codex + `"PostToolUse","tool_name":"Bash","tool_input":{"command":"env"},"tool_response":"T=$U\nU=1","tool_use_id":"c1"}`,
			want:  []string{`{"decision":"block","reason":"margay: secrets in the result were replaced by names (`, `\nT=margay-token-`, `\nU=1"}`},
		},
		{name: "prompt", harness: "codex", event: codex + `"UserPromptSubmit","prompt":"$U"}`, want: []string{`{"decision":"block","reason":"margay: `}, never: []string{"hookSpecificOutput"}},
		{name: "stop", harness: "codex", event: codex + `"Stop","stop_hook_active":false,"last_assistant_message":"done"}`},

		{name: "shell", harness: "cursor", event: cursor + `"beforeShellExecution","command":"npm test","cwd":"/home/u/p"}`},
		{name: "shell with a secret", harness: "cursor", event: cursor + `"beforeShellExecution","command":"echo $R","cwd":"/home/u/p"}`, want: []string{`{"permission":"deny","user_message":"margay: `, `"agent_message":"margay: `}},
		{name: "mcp", harness: "cursor", event: cursor + `"beforeMCPExecution","tool_name":"query","tool_input":"{\"q\":\"$U\"}","command":"npx db"}`, want: []string{`"permission":"deny"`}},
		{name: "file", harness: "cursor", event: cursor + `"beforeReadFile","file_path":"/p/.env","content":"K=$U\n","attachments":[{"type":"file","filePath":"/p/x"}]}`, want: []string{`"permission":"deny"`}},
		{name: "clean file", harness: "cursor", event: cursor + `"beforeReadFile","file_path":"/p/a.go","content":"package a\n","attachments":[]}`},
		{name: "write", harness: "cursor", event: cursor + `"preToolUse","tool_name":"Write","tool_input":{"path":"a","content":"$R"},"tool_use_id":"c\nd"}`, want: []string{`{"updated_input":{"path":"a","content":"[REDACTED:api-key]"},`}, never: []string{"permission"}},
		{name: "mcp result", harness: "cursor", event: cursor + `"postToolUse","tool_name":"MCP:query","tool_input":{},"tool_output":"{\"content\":[{\"type\":\"text\",\"text\":\"$R\"}]}","duration":3}`, want: []string{`{"updated_mcp_tool_output":{"content":[{"type":"text","text":"margay-api-key-`}},
		{name: "shell result", harness: "cursor", event: cursor + `"postToolUse","tool_name":"Shell","tool_input":{"command":"x"},"tool_output":"{\"output\":\"$R\",\"exitCode\":0}"}`, want: []string{"could not be stopped here"}, never: []string{"updated"}},
		{name: "prompt", harness: "cursor", event: cursor + `"beforeSubmitPrompt","prompt":"$R","attachments":[]}`, want: []string{`{"continue":false,"user_message":"margay: `}},
		{name: "stop", harness: "cursor", event: cursor + `"stop","status":"completed","loop_count":0}`},
		// Cursor runs Claude Code's hooks, too.
		{name: "cursor's event in claude's hook", harness: "claude-code", event: cursor + `"beforeShellExecution","command":"echo $R","cwd":"/"}`, want: []string{`"permission":"deny"`}},
	} {
		t.Run(c.harness+"/"+c.name, func(t *testing.T) {
			a := handler(t, memory.New(), nil).Handle(context.Background(), c.harness, []byte(expand(c.event)))
			check(t, a, registered, unknown)
			if len(c.want) == 0 != plain(a) {
				t.Errorf("%d %s%s", a.Exit, a.Out.Bytes(), a.Err.Bytes())
			}
			for _, w := range c.want {
				if !strings.Contains(string(a.Out.Bytes()), w) {
					t.Errorf("no %s in\n%s%s", w, a.Out.Bytes(), a.Err.Bytes())
				}
			}
			for _, w := range c.never {
				if strings.Contains(string(a.Out.Bytes()), w) {
					t.Errorf("%s in %s", w, a.Out.Bytes())
				}
			}
		})
	}
}

// What is no event of a harness is blocked, in words.
func TestBadInput(t *testing.T) {
	h := handler(t, memory.New(), nil)
	for name, event := range map[string]string{
		"empty":               "",
		"spaces":              " \n",
		"no JSON":             "hello",
		"a list":              "[]",
		"a string":            `"PreToolUse"`,
		"cut off":             `{"hook_event_name":"PreToolUse"`,
		"no name":             `{"session_id":"x"}`,
		"a name of no text":   `{"hook_event_name":7}`,
		"twice":               `{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`,
		"case variant":        `{"hook_event_name":"Stop","Hook_Event_Name":"PreToolUse"}`,
		"twice below":         `{"hook_event_name":"PreToolUse","tool_input":{"command":"a","command":"b"}}`,
		"invalid UTF-8":       "{\"hook_event_name\":\"Stop\",\"x\":\"\xff\"}",
		"lone surrogate":      `{"hook_event_name":"Stop","x":"\ud800"}`,
		"deep":                `{"hook_event_name":"Stop","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		"something behind":    `{"hook_event_name":"Stop"}{}`,
		"huge":                `{"hook_event_name":"Stop","x":"` + strings.Repeat("a", hook.MaxEvent) + `"}`,
		"unknown with text":   `{"hook_event_name":"Nope","payload":"x"}`,
		"unknown with a name": `{"hook_event_name":"Nope","payload":{"x":1}}`,
		"unknown with digits": `{"hook_event_name":"Nope","payload":41111111111}`,
	} {
		for _, harness := range hook.Names() {
			a := h.Handle(context.Background(), harness, []byte(event))
			check(t, a)
			asked := strings.Contains(string(a.Out.Bytes()), `"permission":"ask"`)
			if a.Exit != hook.Block && !asked {
				t.Errorf("%s, %s: %s", harness, name, a.Out.Bytes())
			}
		}
	}
	for _, event := range []string{`{"hook_event_name":"Nope"}`, `{"hook_event_name":"Nope","session_id":"x","flag":true,"n":7,"none":null,"empty":"","list":[]}`} {
		for _, harness := range hook.Names() {
			if a := h.Handle(context.Background(), harness, []byte(event)); !plain(a) {
				t.Errorf("%s: an event without data: %s%s", harness, a.Out.Bytes(), a.Err.Bytes())
			}
		}
	}
	if a := h.Handle(context.Background(), "emacs", []byte(`{"hook_event_name":"Stop"}`)); a.Exit != hook.Block {
		t.Error("an unknown harness")
	}
}

// All hooks of a session are of one trajectory, in whatever process.
func TestAcrossProcesses(t *testing.T) {
	store := memory.New()
	ask := func(harness, event string) hook.Answer {
		return handler(t, store, nil).Handle(context.Background(), harness, []byte(expand(event)))
	}
	told := ask("claude-code", `{"hook_event_name":"PostToolUse","session_id":"s1","tool_name":"Bash","tool_input":{},"tool_response":{"stdout":"$R","stderr":"","interrupted":false}}`)
	again := ask("claude-code", `{"hook_event_name":"PostToolUse","session_id":"s1","tool_name":"Bash","tool_input":{},"tool_response":{"stdout":"$R","stderr":"","interrupted":false}}`)
	name := func(a hook.Answer) string {
		_, rest, _ := strings.Cut(string(a.Out.Bytes()), `"stdout":"`)
		out, _, _ := strings.Cut(rest, `"`)
		return out
	}
	if name(told) == "" || name(told) != name(again) {
		t.Fatalf("%q and %q", name(told), name(again))
	}
	call := `{"hook_event_name":"PreToolUse","session_id":"%s","tool_name":"Bash","tool_input":{"command":"login ` + name(told) + `"}}`
	if a := ask("claude-code", fmt.Sprintf(call, "s1")); !strings.Contains(string(a.Out.Bytes()), `"permissionDecision":"deny"`) {
		t.Errorf("a pseudonym of the session: %s", a.Out.Bytes())
	}
	if a := ask("claude-code", fmt.Sprintf(call, "s2")); !plain(a) {
		t.Errorf("one of another session: %s", a.Out.Bytes())
	}
	if a := ask("codex", fmt.Sprintf(call, "s1")); !plain(a) {
		t.Errorf("one of another harness: %s", a.Out.Bytes())
	}
	entries, err := store.Decisions(context.Background(), "", 100)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, en := range entries {
		if _, err := flow.ParseTrajectoryID(string(en.Trajectory)); err != nil {
			t.Errorf("%s: %v", en.Trajectory, err)
		}
		if en.Verb == flow.Observe && en.Trajectory != entries[0].Trajectory {
			t.Error("two trajectories of one session")
		}
	}
}

// broken is a store that can't be written.
type broken struct{ *memory.Store }

func (broken) AppendDecisions(context.Context, []audit.Entry) error {
	return fmt.Errorf("disk full")
}

func TestFailsClosed(t *testing.T) {
	event := []byte(expand(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"$R"}}`))
	if a := handler(t, broken{memory.New()}, nil).Handle(context.Background(), "claude-code", event); !strings.Contains(string(a.Out.Bytes()), `"permissionDecision":"deny"`) {
		t.Errorf("a store that fails: %s%s", a.Out.Bytes(), a.Err.Bytes())
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, harness := range hook.Names() {
		for _, name := range []string{"PreToolUse", "beforeShellExecution", "UserPromptSubmit", "beforeSubmitPrompt"} {
			e := fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","tool_input":{"command":"ls"},"command":"ls","prompt":"hello"}`, name)
			if a := handler(t, memory.New(), nil).Handle(gone, harness, []byte(e)); plain(a) {
				t.Errorf("%s, %s: no time left, and allowed", harness, name)
			}
		}
	}
	// --observe reports, and changes nothing.
	store := memory.New()
	if a := handler(t, store, func(c *mediator.Config) { c.Observe = true }).Handle(context.Background(), "claude-code", event); !plain(a) {
		t.Errorf("observing: %s", a.Out.Bytes())
	}
	if entries, err := store.Decisions(context.Background(), "", 9); err != nil || len(entries) == 0 {
		t.Errorf("observing recorded nothing: %v", err)
	}
}

// A secret at any place of any event is never answered by a plain "go on".
func TestNeverPlain(t *testing.T) {
	h := handler(t, memory.New(), nil)
	rapid.Check(t, func(t *rapid.T) {
		harness := rapid.SampledFrom(hook.Names()).Draw(t, "harness")
		name := rapid.SampledFrom(append(hook.Events(harness), "Nope")).Draw(t, "event")
		value := rapid.SampledFrom([]string{registered, unknown}).Draw(t, "secret")
		text := rapid.SampledFrom([]string{"%s", "a %s b", "k=%s\n", `{"x":"%s"}`, "'%s'"}).Draw(t, "form")
		var deep any = fmt.Sprintf(text, value)
		place := rapid.SampledFrom([]string{"tool_input", "tool_response", "tool_output", "prompt", "command", "content", "cwd", "session_id", "tool_name", "message", "note", "edits", "error"}).Draw(t, "place")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			switch rapid.IntRange(0, 2).Draw(t, "in") {
			case 0:
				deep = []any{"x", deep, 7}
			case 1:
				deep = map[string]any{"a": 1, "b": deep}
			default:
				if s, ok := deep.(string); ok {
					deep = map[string]any{s: true}
				}
			}
		}
		event := map[string]any{"hook_event_name": name, "session_id": "s", "tool_name": "mcp__x__y"}
		if place == "tool_name" || place == "session_id" || place == "cwd" {
			deep = value // the harness's own: an id or a path
		}
		event[place] = deep
		b, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		a := h.Handle(context.Background(), harness, b)
		check(t, a, registered, unknown)
		if plain(a) {
			t.Fatalf("%s: %s", harness, strings.ReplaceAll(string(b), value, "SECRET"))
		}
	})
}

func FuzzEvent(f *testing.F) {
	f.Add("claude-code", []byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"x"}}`))
	f.Add("codex", []byte(`{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_response":"x"}`))
	f.Add("cursor", []byte(`{"hook_event_name":"beforeMCPExecution","tool_input":"{\"a\":1}"}`))
	f.Add("cursor", []byte(`{"hook_event_name":"postToolUse","tool_name":"MCP:x","tool_output":"{\"content\":[1]}"}`))
	h := handler(f, memory.New(), nil)
	f.Fuzz(func(t *testing.T, harness string, event []byte) {
		a := h.Handle(context.Background(), harness, event)
		check(t, a)
		if !json.Valid(event) && a.Exit != hook.Block {
			t.Fatalf("%q: %s", event, a.Out.Bytes())
		}
	})
}

// Pictures are not looked at, and that is recorded; what only looks like one
// is.
func TestPictures(t *testing.T) {
	picture := "iVBORw0KGgo" + strings.Repeat("AAAA", 20<<10)
	event := func(text string) []byte {
		b, _ := json.Marshal(map[string]any{
			"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Read",
			"tool_response": map[string]any{"type": "image", "file": map[string]any{"base64": text, "type": "image/png"}},
		})
		return b
	}
	store := memory.New()
	if a := handler(t, store, nil).Handle(context.Background(), "claude-code", event(picture)); !plain(a) {
		t.Errorf("%d %s%s", a.Exit, a.Out.Bytes(), a.Err.Bytes())
	}
	entries, err := store.Decisions(context.Background(), "", 9)
	if err != nil || len(entries) != 1 || entries[0].Reasons[0].Code != "not-scanned" {
		t.Errorf("%v, %+v", err, entries)
	}
	for name, text := range map[string]string{
		"text behind": picture + " " + registered, "small": "iVBORw0KGgo" + registered, "another beginning": strings.Repeat("AAAA", 20<<10) + registered,
	} {
		if a := handler(t, store, nil).Handle(context.Background(), "claude-code", event(text)); plain(a) {
			t.Errorf("%s: not looked at", name)
		}
	}
}

// A harness may add ids to its events: what looks random is no secret by that
// alone, and a new version must not stop every call.
func TestNewFields(t *testing.T) {
	h := handler(t, memory.New(), nil)
	for _, field := range []string{
		`"trace":"4bf92f3577b34da6a3ce929d0e0e4736"`, `"trace_id":"a8Fk20dkGHs92kdPq01mZ"`, `"sig":"Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA=="`, `"ts":1763723456789`,
		`"meta":{"id":"0198c7e2-7e33-7d11-b1de-5f7b3f0f4f01","model":"claude-opus-4-7","n":[1,2.5,null,true]}`, `"note":"a sentence about nothing"`,
	} {
		if a := h.Handle(context.Background(), "claude-code", []byte(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"},`+field+`}`)); !plain(a) {
			t.Errorf("%s: %s%s", field, a.Out.Bytes(), a.Err.Bytes())
		}
	}
}

// A call that is altered or refused says so, and how a person allows what was
// found; a prompt that is not sent is the person's own.
func TestToldHowToAllow(t *testing.T) {
	value := unknown
	h := handler(t, memory.New(), nil)
	for _, c := range []struct {
		harness, event string
		want           bool
	}{
		{"claude-code", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"echo ` + value + `"}}`, true},
		{"codex", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"shell","tool_input":{"command":"echo ` + value + `"}}`, true},
		{"cursor", `{"conversation_id":"s","hook_event_name":"beforeShellExecution","command":"echo ` + value + `"}`, true},
		{"cursor", `{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"content":"echo ` + value + `"}}`, true},
		{"claude-code", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"echo ` + value + `"}`, false},
	} {
		a := h.Handle(t.Context(), c.harness, []byte(c.event))
		out := string(a.Out.Bytes()) + string(a.Err.Bytes())
		if strings.Contains(out, "a person can allow it: margay allow add 01") != c.want || strings.Contains(out, value) {
			t.Errorf("%s %s: %s", c.harness, c.event[:40], out)
		}
	}
}
