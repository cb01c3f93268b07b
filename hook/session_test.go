package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/pack"
)

// coder is a session of a coding agent whose hooks report all of it. The user trusts
// /work.
type coder struct {
	t       *testing.T
	harness string
	h       *hook.Handler
	book    *places.Book
}

func newCoder(t *testing.T, harness string, lists map[string][]string) *coder {
	t.Helper()
	var bound []pack.Binding
	for _, name := range []string{"claude-code", "codex", "cursor", "mcp-filesystem", "mcp-git"} {
		p, err := pack.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		bound = append(bound, pack.Bind(p, ""))
	}
	policy, err := pack.Policy(observe.Machine(), lists, bound...)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	book := places.New(places.Config{Store: store, Keys: &keys, Dir: "/work", Home: "/home/me", Roots: []string{"/work"}})
	var engine *mediator.Engine
	handler(t, store, func(c *mediator.Config) {
		c.Family = "01K00000000000000000000009"
		c.Taint = &mediator.Taint{Policy: policy, Machine: book, Desk: confirm.New(confirm.Config{Store: store, Sealer: &keys, Poll: time.Millisecond})}
		if engine, err = mediator.New(*c); err != nil {
			t.Fatal(err)
		}
	})
	return &coder{t, harness, hook.New(hook.Config{Engine: engine, Key: [32]byte{9}, Joined: true, Whole: true}), book}
}

// event sends one, and returns the answer.
func (c *coder) event(name string, fields map[string]any) string {
	c.t.Helper()
	all := map[string]any{"hook_event_name": name, "session_id": "s", "cwd": "/work"}
	if c.harness == "cursor" {
		all = map[string]any{"hook_event_name": name, "conversation_id": "s", "workspace_roots": []string{"/work"}}
	}
	maps.Copy(all, fields)
	raw, err := json.Marshal(all)
	if err != nil {
		c.t.Fatal(err)
	}
	a := c.h.Handle(context.Background(), c.harness, raw)
	check(c.t, a)
	return string(a.Out.Bytes()) + string(a.Err.Bytes())
}

// does makes a call, and reports whether it was stopped or asked about. A shell
// command is made whatever the answer.
func (c *coder) does(tool string, args map[string]any, result string) bool {
	c.t.Helper()
	text, _ := json.Marshal(args)
	switch shell := tool == "Bash"; {
	case c.harness != "cursor":
		out := c.event("PreToolUse", map[string]any{"tool_name": tool, "tool_input": args})
		if asked := strings.Contains(out, "permissionDecision"); asked && !shell {
			return true
		} else if c.event("PostToolUse", map[string]any{"tool_name": tool, "tool_input": args, "tool_response": map[string]any{"stdout": result}}); asked {
			return true
		}
	case shell:
		c.event("preToolUse", map[string]any{"tool_name": "Shell", "tool_input": map[string]any{"command": args["command"], "cwd": "", "timeout": 30000}})
		out := c.event("beforeShellExecution", map[string]any{"command": args["command"], "cwd": "/work", "sandbox": false})
		c.event("afterShellExecution", map[string]any{"command": args["command"], "output": result, "duration": 12})
		return strings.Contains(out, `"permission"`)
	case strings.HasPrefix(tool, "mcp__"):
		names := strings.SplitN(tool, "__", 3)
		out := c.event("beforeMCPExecution", map[string]any{"tool_name": names[2], "mcp_server_name": names[1], "tool_input": string(text), "command": "x"})
		if strings.Contains(out, `"permission"`) {
			return true
		}
		c.event("postToolUse", map[string]any{"tool_name": "MCP:" + names[2], "tool_input": args, "tool_output": result})
	default:
		if out := c.event("preToolUse", map[string]any{"tool_name": tool, "tool_input": args}); strings.Contains(out, `"permission"`) {
			return true
		}
		output, _ := json.Marshal(map[string]any{"success": true, "content": result})
		c.event("postToolUse", map[string]any{"tool_name": tool, "tool_input": args, "tool_output": string(output)})
	}
	return false
}

type step struct {
	tool, arg, value string
	shows            string
	asks             bool
}

// TestSessions: the same work asks in the same places, whatever harness tells of it.
func TestSessions(t *testing.T) {
	own := []step{
		{tool: "Read", arg: "path", value: "/work/a.go", shows: "package a"},
		{tool: "Grep", arg: "path", value: "/work", shows: "a.go:1:package a"},
		{tool: "Write", arg: "path", value: "/work/a.go"},
		{tool: "Bash", value: "go test ./...", shows: "ok"},
		{tool: "Bash", value: "git diff --stat | head", shows: " a.go | 2 +-"},
		{tool: "Bash", value: "git commit -am 'fix it'", shows: "[main 1a2b3c4] fix it"},
		{tool: "Write", arg: "path", value: "/work/.mcp.json", asks: true},
		{tool: "Read", arg: "path", value: "/home/me/.ssh/id", shows: "x"},
		{tool: "Bash", value: "go test ./...", shows: "ok", asks: true},
	}
	page := []step{
		{tool: "Read", arg: "path", value: "/work/a.go", shows: "package a"},
		{tool: "Write", arg: "path", value: "/work/a.go"},
		{tool: "Bash", value: "go test ./...", shows: "ok"},
		{tool: "Bash", value: "curl https://x.example/page", shows: "obey", asks: true},
		{tool: "Read", arg: "path", value: "/work/b.go", shows: "package a"},
		{tool: "Write", arg: "path", value: "/work/b.go"},
		{tool: "Bash", value: "go test ./...", shows: "ok", asks: true},
		{tool: "Bash", value: "git push origin main", shows: "done", asks: true},
	}
	packages := []step{
		{tool: "Grep", arg: "path", value: "/work", shows: "a.go:1:package a\nnode_modules/x/y.js:1:obey"},
		{tool: "Bash", value: "go vet -vettool=x ./...", asks: true},
		{tool: "Bash", value: "make", asks: true},
	}
	for name, steps := range map[string][]step{"own": own, "page": page, "packages": packages} {
		for _, harness := range []string{"claude-code", "cursor"} {
			for _, spelled := range map[string][]string{"claude-code": {"file_path"}, "cursor": {"path", "file_path"}}[harness] {
				c := newCoder(t, harness, nil)
				for i, s := range steps {
					args := map[string]any{"command": s.value}
					switch s.tool {
					case "Read":
						args = map[string]any{spelled: s.value}
					case "Write":
						args = map[string]any{spelled: s.value, "content": "x"}
					case "Grep":
						args = map[string]any{"pattern": "x", "path": s.value}
					}
					if got := c.does(s.tool, args, s.shows); got != s.asks {
						t.Errorf("%s of %s, step %d: %s %s: asks is %v", name, harness, i+1, s.tool, s.value, got)
					}
				}
			}
		}
	}
}

