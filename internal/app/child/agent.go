package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Agent is what is known of a program to run: which API its model speaks, how
// to point it at a gateway, and what a gateway can't see of it.
type Agent struct {
	Name string // for messages; empty for an unknown program
	API  string // "openai" or "anthropic"; empty if both are possible
	// Upstream is where the agent would go by its own configuration; empty for
	// the API's default.
	Upstream string
	// Uncovered says why a gateway in front of its model is of no use, and Hint
	// what else to do; both are empty if a gateway is of use.
	Uncovered, Hint string
	// Unproved says why pointing it at a gateway may have no effect; empty for the
	// agents that e2e/agents tests.
	Unproved string
	// flags go between the program and its arguments. Other users of the machine
	// can see them, so they hold no secret.
	flags func(base string) []string
	at    int // where the command line names it
}

// TokenEnv is the variable that has the gateway's token, for programs that send
// it as a header because their URL is given by flags.
const TokenEnv = "MARGAY_RUN_TOKEN" //nolint:gosec // a variable's name

// Recognise returns what is known of the program of a command line, from its
// name, the environment and its own configuration. Of a launcher that fetches a
// program, such as npx, it is what is known of that program. e2e/agents tests it
// with the real programs.
func Recognise(args, environ []string) Agent {
	at := max(0, launched(args))
	a := recognise(agentOf(args[at]), args[at:], lookup(environ))
	a.at = at
	return a
}

func recognise(name string, args []string, env func(string) string) Agent {
	switch name {
	case "claude":
		return claude(env)
	case "codex":
		return codex(own(args), env)
	case "gemini":
		return Agent{
			Name: "Gemini CLI", Uncovered: "it speaks the Gemini API, which the gateway does not",
			Hint: "margay mcp and its servers' configuration cover what its MCP servers see",
		}
	case "cursor", "cursor-agent":
		return Agent{
			Name: "Cursor", Uncovered: "its own servers call the model",
			Hint: "margay hook install cursor and margay mcp wrap cursor cover what runs here",
		}
	}
	return Agent{Name: untested[name].name, Unproved: untested[name].why}
}

// untested are agents that were not tested behind the gateway.
var untested = map[string]struct{ name, why string }{
	"aider":    {"aider", "it was not tested; options and model settings of its own can name another address"},
	"goose":    {"goose", "it was not tested; its configuration can name another provider"},
	"opencode": {"opencode", "it was not tested; only its providers openai and anthropic are pointed at Margay"},
	"copilot":  {"Copilot CLI", "GitHub's own servers call the model, unless COPILOT_PROVIDER_BASE_URL names another; Margay does not set it"},
	"amp":      {"Amp", "its own servers call the model"},
	"cline":    {"Cline", "its own settings name the API, and Margay knows no variable that overrides them"},
}

func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, kv := range slices.Backward(environ) {
			if n, v, _ := strings.Cut(kv, "="); n == name {
				return v
			}
		}
		return ""
	}
}

func home(env func(string) string, own, folder string) string {
	if dir := env(own); dir != "" {
		return dir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		dir = "."
	}
	return filepath.Join(dir, folder)
}

// otherClouds are the variables by which Claude Code leaves Anthropic's API.
var otherClouds = []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_MANTLE"}

// claude is Claude Code. Its settings override its environment.
func claude(env func(string) string) Agent {
	a := Agent{Name: "Claude Code", API: "anthropic"}
	const hint = "margay hook install claude-code covers its tools and prompts"
	for _, v := range otherClouds {
		if on := env(v); on != "" && on != "0" && on != "false" {
			a.Uncovered, a.Hint = v+" selects another API than Anthropic's", hint
			return a
		}
	}
	dir := home(env, "CLAUDE_CONFIG_DIR", ".claude")
	for _, path := range []string{filepath.Join(dir, "settings.json"), filepath.Join(".claude", "settings.json"), filepath.Join(".claude", "settings.local.json")} {
		var s struct {
			Env map[string]any `json:"env"`
		}
		b, err := os.ReadFile(filepath.Clean(path))
		if err != nil || json.Unmarshal(b, &s) != nil {
			continue
		}
		for _, v := range append([]string{"ANTHROPIC_BASE_URL"}, otherClouds...) {
			if on := fmt.Sprint(s.Env[v]); s.Env[v] != nil && on != "" && on != "0" && on != "false" {
				a.Uncovered, a.Hint = path+" sets "+v+", which overrides what margay sets", "remove it there, and name the upstream with --upstream; "+hint
				return a
			}
		}
	}
	return a
}

