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
		"OPENAI_HOST": "http://127.0.0.1:1/t/", "ANTHROPIC_HOST": "http://127.0.0.1:1/t/", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
		"OPENCODE_CONFIG_CONTENT": `{"provider":{"openai":{"options":{"baseURL":"http://127.0.0.1:1/t/v1"}},"anthropic":{"options":{"baseURL":"http://127.0.0.1:1/t/v1"}}}}`,
	}
	for n, v := range want {
		if last[n] != v {
			t.Errorf("%s is %q, want %q", n, last[n], v)
		}
	}
	if len(last) != len(want) {
		t.Errorf("got %v", got)
	}
	// A shim does it again, and what the user has decided stays.
	if again := Env(got, "http://127.0.0.1:1/t"); len(Changed(got, again)) != 0 {
		t.Errorf("changed %v", Changed(got, again))
	}
	own := []string{"OPENAI_HOST=x", "ANTHROPIC_HOST=y", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=0", "OPENCODE_CONFIG_CONTENT={}"}
	if c := Changed(own, Env(own, "http://x")); slices.Contains(c, "OPENCODE_CONFIG_CONTENT") || !slices.Contains(c, "OPENAI_BASE_URL") || len(c) != 5 {
		t.Errorf("changed %v", c)
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

// What is found and is not a program for this machine fails in words.
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

// Launchers name the agent among their arguments; Margay's flags go behind it.
func TestLaunchers(t *testing.T) {
	env := []string{"CODEX_HOME=" + t.TempDir(), "CLAUDE_CONFIG_DIR=" + t.TempDir()}
	for line, want := range map[string]string{
		"npx @openai/codex exec x":             "npx @openai/codex F exec x",
		"npx -y @openai/codex@0.169.0 exec x":  "npx -y @openai/codex@0.169.0 F exec x",
		"npx -p @openai/codex codex exec x":    "npx -p @openai/codex codex F exec x",
		"npx -- codex exec x":                  "npx -- codex F exec x",
		"npx --package=@openai/codex codex -q": "npx --package=@openai/codex codex F -q",
		"/usr/bin/npx.cmd codex":               "/usr/bin/npx.cmd codex F",
		"pnpm dlx @openai/codex exec x":        "pnpm dlx @openai/codex F exec x",
		"pnpm -C dir exec codex exec x":        "pnpm -C dir exec codex F exec x",
		"pnpm install codex":                   "",
		"yarn dlx @openai/codex x":             "yarn dlx @openai/codex F x",
		"bun x codex":                          "bun x codex F",
		"bun run codex":                        "",
		"bunx @openai/codex":                   "bunx @openai/codex F",
		"npx cowsay codex":                     "",
		"npx -p codex":                         "",
		"npx --":                               "",
		"npx":                                  "",
		"sh -c codex":                          "",
	} {
		args := strings.Fields(line)
		a := Recognise(args, env)
		if want == "" {
			if a.Name != "" || !slices.Equal(a.Args(args, "http://g/v1"), args) {
				t.Errorf("%s: %+v", line, a)
			}
			continue
		}
		if a.Name != "Codex" {
			t.Errorf("%s: %+v", line, a)
			continue
		}
		flags := a.flags("http://g/v1")
		got := a.Args(args, "http://g/v1")
		if text := strings.ReplaceAll(strings.Join(got, " "), strings.Join(flags, " "), "F"); text != want {
			t.Errorf("%s became %s", line, text)
		}
		// The agent that it starts may be a shim, which does it again.
		again := append([]string{"codex"}, got[slices.Index(got, flags[0]):]...)
		b := Recognise(again, env)
		if n := b.Args(again, "http://g/v1"); b.Uncovered != "" || !slices.Equal(n, again) {
			t.Errorf("%s: again %v (%s)", line, n, b.Uncovered)
		}
	}
	if a := Recognise([]string{"npx", "@anthropic-ai/claude-code", "-p"}, append(env, "CLAUDE_CODE_USE_VERTEX=1")); a.Uncovered == "" {
		t.Error("what npx starts is not judged")
	}
}

// What wrappers name decides the upstream, if it is one agent.
func TestInside(t *testing.T) {
	env := []string{"CODEX_HOME=" + t.TempDir(), "CLAUDE_CONFIG_DIR=" + t.TempDir()}
	for _, c := range []struct{ first, rest, want string }{
		{"sh", "-c|cd x && codex exec hi", "Codex"},
		{"bash", "-c|exec '/opt/bin/claude' -p", "Claude Code"},
		{"env", "A=b|claude|-p|x", "Claude Code"},
		{"uv", "run|codex", "Codex"},
		{"sh", "-c|codex; claude", ""},
		{"sh", "-c|codex; npx @openai/codex", "Codex"},
		{"sh", "-c|ls", ""},
		{"python", "agent.py|codex", ""},
	} {
		if a := Inside(append([]string{c.first}, strings.Split(c.rest, "|")...), env); a.Name != c.want {
			t.Errorf("%s %s: %q", c.first, c.rest, a.Name)
		}
	}
}

func TestUntested(t *testing.T) {
	for _, name := range []string{"aider", "goose", "opencode", "copilot", "amp", "cline", "npx opencode-ai"} {
		if a := Recognise(strings.Fields(name), nil); a.Name == "" || a.Unproved == "" || a.API != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func (a *Agent) uncoveredOrPlain() bool { return a.flags == nil || a.Uncovered != "" }
