package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// interrupts ends a context at SIGINT or SIGTERM.
func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// server is the gateways of all upstreams on one listener.
type server struct {
	main   *gateway.Gateway
	byName map[string]*gateway.Gateway // those below /NAME/v1
	http   *http.Server
	ln     net.Listener
	tally  tally
	grace  time.Duration // for requests under way at the end
}

// serverOptions are what run and serve do differently.
type serverOptions struct {
	ln        net.Listener
	which     string // the upstream below /v1; empty for the configured one
	token     string // first element of every path; serves which alone
	ephemeral []secret.Record
	family    flow.TrajectoryID
	log       *slog.Logger
	grace     time.Duration
}

// listen opens the listener. Nothing has been written to disk before.
func listen(c *config.Config, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, usage("an address looks like "+config.DefaultListen, "listen: %q is no address", addr)
	}
	if !loopback(host) && c.Access.Token == "" {
		return nil, usage("set access.token (MARGAY_ACCESS_TOKEN), or listen on 127.0.0.1", "listening on %s would let anybody in: there is no access.token", addr)
	}
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, failure("another margay may be running; choose another address with --listen", "%s is in use", addr)
	case err != nil:
		return nil, failure("choose another address with --listen", "%w", err)
	}
	return ln, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func newServer(c *config.Config, st *state, o serverOptions) (*server, error) {
	rules, err := rulesOf(c)
	if err != nil {
		return nil, err
	}
	s := &server{ln: o.ln, grace: o.grace, byName: map[string]*gateway.Gateway{}}
	engines := &engines{base: mediator.Config{
		Rules: rules, Keys: st.keys, Store: st.store, Ephemeral: o.ephemeral, Family: o.family, Observe: c.Observe, MaxHeld: c.Limits.Held,
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) { s.tally.decided(&en); logDecision(o.log, &en) }},
	}}
	name, up, err := c.Named(o.which)
	if err != nil {
		return nil, err
	}
	if s.main, err = s.gateway(c, engines, name, &up, o.token, o.log); err != nil {
		return nil, err
	}
	if o.token == "" {
		for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
			up := c.Upstreams[name]
			if s.byName[name], err = s.gateway(c, engines, name, &up, name, o.log); err != nil {
				return nil, err
			}
		}
	}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// engines makes one engine for each policy: upstreams of the same policy
// share what they know.
type engines struct {
	base mediator.Config
	made []*mediator.Engine
	of   []mediator.Config
}

func (e *engines) get(p mediator.Policy, pass bool) (*mediator.Engine, error) {
	for i := range e.of {
		if reflect.DeepEqual(e.of[i].Policy, p) && e.of[i].OnErrorPass == pass {
			return e.made[i], nil
		}
	}
	mc := e.base
	mc.Policy, mc.OnErrorPass = p, pass
	m, err := mediator.New(mc)
	if err != nil {
		return nil, failure(doctorHint, "%w", err)
	}
	e.made, e.of = append(e.made, m), append(e.of, mc)
	return m, nil
}

func (s *server) gateway(c *config.Config, es *engines, name string, up *config.Upstream, token string, log *slog.Logger) (*gateway.Gateway, error) {
	engine, err := es.get(c.Mediation(up), c.OnErrorPass(up))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(up.URL)
	if err != nil {
		return nil, &config.Error{Detail: "the upstream " + name + " has no valid URL"}
	}
	g, err := gateway.New(gateway.Config{
		Engine: engine, Upstream: u, Name: name, CAFile: up.CAFile, PassPaths: up.PassPaths,
		Hosts: c.Access.Hosts, Origins: c.Access.Origins, Auth: c.Access.Token, Token: token,
		MaxBody: c.Limits.Body, MaxEvent: c.Limits.Event, Idle: c.Idle(), Log: log, Streamed: s.tally.streamed,
	})
	if err != nil {
		return nil, failure("see upstreams in the configuration", "upstream %s: %w", name, err)
	}
	return g, nil
}

// ServeHTTP implements http.Handler: /NAME/v1 belongs to the upstream NAME,
// everything else to the main one.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		s.tally.requested()
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if g, ok := s.byName[first]; ok {
		g.ServeHTTP(w, r)
		return
	}
	s.main.ServeHTTP(w, r)
}

