package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/harness"
)

var serverPrograms = []harness.Program{harness.ClaudeCode, harness.ClaudeDesktop, harness.Cursor, harness.VSCode, harness.Codex}

func (a *app) mcpWrapCommand() *cobra.Command {
	var f editFlags
	var undo bool
	c := &cobra.Command{
		Use:   "wrap [flags] [claude-code|claude-desktop|cursor|vscode|codex]...",
		Short: "Make every MCP server of your agents run behind Margay",
		Long: `Make every MCP server of your agents run behind Margay.

The configuration of Claude Code (.mcp.json, ~/.claude.json), Claude Desktop,
Cursor, VS Code and Codex is edited so that each server that is a program is
started as "margay mcp -- PROGRAM". Servers that are reached by a URL go through
margay serve where mcp.servers of the configuration has that URL, and are listed
as not covered otherwise. Nothing else of a file changes, comments included.

What changes is shown first. The files as they were are kept in the state
folder; --undo brings them back to the byte, and where a file was changed since
it takes Margay's part out and leaves the rest.`,
		Example: "  margay mcp wrap --dry-run\n  margay mcp wrap --project cursor\n  margay mcp wrap --undo",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.mcpWrap(&f, undo, args)
		},
	}
	f.add(c)
	c.Flags().BoolVar(&undo, "undo", false, "take it back")
	return c
}

func (a *app) mcpWrap(f *editFlags, undo bool, args []string) error {
	programs, err := programsNamed(args, serverPrograms)
	if err != nil {
		return err
	}
	places, err := harness.Here()
	if err != nil {
		return failure("is HOME set?", "%w", err)
	}
	k, err := a.backups()
	if err != nil {
		return err
	}
	margay, flags, err := a.itself()
	if err != nil {
		return err
	}
	routes, err := a.routes()
	if err != nil {
		return err
	}
	var edits []fileEdit
	for _, file := range places.Servers() {
		file.Routes = routes
		if !slices.Contains(programs, file.Program) || !f.wants(file.Scope) {
			continue
		}
		e, was := begin(&file)
		switch {
		case was != nil && !was.Exists:
			continue
		case was == nil:
		case undo:
			unwrapping(&e, &file, was, k)
		default:
			wrapping(&e, &file, was, k, margay, flags)
		}
		edits = append(edits, e)
	}
	if len(edits) == 0 && !a.json {
		fmt.Fprintln(a.out, "no configuration of these programs was found")
	}
	none := "nothing to do: no server runs by itself"
	if undo {
		none = "nothing to take back"
	}
	return a.review(f, edits, none)
}

// routes are the addresses of margay serve for MCP servers, by their own. With
// an access token clients would have to send it: there are none.
func (a *app) routes() (map[string]string, error) {
	c, err := a.load(nil)
	if err != nil || c.Access.Token != "" {
		return nil, err
	}
	out := map[string]string{}
	for name, s := range c.MCP.Servers {
		out[s.URL] = "http://" + c.Listen + "/mcp/" + name
	}
	return out, nil
}

func wrapping(e *fileEdit, file *harness.File, was *harness.Content, k harness.Backups, margay string, flags []string) {
	after, servers, err := file.Wrap(was.Bytes, margay, flags)
	if err == nil {
		e.Servers = servers
		e.Changes = has(servers, harness.Wrapped)
	}
	e.tell(servers)
	if e.failed(err) || !e.Changes {
		return
	}
	// What a backup keeps is the file without Margay, also where some servers
	// were wrapped before.
	original, _, err := file.Unwrap(was.Bytes)
	if e.failed(err) {
		return
	}
	e.Backup = k.Of(file)
	e.lines = append(e.lines, "the file as it is is kept as "+e.Backup)
	e.apply = func() error { return k.Write(file, was, original, after) }
}

func unwrapping(e *fileEdit, file *harness.File, was *harness.Content, k harness.Backups) {
	_, servers, err := file.Unwrap(was.Bytes)
	exact := k.Exact(file, was)
	if err != nil && !exact {
		e.failed(fmt.Errorf("%w; the file as it was before margay is %s", err, k.Of(file)))
		return
	}
	e.Servers = servers
	e.tell(servers)
	if e.Changes = exact || has(servers, harness.Unwrapped); !e.Changes {
		return
	}
	if !exact {
		e.lines = append(e.lines, "the file was changed since: margay's part is taken out, and the rest left as it is")
	}
	e.apply = func() error {
		_, err := k.Undo(file, was, func(b []byte) ([]byte, error) {
			after, _, err := file.Unwrap(b)
			return after, err
		})
		return err
	}
}

func has(servers []harness.Server, s harness.State) bool {
	return slices.ContainsFunc(servers, func(one harness.Server) bool { return one.State == s })
}

// failed notes an error. It reports whether there was one.
func (e *fileEdit) failed(err error) bool {
	if err != nil {
		e.Error, e.Changes = err.Error(), false
	}
	return err != nil
}

// tell adds a line for each server.
func (e *fileEdit) tell(servers []harness.Server) {
	for _, s := range servers {
		var l string
		switch s.State {
		case harness.Wrapped:
			l = "+ " + s.Name + ": " + s.Detail + " becomes margay mcp -- " + s.Detail
			if s.Detail == "its URL" {
				l = "+ " + s.Name + ": its URL becomes that of margay serve"
			}
		case harness.Unwrapped:
			l = "- " + s.Name + ": runs by itself again"
		case harness.Already:
			l = "= " + s.Name + ": runs through margay"
		case harness.Alone:
			l = "= " + s.Name + ": runs by itself"
		case harness.Remote:
			l = "! " + s.Name + ": not covered, for " + s.Detail
		default:
			l = "! " + s.Name + ": left alone, for " + s.Detail
		}
		e.lines = append(e.lines, strings.TrimSpace(l))
	}
}
