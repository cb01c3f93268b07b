package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// value is a secret that no rule knows by its form.
const value = "qSyY3v6ysjB6f2RsDLHZg8RakGnRAxPc"

// model is a scripted one, of both APIs. It has a file read, then sends the
// secret to a tool by itself, then ends.
type model struct {
	mu    sync.Mutex
	asks  []ask
	posts int // requests of any kind
}

// ask is what one request brought.
type ask struct {
	prompt  string   // all of the request but the results and the model's own calls
	results []string // of tools
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	var req struct {
		Stream   bool
		Messages []struct{ Content json.RawMessage }
		Input    []map[string]json.RawMessage
		Tools    []struct{ Name string }
	}
	if r.Method == http.MethodPost {
		m.mu.Lock()
		m.posts++
		m.mu.Unlock()
	}
	if r.Method != http.MethodPost || json.Unmarshal(b, &req) != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var a ask
	for _, msg := range req.Messages {
		var parts []map[string]json.RawMessage
		if json.Unmarshal(msg.Content, &parts) != nil {
			a.prompt += string(msg.Content)
		}
		for _, p := range parts {
			a.take(string(p["type"]), p)
		}
	}
	for _, item := range req.Input {
		a.take(string(item["type"]), item)
	}
	var tools []string
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
	}
	step := len(a.results)
	command := []string{"cat secretfile.txt", "echo deploy with " + value, ""}[min(step, 2)]
	messages := strings.HasSuffix(r.URL.Path, "/messages")
	if messages || strings.HasSuffix(r.URL.Path, "/responses") {
		m.mu.Lock()
		m.asks = append(m.asks, a)
		m.mu.Unlock()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	switch {
	case messages && slices.Contains(tools, "Bash"):
		say(w, claude(step, command))
	case messages:
		say(w, claude(step, ""))
	case strings.HasSuffix(r.URL.Path, "/responses"):
		say(w, responses(step, command))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (a *ask) take(kind string, p map[string]json.RawMessage) {
	b, _ := json.Marshal(p)
	switch kind {
	case `"tool_result"`, `"function_call_output"`:
		a.results = append(a.results, string(b))
	case `"tool_use"`, `"function_call"`:
	default:
		a.prompt += string(b)
	}
}

type event = map[string]any

func say(w io.Writer, events []event) {
	for _, e := range events {
		b, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], b)
	}
}

