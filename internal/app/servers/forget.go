package servers

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mcpproxy/pin"
)

// ForgetCommand is margay mcp forget.
func ForgetCommand(a *invocation.App) *cobra.Command {
	return &cobra.Command{
		Use:   "forget (NAME | -- COMMAND [ARG...])",
		Short: "Accept the tools of an MCP server as they are now",
		Long: `Forget the tools of an MCP server: Margay keeps them as the server lists them
next time. Name the server as with margay mcp --name, by its command line, or as
in mcp.servers.`,
		Example: "  margay mcp forget files\n  margay mcp forget -- npx -y @modelcontextprotocol/server-everything",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || c.ArgsLenAtDash() < 0 && len(args) > 1 {
				return problem.Usage("margay mcp forget NAME, or margay mcp forget -- COMMAND", "name one server")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithState(cmd.Context(), func(c *config.Config, st *state.State) error {
				name := args[0]
				if cmd.ArgsLenAtDash() == 0 {
					name = ""
				}
				server, id := Name(name, args)
				ids := []string{id}
				if s, ok := c.MCP.Servers[name]; ok {
					ids = append(ids, serve.Identity(name, &s))
				}
				n := 0
				for _, id := range ids {
					k, err := st.Store.Unpin(cmd.Context(), pin.Server(serve.PinKey(&st.Keys), id))
					if err != nil {
						return problem.Failure(a.Hint, "%w", err)
					}
					n += k
				}
				// What was said of its tools was said of what it said then.
				if err := mediation.Changed(st)(cmd.Context(), "mcp__"+server); err != nil {
					return problem.Failure(a.Hint, "%w", err)
				}
				text := "forgotten; Margay remembers the next list of its tools"
				if n == 0 {
					text = "no tools of this server were remembered"
				}
				return a.Print(map[string]any{"forgotten": n > 0}, func(w io.Writer) { cli.Fprintf(w, "%s\n", text) })
			})
		},
	}
}
