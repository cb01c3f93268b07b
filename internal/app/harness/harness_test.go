package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const margay = "/opt/margay/bin/margay"

func jsonFile() *File {
	return &File{Program: Cursor, Scope: User, format: jsonc{}, servers: [][]string{{"mcpServers"}, {"projects", "*", "mcpServers"}}}
}

func tomlFile() *File {
	return &File{Program: Codex, Scope: User, format: toml{}, servers: [][]string{{"mcp_servers"}}}
}

func TestWrap(t *testing.T) {
	const m = `"` + margay + `"`
	for _, c := range []struct {
		name         string
		file         *File
		before, want string
	}{
		{"args", jsonFile(), `{"mcpServers":{"a":{"command":"npx","args":["-y","x"]}}}`, `{"mcpServers":{"a":{"command":` + m + `,"args":["mcp", "--", "npx", "-y","x"]}}}`},
		{"no args", jsonFile(), `{"mcpServers":{"a":{"command":"s"}}}`, `{"mcpServers":{"a":{"command":` + m + `, "args": ["mcp", "--", "s"]}}}`},
		{"empty args, comments, trailing commas", jsonFile(), "{ // c\n\"mcpServers\": {\"a\": {\"args\": [ /* none */ ], \"command\": \"s\",},},}", "{ // c\n\"mcpServers\": {\"a\": {\"args\": [\"mcp\", \"--\", \"s\" /* none */ ], \"command\": " + m + ",},},}"},
		{"lines", jsonFile(), "{\"mcpServers\":{\"a\":{\"command\":\"s\",\"args\":[\n  \"x\"\n]}}}", "{\"mcpServers\":{\"a\":{\"command\":" + m + ",\"args\":[\"mcp\", \"--\", \"s\",\n  \"x\"\n]}}}"},
		{"escapes stay", jsonFile(), `{"mcpServers":{"a":{"command":"\u0073/\"q\""}}}`, `{"mcpServers":{"a":{"command":` + m + `, "args": ["mcp", "--", "\u0073/\"q\""]}}}`},
		{"projects", jsonFile(), `{"projects":{"/p":{"mcpServers":{"a":{"command":"s"}},"n":1}}}`, `{"projects":{"/p":{"mcpServers":{"a":{"command":` + m + `, "args": ["mcp", "--", "s"]}},"n":1}}}`},
		{"url", jsonFile(), `{"mcpServers":{"a":{"url":"https://x"}}}`, `{"mcpServers":{"a":{"url":"https://x"}}}`},
		{"odd", jsonFile(), `{"mcpServers":{"a":{"command":["s"]},"b":{"command":"s","args":"x"},"c":7,"d":{"command":"s","args":[1]},"e":{}}}`, `{"mcpServers":{"a":{"command":["s"]},"b":{"command":"s","args":"x"},"c":7,"d":{"command":"s","args":[1]},"e":{}}}`},
		{"nothing there", jsonFile(), `{"mcpServers":null,"x":[]}`, `{"mcpServers":null,"x":[]}`},
		{"table", tomlFile(), "[mcp_servers.a]\ncommand = 'npx' # c\nargs = [ # list\n  \"-y\",\n]\n", "[mcp_servers.a]\ncommand = " + m + " # c\nargs = [\"mcp\", \"--\", 'npx',  # list\n  \"-y\",\n]\n"},
		{"no args in a table", tomlFile(), "[mcp_servers.a]\r\n  command = \"s\"\r\nx = 1\r\n", "[mcp_servers.a]\r\n  command = " + m + "\r\n  args = [\"mcp\", \"--\", \"s\"]\r\nx = 1\r\n"},
		{"dotted", tomlFile(), "mcp_servers.a.command = \"s\"", "mcp_servers.a.command = " + m + "\nmcp_servers.a.args = [\"mcp\", \"--\", \"s\"]"},
		{"inline", tomlFile(), "[mcp_servers]\na = { command = \"s\" }\nb = { args = [], command = \"s\" }", "[mcp_servers]\na = { command = " + m + ", args = [\"mcp\", \"--\", \"s\"] }\nb = { args = [\"mcp\", \"--\", \"s\"], command = " + m + " }"},
		{"all inline", tomlFile(), "mcp_servers = { a = { command = \"s\" } }", "mcp_servers = { a = { command = " + m + ", args = [\"mcp\", \"--\", \"s\"] } }"},
		{"elsewhere", tomlFile(), "[other.mcp_servers.a]\ncommand = \"s\"", "[other.mcp_servers.a]\ncommand = \"s\""},
	} {
		got, _, err := c.file.Wrap([]byte(c.before), margay, nil, nil)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
			continue
		}
		again, _, err := c.file.Wrap(got, margay, nil, nil)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s: wrapping twice: %v\n%s", c.name, err, again)
		}
		back, _, err := c.file.Unwrap(got)
		if err != nil || c.file.same([]byte(c.before), back, c.file.unwrapped) != nil {
			t.Errorf("%s: unwrapped: %v\n%s", c.name, err, back)
		}
	}
}

