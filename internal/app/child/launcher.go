package child

import (
	"slices"
	"strings"
)

// agentOf is the agent that a word names: a program, by its name or its path, or
// a package of npm, with or without a version. Other words name themselves.
func agentOf(word string) string {
	if at := strings.LastIndexByte(word, '@'); at > 0 {
		word = word[:at]
	}
	if name, ok := packages[word]; ok {
		return name
	}
	name := strings.ToLower(word[strings.LastIndexAny(word, `/\`)+1:])
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
}

var packages = map[string]string{
	"@anthropic-ai/claude-code": "claude", "@openai/codex": "codex", "@google/gemini-cli": "gemini",
	"@github/copilot": "copilot", "@sourcegraph/amp": "amp", "opencode-ai": "opencode",
}

// launchers start a program that they find or fetch by themselves, past the PATH.
// Of those with commands, only these do.
var launchers = map[string][]string{
	"npx": nil, "pnpx": nil, "pnx": nil, "bunx": nil,
	"pnpm": {"dlx", "exec", "x"}, "yarn": {"dlx", "exec"}, "bun": {"x"},
}

// valued are flags of launchers whose value is the next argument.
var valued = []string{"-p", "--package", "--cache", "--registry", "--prefix", "--userconfig", "-w", "--workspace", "-C", "--dir", "-F", "--filter", "--cwd"}

// launched returns where the arguments of a launcher name the program to start;
// -1 for none, and for a program that is no launcher.
func launched(args []string) int {
	commands, ok := launchers[agentOf(args[0])]
	if !ok {
		return -1
	}
	at := positional(args, 1)
	if at < 0 || commands == nil {
		return at
	}
	if !slices.Contains(commands, args[at]) {
		return -1
	}
	return positional(args, at+1)
}

// positional returns the first argument from i on that is no flag; -1 for none.
func positional(args []string, i int) int {
	for ; i < len(args); i++ {
		switch {
		case args[i] == "--":
			if i+1 < len(args) {
				return i + 1
			}
			return -1
		case slices.Contains(valued, args[i]):
			i++
		case !strings.HasPrefix(args[i], "-"):
			return i
		}
	}
	return -1
}

// wrappers run other programs that their arguments name.
var wrappers = []string{
	"sh", "bash", "zsh", "dash", "ksh", "fish", "env", "nice", "nohup", "time", "timeout", "stdbuf", "setsid", "script", "xargs",
	"poetry", "uv", "pdm", "hatch", "rye", "pipenv", "mise", "direnv", "npm", "make", "just", "task", "npx", "pnpx", "pnx", "pnpm", "yarn", "bun", "bunx",
}

// Inside returns the agent that the arguments of a wrapper name, for the upstream
// that a run needs; none if several are named, or none.
func Inside(args, environ []string) Agent {
	var found Agent
	if !slices.Contains(wrappers, agentOf(args[0])) {
		return found
	}
	for _, arg := range args[1:] {
		for _, word := range strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"`$", r) }) {
			name := agentOf(word)
			if name != "claude" && name != "codex" {
				continue
			}
			a := recognise(name, []string{word}, lookup(environ))
			if found.Name != "" && found.Name != a.Name {
				return Agent{}
			}
			found = a
		}
	}
	return found
}
