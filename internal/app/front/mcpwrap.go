package front

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/harness"
	"github.com/margaydev/margay/internal/app/servers"
)

func (a *app) mcpWrapCommand() *cobra.Command {
	var f editFlags
	c := &cobra.Command{
		Use:   "wrap [flags] [claude-code|claude-desktop|cursor|vscode|codex]...",
		Short: "Make the MCP servers of your agents run behind Margay",
		Long: `Make the MCP servers of your agents run behind Margay.

The command edits the configuration of Claude Code (.mcp.json, ~/.claude.json),
Claude Desktop, Cursor, VS Code and Codex. It starts each server that is a program
as "margay mcp --name NAME -- PROGRAM", under the name that the agent has it by, and
with --pack for a published server that a built-in pack describes. A server with a
URL goes through margay serve if mcp.servers of Margay's configuration has that URL;
otherwise it is listed as not covered. Nothing else in a file changes, not even
comments.

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
	known := map[string]string{} // packs of servers that are wrapped, by their names
	err = a.edit(f, args, places.Servers(routes), part{
		put: func(e *fileEdit, file *harness.File, b []byte) ([]byte, error) {
			after, all, err := file.Wrap(b, margay[0], margay[1:], servers.Flags)
			e.servers(all, harness.Wrapped)
			for i := range all {
				if f := all[i].Flags; len(f) == 4 && f[1] != f[3] {
					known[f[1]] = f[3]
				}
			}
			return after, err
		},
		take: func(e *fileEdit, file *harness.File, b []byte) ([]byte, error) {
			after, all, err := file.Unwrap(b)
			e.servers(all, harness.Unwrapped)
			return after, err
		},
		nothing: "nothing to do: no server runs by itself", nothingUndone: "nothing to undo",
	})
	if err == nil {
		a.elsewhere(known)
	}
	return err
}

// elsewhere says how hooks and the gateway know the packs of servers that agents have
// by other names.
func (a *app) elsewhere(known map[string]string) {
	c, err := a.Load(nil)
	if err != nil {
		return // it was loaded before
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if c.Taint.Servers[name] != known[name] && harness.Shown(name) == name {
			missing = append(missing, name+": "+known[name])
		}
	}
	if len(missing) > 0 {
		a.Note("so that hooks and the gateway know these servers by their packs, too, put into the configuration: taint: {servers: {%s}}", strings.Join(missing, ", "))
	}
}

// routes are the addresses of margay serve for MCP servers, by their own. There
// are none if an access token is set: clients would have to send it.
func (a *app) routes() (map[string]string, error) {
	c, err := a.Load(nil)
	if err != nil || c.Access.Token != "" {
		return nil, err
	}
	return c.Routes(), nil
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
		flags := ""
		for _, f := range s.Flags {
			flags += harness.Shown(f) + " "
		}
		e.lines = append(e.lines, strings.NewReplacer("NAME", s.Name, "DETAIL", s.Detail, "FLAGS ", flags).Replace(line))
	}
}

// becomes says what becomes of a server.
var becomes = map[harness.State]string{
	harness.Wrapped:     "+ NAME: DETAIL becomes margay mcp FLAGS -- DETAIL",
	harness.Unwrapped:   "- NAME: runs by itself again",
	harness.Already:     "= NAME: runs through margay",
	harness.Direct:      "= NAME: runs by itself",
	harness.Remote:      "! NAME: not covered: DETAIL",
	harness.Unsupported: "! NAME: left as it is: DETAIL",
}
