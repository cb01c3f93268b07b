// Package servers recognises MCP servers by the commands that start them: the names
// by which Margay keeps them, and the built-in packs that describe them.
package servers

import (
	"path/filepath"
	"slices"
	"strings"
)

// launchers are programs whose first argument says which server runs.
var launchers = []string{"npx", "npm", "bunx", "bun", "pnpm", "yarn", "uvx", "uv", "pipx", "node", "deno", "python", "python3", "docker", "podman", "go"}

// Name returns the name of a server in the log, and its identity: the given name,
// or else its command line.
func Name(name string, args []string) (shown, identity string) {
	if name != "" {
		return name, "stdio\x00" + name
	}
	shown = filepath.Base(args[0])
	if slices.Contains(launchers, strings.TrimSuffix(shown, ".exe")) {
		for _, arg := range args[1:] {
			if !strings.HasPrefix(arg, "-") && arg != "run" && arg != "exec" && arg != "x" {
				shown = filepath.Base(arg)
				break
			}
		}
	}
	if len(shown) > 64 || strings.ContainsFunc(shown, func(r rune) bool { return !word(r) && r != '.' && r != '@' }) {
		shown = "mcp-server"
	}
	return shown, "command\x00" + strings.Join(args, "\x00")
}

func word(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// Agents returns the name that agents put into the names of a server's tools, by
// the server's name in their configuration: characters that they do not take become
// underscores. Empty means that the name can't be given to margay mcp.
func Agents(name string) string {
	out := strings.Map(func(r rune) rune {
		if word(r) {
			return r
		}
		return '_'
	}, name)
	if out == "" || len(out) > 64 || out[0] == '-' {
		return ""
	}
	return out
}

// Flags are those of margay mcp for a server: its name in the agent's
// configuration, and the pack of a server that is known by its command.
func Flags(name string, command []string) (flags []string) {
	if name = Agents(name); name != "" {
		flags = append(flags, "--name", name)
	}
	if of := Pack(command); of != "" {
		flags = append(flags, "--pack", of)
	}
	return flags
}

// packages are the published servers that built-in packs describe, by registry.
var (
	npm = map[string]string{
		"@modelcontextprotocol/server-filesystem": "filesystem",
		"@modelcontextprotocol/server-gdrive":     "gdrive",
		"@modelcontextprotocol/server-memory":     "memory",
		"@modelcontextprotocol/server-postgres":   "postgres",
		"@modelcontextprotocol/server-slack":      "slack",
		"@playwright/mcp":                         "playwright",
		"@gongrzhe/server-gmail-autoauth-mcp":     "gmail",
		"@cocal/google-calendar-mcp":              "google-calendar",
	}
	pypi = map[string]string{"mcp-server-fetch": "fetch", "mcp-server-git": "git", "mcp-server-sqlite": "sqlite"}
	// programs are those that the packages install.
	programs = map[string]string{
		"mcp-server-filesystem": "filesystem", "mcp-server-memory": "memory", "mcp-server-postgres": "postgres", "mcp-server-slack": "slack",
		"mcp-server-fetch": "fetch", "mcp-server-git": "git", "mcp-server-sqlite": "sqlite", "github-mcp-server": "github",
	}
)

// Pack returns the built-in pack of the server that a command starts; empty for
// none. Only a package of the exact name is recognised, as the first argument of a
// launcher without flags that could fetch something else: a pack may allow what an
// unknown tool may not do.
func Pack(command []string) string {
	if len(command) == 0 {
		return ""
	}
	program := strings.TrimSuffix(strings.TrimSuffix(command[0], ".cmd"), ".exe")
	if at := programs[program]; at != "" {
		return at
	}
	args := command[1:]
	from, quiet := npm, []string{"-y", "--yes", "-q", "--quiet"}
	switch program {
	case "npx", "bunx":
	case "pnpm", "yarn":
		if len(args) == 0 || args[0] != "dlx" {
			return ""
		}
		args = args[1:]
	case "pipx":
		if len(args) == 0 || args[0] != "run" {
			return ""
		}
		from, quiet, args = pypi, nil, args[1:]
	case "uvx":
		from, quiet = pypi, []string{"-q", "--quiet"}
	default:
		return ""
	}
	for len(args) > 0 && slices.Contains(quiet, args[0]) {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	return from[unversioned(args[0])]
}

// unversioned cuts the version from a package, if it is a plain one: package@1.2.3,
// not package@npm:other or package@https://….
func unversioned(name string) string {
	i := strings.LastIndexByte(name, '@')
	if i <= 0 || strings.ContainsFunc(name[i+1:], func(r rune) bool { return !word(r) && r != '.' }) {
		return name
	}
	return name[:i]
}
