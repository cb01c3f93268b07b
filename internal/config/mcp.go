package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/margaydev/margay/mediator"
)

// MCP says what is done about MCP servers, and which ones are served over
// HTTP.
type MCP struct {
	// ChangedTools says what is done about a tool whose description or schema
	// is not what it was at first sight: "report" or "deny".
	ChangedTools string               `yaml:"changed_tools"`
	Servers      map[string]MCPServer `yaml:"servers"`
}

// MCPServer is an MCP server behind /mcp/NAME.
type MCPServer struct {
	URL          string `yaml:"url"`
	CAFile       string `yaml:"ca_file"`
	OnError      string `yaml:"on_error"`      // empty: as at the top
	ChangedTools string `yaml:"changed_tools"` // empty: as in mcp
	// Policy overrides the top-level one, kind by kind.
	Policy Policy `yaml:"policy"`
}

// upstream is what a server has in common with a model API.
func (s *MCPServer) upstream() *Upstream {
	return &Upstream{URL: s.URL, CAFile: s.CAFile, OnError: s.OnError, Policy: s.Policy}
}

func (m *MCP) check() error {
	if err := oneOf("mcp.changed_tools", m.ChangedTools, []string{"report", "deny"}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		s, key := m.Servers[name], "mcp.servers."+name
		if !upstreamName.MatchString(name) {
			return &Error{key: key, Detail: shown(name) + " can't name an MCP server", Hint: "use lower-case letters, digits and dashes"}
		}
		if s.URL == "" {
			return &Error{key: key, Detail: key + ".url is missing", Hint: "add the URL of its streamable HTTP endpoint"}
		}
		if err := checkURL(key+".url", s.URL); err != nil {
			return err
		}
		if s.ChangedTools != "" {
			if err := oneOf(key+".changed_tools", s.ChangedTools, []string{"report", "deny"}); err != nil {
				return err
			}
		}
		if s.OnError != "" {
			if err := oneOf(key+".on_error", s.OnError, []string{"deny", "pass"}); err != nil {
				return err
			}
		}
		if s.Policy.OnRed != "" {
			return &Error{key: key + ".policy.on_red", Detail: key + ".policy.on_red can't be set: a message of a tool's does not stream"}
		}
		if err := s.Policy.check(key + ".policy"); err != nil {
			return err
		}
	}
	return nil
}

// MediationMCP returns the policy for a server's messages, and whether they
// pass where Margay fails.
func (c *Config) MediationMCP(s *MCPServer) (p mediator.Policy, pass bool) {
	return c.Mediation(s.upstream()), c.OnErrorPass(s.upstream())
}

// OpenServers names the MCP servers whose messages pass where Margay fails.
func (c *Config) OpenServers() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		if s := c.MCP.Servers[name]; c.OnErrorPass(s.upstream()) {
			out = append(out, "mcp/"+name)
		}
	}
	return out
}

// DenyChanged reports whether changed tools of a server are refused.
func (c *Config) DenyChanged(s *MCPServer) bool {
	return cmp.Or(s.ChangedTools, c.MCP.ChangedTools) == "deny"
}
