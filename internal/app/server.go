package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// tally counts what a process did, for its summary.
type tally struct {
	mu        sync.Mutex
	decisions int
	byAction  map[string]int // "pseudonym api-key"
	findings  []mediator.FindingRecord
	denied    int
}

func (t *tally) decided(en mediator.LogEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.decisions++
	if en.Outcome == flow.Deny {
		t.denied++
	}
	for _, f := range en.Findings {
		if t.byAction == nil {
			t.byAction = map[string]int{}
		}
		t.byAction[string(f.Action)+" "+string(f.Kind)]++
		if len(t.findings) < 20 {
			t.findings = append(t.findings, f)
		}
	}
}

// server is a gateway with all that it needs, on a listener.
type server struct {
	gateway *gateway.Gateway
	http    *http.Server
	ln      net.Listener
	tally   *tally
}

// serverOptions are what run and serve do differently.
type serverOptions struct {
	listen    string
	token     string
	ephemeral []secret.Record
	family    flow.TrajectoryID
	log       *slog.Logger
}

func newServer(c *config.Config, st *state, o serverOptions) (*server, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	name, upstream, err := c.Named("")
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, usage("an address looks like 127.0.0.1:7878", "listen: %q is no address", o.listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && c.Access.Token == "" {
		return nil, usage("set access.token, or listen on 127.0.0.1", "listening on %s would let others in without a token", o.listen)
	}
	t := &tally{}
	engine, err := mediator.New(mediator.Config{
		Rules: rules, Keys: st.keys, Store: st.store, Policy: c.Mediation(&upstream), Ephemeral: o.ephemeral, Family: o.family,
		Observe: c.Observe, OnErrorPass: c.OnErrorPass(&upstream), MaxHeld: c.Limits.Held,
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) { t.decided(en); logDecision(o.log, &en) }},
	})
	if err != nil {
		return nil, failure("margay doctor looks at all files", "%w", err)
	}
	up, err := url.Parse(upstream.URL)
	if err != nil {
		return nil, err
	}
	g, err := gateway.New(gateway.Config{
		Engine: engine, Upstream: up, Name: name, CAFile: upstream.CAFile, PassPaths: upstream.PassPaths,
		Hosts: c.Access.Hosts, Origins: c.Access.Origins, Auth: c.Access.Token, Token: o.token,
		MaxBody: c.Limits.Body, MaxEvent: c.Limits.Event, Idle: c.Idle(), Log: o.log,
	})
	if err != nil {
		return nil, failure("see upstream in the configuration", "%w", err)
	}
	ln, err := net.Listen("tcp", o.listen)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, failure("another margay may be running; choose another with --listen", "%s is in use", o.listen)
		}
		return nil, failure("choose another address with --listen", "%w", err)
	}
	s := &server{gateway: g, ln: ln, tally: t}
	s.http = &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelWarn)}
	return s, nil
}

// logDecision writes a decision to the log: ids, kinds and places alone.
func logDecision(log *slog.Logger, en *mediator.LogEntry) {
	level := slog.LevelInfo
	if en.Outcome == flow.Deny {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "decision", "id", en.ID, "verb", en.Verb, "outcome", en.Outcome, "findings", len(en.Findings), "trajectory", en.Trajectory)
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
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.http.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-failed
	s.gateway.Close()
	return err
}

func (a *app) serveCommand() *cobra.Command {
	var listen, upstream string
	var observe bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long:  "Run the gateway until it is interrupted. Point programs at it: OPENAI_BASE_URL=http://127.0.0.1:7878/v1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.load(func(c *config.Config) {
				if listen != "" {
					c.Listen = listen
				}
				if upstream != "" {
					c.Upstream = upstream
				}
				c.Observe = c.Observe || observe
			})
			if err != nil {
				return err
			}
			_, up, err := c.Named("")
			if err != nil {
				return err
			}
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			st, err := a.open(ctx, c)
			if err != nil {
				return err
			}
			defer st.store.Close()
			log := a.logger(c.Log.Level)
			s, err := newServer(c, st, serverOptions{listen: c.Listen, log: log})
			if err != nil {
				return err
			}
			if c.OnError == "pass" {
				log.Warn("on_error is pass: what Margay fails to decide goes out as it is")
			}
			if c.Observe {
				log.Warn("observing: findings are reported and nothing is changed")
			}
			base := s.base() + "/v1"
			if err := a.print(map[string]string{"listening": base, "upstream": up.URL}, func(w io.Writer) {
				fmt.Fprintf(w, "margay: listening on %s (upstream %s)\n", base, up.URL)
			}); err != nil {
				return err
			}
			return s.serve(ctx)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on (default 127.0.0.1:7878)")
	c.Flags().StringVar(&upstream, "upstream", "", "base URL of the model API (default https://api.openai.com/v1)")
	c.Flags().BoolVar(&observe, "observe", false, "report findings and change nothing")
	return c
}
