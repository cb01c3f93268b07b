package config

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

func TestMCPServers(t *testing.T) {
	c, err := Parse("f", []byte("on_error: pass\nmcp:\n  changed_tools: deny\n  servers:\n    a: {url: https://x/mcp, on_error: deny, changed_tools: report, policy: {prompt: {email: pseudonym}}}\n    b: {url: http://y}\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.MCP.Servers["a"], c.MCP.Servers["b"]
	if c.DenyChanged(&a) || !c.DenyChanged(&b) {
		t.Error("changed_tools of a server does not go over that of all")
	}
	if open := c.PassingServers(); len(open) != 1 || open[0] != "mcp/b" {
		t.Errorf("open on errors: %v", open)
	}
	p, pass := c.MediationMCP(&a)
	if pass || p.Action(flow.Observe, secret.KindEmail) != flow.ActPseudonym {
		t.Errorf("the policy of a is %+v, %v", p, pass)
	}
	if p, pass := c.MediationMCP(&b); !pass || p.Action(flow.Observe, secret.KindEmail) != flow.ActReport {
		t.Errorf("the policy of b is %+v, %v", p, pass)
	}
}

func TestMCPMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"mcp: {changed_tools: maybe}":                                              "changed_tools must be one of",
		"mcp: {servers: {A: {url: http://x}}}":                                     "can't name an MCP server",
		"mcp: {servers: {a: {}}}":                                                  "url is missing",
		"mcp: {servers: {a: {url: ftp://x}}}":                                      "must be an http or https URL",
		"mcp: {servers: {a: {url: http://x?y=1}}}":                                 "must not hold credentials, a query",
		"mcp: {servers: {a: {url: http://x, changed_tools: x}}}":                   "must be one of: report deny",
		"mcp: {servers: {a: {url: http://x, on_error: x}}}":                        "must be one of: deny pass",
		"mcp: {servers: {a: {url: http://x, policy: {on_red: halt}}}}":             "can't be set",
		"mcp: {servers: {a: {url: http://x, policy: {prompt: {api-key: shred}}}}}": "must be one of",
		"upstreams: {mcp: {url: http://x}}":                                        "can't name an upstream",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f:1:") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestMCPEnvironment(t *testing.T) {
	c := Default()
	if _, err := c.environment([]string{"MARGAY_MCP_CHANGED_TOOLS=deny", "MARGAY_MCP_SERVERS_DOCS_URL=http://x", "MARGAY_MCP_SERVERS_DOCS_CHANGED_TOOLS=report", "MARGAY_TRAJECTORY=x"}); err != nil {
		t.Fatal(err)
	}
	if s := c.MCP.Servers["docs"]; c.MCP.ChangedTools != "deny" || s.URL != "http://x" || s.ChangedTools != "report" || len(c.Unknown) > 0 {
		t.Errorf("got %+v, unknown %v", c.MCP, c.Unknown)
	}
}