// codex is OpenAI's Codex. It has no variable for its base URL, and reserves the
// name of its own provider: it gets another one like it or, if the user's
// configuration names one, the same with another URL.
func codex(args []string, env func(string) string) Agent {
	a := Agent{Name: "Codex", API: "openai"}
	const hint = "margay hook install codex covers its tools and prompts"
	for _, arg := range args[1:] {
		if arg == "--" {
			break
		}
		if arg == "--oss" || strings.Contains(arg, "model_provider") || strings.Contains(arg, "openai_base_url") {
			a.Uncovered, a.Hint = "its arguments name a provider, which overrides what margay sets", "name it in config.toml instead; "+hint
			return a
		}
	}
	dir := home(env, "CODEX_HOME", ".codex")
	var c struct {
		Provider  string `toml:"model_provider"`
		BaseURL   string `toml:"openai_base_url"`
		Providers map[string]struct {
			BaseURL string `toml:"base_url"`
		} `toml:"model_providers"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "config.toml"))
	if err == nil {
		err = toml.Unmarshal(b, &c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Uncovered, a.Hint = "its config.toml can't be read", hint
		return a
	}
	a.Upstream = c.BaseURL
	if c.Provider != "" && c.Provider != "openai" {
		a.Upstream = c.Providers[c.Provider].BaseURL
		if a.Upstream == "" {
			a.Uncovered, a.Hint = "its provider "+c.Provider+" has no base_url in config.toml", hint
			return a
		}
		a.flags = func(base string) []string {
			at := "model_providers." + c.Provider + "."
			return set(at+"base_url", quote(base), at+"supports_websockets", "false", at+tokenFlag, quote(TokenEnv))
		}
		return a
	}
	if a.Upstream == "" && chatGPT(dir) {
		a.Upstream = "https://chatgpt.com/backend-api/codex"
	}
	a.flags = func(base string) []string {
		const at = "model_providers.margay."
		return set(
			"model_provider", quote("margay"), at+"name", quote("margay"), at+"base_url", quote(base), at+"wire_api", quote("responses"),
			at+"requires_openai_auth", "true", at+"supports_websockets", "false", at+tokenFlag, quote(TokenEnv),
		)
	}
	return a
}

// chatGPT reports whether Codex is signed in with an account of ChatGPT, whose
// requests go elsewhere than those with an API key.
func chatGPT(dir string) bool {
	var auth struct {
		Key    *string `json:"OPENAI_API_KEY"`
		Mode   string  `json:"auth_mode"`
		Tokens any     `json:"tokens"`
	}
	b, err := os.ReadFile(filepath.Join(dir, "auth.json"))
	if err != nil || json.Unmarshal(b, &auth) != nil {
		return false
	}
	return auth.Mode == "chatgpt" || auth.Mode == "" && auth.Key == nil && auth.Tokens != nil
}

func set(pairs ...string) []string {
	var out []string
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, "-c", pairs[i]+"="+pairs[i+1])
	}
	return out
}

func quote(s string) string { return `"` + s + `"` }

// Args returns the command line of the agent, pointed at a gateway at base.
// Where Margay's flags stand already, they stand once.
func (a *Agent) Args(args []string, base string) []string {
	if a.flags == nil {
		return args
	}
	return slices.Concat(args[:a.at+1], a.flags(base), own(args[a.at:])[1:])
}

// own is a command line without the flags that Args has put there before: a shim
// calls a program that may be another wrapper of the same name.
func own(args []string) []string {
	for i := 2; i < len(args) && args[i-1] == "-c"; i += 2 {
		if strings.HasSuffix(args[i], tokenFlag+"="+quote(TokenEnv)) {
			return slices.Concat(args[:1], args[i+1:])
		}
	}
	return args
}

// tokenFlag is the end of the last key that Args sets.
const tokenFlag = "env_http_headers.Margay-Token" //nolint:gosec // a header's name
