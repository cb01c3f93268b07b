// Package serve runs the mediator behind one listener: the gateways of all
// configured upstreams, over the state of one installation.
//
// Upstreams of the same policy share an engine, and with it what it has
// learnt. The listener is opened before anything is written, and beyond
// loopback only where requests must authenticate.
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
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/console"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/monitor"
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
	hooks  func(context.Context) // answers the hooks of harnesses; nil for nobody
	mute   func()                // ends hooks
	grace  time.Duration
	token  string // first element of every path, where there is one
	tally  tally

	console  *console.Console   // nil where it is not asked for
	recorder *mediator.Recorder // nil where what happens is not kept
	health   healths
	mask     func(context.Context) (func(string) string, error)
}

// Options are what the uses of a Server differ in.
type Options struct {
	Listener  net.Listener
	Token     string            // first element of every path, and only its; empty for none
	Ephemeral []secret.Record   // protected by this Server alone, and not stored
	Family    flow.TrajectoryID // of all requests; empty where conversations are told apart
	Values    mediator.Values   // where what pseudonyms stand for is kept, sealed; nil: the store
	Log       *slog.Logger
	Grace     time.Duration           // for requests under way at the end
	Asked     func(*confirm.Question) // told about every question to a person; nil for nobody
	Hooks     net.Listener            // where hooks of harnesses are answered; nil for nowhere
	Console   *ConsoleOptions         // nil: no page is served
}

// Listen opens a listener on HOST:PORT. It refuses addresses beyond loopback
// while the configuration has no access token.
func Listen(c *config.Config, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, problem.Usage("an address looks like "+config.DefaultListen, "listen: %q is no address", addr)
	}
	if !Loopback(host) && c.Access.Token == "" {
		return nil, problem.Usage("set access.token (MARGAY_ACCESS_TOKEN), or listen on 127.0.0.1", "listening on %s would let anybody in: there is no access.token", addr)
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	switch {
	case inUse(err):
		return nil, problem.Failure("another margay may be running; choose another address with --listen", "%s is in use", addr)
	case err != nil:
		return nil, problem.Failure("choose another address with --listen", "%w", err)
	}
	return ln, nil
}

// inUse reports whether an address is taken. Windows has a number of its own
// for it, WSAEADDRINUSE.
func inUse(err error) bool {
	return errors.Is(err, syscall.EADDRINUSE) || runtime.GOOS == "windows" && errors.Is(err, syscall.Errno(10048))
}

// Loopback reports whether a host is this machine alone.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CheckLoop refuses a configuration one of whose upstreams is the address to
// listen on: each request would come back as another one.
func CheckLoop(c *config.Config, addr string) error {
	ups := map[string]config.Upstream{}
	maps.Copy(ups, c.Upstreams)
	name, main, err := c.Named("")
	if err != nil {
		return err
	}
	ups[name] = main
	if name, main, err = c.Messages(); err != nil {
		return err
	}
	ups[name] = main
	for _, name := range slices.Sorted(maps.Keys(ups)) {
		if same(addr, ups[name].URL) {
			return problem.Usage("name the model API with --upstream; OPENAI_BASE_URL and ANTHROPIC_BASE_URL count where nothing else names one", "the upstream %s is this gateway itself", ups[name].URL)
		}
	}
	return nil
}

// same reports whether a URL leads to a listener's address.
func same(addr, upstream string) bool {
	u, err := url.Parse(upstream)
	host, port, aerr := net.SplitHostPort(addr)
	if err != nil || aerr != nil || u.Port() != port {
		return false
	}
	ip := net.ParseIP(host)
	return u.Hostname() == host || Loopback(u.Hostname()) && (Loopback(host) || ip != nil && ip.IsUnspecified())
}