// logDecision writes a decision to the log: ids, kinds and places alone.
func logDecision(log *slog.Logger, en *mediator.LogEntry) {
	level := slog.LevelInfo
	if en.Outcome == flow.Deny {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	log.Log(ctx, level, "decision", "id", en.ID, "verb", en.Verb, "sink", en.Sink.Name, "outcome", en.Outcome, "findings", len(en.Findings), "trajectory", en.Trajectory)
	for i := range en.Findings {
		f := &en.Findings[i]
		log.Debug("finding", "id", f.ID, "kind", f.Kind, "rule", f.Rule, "name", f.Name, "action", f.Action, "path", f.Path)
	}
}

func (s *server) base() string { return "http://" + s.ln.Addr().String() }

// serve answers requests until ctx ends; then those under way get a while.
func (s *server) serve(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.ln) }()
	defer func() {
		s.main.Close()
		for _, g := range s.byName {
			g.Close()
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
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

func (a *app) serveCommand() *cobra.Command {
	var addr, upstream string
	var observe bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: `Run the gateway until it is interrupted. Point programs at it:

  OPENAI_BASE_URL=http://127.0.0.1:7878/v1

The first line of output says where it listens. With several upstreams in the
configuration, each is also served below /NAME/v1.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load(func(c *config.Config) {
				if addr != "" {
					c.Listen = addr
				}
				if upstream != "" {
					c.Upstream = upstream
				}
				c.Observe = c.Observe || observe
			})
			if err != nil {
				return err
			}
			return a.serve(cmd.Context(), c)
		},
	}
	c.Flags().StringVar(&addr, "listen", "", "`address` to listen on (default "+config.DefaultListen+")")
	c.Flags().StringVar(&upstream, "upstream", "", "base `URL` of the model API, or the name of a configured upstream")
	c.Flags().BoolVar(&observe, "observe", false, "report findings and change nothing")
	return c
}

// opening describes a listener that is ready.
type opening struct {
	Listening string            `json:"listening"`
	Upstream  string            `json:"upstream"`
	Upstreams map[string]string `json:"upstreams,omitempty"` // base URL by name
	OnError   string            `json:"on_error"`
	Observe   bool              `json:"observe"`
}

func (a *app) serve(ctx context.Context, c *config.Config) error {
	ctx, stop := interrupts(ctx)
	defer stop()
	// The second interrupt ends the process at once.
	defer context.AfterFunc(ctx, stop)()
	ln, err := listen(c, c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	log, closeLog, err := a.logger(c.Log)
	if err != nil {
		return err
	}
	defer closeLog()
	st, err := a.open(ctx, c)
	if err != nil {
		return err
	}
	defer st.close()
	s, err := newServer(c, st, serverOptions{ln: ln, log: log, grace: 10 * time.Second})
	if err != nil {
		return err
	}
	_, up, err := c.Named("")
	if err != nil {
		return err
	}
	o := opening{Listening: s.base() + "/v1", Upstream: up.URL, OnError: "deny", Observe: c.Observe, Upstreams: map[string]string{}}
	for name := range s.byName {
		o.Upstreams[name] = s.base() + "/" + name + "/v1"
	}
	open := opensOnError(c, &up)
	if len(open) > 0 {
		o.OnError = "pass"
	}
	if err := a.print(o, func(w io.Writer) { fmt.Fprintf(w, "margay: listening on %s (upstream %s)\n", o.Listening, o.Upstream) }); err != nil {
		return err
	}
	if len(open) > 0 {
		log.Warn("on_error is pass: what Margay fails to decide goes out as it is", "upstreams", open)
	}
	if c.Observe {
		log.Warn("observing: findings are reported and nothing is changed")
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && !loopback(host) {
		log.Warn("listening beyond loopback without encryption: put a TLS proxy in front", "address", c.Listen)
		if len(c.Access.Hosts) == 0 {
			log.Warn("access.hosts is empty: requests that are addressed to another name than localhost are refused")
		}
	}
	log.Info("ready", "address", s.ln.Addr().String(), "upstream", up.URL)
	err = s.serve(ctx)
	log.Info("stopped")
	return err
}

// opensOnError names the upstreams whose traffic passes where Margay fails.
func opensOnError(c *config.Config, main *config.Upstream) []string {
	var out []string
	if c.OnErrorPass(main) {
		out = append(out, main.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		if u.URL != main.URL && c.OnErrorPass(&u) {
			out = append(out, name)
		}
	}
	return out
}