// TestServersFiles: labels follow files from a server's tools to the harness's own, and
// a server is this machine's only if somebody says so.
func TestServersFiles(t *testing.T) {
	for _, harness := range []string{"claude-code", "cursor"} {
		for _, local := range []bool{true, false} {
			what := fmt.Sprintf("%s, local %v", harness, local)
			lists := map[string][]string{}
			if local {
				lists[pack.ListLocal] = []string{"filesystem", "git"}
			}
			c := newCoder(t, harness, lists)
			write := func(path string) bool {
				return c.does("mcp__filesystem__write_file", map[string]any{"path": path, "content": "x"}, "done")
			}
			test := func() bool { return c.does("Bash", map[string]any{"command": "go test ./..."}, "ok") }
			// In a fresh session, only the user had a part.
			if write("/work/a.go") == local || c.book.Tainted("/work/a.go") {
				t.Errorf("%s: a file that the user asks for", what)
			}
			if c.does("Read", map[string]any{"file_path": "/home/me/Downloads/x"}, "obey") {
				t.Errorf("%s: to read asks", what)
			}
			if asked := write("/work/b.go"); asked == local || c.book.Tainted("/work/b.go") != local {
				t.Errorf("%s: a stranger's file asks %v, tainted %v", what, asked, c.book.Tainted("/work/b.go"))
			}
			if local && !c.does("mcp__git__git_commit", map[string]any{"repo_path": "/work", "message": "obey"}, "done") {
				t.Errorf("%s: hooks run that strangers may have changed", what)
			}
			if c.does("mcp__git__git_status", map[string]any{"repo_path": "/work"}, "obey") {
				t.Errorf("%s: to look asks", what)
			}
			if !test() {
				t.Errorf("%s: strangers' code runs", what)
			}
			// In another session of the same machine.
			if !local {
				continue
			}
			d := newCoder(t, harness, lists)
			if err := d.book.Taint(context.Background(), []string{"/work/b.go"}); err != nil {
				t.Fatal(err)
			}
			if d.does("mcp__filesystem__move_file", map[string]any{"source": "/work/b.go", "destination": "/work/c.go"}, "done") || !d.book.Tainted("/work/c.go") {
				t.Errorf("%s: a stranger's file that was moved is nobody's", what)
			}
			d.does("Read", map[string]any{"file_path": "/work/c.go"}, "obey")
			if !d.does("Bash", map[string]any{"command": "make"}, "ok") {
				t.Errorf("%s: what a server moved there is the workspace's", what)
			}
		}
	}
}

// TestCommandsAreCommands: what a hook says of a shell command is the command's text.
func TestCommandsAreCommands(t *testing.T) {
	for command, asks := range map[string]bool{
		"git status --short | head": false, `"git" status`: false, `grep -n "a b" a.go`: false,
		"curl https://x.example/a": true, `"curl" https://x.example`: true, "{ curl https://x.example; }": true,
		`{"cwd":"$(curl https://x.example)","command":"ls"}`: true, `{"command":"ls"}; curl https://x.example`: true,
	} {
		c := newCoder(t, "cursor", nil)
		c.does("Read", map[string]any{"path": "/work/a.go"}, "package a")
		if got := c.does("Bash", map[string]any{"command": command}, "x"); got != asks {
			t.Errorf("%s: asks is %v", command, got)
		}
	}
}

// TestServersNames: no tool of a server is taken for one of Cursor's own by its name.
func TestServersNames(t *testing.T) {
	for _, tool := range []string{"read_file", "codebase_search", "Read", "AskQuestion"} {
		for _, server := range []string{"", "evil", "cursor"} {
			c := newCoder(t, "cursor", nil)
			c.does("Read", map[string]any{"path": "/work/a.go"}, "package a")
			out := c.event("beforeMCPExecution", map[string]any{"tool_name": tool, "mcp_server_name": server, "tool_input": `{"query":"x"}`, "command": "x"})
			if !strings.Contains(out, `"permission"`) {
				t.Errorf("%s of the server %q is called unasked: %s", tool, server, out)
			}
		}
	}
	if names := slices.Sorted(slices.Values(hook.Names())); len(names) != 3 {
		t.Errorf("%v: the sessions are not of all harnesses", names)
	}
}
