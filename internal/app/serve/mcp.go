package serve

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/address"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
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
	Trace          *audit.Trace // for observers; nil for none
	Log            *slog.Logger
	// Run connects to the mediator of the run that the server belongs to; nil for
	// none.
	Run func(ctx context.Context) (net.Conn, error)
}

// NewServerProxy returns a proxy in front of one MCP server's process, and a
// function that sums up what it did so far. Errors are of type *problem.Error.
func NewServerProxy(c *config.Config, st *state.State, o ServerOptions) (*mcpproxy.Proxy, func() Summary, error) {
	var engine *mediator.Engine
	asked := func(q *confirm.Question) {
		o.Log.Warn("a call waits for a person's answer", "question", q.ID, "tool", toolName(engine.Masker, q.Call.Name), "until", q.Expires, "answer", "margay approve show "+q.ID)
	}
	es, _, err := newEngines(context.Background(), c, st, o.Log, asked)
	if err != nil {
		return nil, nil, err
	}
	if es.base.Taint != nil && o.Run != nil {
		es.base.Taint.Peer = &peer{o.Run}
	}
	var did tally
	es.base.Trace, es.base.Ephemeral, es.base.Family = o.Trace, o.Ephemeral, o.Family
	es.base.Values = cmp.Or(o.Values, es.base.Values)
	es.base.Decided = func(en audit.Entry) { did.decided(&en); logDecision(o.Log, &en) }
	if engine, err = es.get(c.MediationMCP(&config.MCPServer{})); err != nil {
		return nil, nil, err
	}
	proxy, err := mcpproxy.New(mcpproxy.Config{
		Engine: engine, Name: o.Name, Identity: o.Identity, Trust: flow.TrustLocal, Pins: st.Store, Key: PinKey(&st.Keys), Changed: mediation.Changed(st),
		DenyChanged: o.DenyChanged && !c.Observe, MaxMessage: c.Limits.Body, Log: o.Log,
	})
	if err != nil {
		return nil, nil, problem.Unexpected(err)
	}
	return proxy, func() Summary {
		s := did.summary()
		s.Requests = proxy.Requests()
		return s
	}, nil
}

// PinKey returns the key of the hashes that the tools of MCP servers are
// pinned by.
func PinKey(k *secret.Keys) [32]byte { return mediation.Derive(k.Pseudonym, "margay mcp pins v1") }

// Identity recognises an HTTP server at its next start.
func Identity(name string, s *config.MCPServer) string { return "http\x00" + name + "\x00" + s.URL }

// servers wires the MCP servers of the configuration.
func (s *Server) servers(c *config.Config, es *engines, st *state.State, log *slog.Logger) error {
	s.mcp = map[string]*mcpproxy.Handler{}
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		srv := c.MCP.Servers[name]
		engine, err := es.get(c.MediationMCP(&srv))
		if err != nil {
			return err
		}
		u, err := url.Parse(srv.URL)
		if err != nil {
			return &config.Error{Detail: "the MCP server " + name + " has no valid URL"}
		}
		if same(s.ln.Addr().String(), srv.URL) {
			return problem.Usage("set mcp.servers."+name+".url to the server's own", "the MCP server %s is this gateway itself", srv.URL)
		}
		trust := flow.TrustProvider
		if address.Here(u.Hostname()) {
			trust = flow.TrustLocal
		}
		proxy, err := mcpproxy.New(mcpproxy.Config{
			Engine: engine, Name: name, Identity: Identity(name, &srv), Trust: trust, Pins: st.Store, Key: PinKey(&st.Keys), Changed: mediation.Changed(st),
			DenyChanged: c.DenyChanged(&srv) && !c.Observe, MaxMessage: c.Limits.Body, Log: log,
		})
		if err != nil {
			return problem.Unexpected(err)
		}
		s.mcp[name], err = proxy.Handler(mcpproxy.HTTPConfig{
			URL: u, CAFile: srv.CAFile, Hosts: c.Access.Hosts, Origins: c.Access.Origins, Auth: c.Access.Token, Idle: c.Limits.Idle.Value(),
		})
		if err != nil {
			return problem.Failure("see mcp.servers in the configuration", "MCP server %s: %w", name, err)
		}
	}
	return nil
}

// serveMCP answers requests below /mcp.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.mcp[strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/mcp/"), "/")]; ok {
		h.ServeHTTP(w, r)
		return
	}
	const why = "unknown MCP server; mcp.servers in the configuration names them"
	explain := ""
	sink := flow.Sink{Name: "mcp", Channel: flow.ChannelTool, Trust: flow.TrustPublic}
	if ss, err := s.engine.Session(r.Context(), &mediator.SessionRequest{Sink: sink, Refuses: true}); err == nil {
		res := ss.Decide(r.Context(), flow.Call, &mediator.Message{Outcome: flow.Deny, Notes: []flow.Reason{{Code: "not-found", Detail: why, Action: flow.ActBlock}}})
		explain = " (decision " + res.Decision.ID + ")"
	}
	http.Error(w, "margay: "+why+explain, http.StatusNotFound)
}

// Servers returns the URLs that MCP servers are served at, by name.
func (s *Server) Servers() map[string]string {
	out := map[string]string{}
	for name := range s.mcp {
		out[name] = s.Base() + "/mcp/" + name
	}
	return out
}
