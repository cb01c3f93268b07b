package child

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/problem"
)

func TestEnv(t *testing.T) {
	got := Env(Without([]string{"A=1", "KEYS=k", "NO_PROXY=corp", "OPENAI_BASE_URL=https://old"}, "KEYS"), "http://127.0.0.1:1/t")
	// exec takes the last of several.
	last := map[string]string{}
	for _, kv := range got {
		n, v, _ := strings.Cut(kv, "=")
		last[n] = v
	}
	want := map[string]string{
		"A": "1", "OPENAI_BASE_URL": "http://127.0.0.1:1/t/v1", "OPENAI_API_BASE": "http://127.0.0.1:1/t/v1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/t",
		"NO_PROXY": "corp,127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
	}
	for n, v := range want {
		if last[n] != v {
			t.Errorf("%s is %q, want %q", n, last[n], v)
		}
	}
	if len(last) != len(want) {
		t.Errorf("got %v", got)
	}
}

func TestBaseURLsIsACopy(t *testing.T) {
	BaseURLs()[0] = "x"
	if slices.Contains(BaseURLs(), "x") {
		t.Error("a caller changed the list")
	}
}

func TestFind(t *testing.T) {
	_, err := Find("no-such-program-here")
	var p *problem.Error
	if !errors.As(err, &p) || p.Code != problem.BadUsage || p.Hint == "" || strings.Count(err.Error(), "no-such-program-here") != 1 {
		t.Errorf("got %v", err)
	}
}

// What is found and is no program for this machine fails in words.
func TestNoProgram(t *testing.T) {
	path := t.TempDir() + "/x"
	if err := os.WriteFile(path, []byte("\x00\x01"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Command{Path: path, Args: []string{path}}
	code, err := c.Run()
	var p *problem.Error
	if code != problem.Failed || !errors.As(err, &p) || p.Hint == "" {
		t.Errorf("%d, %v", code, err)
	}
}

func TestRecognise(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("plain/config.toml", "model = \"x\"\n")
	write("azure/config.toml", "model_provider = \"azure\"\n[model_providers.azure]\nbase_url = \"https://a.example/v1\"\nenv_key = \"K\"\n")
	write("nowhere/config.toml", "model_provider = \"ollama\"\n")
	write("broken/config.toml", "model = ")
	write("signed/auth.json", `{"OPENAI_API_KEY":null,"tokens":{"id_token":"x"}}`)
	write("key/auth.json", `{"OPENAI_API_KEY":"x","tokens":null}`)
	write("based/settings.json", `{"env":{"ANTHROPIC_BASE_URL":"https://x"}}`)
	write("cloud/settings.json", `{"env":{"CLAUDE_CODE_USE_BEDROCK":"1"}}`)
	write("none/settings.json", `{"env":{"CLAUDE_CODE_USE_BEDROCK":"0"}}`)
	for _, c := range []struct {
		line, env string
		name, api string
		upstream  string
		uncovered bool
		flag      string
	}{
		{line: "python agent.py"},
		{line: "/usr/bin/claude -p x", env: "CLAUDE_CONFIG_DIR=" + dir, name: "Claude Code", api: "anthropic"},
		{line: "claude", env: "CLAUDE_CONFIG_DIR=none", name: "Claude Code", api: "anthropic"},
		{line: "claude", env: "CLAUDE_CONFIG_DIR=based", name: "Claude Code", api: "anthropic", uncovered: true},
		{line: "claude", env: "CLAUDE_CONFIG_DIR=cloud", name: "Claude Code", api: "anthropic", uncovered: true},
		{line: "claude", env: "CLAUDE_CODE_USE_VERTEX=1", name: "Claude Code", api: "anthropic", uncovered: true},
		{line: "codex exec hi", env: "CODEX_HOME=plain", name: "Codex", api: "openai", flag: `model_provider="margay"`},
		{line: `C:\bin\codex.exe`, env: "CODEX_HOME=none", name: "Codex", api: "openai", flag: `model_providers.margay.base_url="http://g/v1"`},
		{line: "codex", env: "CODEX_HOME=azure", name: "Codex", api: "openai", upstream: "https://a.example/v1", flag: `model_providers.azure.base_url="http://g/v1"`},
		{line: "codex", env: "CODEX_HOME=signed", name: "Codex", api: "openai", upstream: "https://chatgpt.com/backend-api/codex", flag: "model_providers.margay.requires_openai_auth=true"},
		{line: "codex", env: "CODEX_HOME=key", name: "Codex", api: "openai", flag: "model_providers.margay.supports_websockets=false"},
		{line: "codex", env: "CODEX_HOME=nowhere", name: "Codex", api: "openai", uncovered: true},
		{line: "codex", env: "CODEX_HOME=broken", name: "Codex", api: "openai", uncovered: true},
		{line: "codex --oss", env: "CODEX_HOME=plain", name: "Codex", api: "openai", uncovered: true},
		{line: `codex -c model_provider="x"`, env: "CODEX_HOME=plain", name: "Codex", api: "openai", uncovered: true},
		{line: "gemini", name: "Gemini CLI", uncovered: true},
		{line: "cursor-agent", name: "Cursor", uncovered: true},
	} {
		args := strings.Fields(c.line)
		a := Recognise(args, []string{c.env})
		if a.Name != c.name || a.API != c.api || a.Upstream != c.upstream || a.Uncovered != "" != c.uncovered || a.Uncovered != "" != (a.Hint != "") {
			t.Errorf("%s (%s): %+v", c.line, c.env, a)
		}
		got := a.Args(args, "http://g/v1")
		if c.flag == "" && !a.uncoveredOrPlain() || c.flag != "" && !slices.Contains(got, c.flag) {
			t.Errorf("%s (%s): %v", c.line, c.env, got)
		}
		if got[0] != args[0] || !slices.Equal(got[len(got)-len(args)+1:], args[1:]) {
			t.Errorf("%s became %v", c.line, got)
		}
	}
}

func (a *Agent) uncoveredOrPlain() bool { return a.flags == nil || a.Uncovered != "" }
