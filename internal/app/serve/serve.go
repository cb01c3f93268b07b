// Package serve runs the mediator behind one listener: the gateways of all
// configured upstreams, over the state of one installation.
//
// Upstreams of the same policy share an engine, and with it the secrets that
// it has discovered. The listener opens before anything is written, and
// beyond loopback only if requests must authenticate.
package serve

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/address"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// Server is the gateways of all upstreams on one listener.
type Server struct {
	main   *gateway.Gateway
	claude *gateway.Gateway            // of Anthropic's API
	byName map[string]*gateway.Gateway // those below /NAME/v1
	mcp    map[string]*mcpproxy.Handler
	http   *http.Server
	ln     net.Listener
	hooks  *hook.Handler    // answers the hooks of harnesses
	engine *mediator.Engine // with the policy at the top of the configuration
	token  string           // first element of every path; empty for none
	tally  tally
	o      Options

	end  context.CancelFunc // of what its rules run, such as solvers
	busy sync.WaitGroup     // requests that it answers
	live *live              // of the Server that listens

	console  *console.Console // nil: not asked for
	recorder *audit.Recorder  // nil: events are not kept
	health   healths
	mask     func(context.Context) (func(string) string, error)
}

// Options are what the uses of a Server differ in.
type Options struct {
	Listener  net.Listener
	Token     string            // first element of every path, and only its; empty for none
	Ephemeral []secret.Record   // protected by this Server alone, and not stored
	Family    flow.TrajectoryID // of all requests; empty: one for each conversation
	Values    mediator.Values   // keeps the values behind pseudonyms, sealed; nil: the store
	Log       *slog.Logger
	Grace     time.Duration           // for requests under way at the end
	Asked     func(*confirm.Question) // called for every question to a person; nil for nobody
	Hooks     net.Listener            // where hooks of harnesses are answered; nil for nowhere
	Console   bool                    // serve the console, if the configuration enables it
}

// Listen opens a listener on HOST:PORT. It refuses addresses beyond loopback
// while the configuration has no access token.
func Listen(c *config.Config, addr string) (net.Listener, error) {
	if err := mayListen(c, addr); err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	switch {
	case inUse(err):
		return nil, problem.Failure("another margay may be running; choose another address with --listen", "%s is in use", addr)
	case err != nil:
		return nil, problem.Failure("choose another address with --listen", "%w", err)
	}
	if err := mayListen(c, ln.Addr().String()); err != nil { // a resolver may lead elsewhere
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// mayListen refuses an address beyond loopback without an access token.
func mayListen(c *config.Config, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return problem.Usage("an address looks like "+config.DefaultListen, "listen: %q is not an address", addr)
	}
	if !address.Here(host) && c.Access.Token == "" {
		return problem.Usage("set access.token (MARGAY_ACCESS_TOKEN), or listen on 127.0.0.1", "listening on %s would let anybody in: access.token is not set", addr)
	}
	return nil
}

// inUse reports whether an address is taken. Windows has a number of its own
// for it, WSAEADDRINUSE.
func inUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(10048))
}

// same reports whether a URL leads to a listener's address.
func same(addr, upstream string) bool {
	u, err := url.Parse(upstream)
	host, port, aerr := net.SplitHostPort(addr)
	if err != nil || aerr != nil || cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]) != port {
		return false
	}
	return strings.EqualFold(u.Hostname(), host) || address.Of(u.Hostname()) == address.Loopback && (host == "" || address.Of(host) == address.Loopback)
}

// New wires gateways for the configured upstreams. Errors are of type
// *problem.Error or *config.Error. Serve must be called to release them.
func New(c *config.Config, st *state.State, o Options) (_ *Server, err error) {
	life, end := context.WithCancel(context.Background())
	s := &Server{ln: o.Listener, o: o, token: o.Token, byName: map[string]*gateway.Gateway{}, end: end}
	s.live = &live{now: s}
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	asked := func(q *confirm.Question) {
		tool := toolName(s.mask, q.Call.Name)
		o.Log.Warn("a call waits for a person's answer", "question", q.ID, "tool", tool, "until", q.Expires, "answer", "margay approve show "+q.ID)
		s.asked(q, "", "")
		if o.Asked != nil {
			shown := *q
			shown.Call.Name = tool
			o.Asked(&shown)
		}
	}
	engines, held, err := newEngines(life, c, st, o.Log, asked)
	if err != nil {
		return nil, err
	}
	base := &engines.base
	if base.Monitor, err = mediation.RiskModel(c); err != nil {
		return nil, err
	}
	base.Trace, base.Ephemeral, base.Family = s.watch(c, st, o.Log), o.Ephemeral, o.Family
	base.Values = cmp.Or(o.Values, base.Values)
	base.Decided = func(en audit.Entry) { s.tally.decided(&en); logDecision(o.Log, &en) }
	name, up, err := c.Named("")
	if err != nil {
		return nil, err
	}
	if s.main, err = s.gateway(c, engines, name, &up, o.Token, o.Log); err != nil {
		return nil, err
	}
	if name, up, err = c.Messages(); err != nil {
		return nil, err
	}
	if s.claude, err = s.gateway(c, engines, name, &up, o.Token, o.Log); err != nil {
		return nil, err
	}
	if o.Token == "" {
		for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
			up := c.Upstreams[name]
			if s.byName[name], err = s.gateway(c, engines, name, &up, name, o.Log); err != nil {
				return nil, err
			}
		}
		if err := s.servers(c, engines, st, o.Log); err != nil {
			return nil, err
		}
	}
	if s.engine, err = engines.top(c); err != nil {
		return nil, err
	}
	s.hooks = engines.hooks(s.engine, true)
	if err := s.openConsole(c, st, base.Taint, held, s.engine, &o); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: s.live, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

