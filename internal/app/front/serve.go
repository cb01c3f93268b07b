package front

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/address"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/cli"
)

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
(margay hook) find the gateway by this user's socket. The console is at /console:
the printed address opens it once, and margay console prints another.

On SIGHUP, where the system has it, the gateway reads its configuration again. If
margay config check would refuse it, or its file is gone, the old one stays in
force; the log says so. Requests under way end on the configuration that they
began on. The settings listen, state_dir, store, key_dir and log change at a start
only. Sessions of the console end.`,
		Example: "  margay serve\n  margay serve --listen 127.0.0.1:7900 --upstream https://api.openai.com/v1",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), func() (*config.Config, error) {
				return a.Load(func(c *config.Config) {
					if addr != "" {
						c.Listen = addr
					}
					if upstream != "" {
						c.Upstream = upstream
					}
					c.Observe = c.Observe || observe
				})
			})
		},
	}
	c.Flags().StringVar(&addr, "listen", "", "`address` to listen on (default "+config.DefaultListen+")")
	c.Flags().StringVar(&upstream, "upstream", "", "base `URL` of the model API, or the name of a configured upstream")
	cli.Complete(c, "upstream", a.Upstreams)
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

func (a *app) serve(ctx context.Context, load func() (*config.Config, error)) error {
	c, err := load()
	if err != nil {
		return err
	}
	ctx, stop := cli.Interrupts(ctx)
	defer stop()
	// The second interrupt ends the process at once.
	defer context.AfterFunc(ctx, stop)()
	hangups, ignore := hangups()
	defer ignore()
	if err := serve.CheckStart(ctx, c); err != nil {
		return err
	}
	ln, err := serve.Listen(c, c.Listen)
	if err != nil {
		return err
	}
	defer ln.Close()
	log, st, done, err := a.open(ctx, c, false)
	if err != nil {
		return err
	}
	defer done()
	hooks, err := localsock.Listen(localsock.Path(c.State))
	if err != nil {
		log.Warn("this process does not answer hooks", "error", err)
		hooks = nil
	} else {
		defer hooks.Close()
	}
	s, err := serve.New(c, st, serve.Options{Listener: ln, Log: log, Grace: 10 * time.Second, Hooks: hooks, Console: true})
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
	o := opening{Listening: s.Base() + "/v1", Upstream: up.URL, Anthropic: claude.URL, OnError: "deny", Observe: c.Observe, Upstreams: s.Upstreams(), MCP: s.Servers(), Console: s.Console(&st.Keys)}
	open := append(c.PassingUpstreams(up, claude), c.PassingServers()...)
	if len(open) > 0 {
		o.OnError = "pass"
	}
	if err := a.Print(o, func(w io.Writer) {
		cli.Fprintf(w, "margay: listening on %s (upstream %s)\nmargay: /v1/messages goes to %s\n", o.Listening, o.Upstream, o.Anthropic)
		if o.Console != "" {
			cli.Fprintf(w, "margay: console at %s (once, within ten minutes; then margay console)\n", o.Console)
		}
	}); err != nil {
		return err
	}
	if len(open) > 0 {
		log.Warn("on_error is pass: what Margay fails to decide is sent as it is", "upstreams", open)
	}
	if c.Observe {
		log.Warn("observing: findings are reported and nothing is changed")
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && !address.Here(host) {
		log.Warn("listening beyond loopback without encryption: put a TLS proxy in front", "address", c.Listen)
		if len(c.Access.Hosts) == 0 {
			log.Warn("access.hosts is empty: requests to other names than localhost are refused")
		}
	}
	log.Info("ready", "address", ln.Addr().String(), "upstream", up.URL)
	over := make(chan struct{})
	go func() {
		defer close(over)
		reloads(ctx, hangups, log, func() ([]string, error) {
			next, err := load()
			if err != nil {
				return nil, err
			}
			fixed, err := s.Reload(ctx, c, next, st)
			if err == nil {
				c = next
			}
			return fixed, err
		})
	}()
	err = s.Serve(ctx)
	stop()
	<-over
	log.Info("stopped")
	return err
}

// reloads calls reload at each signal until ctx ends, and logs what came of it.
func reloads(ctx context.Context, hangups <-chan os.Signal, log *slog.Logger, reload func() (fixed []string, err error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		fixed, err := reload()
		if err != nil {
			log.Error("the configuration is refused; the old one stays in force", "error", err, "hint", strings.Trim(nextStep(err), " ()"))
			continue
		}
		if len(fixed) > 0 {
			log.Warn("these settings change at a start only", "settings", fixed)
		}
		log.Info("the configuration was read again")
	}
}
