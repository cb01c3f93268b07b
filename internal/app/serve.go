package app

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/localsock"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/internal/state"
)

// interrupts ends a context at SIGINT or SIGTERM.
func interrupts(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

func (a *app) serveCommand() *cobra.Command {
	var addr, upstream string
	var observe bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway",
		Long: `Run the gateway until it is interrupted. Point programs at it:

  OPENAI_BASE_URL=http://127.0.0.1:7878/v1
  ANTHROPIC_BASE_URL=http://127.0.0.1:7878

The first line of output says where it listens. With several upstreams in the
configuration, each is also served below /NAME/v1. MCP servers of the
configuration (mcp.servers) are served at /mcp/NAME. Hooks of agent harnesses
(margay hook) find it by a socket of this user's. The console is at /console: the
address that is printed opens it once, and margay console prints another.`,
		Example: "  margay serve\n  margay serve --listen 127.0.0.1:7900 --upstream https://api.openai.com/v1",
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
	complete(c, "upstream", a.upstreams)
	c.Flags().BoolVar(&observe, "observe", false, "report findings and change nothing")
	return c
}

// opening describes a listener that is ready.
type opening struct {
	Listening string            `json:"listening"`
	Upstream  string            `json:"upstream"`
	Anthropic string            `json:"anthropic"`           // where /v1/messages goes
	Upstreams map[string]string `json:"upstreams,omitempty"` // base URL by name
	MCP       map[string]string `json:"mcp,omitempty"`       // URL by name
	OnError   string            `json:"on_error"`
	Observe   bool              `json:"observe"`
	Console   string            `json:"console,omitempty"` // its address, with a token for one session
}

func (a *app) serve(ctx context.Context, c *config.Config) error {
	ctx, stop := interrupts(ctx)
	defer stop()
	// The second interrupt ends the process at once.
	defer context.AfterFunc(ctx, stop)()
	if err := serve.CheckLoop(c, c.Listen); err != nil {
		return err
	}
	ln, err := serve.Listen(c, c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	log, closeLog, err := a.logger(c.Log)
	if err != nil {
		return err
	}
	defer closeLog()
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	hooks, err := localsock.Listen(localsock.Path(c.State))
	if err != nil {
		log.Warn("hooks are not answered here", "error", err)
		hooks = nil
	} else {
		defer hooks.Close()
	}
	key := serve.ConsoleKey(&st.Keys)
	s, err := serve.New(c, st, serve.Options{Listener: ln, Log: log, Grace: 10 * time.Second, Hooks: hooks, Console: &serve.ConsoleOptions{Key: key}})
	if err != nil {
		return err
	}
	_, up, err := c.Named("")
	if err != nil {
		return err
	}
	_, claude, err := c.Messages()
	if err != nil {
		return err
	}
	o := opening{Listening: s.Base() + "/v1", Upstream: up.URL, Anthropic: claude.URL, OnError: "deny", Observe: c.Observe, Upstreams: s.Upstreams(), MCP: s.Servers(), Console: s.Console(key)}
	open := append(c.OpenOnError(up, claude), c.OpenServers()...)
	if len(open) > 0 {
		o.OnError = "pass"
	}
	if err := a.print(o, func(w io.Writer) {
		fmt.Fprintf(w, "margay: listening on %s (upstream %s)\nmargay: /v1/messages goes to %s\n", o.Listening, o.Upstream, o.Anthropic)
		if o.Console != "" {
			fmt.Fprintf(w, "margay: console at %s (once, within ten minutes; then margay console)\n", o.Console)
		}
	}); err != nil {
		return err
	}
	if len(open) > 0 {
		log.Warn("on_error is pass: what Margay fails to decide goes out as it is", "upstreams", open)
	}
	if c.Observe {
		log.Warn("observing: findings are reported and nothing is changed")
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && !serve.Loopback(host) {
		log.Warn("listening beyond loopback without encryption: put a TLS proxy in front", "address", c.Listen)
		if len(c.Access.Hosts) == 0 {
			log.Warn("access.hosts is empty: requests that are addressed to another name than localhost are refused")
		}
	}
	log.Info("ready", "address", ln.Addr().String(), "upstream", up.URL)
	err = s.Serve(ctx)
	log.Info("stopped")
	return err
}