func TestWrapWithFlags(t *testing.T) {
	f := jsonFile()
	got, _, err := f.Wrap([]byte(`{"mcpServers":{"a":{"command":"s"}}}`), margay, []string{"--state-dir", "/s"}, nil)
	if want := `"args": ["--state-dir", "/s", "mcp", "--", "s"]`; err != nil || !strings.Contains(string(got), want) {
		t.Fatalf("%v: %s", err, got)
	}
	if back, servers, err := f.Unwrap(got); err != nil || servers[0].State != Unwrapped || strings.Contains(string(back), "mcp\"") {
		t.Errorf("%v %v: %s", err, servers, back)
	}
}

// A server that is reached by a URL is mediated where one is configured for it.
func TestRoutes(t *testing.T) {
	routes := map[string]string{"https://mcp.example/mcp": "http://127.0.0.1:7878/mcp/x"}
	for _, c := range []struct {
		file         *File
		before, want string
	}{
		{jsonFile(), `{"mcpServers":{"a":{"url": "https://mcp.example/mcp" , "headers":{}},"b":{"url":"https://other"}}}`, `{"mcpServers":{"a":{"url": "http://127.0.0.1:7878/mcp/x" , "headers":{}},"b":{"url":"https://other"}}}`},
		{tomlFile(), "[mcp_servers.a]\nurl = 'https://mcp.example/mcp' # x\n", "[mcp_servers.a]\nurl = \"http://127.0.0.1:7878/mcp/x\" # x\n"},
	} {
		c.file.Routes = routes
		got, servers, err := c.file.Wrap([]byte(c.before), margay, nil, nil)
		if err != nil || string(got) != c.want || servers[0].State != Wrapped || len(servers) > 1 && servers[1].State != Remote {
			t.Errorf("%v, %v\n%s", err, servers, got)
		}
		if again, servers, err := c.file.Wrap(got, margay, nil, nil); err != nil || !bytes.Equal(again, got) || servers[0].State != Already {
			t.Errorf("twice: %v, %v\n%s", err, servers, again)
		}
		back, servers, err := c.file.Unwrap(got)
		if err != nil || strings.Contains(string(back), "7878") || servers[0].State != Unwrapped {
			t.Errorf("back: %v, %v\n%s", err, servers, back)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		file *File
		text string
	}{
		{jsonFile(), ``},
		{jsonFile(), `[]`},
		{jsonFile(), `{"mcpServers":`},
		{jsonFile(), `{"mcpServers":{"a":{"command":"s","command":"t"}}}`},
		{jsonFile(), `{"mcpServers":{"a":{"command":"s"},"a":{}}}`},
		{jsonFile(), `{"mcpServers":{},"mcpServers":{}}`},
		{jsonFile(), strings.Repeat(`{"a":`, 100000)},
		{jsonFile(), strings.Repeat(`[`, 100000)},
		{tomlFile(), "a = 1\na = 2"},
		{tomlFile(), "[mcp_servers"},
		{tomlFile(), "a = " + strings.Repeat("[", 100000)},
	} {
		got, _, err := c.file.Wrap([]byte(c.text), margay, nil, nil)
		if err == nil {
			t.Errorf("%.60s became %.60s", c.text, got)
		}
	}
}

// A message never repeats what may be a secret.
func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, f := range []*File{jsonFile(), tomlFile()} {
		for _, text := range []string{secret, `{"mcpServers": ` + secret + `}`, `{"a":"` + secret + `}`, "a = " + secret} {
			if _, _, err := f.Wrap([]byte(text), margay, nil, nil); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	for _, word := range []string{"ghp_0123456789abcdefghijklmnopqrstuv", "a=b", "\x1b[31m", "ключ"} {
		if Shown(word) == word {
			t.Errorf("%q is shown", word)
		}
	}
	for _, word := range []string{"npx", "/usr/local/bin/uvx", "my-server_2", "${HOME}/x.py"} {
		if Shown(word) != word {
			t.Errorf("%q is not shown", word)
		}
	}
}

// document draws the text of a configuration with odd spaces and comments.
func document(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\t", " // note, { \"x\n", "/* [, */", "\r\n"})
	sp := func() string { return space.Draw(t, "space") }
	word := rapid.SampledFrom([]string{`"a"`, `"-y"`, `"x y"`, `"\u0061"`, `"//"`, `"mcp"`, `"--"`, `"margay"`, `""`})
	list := func(item func() string, open, end string) string {
		var b strings.Builder
		b.WriteString(open + sp())
		n := rapid.IntRange(0, 3).Draw(t, "n")
		for i := range n {
			b.WriteString(item() + sp())
			if i < n-1 || rapid.Bool().Draw(t, "trailing") {
				b.WriteString("," + sp())
			}
		}
		return b.String() + end
	}
	names := 0
	server := func() string {
		names++
		var parts []string
		for _, p := range []string{
			`"command"` + sp() + ":" + sp() + word.Draw(t, "command"),
			`"args"` + sp() + ":" + sp() + list(func() string { return word.Draw(t, "arg") }, "[", "]"),
			`"url": "https://x"`, `"env": {"K": "v"}`, `"n": 1.50`,
		} {
			if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
				parts = append(parts, p)
			}
		}
		parts = rapid.Permutation(parts).Draw(t, "order")
		return fmt.Sprintf(`"s%d"`, names) + sp() + ":" + sp() + "{" + sp() + strings.Join(parts, sp()+","+sp()) + sp() + "}"
	}
	return sp() + `{"theme": "dark",` + sp() + `"mcpServers"` + sp() + ":" + sp() + list(server, "{", "}") + sp() + "}" + sp()
}

func TestWrapAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, before := jsonFile(), []byte(document(t))
		after, servers, err := f.Wrap(before, margay, nil, nil)
		if err != nil {
			t.Fatalf("%v:\n%s", err, before)
		}
		for _, s := range servers {
			if s.State == Wrapped && bytes.Equal(after, before) {
				t.Fatal("nothing was wrapped")
			}
		}
		if again, _, err := f.Wrap(after, margay, nil, nil); err != nil || !bytes.Equal(again, after) {
			t.Fatalf("twice: %v\n%s\n%s", err, after, again)
		}
		if !slices.ContainsFunc(servers, func(s Server) bool { return s.State == Already }) {
			back, _, err := f.Unwrap(after)
			if err != nil || f.same(before, back, f.unwrapped) != nil {
				t.Fatalf("back: %v\n%s\n%s", err, before, back)
			}
		}
	})
}

