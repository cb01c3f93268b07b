package front

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/harness"
)

func (a *app) mcpWrapCommand() *cobra.Command {
	var f editFlags
	c := &cobra.Command{
		Use:   "wrap [flags] [claude-code|claude-desktop|cursor|vscode|codex]...",
		Short: "Make the MCP servers of your agents run behind Margay",
		Long: `Make the MCP servers of your agents run behind Margay.

The command edits the configuration of Claude Code (.mcp.json, ~/.claude.json),
Claude Desktop, Cursor, VS Code and Codex. It starts each server that is a program
as "margay mcp -- PROGRAM". A server with a URL goes through margay serve if
mcp.servers of Margay's configuration has that URL; otherwise it is listed as not
covered. Nothing else in a file changes, not even comments.

The command shows the changes first, and keeps the old files in the state folder.
--undo restores them to the byte. From a file that was changed since, it removes
Margay's part and leaves the rest.`,
		Example: "  margay mcp wrap --dry-run\n  margay mcp wrap --project cursor\n  margay mcp wrap --undo",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return a.mcpWrap(&f, args) },
	}
	f.add(c)
	c.Flags().BoolVar(&f.undo, "undo", false, "restore the files")
	return c
}

func (a *app) mcpWrap(f *editFlags, args []string) error {
	places, margay, err := a.surroundings()
	if err != nil {
		return err
	}
	routes, err := a.routes()
	if err != nil {
		return err
	}
	files := places.Servers()
	for i := range files {
		files[i].Routes = routes
	}
	return a.edit(f, args, files, part{
		put: func(e *fileEdit, file *harness.File, b []byte) ([]byte, error) {
			after, servers, err := file.Wrap(b, margay[0], margay[1:])
			e.servers(servers, harness.Wrapped)
			return after, err
		},
		take: func(e *fileEdit, file *harness.File, b []byte) ([]byte, error) {
			after, servers, err := file.Unwrap(b)
			e.servers(servers, harness.Unwrapped)
			return after, err
		},
		nothing: "nothing to do: no server runs by itself", nothingUndone: "nothing to undo",
	})
}

// routes are the addresses of margay serve for MCP servers, by their own. There
// are none if an access token is set: clients would have to send it.
func (a *app) routes() (map[string]string, error) {
	c, err := a.Load(nil)
	if err != nil || c.Access.Token != "" {
		return nil, err
	}
	out := map[string]string{}
	for name, s := range c.MCP.Servers {
		out[s.URL] = "http://" + c.Listen + "/mcp/" + name
	}
	return out, nil
}

// servers notes what becomes of a file's servers, with a line for each.
func (e *fileEdit) servers(servers []harness.Server, changed harness.State) {
	e.Servers = servers
	e.Changes = slices.ContainsFunc(servers, func(s harness.Server) bool { return s.State == changed })
	for _, s := range servers {
		line := becomes[s.State]
		if s.State == harness.Wrapped && s.Detail == "its URL" {
			line = "+ NAME: its URL becomes that of margay serve"
		}
		e.lines = append(e.lines, strings.NewReplacer("NAME", s.Name, "DETAIL", s.Detail).Replace(line))
	}
}

// becomes says what becomes of a server.
var becomes = map[harness.State]string{
	harness.Wrapped:     "+ NAME: DETAIL becomes margay mcp -- DETAIL",
	harness.Unwrapped:   "- NAME: runs by itself again",
	harness.Already:     "= NAME: runs through margay",
	harness.Direct:      "= NAME: runs by itself",
	harness.Remote:      "! NAME: not covered: DETAIL",
	harness.Unsupported: "! NAME: left as it is: DETAIL",
}
