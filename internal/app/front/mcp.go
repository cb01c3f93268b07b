package front

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/child"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/servers"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/store/memory"
)

type mcpFlags struct {
	name, pack                          string
	noImport, observe, quiet, denyTools bool
}

// mcpCommand is the parent of the commands for MCP. With a command behind "--" it
// wraps that server.
func (a *app) mcpCommand() *cobra.Command {
	var f mcpFlags
	c := &cobra.Command{
		Use:   "mcp [flags] -- COMMAND [ARG...]",
		Short: "Run an MCP server behind Margay",
		Long: `Run an MCP server that speaks over stdio, with Margay between it and its client.

Put it into the client's configuration in place of the server: the command is
margay, its arguments are mcp, --, and the server's own command. Margay mediates
what the server sends to the model and what the client sends to the server;
docs/mcp.md says what is covered.

Besides the registered secrets, Margay protects the credentials in the server's
environment and in .env files of the working directory for this run.

Margay keeps hashes of the descriptions and schemas of the server's tools. It
reports a tool that changes, or refuses it with --deny-changed-tools. It
recognises the server by its --name, or else by its command line.

With taint.mode, calls are held to the pack that describes the server's tools:
--pack, or that of taint.servers, or the built-in pack of a published server that
the command starts. Without one they are calls of unknown tools.

Margay passes on the server's standard error and exit code, and signals.`,
		Example: "  margay mcp -- npx -y @modelcontextprotocol/server-everything\n  margay mcp --name files -- npx -y @modelcontextprotocol/server-filesystem /srv/docs",
		Args:    mcpArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mcp(cmd.Context(), &f, args)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&f.name, "name", "", "`name` of the server in the log, by which Margay recognises its tools")
	c.Flags().StringVar(&f.pack, "pack", "", "`name` of the pack that describes the server's tools (default by taint.servers, or by the command of a known server)")
	cli.Complete(c, "pack", mediation.ServerPacks)
	c.Flags().BoolVar(&f.denyTools, "deny-changed-tools", false, "refuse tools whose description or schema has changed (mcp.changed_tools: deny)")
	c.Flags().BoolVar(&f.noImport, "no-import", false, "do not protect the credentials of environment and .env files")
	c.Flags().BoolVar(&f.observe, "observe", false, "report findings and change nothing")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "print nothing of Margay's own but errors")
	c.AddCommand(a.mcpWrapCommand(), servers.ForgetCommand(a.App))
	return c
}

// mcpArgs expects a server's command behind "--", so that an unknown subcommand is
// not run as a program.
func mcpArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return problem.Usage("margay mcp -- npx -y @modelcontextprotocol/server-everything", "there is no server to run")
	case c.ArgsLenAtDash() != 0:
		return problem.Usage("put -- before the server's command: margay mcp -- "+args[0], "unknown subcommand %q of margay mcp", args[0])
	}
	return nil
}

// stdioGrace is how long to wait for the end of a server's output after the server
// has ended: a process that it started may hold the pipe open.
const stdioGrace = 2 * time.Second

func (a *app) mcp(ctx context.Context, f *mcpFlags, args []string) error {
	c, err := a.Load(func(c *config.Config) {
		c.Observe = c.Observe || f.observe
		if f.denyTools {
			c.MCP.ChangedTools = "deny"
		}
	})
	if err != nil {
		return err
	}
	name, identity := servers.Name(f.name, args)
	if len(f.name) > 64 || strings.ContainsFunc(f.name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return problem.Usage("such as --name files", "--name is a word of at most 64 characters")
	}
	path, err := child.Find(args[0])
	if err != nil {
		return err
	}
	family, err := familyFromEnv()
	if err != nil {
		return err
	}
	log, st, done, err := a.open(ctx, c, true)
	if err != nil {
		return err
	}
	defer done()
	recs, err := a.importRun(c, &st.Keys, f.noImport, f.quiet)
	if err != nil {
		return err
	}
	if err := mediation.BindServer(&c.Taint, name, f.pack, servers.Pack(args)); err != nil {
		return err
	}
	recorder := serve.Record(c, st, nil, log)
	if recorder != nil {
		defer recorder.Close()
	}
	proxy, did, err := serve.NewServerProxy(c, st, serve.ServerOptions{
		Trace: serve.TraceOf(c, recorder),
		Name:  name, Identity: identity, Ephemeral: recs, Family: cmp.Or(family, flow.TrajectoryID(flow.NewID())), Log: log,
		Values:      memory.New(), // the server's credentials are not stored, not even sealed
		DenyChanged: c.DenyChanged(&config.MCPServer{}), Run: ofRun(),
	})
	if err != nil {
		return err
	}
	if c.OnErrorPass(&config.Upstream{}) {
		a.Note("on_error is pass: what Margay fails to decide is sent as it is")
	}
	cmd := child.Command{Path: path, Args: args, Err: a.Err, Env: child.Without(os.Environ(), config.EnvKeys, config.EnvLedgerKey, "MARGAY_ACCESS_TOKEN", localsock.Env)}
	if err := a.wrap(ctx, proxy, &cmd); err != nil {
		return err
	}
	if f.quiet {
		return nil
	}
	return a.summarise(did(), c.Observe, nil)
}

// wrap runs a server with its pipes behind a proxy.
func (a *app) wrap(ctx context.Context, proxy *mcpproxy.Proxy, cmd *child.Command) error {
	in, toServer, err := os.Pipe()
	if err != nil {
		return problem.Failure("try again", "%w", err)
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		_, _ = in.Close(), toServer.Close()
		return problem.Failure("try again", "%w", err)
	}
	defer func() { _, _ = toServer.Close(), fromServer.Close() }()
	cmd.In, cmd.Out = in, out
	carried := make(chan error, 1)
	go func() {
		carried <- proxy.Stdio(ctx, mcpproxy.Pipes{FromClient: a.In, ToClient: cli.Bare(a.Out), FromServer: fromServer, ToServer: toServer})
	}()
	a.Code, err = cmd.Run()
	// Nobody else holds the server's ends now, unless it left a process behind.
	// What it wrote is still read, and then the stream ends.
	_, _ = in.Close(), out.Close()
	_ = fromServer.SetReadDeadline(time.Now().Add(stdioGrace))
	if e := <-carried; err == nil && e != nil && !errors.Is(e, os.ErrDeadlineExceeded) {
		err = problem.Failure("is the client still running?", "the connection failed: %w", e)
	}
	return err
}

// ofRun connects to the mediator of a margay run around this process; nil for
// none.
func ofRun() func(ctx context.Context) (net.Conn, error) {
	socket := os.Getenv(localsock.Env)
	if socket == "" || os.Getenv(config.EnvTrajectory) == "" {
		return nil
	}
	return func(ctx context.Context) (net.Conn, error) { return localsock.Dial(ctx, socket) }
}