func claude(step int, command string) []event {
	block, delta, stop := event{"type": "text", "text": ""}, event{"type": "text_delta", "text": "all done"}, "end_turn"
	if command != "" {
		b, _ := json.Marshal(event{"command": command, "description": "a step"})
		block = event{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", step), "name": "Bash", "input": event{}}
		delta, stop = event{"type": "input_json_delta", "partial_json": string(b)}, "tool_use"
	}
	return []event{
		{"type": "message_start", "message": event{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
			"usage": event{"input_tokens": 1, "output_tokens": 1},
		}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": event{"stop_reason": stop, "stop_sequence": nil}, "usage": event{"output_tokens": 1}},
		{"type": "message_stop"},
	}
}

func responses(step int, command string) []event {
	item := event{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{event{"type": "output_text", "text": "all done", "annotations": []any{}}}}
	if command != "" {
		b, _ := json.Marshal(event{"cmd": command})
		item = event{"type": "function_call", "id": fmt.Sprintf("fc_%d", step), "call_id": fmt.Sprintf("call_%d", step), "name": "exec_command", "arguments": string(b), "status": "completed"}
	}
	of := func(status string, output ...any) event {
		return event{
			"id": fmt.Sprintf("resp_%d", step), "object": "response", "created_at": 1, "model": "m", "status": status, "output": append([]any{}, output...),
			"usage": event{"input_tokens": 1, "input_tokens_details": event{"cached_tokens": 0}, "output_tokens": 1, "output_tokens_details": event{"reasoning_tokens": 0}, "total_tokens": 2},
		}
	}
	return []event{
		{"type": "response.created", "sequence_number": 0, "response": of("in_progress")},
		{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
		{"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item},
		{"type": "response.completed", "sequence_number": 3, "response": of("completed", item)},
	}
}

// bench is one agent in a home of its own.
type bench struct {
	t      *testing.T
	dir    string
	margay string
	agent  string
	env    []string
	model  *model
	url    string
}

func open(t *testing.T, name string) *bench {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(root, ".cache", "agents", "node_modules", ".bin", name)
	if _, err := os.Stat(agent); err != nil {
		const hint = "%s is missing: scripts/e2e-agents installs it"
		if slices.Contains(strings.Split(os.Getenv("MARGAY_REQUIRE"), ","), "agents") {
			t.Fatalf(hint, name)
		}
		t.Skipf(hint, name)
	}
	dir, err := os.MkdirTemp("", "agents") // short, for the socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &bench{t: t, dir: dir, agent: agent, margay: filepath.Join(dir, "bin", "margay"), model: &model{}}
	build := exec.Command("go", "build", "-o", b.margay, "./cmd/margay")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, d := range []string{"home", "run", "project"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "project", "secretfile.txt"), []byte("the deploy key: "+value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(b.model)
	t.Cleanup(srv.Close)
	b.url = srv.URL
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "TERM=dumb",
		"ANTHROPIC_API_KEY=sk-ant-api03-test", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1",
	}
	b.run(strings.NewReader(value), b.margay, "secrets", "add", "DEPLOY_KEY")
	return b
}

// run runs a program in the project, and returns what it wrote.
func (b *bench) run(in io.Reader, name string, args ...string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.Stdin = filepath.Join(b.dir, "project"), b.env, in
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	_ = c.Run() // agents end as they like; what arrived is judged
	if ctx.Err() != nil {
		b.t.Fatalf("%s does not end:\n%s", name, out.String())
	}
	return out.String()
}

// clean judges what the model was told since the last time: that it was, and
// that the secret was in none of it.
func (b *bench) clean(out string, results int) {
	b.t.Helper()
	b.model.mu.Lock()
	defer b.model.mu.Unlock()
	most := 0
	for _, a := range b.model.asks {
		if strings.Contains(a.prompt, value) {
			b.t.Error("the secret is in what the model was told")
		}
		for _, r := range a.results {
			if strings.Contains(r, value) {
				b.t.Error("the secret is in a result")
			}
		}
		most = max(most, len(a.results))
	}
	if most != results {
		b.t.Errorf("%d results, want %d:\n%s", most, results, out)
	}
	b.model.asks = nil
}

func TestClaudeCode(t *testing.T) {
	b := open(t, "claude")
	prompt := []string{"-p", "read the file", "--dangerously-skip-permissions"}
	secret := []string{"-p", "the key is " + value, "--dangerously-skip-permissions"}

	// In front of the model.
	out := b.run(nil, b.margay, append([]string{"run", "--upstream", b.url, "--", b.agent}, secret...)...)
	b.clean(out, 2)

	// Hooks alone.
	b.run(nil, b.margay, "hook", "install", "--yes", "claude-code")
	b.env = append(b.env, "ANTHROPIC_BASE_URL="+b.url)
	out = b.run(nil, b.agent, prompt...)
	b.clean(out, 2)
	out = b.run(nil, b.agent, secret...)
	b.clean(out, 0)
	if !strings.Contains(out, "margay: the prompt was not sent") {
		t.Errorf("the prompt was not blocked: %s", out)
	}
}

func TestCodex(t *testing.T) {
	b := open(t, "codex")
	b.run(strings.NewReader("sk-test-1234567890"), b.agent, "login", "--with-api-key")
	exec := []string{"-m", "gpt-5.2-codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"}

	// In front of the model.
	out := b.run(nil, b.margay, append(append([]string{"run", "--no-import", "--upstream", b.url + "/v1", "--", b.agent}, exec...), "the key is "+value)...)
	b.clean(out, 2)

	// Hooks alone.
	b.run(nil, b.margay, "hook", "install", "--yes", "codex")
	config := "model_provider = \"m\"\n[model_providers.m]\nname = \"m\"\nbase_url = \"" + b.url + "/v1\"\nwire_api = \"responses\"\nrequires_openai_auth = true\n"
	if err := os.WriteFile(filepath.Join(b.dir, "home", ".codex", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exec = append(exec, "--dangerously-bypass-hook-trust")
	out = b.run(nil, b.agent, append(exec, "read the file")...)
	b.clean(out, 2)
	out = b.run(nil, b.agent, append(exec, "the key is "+value)...)
	b.clean(out, 0)
}