func FuzzWrap(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"npx","args":["-y"]}}}`))
	f.Add([]byte("[mcp_servers.a]\ncommand = 'x'\nargs = []"))
	f.Add([]byte("mcp_servers = { a.command = \"\"\"x\"\"\" }"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range []*File{jsonFile(), tomlFile()} {
			after, _, err := file.Wrap(b, margay, nil, nil)
			if err != nil {
				continue
			}
			if again, _, err := file.Wrap(after, margay, nil, nil); err != nil || !bytes.Equal(again, after) {
				t.Fatalf("twice: %v\n%q\n%q", err, after, again)
			}
			if back, _, err := file.Unwrap(after); err != nil || file.same(b, back, file.unwrapped) != nil {
				t.Fatalf("back: %v\n%q\n%q", err, b, back)
			}
		}
	})
}

func TestHooks(t *testing.T) {
	const command = `"/opt/my tools/margay" hook `
	for _, p := range []Program{ClaudeCode, Codex, Cursor} {
		f := &File{Program: p, format: jsonc{}}
		for _, before := range []string{
			"", "{}", "{\n}\n", "{ // empty\n}", `{"theme":"dark"}`, "{\n  \"version\": 1,\n  \"hooks\": {}\n}\n",
			"{\n  // mine\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]},\n    ],\n  },\n}\n",
			`{"hooks":{"beforeReadFile":[{"command":"x"}],"PostToolUse":[],"odd":7}}`,
			`{"hooks":{"beforeSubmitPrompt":[ /* none */ ]}, "z": [1,]}`,
		} {
			c := command + string(p)
			after, added, err := f.Install([]byte(before), c)
			if err != nil || len(added) != len(hookForms[p].events) {
				t.Errorf("%s, %q: %v, %v\n%s", p, before, added, err, after)
				continue
			}
			if again, added, err := f.Install(after, c); err != nil || len(added) > 0 || !bytes.Equal(again, after) {
				t.Errorf("%s, %q: again: %v, %v\n%s", p, before, added, err, again)
			}
			moved, added, err := f.Install(after, "/usr/bin/margay hook "+string(p))
			if err != nil || len(added) != len(hookForms[p].events) || strings.Contains(string(moved), "my tools") {
				t.Errorf("%s, %q: moved: %v, %v\n%s", p, before, added, err, moved)
			}
			back, removed, err := f.Uninstall(after)
			if err != nil || len(removed) != len(added) || strings.Contains(string(back), "margay") {
				t.Errorf("%s, %q: back: %v, %v\n%s", p, before, removed, err, back)
			}
			if before != "" && f.same([]byte(before), back, f.withoutHooks) != nil {
				t.Errorf("%s: %q became %q", p, before, back)
			}
		}
	}
}

func TestHooksRefused(t *testing.T) {
	f := &File{Program: ClaudeCode, format: jsonc{}}
	for _, text := range []string{`[]`, `{"hooks":[]}`, `{"hooks":{"PreToolUse":{}}}`, `{"hooks":{},"hooks":{}}`, `{`} {
		if after, _, err := f.Install([]byte(text), "margay hook claude-code"); err == nil {
			t.Errorf("%s became %s", text, after)
		}
	}
}

func TestOurs(t *testing.T) {
	for command, want := range map[string]bool{
		"margay hook cursor":                            true,
		"/a/margay --state-dir /x hook cursor":          true,
		`"C:\Program Files\margay.exe" hook cursor`:     true,
		"'/a b/margay' hook cursor":                     true,
		"margay hook codex":                             false,
		"echo margay hook cursor":                       false,
		"/a/margaylike hook cursor":                     false,
		"margay hook cursor; rm x":                      false,
		" hook cursor":                                  false,
		"":                                              false,
		"/usr/bin/env SHELL=/bin/sh margay hook cursor": false,
	} {
		if ours(Cursor, command) != want {
			t.Errorf("%q: %v", command, !want)
		}
	}
}

func TestBackups(t *testing.T) {
	dir := t.TempDir()
	k := Backups{Dir: filepath.Join(dir, "state", "backups")}
	f := jsonFile()
	f.Path = filepath.Join(dir, "deep", "c.json")
	read := func() *Content {
		t.Helper()
		c, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	undo := func() bool {
		t.Helper()
		exact, err := k.Undo(f, read(), func(b []byte) ([]byte, error) { return bytes.ReplaceAll(b, []byte("M"), nil), nil })
		if err != nil {
			t.Fatal(err)
		}
		return exact
	}
	// A file that was not there goes, with its folder.
	if err := k.Write(f, read(), nil, []byte("M")); err != nil {
		t.Fatal(err)
	}
	if !undo() {
		t.Error("not exact")
	}
	if _, err := os.Stat(filepath.Dir(f.Path)); err == nil {
		t.Error("the folder stayed")
	}
	// One behind a link keeps its mode, and the link.
	target := filepath.Join(dir, "target.json")
	if err := os.WriteFile(target, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	f.Path = filepath.Join(dir, "link.json")
	if err := os.Symlink(target, f.Path); err != nil {
		t.Skip("this system makes no links: run on one that does")
	}
	if err := k.Write(f, read(), []byte("one"), []byte("oneM")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(target); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if st, err := os.Stat(k.Of(f)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v", st, err)
	}
	// A second edit keeps what was before the first.
	if err := k.Write(f, read(), []byte("x"), []byte("oneMM")); err != nil {
		t.Fatal(err)
	}
	if !undo() {
		t.Error("not exact")
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "one" {
		t.Errorf("%q, %v", b, err)
	}
	// Where somebody else wrote since, only what was put in is taken out.
	was := read()
	if err := k.Write(f, was, []byte("one"), []byte("oneM")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, []byte("oneMtwo"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := k.Write(f, was, []byte("one"), []byte("oneM")); !errors.Is(err, ErrChanged) {
		t.Errorf("a write over somebody else's: %v", err)
	}
	if undo() {
		t.Error("exact")
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "onetwo" {
		t.Errorf("%q, %v", b, err)
	}
}
