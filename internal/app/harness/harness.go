// Package harness knows where agent programs keep their hooks and MCP
// servers, and edits those files.
//
// Edits are surgical. They replace a few bytes, and everything else (comments,
// order, spaces, unknown entries) stays as it is. Every edit is checked by
// reading the result again: apart from the intended change, the two files must
// mean the same. The old bytes are kept, so that an edit can be undone to the
// byte. If somebody else has changed the file since, undoing removes what the
// edit inserted and leaves the rest.
package harness

import (
	"cmp"
	"os"
	"path/filepath"
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
	// Routes are the addresses at which Margay mediates servers with a URL, by
	// that URL.
	Routes  map[string]string
	format  format
	servers [][]string // the paths of lists of MCP servers; "*" is every member
}

// Places are the folders in which files are looked for.
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
	dir, err := os.Getwd()
	if err != nil {
		return Places{}, err
	}
	return Places{Home: home, Config: config, Project: dir, Claude: os.Getenv("CLAUDE_CONFIG_DIR"), Codex: os.Getenv("CODEX_HOME")}, nil
}

func (p *Places) codex() string { return cmp.Or(p.Codex, filepath.Join(p.Home, ".codex")) }

// Servers returns the files that list MCP servers, whether they exist or not, with
// what is File.Routes of each.
func (p *Places) Servers(routes map[string]string) []File {
	all := [][]string{{"mcpServers"}}
	claude := filepath.Join(cmp.Or(p.Claude, p.Home), ".claude.json")
	files := []File{
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
	for i := range files {
		files[i].Routes = routes
	}
	return files
}

// Hooks returns the files of hooks, whether they exist or not.
func (p *Places) Hooks() []File {
	claude := cmp.Or(p.Claude, filepath.Join(p.Home, ".claude"))
	return []File{
		{Program: ClaudeCode, Scope: User, Path: filepath.Join(claude, "settings.json"), format: jsonc{}},
		{Program: ClaudeCode, Scope: Project, Path: filepath.Join(p.Project, ".claude", "settings.json"), format: jsonc{}},
		{Program: Codex, Scope: User, Path: filepath.Join(p.codex(), "hooks.json"), format: jsonc{}},
		{Program: Codex, Scope: Project, Path: filepath.Join(p.Project, ".codex", "hooks.json"), format: jsonc{}},
		{Program: Cursor, Scope: User, Path: filepath.Join(p.Home, ".cursor", "hooks.json"), format: jsonc{}},
		{Program: Cursor, Scope: Project, Path: filepath.Join(p.Project, ".cursor", "hooks.json"), format: jsonc{}},
	}
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
