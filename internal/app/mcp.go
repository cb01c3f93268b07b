package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/child"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/localsock"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

type mcpFlags struct {
	name                                string
	noImport, observe, quiet, denyTools bool
}

// mcpCommand is the parent of what concerns MCP. With a command behind "--" it
// wraps that server; its subcommands are what stands before.
func (a *app) mcpCommand() *cobra.Command {
	var f mcpFlags
	c := &cobra.Command{
		Use:   "mcp [flags] -- COMMAND [ARG...]",
		Short: "Run an MCP server behind Margay",
		Long: `Run an MCP server that speaks over stdio, with Margay between it and its client.

Put it into the client's configuration in place of the server: the command is
margay, its arguments are mcp, --, and the server's own command. What the server
tells is looked at on its way to the model, and what the client sends on its way
to the server; see docs/mcp.md for what is covered.

The credentials in the server's environment and in .env files of the working
directory are protected for this run, besides the registered ones.

Descriptions and schemas of the server's tools are remembered by their hashes. A
tool that changes is reported, or refused with --deny-changed-tools. The server is
known again by its --name, or else by its command line.

The server's standard error and exit code are passed on, and so are signals.`,
		Example: "  margay mcp -- npx -y @modelcontextprotocol/server-everything\n  margay mcp --name files -- npx -y @modelcontextprotocol/server-filesystem /srv/docs",
		Args:    mcpArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.mcp(cmd.Context(), &f, args)
		},
	}
	c.Flags().SetInterspersed(false)
	c.Flags().StringVar(&f.name, "name", "", "`name` of the server in the log, and what its tools are remembered by")
	c.Flags().BoolVar(&f.denyTools, "deny-changed-tools", false, "refuse tools whose description or schema has changed (mcp.changed_tools: deny)")
	c.Flags().BoolVar(&f.noImport, "no-import", false, "do not protect the credentials of environment and .env files")
	c.Flags().BoolVar(&f.observe, "observe", false, "report findings and change nothing")
	c.Flags().BoolVar(&f.quiet, "quiet", false, "print nothing of Margay's own but errors")
	c.AddCommand(a.mcpWrapCommand(), a.mcpForgetCommand())
	return c
}

// mcpArgs asks for a server's command behind "--", so that a subcommand that
// is not there is not run as a program.
func mcpArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return usage("margay mcp -- npx -y @modelcontextprotocol/server-everything", "there is no server to run")
	case c.ArgsLenAtDash() != 0:
		return usage("put -- before the server's command: margay mcp -- "+args[0], "%q is no subcommand of margay mcp", args[0])
	}
	return nil
}

// launchers are programs whose first argument says which server runs.
var launchers = []string{"npx", "npm", "bunx", "bun", "pnpm", "yarn", "uvx", "uv", "pipx", "node", "deno", "python", "python3", "docker", "podman", "go"}

// serverName returns the name of a server in the log, and what it is known
// again by: its name where one was given, else its command line.
func serverName(name string, args []string) (shown, identity string) {
	if name != "" {
		return name, "stdio\x00" + name
	}
	shown = filepath.Base(args[0])
	if slices.Contains(launchers, strings.TrimSuffix(shown, ".exe")) {
		for _, arg := range args[1:] {
			if !strings.HasPrefix(arg, "-") && arg != "run" && arg != "exec" && arg != "x" {
				shown = filepath.Base(arg)
				break
			}
		}
	}
	if len(shown) > 64 || strings.ContainsFunc(shown, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.@", r))
	}) {
		shown = "mcp-server"
	}
	return shown, "command\x00" + strings.Join(args, "\x00")
}

// stdioGrace is how long the end of a server's output is waited for once the
// server has ended: a process that it left behind may hold the pipe open.
const stdioGrace = 2 * time.Second

func (a *app) mcp(ctx context.Context, f *mcpFlags, args []string) error {
	c, err := a.load(func(c *config.Config) {
		c.Observe = c.Observe || f.observe
		if f.denyTools {
			c.MCP.ChangedTools = "deny"
		}
	})
	if err != nil {
		return err
	}
	if len(f.name) > 64 || strings.ContainsFunc(f.name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return usage("such as --name files", "--name is a word of at most 64 characters")
	}
	path, err := child.Find(args[0])
	if err != nil {
		return err
	}
	family, err := trajectoryFromEnv()
	if err != nil {
		return err
	}
	if c.Log.File == "" && c.Log.Level != "debug" {
		c.Log.Level = "error" // standard error is the server's; margay log tells the rest
	}
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
	var recs []secret.Record
	if !f.noImport {
		if recs, err = a.importRun(&st.Keys, f.quiet); err != nil {
			return err
		}
	}
	name, identity := serverName(f.name, args)
	recorder := serve.Record(c, st, nil, log)
	if recorder != nil {
		defer recorder.Close()
	}
	proxy, did, err := serve.NewServerProxy(c, st, serve.ServerOptions{
		Trace: serve.TraceOf(c, recorder),
		Name:  name, Identity: identity, Ephemeral: recs, Family: family, Log: log,
		Values:      memory.New(), // the server's credentials are not stored, not even sealed
		DenyChanged: c.DenyChanged(&config.MCPServer{}), Run: ofRun(),
	})
	if err != nil {
		return err
	}
	if c.OnErrorPass(&config.Upstream{}) {
		a.note("on_error is pass: what Margay fails to decide goes out as it is")
	}
	cmd := child.Command{Path: path, Args: args, Err: a.err, Env: serverEnv(os.Environ(), config.EnvKeys, config.EnvLedgerKey, "MARGAY_ACCESS_TOKEN", localsock.Env)}
	if err := a.wrap(ctx, proxy, &cmd); err != nil {
		return err
	}
	if f.quiet {
		return nil
	}
	return a.tell(did(), c.Observe)
}

