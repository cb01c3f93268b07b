// Package harness knows where agent programs keep what they run, and edits it:
// hooks, and the MCP servers that they start.
//
// Edits are surgical. A file is read for its positions, a few bytes are
// replaced, and everything else (comments, order, spaces, entries that nobody
// here has heard of) stays as it is. Every edit is checked by reading the
// result again: apart from what was meant to change, the two files must say the
// same. The bytes as they were are kept, so that an edit can be taken back to
// the byte; where the file was changed by somebody else since, what was put in
// is taken out and the rest is left.
package harness

import (
	"os"
	"path/filepath"
	"runtime"
)

// Program is an agent program.
type Program string

// Programs.
const (
	ClaudeCode    Program = "claude-code"
	ClaudeDesktop Program = "claude-desktop"
	Cursor        Program = "cursor"
	VSCode        Program = "vscode"
	Codex         Program = "codex"
)

// Scope says whose configuration a file is.
type Scope string

// Scopes.
const (
	User    Scope = "user"    // of all the user's projects
	Project Scope = "project" // of the working directory
)

// File is one configuration file of a program.
type File struct {
	Program Program
	Scope   Scope
	Path    string
	// Routes are the addresses at which servers that are reached by a URL are
	// mediated, by their own.
	Routes  map[string]string
	format  format
	servers [][]string // where MCP servers are listed; "*" is every member
}

// Places are the folders that files are looked for in.
type Places struct {
	Home    string // the user's
	Config  string // of desktop programs: ~/.config, ~/Library/Application Support, %APPDATA%
	Project string // the working directory
	Claude  string // CLAUDE_CONFIG_DIR, or empty
	Codex   string // CODEX_HOME, or empty
}

// Here returns the places of this user, environment and working directory.
func Here() (Places, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return Places{}, err
	}
	config, err := os.UserConfigDir()
	if err != nil {
		config = filepath.Join(home, ".config")
	}
	if runtime.GOOS == "linux" && os.Getenv("XDG_CONFIG_HOME") == "" {
		config = filepath.Join(home, ".config")
	}
	dir, err := os.Getwd()
	if err != nil {
		return Places{}, err
	}
	return Places{Home: home, Config: config, Project: dir, Claude: os.Getenv("CLAUDE_CONFIG_DIR"), Codex: os.Getenv("CODEX_HOME")}, nil
}

func (p *Places) codex() string {
	if p.Codex != "" {
		return p.Codex
	}
	return filepath.Join(p.Home, ".codex")
}

// Servers returns the files that list MCP servers, whether they exist or not.
func (p *Places) Servers() []File {
	all := [][]string{{"mcpServers"}}
	claude := filepath.Join(p.Home, ".claude.json")
	if p.Claude != "" {
		claude = filepath.Join(p.Claude, ".claude.json")
	}
	return []File{
		{Program: ClaudeCode, Scope: Project, Path: filepath.Join(p.Project, ".mcp.json"), format: jsonc{}, servers: all},
		{Program: ClaudeCode, Scope: User, Path: claude, format: jsonc{}, servers: [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}}},
		{Program: ClaudeDesktop, Scope: User, Path: filepath.Join(p.Config, "Claude", "claude_desktop_config.json"), format: jsonc{}, servers: all},
		{Program: Cursor, Scope: Project, Path: filepath.Join(p.Project, ".cursor", "mcp.json"), format: jsonc{}, servers: all},
		{Program: Cursor, Scope: User, Path: filepath.Join(p.Home, ".cursor", "mcp.json"), format: jsonc{}, servers: all},
		{Program: VSCode, Scope: Project, Path: filepath.Join(p.Project, ".vscode", "mcp.json"), format: jsonc{}, servers: [][]string{{"servers"}}},
		{Program: VSCode, Scope: User, Path: filepath.Join(p.Config, "Code", "User", "mcp.json"), format: jsonc{}, servers: [][]string{{"servers"}}},
		{Program: Codex, Scope: Project, Path: filepath.Join(p.Project, ".codex", "config.toml"), format: toml{}, servers: [][]string{{"mcp_servers"}}},
		{Program: Codex, Scope: User, Path: filepath.Join(p.codex(), "config.toml"), format: toml{}, servers: [][]string{{"mcp_servers"}}},
	}
}

// Hooks returns the file of a program's hooks; false where it has none.
func (p *Places) Hooks(of Program, s Scope) (File, bool) {
	at := p.Home
	if s == Project {
		at = p.Project
	}
	f := File{Program: of, Scope: s, format: jsonc{}}
	switch of {
	case ClaudeCode:
		f.Path = filepath.Join(at, ".claude", "settings.json")
		if s == User && p.Claude != "" {
			f.Path = filepath.Join(p.Claude, "settings.json")
		}
	case Codex:
		f.Path = filepath.Join(at, ".codex", "hooks.json")
		if s == User {
			f.Path = filepath.Join(p.codex(), "hooks.json")
		}
	case Cursor:
		f.Path = filepath.Join(at, ".cursor", "hooks.json")
	default:
		return File{}, false
	}
	return f, true
}

// format reads one kind of configuration file.
type format interface {
	// read lists the servers below the paths, in the file's order.
	read(b []byte, at [][]string) ([]server, error)
	// decode returns what the file says, for comparison.
	decode(b []byte) (map[string]any, error)
}

// span is a range of bytes of a file.
type span struct{ start, end int }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

// splice replaces a range of bytes.
type splice struct {
	span
	text string
}

// apply returns b with splices, which are in order and do not overlap.
func apply(b []byte, all []splice) []byte {
	var out []byte
	at := 0
	for _, s := range all {
		out = append(append(out, b[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, b[at:]...)
}
