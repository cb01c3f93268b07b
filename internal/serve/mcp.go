package serve

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// ServerOptions are what a proxy in front of one MCP server's process needs
// besides the configuration.
type ServerOptions struct {
	Name, Identity string
	Ephemeral      []secret.Record
	Family         flow.TrajectoryID
	Values         mediator.Values
	DenyChanged    bool
	Log            *slog.Logger
}

// NewServerProxy returns a proxy in front of one MCP server's process, and
// what tells what it did so far. Errors are of type *problem.Error.
func NewServerProxy(c *config.Config, st *state.State, o ServerOptions) (*mcpproxy.Proxy, func() Summary, error) {
	rules, err := state.Rules(c)
	if err != nil {
		return nil, nil, err
	}
	var did tally
	p, pass := c.MediationMCP(&config.MCPServer{})
	engine, err := mediator.New(mediator.Config{
		Rules: rules, Keys: st.Keys, Store: st.Store, Policy: p, OnErrorPass: pass, Ephemeral: o.Ephemeral,
		Values: cmp.Or[mediator.Values](o.Values, st.Store), Family: o.Family, Observe: c.Observe, MaxHeld: c.Limits.Held,
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) { did.decided(&en); logDecision(o.Log, &en) }},
	})
	if err != nil {
		return nil, nil, problem.Failure(problem.Doctor, "%w", err)
	}
	proxy, err := mcpproxy.New(mcpproxy.Config{
		Engine: engine, Name: o.Name, Identity: o.Identity, Trust: flow.TrustLocal, Pins: st.Store, Key: PinKey(&st.Keys),
		DenyChanged: o.DenyChanged && !c.Observe, MaxMessage: c.Limits.Body, Log: o.Log,
	})
	if err != nil {
		return nil, nil, problem.Failure(problem.Doctor, "%w", err)
	}
	return proxy, func() Summary {
		s := did.summary()
		s.Requests = proxy.Requests()
		return s
	}, nil
}

// PinKey returns the key of the hashes that the tools of MCP servers are
// pinned by.
func PinKey(k *secret.Keys) (out [32]byte) {
	h := hmac.New(sha256.New, k.Pseudonym[:])
	h.Write([]byte("margay mcp pins v1"))
	h.Sum(out[:0])
	return out
}

// Identity is what makes a server that is served over HTTP the same one the
// next time.
func Identity(name string, s *config.MCPServer) string { return "http\x00" + name + "\x00" + s.URL }