// wrap runs a server with its pipes behind a proxy.
func (a *app) wrap(ctx context.Context, proxy *mcpproxy.Proxy, cmd *child.Command) error {
	in, toServer, err := os.Pipe()
	if err != nil {
		return failure("try again", "%w", err)
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		_, _ = in.Close(), toServer.Close()
		return failure("try again", "%w", err)
	}
	defer func() { _, _ = toServer.Close(), fromServer.Close() }()
	cmd.In, cmd.Out = in, out
	carried := make(chan error, 1)
	go func() {
		carried <- proxy.Stdio(ctx, mcpproxy.Pipes{FromClient: a.in, ToClient: bare(a.out), FromServer: fromServer, ToServer: toServer})
	}()
	a.code, err = cmd.Run()
	// Nobody else holds the server's ends now, unless it left a process
	// behind: what it wrote is still read, and then the stream ends.
	_, _ = in.Close(), out.Close()
	_ = fromServer.SetReadDeadline(time.Now().Add(stdioGrace))
	if e := <-carried; err == nil && e != nil && !errors.Is(e, os.ErrDeadlineExceeded) {
		err = failure("is the client still there?", "the connection broke off: %w", e)
	}
	return err
}

// trajectoryFromEnv returns the trajectory of a margay run around this
// process, or a fresh one.
func trajectoryFromEnv() (flow.TrajectoryID, error) {
	v := os.Getenv(config.EnvTrajectory)
	if v == "" {
		return flow.TrajectoryID(flow.NewID()), nil
	}
	id, err := flow.ParseTrajectoryID(v)
	if err != nil {
		return "", usage("unset "+config.EnvTrajectory, "%s is %w", config.EnvTrajectory, err)
	}
	return id, nil
}

// ofRun connects to the mediator of a margay run around this process; nil
// where there is none.
func ofRun() func(ctx context.Context) (net.Conn, error) {
	socket := os.Getenv(localsock.Env)
	if socket == "" || os.Getenv(config.EnvTrajectory) == "" {
		return nil
	}
	return func(ctx context.Context) (net.Conn, error) { return localsock.Dial(ctx, socket) }
}

// serverEnv is an environment without Margay's own keys and token.
func serverEnv(environ []string, without ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(without, name)
	})
}

func (a *app) mcpForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget (NAME | -- COMMAND [ARG...])",
		Short: "Take the tools of an MCP server as they are now",
		Long: `Forget what the tools of an MCP server looked like: the next time they are
listed, they are remembered as they are then. The server is named as with
margay mcp --name, by its command line, or as in mcp.servers.`,
		Example: "  margay mcp forget files\n  margay mcp forget -- npx -y @modelcontextprotocol/server-everything",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || c.ArgsLenAtDash() < 0 && len(args) > 1 {
				return usage("margay mcp forget NAME, or margay mcp forget -- COMMAND", "name one server")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), func(c *config.Config, st *state.State) error {
				var ids []string
				if cmd.ArgsLenAtDash() == 0 {
					_, id := serverName("", args)
					ids = []string{id}
				} else {
					_, id := serverName(args[0], nil)
					ids = []string{id}
					if s, ok := c.MCP.Servers[args[0]]; ok {
						ids = append(ids, serve.Identity(args[0], &s))
					}
				}
				n := 0
				for _, id := range ids {
					k, err := st.Store.Unpin(cmd.Context(), mcpproxy.Server(serve.PinKey(&st.Keys), id))
					if err != nil {
						return failure("margay doctor looks for what is wrong", "%w", err)
					}
					n += k
				}
				return a.print(map[string]any{"forgotten": n > 0}, func(w io.Writer) {
					if n == 0 {
						fmt.Fprintln(w, "nothing was remembered of it")
						return
					}
					fmt.Fprintln(w, "forgotten; the next list of its tools is remembered")
				})
			})
		},
	}
}
