package app

import (
	"github.com/spf13/cobra"
)

// mcpCommand is the parent of what concerns MCP. With a command behind "--" it
// wraps that server; its subcommands are what stands before.
func (a *app) mcpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp [flags] -- COMMAND [ARG...]",
		Short: "Run an MCP server behind Margay",
		Args: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage("margay mcp -- npx -y @modelcontextprotocol/server-everything", "there is no server to run")
			case c.ArgsLenAtDash() != 0:
				return usage("put -- before the server's command: margay mcp -- "+args[0], "%q is no subcommand of margay mcp", args[0])
			}
			return nil
		},
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			return failure("wait for the next version", "margay mcp runs no servers yet")
		},
	}
	c.Flags().SetInterspersed(false)
	c.AddCommand(a.mcpWrapCommand())
	return c
}
