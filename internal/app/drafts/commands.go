package drafts

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/child"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/harness"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/servers"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

type app struct{ *invocation.App }

type flags struct {
	tools, openapi, output, name string
	wait                         time.Duration
}

// Command is margay policy draft. Suggest proposes effects; nil for Cautious.
func Command(of *invocation.App, suggest Suggester) *cobra.Command {
	a, f := &app{of}, &flags{}
	c := &cobra.Command{
		Use: "draft [flags] (SERVER | --tools FILE | --openapi FILE | -- COMMAND [ARG...])", Short: "Write a pack for review from a server's list of tools",
		Long: `Write a pack for review from an MCP server's list of tools, or from the operations of
an OpenAPI document.

SERVER is the server's name in the configuration of an agent (Claude Code, Claude
Desktop, Cursor, VS Code, Codex). Margay starts it, asks for its tools, calls none of
them, and ends it. --tools reads a saved answer to tools/list instead.

--openapi reads an OpenAPI 3.0 or 3.1 document, as JSON or YAML, and fetches nothing.
Each operation is a tool with its operationId as name, or else its method and path, as
in get_users_id; _ replaces all but letters and digits. Frameworks differ: compare
with the names of the tools that your agent has.

A draft has no effect until you add it to taint.packs. The server's own words appear
only as comments, and loosen nothing: each tool is drafted as one that reaches out, so
its calls ask once the conversation holds strangers' text. Hidden characters, and names
of other tools in a description, are pointed out. Correct the effects, then check the
pack with margay policy lint.`,
		Example: "  margay policy draft notes --output notes.yaml\n  margay policy draft --tools tools.json --name notes\n  margay policy draft --openapi api.yaml --output api-pack.yaml\n  margay policy draft -- npx -y @example/notes-server",
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return a.draft(ctx, f, suggest, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	c.Flags().StringVar(&f.tools, "tools", "", "`file` with the server's answer to tools/list; - is standard input")
	c.Flags().StringVar(&f.openapi, "openapi", "", "`file` with an OpenAPI document; - is standard input")
	c.Flags().StringVar(&f.output, "output", "", "`file` for the pack (default standard output)")
	c.Flags().StringVar(&f.name, "name", "", "`name` of the server in the agent's configuration, where SERVER does not say it (default with --openapi: the document's title)")
	c.Flags().DurationVar(&f.wait, "wait", time.Minute, "longest wait for the server")
	return c
}

// drafted is what margay policy draft prints.
type drafted struct {
	Server string `json:"server"`
	Tools  int    `json:"tools"`
	File   string `json:"file,omitempty"`
	Pack   string `json:"pack,omitempty"`
}

func (a *app) draft(ctx context.Context, f *flags, suggest Suggester, args []string, command bool) error {
	const how = "margay policy draft SERVER, or --tools FILE, or --openapi FILE, or -- COMMAND"
	if (f.tools+f.openapi != "") == (len(args) > 0) || f.tools != "" && f.openapi != "" || !command && len(args) > 1 {
		return problem.Usage(how, "name one server")
	}
	if f.wait <= 0 {
		return problem.Usage("such as --wait 1m", "--wait is not positive")
	}
	o := Options{Server: f.name, Suggest: suggest}
	var tools []Tool
	var err error
	switch {
	case f.tools != "":
		o.Source = "its answer to tools/list, of a file"
		if o.Server == "" {
			return problem.Usage("such as --name notes, as the agent's configuration has it", "--tools needs the server's --name")
		}
		tools, err = a.saved(f.tools, "it is the server's answer to tools/list, as JSON", Parse)
	case f.openapi != "":
		o.Source = "operations of its OpenAPI document; frameworks may name them differently"
		tools, err = a.saved(f.openapi, "--openapi reads OpenAPI 3.0 and 3.1, as JSON or YAML", func(b []byte) (tools []Tool, err error) {
			title, tools, err := Operations(f.openapi, b)
			o.Server = cmp.Or(o.Server, Slug(title))
			return tools, err
		})
	case command:
		o.Source = "its answer to tools/list"
		if o.Server == "" {
			o.Server, _ = servers.Name("", args)
		}
		tools, err = a.ask(ctx, f.wait, &harness.Start{Command: args})
	default:
		o.Source = "its answer to tools/list"
		if o.Server == "" {
			o.Server = args[0]
		}
		var start *harness.Start
		if start, err = find(args[0]); err == nil {
			tools, err = a.ask(ctx, f.wait, start)
		}
	}
	if err != nil {
		return err
	}
	text, err := Draft(tools, o)
	if err != nil {
		return problem.Failure("docs/format/pack.md has the format", "%w", err)
	}
	out := drafted{Server: o.Server, Tools: len(tools), File: f.output}
	if f.output == "" {
		out.Pack = string(text)
		return a.Print(&out, func(w io.Writer) { _, _ = w.Write(text) })
	}
	if err := cli.WriteFile(f.output, text); err != nil {
		return err
	}
	return a.Print(&out, func(w io.Writer) {
		cli.Fprintf(w, "%s: a draft of %s; review it, then: margay policy lint %s\n", f.output, invocation.Count(len(tools), "tool"), f.output)
	})
}

func (a *app) saved(name, is string, parse func([]byte) ([]Tool, error)) ([]Tool, error) {
	b, err := a.ReadInput(name, maxList+1)
	if err != nil {
		return nil, problem.Failure("name a file that you can read, or - for standard input", "%w", err)
	}
	tools, err := parse(b)
	if err != nil {
		return nil, problem.Usage(is, "%w", err)
	}
	return tools, nil
}

// ask starts a server and lists its tools.
func (a *app) ask(ctx context.Context, wait time.Duration, s *harness.Start) ([]Tool, error) {
	path, err := child.Find(s.Command[0])
	if err != nil {
		return nil, err
	}
	env := child.Without(os.Environ(), config.EnvKeys, config.EnvLedgerKey, "MARGAY_ACCESS_TOKEN", localsock.Env)
	for k, v := range s.Env {
		env = append(env, k+"="+v)
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	tools, err := List(ctx, Server{Path: path, Args: s.Command, Env: env, Err: cli.Shown{Writer: a.Err}})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, problem.Failure("--wait 5m waits longer; --tools FILE takes a saved answer to tools/list", "the server did not list its tools within %v", wait)
	case err != nil:
		return nil, problem.Failure("what it wrote on standard error is above; --tools FILE takes a saved answer to tools/list", "%s: %w", harness.Shown(filepath.Base(s.Command[0])), err)
	}
	return tools, nil
}

// configured calls f for each server in the files of agents.
func configured(f func(*harness.File, *harness.Start)) error {
	places, err := harness.Here()
	if err != nil {
		return problem.Failure("is HOME set?", "%w", err)
	}
	harness.Each(places.Servers(nil), func(file *harness.File, b []byte) error {
		all, err := file.Starts(b)
		for j := range all {
			f(file, &all[j])
		}
		return err
	}, func(*harness.File, error) {}) // margay doctor says which can't be read
	return nil
}

// find finds a server by its name. Agents may start it in several ways.
func find(name string) (*harness.Start, error) {
	var found *harness.Start
	var at string
	differ := ""
	err := configured(func(f *harness.File, s *harness.Start) {
		switch {
		case s.Name != name:
		case found == nil:
			found, at = s, f.Path
		case !slices.Equal(found.Command, s.Command):
			differ = f.Path
		}
	})
	const itself = "give its command: margay policy draft --name NAME -- COMMAND"
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		hint := "no agent's configuration here has one; " + itself
		if all := names(); len(all) > 0 {
			hint = "servers here: " + strings.Join(all, " ")
		}
		return nil, problem.Usage(hint, "unknown server %q", name)
	case differ != "":
		return nil, problem.Usage(itself, "%s and %s start %s differently", at, differ, name)
	case found.Remote:
		return nil, problem.Usage("save its answer to tools/list, and use --tools FILE --name "+name, "%s is reached by a URL", name)
	case found.Odd:
		return nil, problem.Usage(itself, "%s: how %s starts is for its agent alone to read", at, name)
	}
	return found, nil
}

// names are the servers in the files of agents that can be shown.
func names() (out []string) {
	_ = configured(func(_ *harness.File, s *harness.Start) {
		if harness.Shown(s.Name) == s.Name && !slices.Contains(out, s.Name) && len(out) < invocation.MaxOffered {
			out = append(out, s.Name)
		}
	})
	return out
}
