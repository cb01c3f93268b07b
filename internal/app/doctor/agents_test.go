package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/harness"
)

// home is a user without files, whose margay is this program.
func home(t *testing.T) (places harness.Places, margay string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE", "XDG_CONFIG_HOME", "APPDATA"} {
		t.Setenv(name, dir)
	}
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME"} {
		t.Setenv(name, "")
	}
	places, err := harness.Here()
	if err != nil {
		t.Fatal(err)
	}
	places.Project = filepath.Join(dir, "project")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	margay = filepath.Join(dir, "margay")
	if runtime.GOOS == "windows" {
		margay += ".exe"
	}
	if err := os.Link(self, margay); err != nil {
		if err := os.Symlink(self, margay); err != nil {
			t.Skip("this system makes no links: run on one that does")
		}
	}
	return places, margay
}

func put(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestHooksAndServers: the hooks and the wrapped servers of each agent's file are
// named, and so is what is wrong with the program that they name.
func TestHooksAndServers(t *testing.T) {
	places, margay := home(t)
	other := filepath.Join(places.Home, "other", filepath.Base(margay))
	put(t, other, []byte("#!/bin/sh\n"))
	gone := filepath.Join(places.Home, "gone", filepath.Base(margay))
	c := config.Default()
	c.MCP.Servers = map[string]config.MCPServer{"docs": {URL: "https://docs.example/mcp"}}
	look := func() []Check {
		var cs checkups
		checkAgents(c, places.Project, &cs)
		return cs.all
	}
	if got := look(); len(got) != 0 {
		t.Errorf("without files: %+v", got)
	}
	for program, want := range map[string]struct{ status, text string }{
		margay: {OK, "this program"}, other: {Warn, "is not this program"}, gone: {Fail, "does not exist"},
	} {
		paths := map[string]harness.Program{}
		for _, f := range places.Hooks() {
			b, _, err := f.Install(nil, filepath.ToSlash(program)+" hook "+string(f.Program))
			if err != nil {
				t.Fatal(err)
			}
			put(t, f.Path, b)
			paths[f.Path] = f.Program
		}
		for _, f := range places.Servers(nil) {
			list := `{"mcpServers":{"a":{"command":"COMMAND"},"docs":{"url":"https://docs.example/mcp"}}}`
			switch f.Program {
			case harness.VSCode:
				list = strings.Replace(list, "mcpServers", "servers", 1)
			case harness.Codex:
				list = "[mcp_servers.a]\ncommand = \"COMMAND\"\n"
			}
			f.Routes = map[string]string{"https://docs.example/mcp": "http://" + c.Listen + "/mcp/docs"}
			b, _, err := f.Wrap([]byte(strings.Replace(list, "COMMAND", filepath.ToSlash(margay), 1)), filepath.ToSlash(program), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			put(t, f.Path, b)
			paths[f.Path] = f.Program
		}
		all, routed := look(), 0
		for path, of := range paths {
			if !slices.ContainsFunc(all, func(ch Check) bool {
				return ch.Status == want.status && strings.HasPrefix(ch.Detail, string(of)+": "+path+" ") && strings.Contains(ch.Detail, want.text) && (ch.Hint == "") == (want.status == OK)
			}) {
				t.Errorf("no %s of %s (%s) in %+v", want.status, path, want.text, all)
			}
		}
		for _, ch := range all {
			if strings.Contains(ch.Detail, "docs at http://"+c.Listen+"/mcp/docs") {
				routed++
			}
		}
		if routed != 7 {
			t.Errorf("%d of 7 servers with a URL", routed)
		}
	}
}

// TestProgramOfServer: the own program of a wrapped server is looked for, and an
// event without a hook is named; what a file holds besides is not printed.
func TestProgramOfServer(t *testing.T) {
	places, margay := home(t)
	missing := filepath.Join(places.Home, "nowhere")
	file := places.Servers(nil)[0]
	b, _, err := file.Wrap([]byte(`{"mcpServers":{"a":{"command":"`+filepath.ToSlash(missing)+`","args":["passkey"],"env":{"K":"envkey"}},"b":{"command":"margay-no-such-server"}}}`), filepath.ToSlash(margay), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, file.Path, b)
	put(t, places.Hooks()[0].Path, []byte(`{"hooks":{"PreToolUse":[{"hooks":[{"command":"`+filepath.ToSlash(margay)+` hook claude-code"}]}]}}`))
	put(t, places.Hooks()[2].Path, []byte(`{"broken`))
	var cs checkups
	checkAgents(config.Default(), places.Project, &cs)
	var got []string
	for _, ch := range cs.all {
		got = append(got, ch.Name+" "+ch.Status)
		if strings.Contains(ch.Detail, "passkey") || strings.Contains(ch.Detail, "envkey") {
			t.Errorf("printed: %+v", ch)
		}
	}
	want := []string{"hook ok", "hook warn", "hook warn", "wrapped mcp fail", "wrapped mcp warn"}
	if !slices.Equal(got, want) || !strings.Contains(cs.all[1].Detail, "PostToolUse") || !strings.Contains(cs.all[2].Detail, "can't be read") {
		t.Errorf("%+v", cs.all)
	}
}