// New wires gateways for the configured upstreams. Errors are of type
// *problem.Error or *config.Error. Serve must be called to release them.
func New(c *config.Config, st *state.State, o Options) (*Server, error) {
	rules, err := state.Rules(c)
	if err != nil {
		return nil, err
	}
	s := &Server{ln: o.Listener, grace: o.Grace, byName: map[string]*gateway.Gateway{}}
	made := false
	defer func() {
		if !made && s.recorder != nil {
			s.recorder.Close()
		}
	}()
	model, err := riskModel(c)
	if err != nil {
		return nil, err
	}
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
	taints, err := taintOf(c, st, asked)
	if err != nil {
		return nil, err
	}
	held, err := rulebookOf(c, o.Log)
	if err != nil {
		return nil, err
	}
	var releases *mediator.Declassify
	if held != nil {
		if releases, err = held.declassify(context.Background(), c, st, asked); err != nil {
			return nil, err
		}
	}
	engines := &engines{base: mediator.Config{
		Trace:      s.watch(c, st, o.Log),
		Declassify: releases, Taint: taints, Monitor: model, Rules: rules, Keys: st.Keys, Store: st.Store, Ephemeral: o.Ephemeral, Values: cmp.Or[mediator.Values](o.Values, st.Store), Family: o.Family, Observe: c.Observe, MaxHeld: c.Limits.Held,
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) { s.tally.decided(&en); logDecision(o.Log, &en) }},
	}}
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
	s.token = o.Token
	if o.Token == "" {
		for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
			up := c.Upstreams[name]
			if s.byName[name], err = s.gateway(c, engines, name, &up, name, o.Log); err != nil {
				return nil, err
			}
		}
	}
	if o.Token == "" {
		if err := s.servers(c, engines, st, o.Log); err != nil {
			return nil, err
		}
	}
	if ln := o.Hooks; ln != nil {
		h, engine, err := engines.hooks(c, &st.Keys, true)
		if err != nil {
			return nil, err
		}
		s.hooks, s.mute = func(ctx context.Context) { serveLocal(ctx, ln, h, engine, o.Log) }, func() { _ = ln.Close() }
	}
	var top config.Upstream
	engine, err := engines.get(c.Mediation(&top), c.OnErrorPass(&top))
	if err != nil {
		return nil, err
	}
	if err := s.openConsole(c, st, taints, held, engine, &o); err != nil {
		return nil, err
	}
	made = true
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// riskModel reads the model that judges answers; nil where none is judged.
func riskModel(c *config.Config) (*monitor.Model, error) {
	if !c.Monitors() {
		return nil, nil //nolint:nilnil // no model is not an error
	}
	if c.Monitor.Model == "" {
		return monitor.Default(), nil
	}
	hint := "make one with margay train monitor, or leave monitor.model empty"
	f, err := os.Open(c.Monitor.Model)
	if err != nil {
		return nil, problem.Failure(hint, "monitor.model: %w", err)
	}
	defer func() { _ = f.Close() }()
	m, err := monitor.Load(f)
	if err != nil {
		return nil, problem.Failure(hint, "monitor.model %s: %w", c.Monitor.Model, err)
	}
	return m, nil
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
	way, err := httpedge.Transport(up.CAFile, c.Idle())
	if err != nil {
		return nil, problem.Failure("see upstreams in the configuration", "upstream %s: %w", name, err)
	}
	g, err := gateway.New(gateway.Config{
		Transport: s.health.watch(name, up.URL, way),
		Engine:    engine, Upstream: u, Name: name, CAFile: up.CAFile, PassPaths: up.PassPaths,
		AskLogprobs: c.AskLogprobs(up), Hosts: c.Access.Hosts, Origins: c.Access.Origins, Auth: c.Access.Token, Token: token,
		MaxBody: c.Limits.Body, MaxEvent: c.Limits.Event, Idle: c.Idle(), Log: log, Streamed: s.tally.streamed,
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

// Summary tells what was done so far.
func (s *Server) Summary() Summary { return s.tally.summary() }

// ServeHTTP implements http.Handler: /NAME/v1 belongs to the upstream NAME,
// everything else to the main one.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.tally.requested()
	}
	r = s.placed(r)
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if s.console != nil && (first == "console" || first == "api") {
		s.console.ServeHTTP(w, r)
		return
	}
	if first == "mcp" {
		s.serveMCP(w, r)
		return
	}
	if g, ok := s.byName[first]; ok {
		g.ServeHTTP(w, r)
		return
	}
	if s.messages(r) {
		s.claude.ServeHTTP(w, r)
		return
	}
	s.main.ServeHTTP(w, r)
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

// placed returns a request whose token is in a header as one whose token is in
// its path: programs that are told a URL where others see it send it so.
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
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.ln) }()
	answering, stop := context.WithCancel(context.WithoutCancel(ctx))
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		if s.hooks != nil {
			s.hooks(answering)
		}
	}()
	defer func() {
		if s.hooks != nil {
			s.mute()
			select { // those under way are short
			case <-silent:
			case <-time.After(s.grace):
			}
		}
		stop()
		<-silent
		if s.recorder != nil {
			s.recorder.Close()
		}
		s.main.Close()
		s.claude.Close()
		for _, g := range s.byName {
			g.Close()
		}
		for _, h := range s.mcp {
			h.Close()
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	if s.console != nil {
		s.console.Close() // its streams do not end by themselves
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
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