func (s *Server) gateway(c *config.Config, es *engines, name string, up *config.Upstream, token string, log *slog.Logger) (*gateway.Gateway, error) {
	engine, err := es.get(c.Mediation(up), c.OnErrorPass(up))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(up.URL)
	if err != nil {
		return nil, &config.Error{Detail: "the upstream " + name + " has no valid URL"}
	}
	if up.API == "anthropic" && !strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/v1" // its base URLs are written without
	}
	way, err := httpedge.Transport(up.CAFile, c.Limits.Idle.Value())
	if err != nil {
		return nil, problem.Failure("see upstreams in the configuration", "upstream %s: %w", name, err)
	}
	// What no risk depends on is not asked for.
	asks := c.AskLogprobs(up) && es.base.Monitor != nil && es.base.Monitor.ReadsLogprobs()
	g, err := gateway.New(gateway.Config{
		Transport: s.health.watch(name, up.URL, way),
		Engine:    engine, Upstream: u, Name: name, CAFile: up.CAFile, PassPaths: up.PassPaths,
		AskLogprobs: asks, Hosts: c.Access.Hosts, Origins: c.Access.Origins, Auth: c.Access.Token, Token: token,
		MaxBody: c.Limits.Body, MaxEvent: c.Limits.Event, Idle: c.Limits.Idle.Value(), Log: log, Streamed: s.tally.streamed, Mask: engine.Masker, Ready: engine.Ready,
	})
	if err != nil {
		return nil, problem.Failure("see upstreams in the configuration", "upstream %s: %w", name, err)
	}
	return g, nil
}

// Upstreams returns the base URLs below which upstreams are served by name.
func (s *Server) Upstreams() map[string]string {
	out := map[string]string{}
	for name := range s.byName {
		out[name] = s.Base() + "/" + name + "/v1"
	}
	return out
}

// Summary sums up what was done so far.
func (s *Server) Summary() Summary { return s.tally.summary() }

// ServeHTTP implements http.Handler: /NAME/v1 belongs to the upstream NAME,
// everything else to the main one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = s.placed(r)
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.Method == http.MethodPost && first == s.token { // a stranger's request is none of the run's
		s.tally.requested()
	}
	switch named := s.byName[first]; {
	case s.console != nil && (first == "console" || first == "api" && s.console.Serves(r)): // other APIs start with /api, too
		s.console.ServeHTTP(w, r)
	case first == "mcp":
		s.serveMCP(w, r)
	case named != nil:
		named.ServeHTTP(w, r)
	case s.messages(r):
		s.claude.ServeHTTP(w, r)
	default:
		s.main.ServeHTTP(w, r)
	}
}

// messages reports whether a request belongs to Anthropic's API. Its caller's
// credential must not go to another provider.
func (s *Server) messages(r *http.Request) bool {
	path := r.URL.Path
	if s.token != "" {
		path = strings.TrimPrefix(path, "/"+s.token)
	}
	return path == "/v1/messages" || strings.HasPrefix(path, "/v1/messages/") || r.Header.Get("Anthropic-Version") != ""
}

// placed moves the token of a request from its header to its path. Programs
// whose URL others can see send it in the header.
func (s *Server) placed(r *http.Request) *http.Request {
	token := r.Header.Get("Margay-Token")
	if s.token == "" || token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 0 {
		return r
	}
	out := r.Clone(r.Context())
	out.Header.Del("Margay-Token")
	if !strings.HasPrefix(out.URL.Path, "/"+s.token+"/") {
		out.URL.Path = "/" + s.token + out.URL.Path
		if out.URL.RawPath != "" {
			out.URL.RawPath = "/" + s.token + out.URL.RawPath
		}
	}
	return out
}

// Base returns the listener's URL, without a path.
func (s *Server) Base() string { return "http://" + s.ln.Addr().String() }

// Serve answers requests until ctx ends; then those under way get the grace
// period. It returns nil after an orderly end, and is called once.
func (s *Server) Serve(ctx context.Context) error {
	// A gateway of a few conversations has a few megabytes in use, and would collect
	// them a dozen times a second. This much is never touched, so that it takes no
	// memory; it counts, so that the heap grows to twice that before it is collected.
	defer runtime.KeepAlive(make([]byte, 32<<20))
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(httpedge.Steady(s.ln)) }()
	answering, stop := context.WithCancel(context.WithoutCancel(ctx))
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		if s.o.Hooks != nil {
			serveLocal(answering, s.o.Hooks, s.live, s.o.Log)
		}
	}()
	defer func() {
		if s.o.Hooks != nil {
			_ = s.o.Hooks.Close()
			select { // those under way are short
			case <-silent:
			case <-time.After(s.o.Grace):
			}
		}
		stop()
		<-silent
		s.live.close()
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.live.mute() // its streams do not end by themselves
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Grace)
	defer cancel()
	err := s.http.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if e := <-failed; err == nil && !errors.Is(e, http.ErrServerClosed) {
		err = e
	}
	return err
}

// release lets go of what a Server holds, once it answers nothing any more.
func (s *Server) release() {
	if s.recorder != nil {
		s.recorder.Close()
	}
	for _, g := range append(slices.Collect(maps.Values(s.byName)), s.main, s.claude) {
		if g != nil {
			g.Close()
		}
	}
	for _, h := range s.mcp {
		if h != nil {
			h.Close()
		}
	}
	s.end()
}
