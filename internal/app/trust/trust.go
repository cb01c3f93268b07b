// Package trust has the commands by which a user says what he trusts: folders, files
// and tools.
package trust

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/store"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(i *invocation.App) []*cobra.Command {
	return []*cobra.Command{(&app{i}).command()}
}

func (a *app) command() *cobra.Command {
	list := a.onPlaces(func(ctx context.Context, b *places.Book, _ []string) error {
		return a.listPlaces(ctx, b, func(p *places.Place) bool { return p.Trusted })
	})
	c := &cobra.Command{
		Use: "trust", Short: "Trust folders, and endorse files that strangers had a part in", Args: cobra.NoArgs, RunE: list,
		Long: `Trust folders, and endorse files that strangers had a part in.

With taint.mode, files of a folder that you trust are yours, and so are the
agent's own edits and what builds and tests print. What it writes after it read a
page, an issue or somebody else's branch is a stranger's, and stays so in later
sessions until you endorse the file; code that may be such a file asks before it
runs. Running gateways apply changes from their next request on.`,
		Example: "  margay trust add\n  margay trust files\n  margay trust endorse src/parser.go",
	}
	c.AddCommand(
		&cobra.Command{
			Use: "add [FOLDER...]", Short: "Trust folders of projects (default the working directory)", Args: cobra.ArbitraryArgs, Example: "  margay trust add\n  margay trust add ~/src/app",
			RunE: a.onPlaces(a.trust),
		},
		&cobra.Command{Use: "list", Short: "List the folders that you trust", Args: cobra.NoArgs, RunE: list, Example: "  margay trust list --json"},
		&cobra.Command{
			Use: "remove FOLDER...", Short: "Trust folders no longer", Args: cobra.MinimumNArgs(1), Example: "  margay trust remove ~/src/app", RunE: a.onPlaces(a.distrust),
			ValidArgsFunction: a.CompleteFirst(func(ctx context.Context, st *state.State) ([]string, error) { return a.offered(ctx, st, true) }),
		},
		&cobra.Command{
			Use: "files", Short: "List files that strangers had a part in", Args: cobra.NoArgs, Example: "  margay trust files",
			RunE: a.onPlaces(func(ctx context.Context, b *places.Book, _ []string) error {
				return a.listPlaces(ctx, b, (*places.Place).File)
			}),
		},
		a.trustTool(),
		&cobra.Command{
			Use: "tools", Short: "List what you said that tools do which no pack describes", Args: cobra.NoArgs, Example: "  margay trust tools --json",
			RunE: a.onPlaces(a.listTools),
		},
		&cobra.Command{
			Use: "server NAME", Short: "Take what an MCP server says of its tools from now on", Args: cobra.ExactArgs(1), Example: "  margay trust server linear-server",
			Long: `Take what an MCP server says of its tools from now on for what it first said.

What a server that no pack describes says of its tools counts as the workspace's, as
long as it says what it said first. A change counts as a stranger's text, and so do
hidden characters and words about tools that are not the server's. NAME is the
server's name in the agent's configuration. Read the change first: agents show the
descriptions of their tools.`,
			RunE: a.OnState(a.trustServer),
		},
		&cobra.Command{
			Use: "endorse PATH...", Short: "Take files, or all below folders, for your own", Args: cobra.MinimumNArgs(1),
			Long:    "Take files, or all files below folders, for your own. Read them first: an agent wrote them after it had read what a stranger wrote.",
			Example: "  git diff && margay trust endorse .", RunE: a.onPlaces(a.endorse),
			ValidArgsFunction: a.CompleteFirst(func(ctx context.Context, st *state.State) ([]string, error) { return a.offered(ctx, st, false) }),
		},
	)
	return c
}

// onPlaces is the RunE of a command about places.
func (a *app) onPlaces(f func(ctx context.Context, b *places.Book, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithState(cmd.Context(), func(c *config.Config, st *state.State) error {
			b, err := mediation.Places(c, st)
			if err != nil {
				return err
			}
			return placesProblem(f(cmd.Context(), b, args))
		})
	}
}

func placesProblem(err error) error {
	switch {
	case err == nil || errors.As(err, new(*problem.Error)):
		return err
	case errors.Is(err, store.ErrFull):
		return problem.Failure("margay trust files lists files; margay trust endorse takes a folder of them", "too many folders and files are remembered: %w", err)
	}
	return problem.Unexpected(err)
}

// mine refuses to let an agent change what its user trusts.
func mine() error {
	if os.Getenv(config.EnvTrajectory) != "" {
		return problem.Failure("run it in a terminal of your own", "what is trusted is not for an agent to change: this runs inside margay run")
	}
	return nil
}

// trustChanged is what a command changed.
type trustChanged struct {
	Trusted   []string `json:"trusted,omitempty"`
	Removed   []string `json:"removed,omitempty"`
	Endorsed  []string `json:"endorsed,omitempty"`
	Strangers int      `json:"strangers,omitempty"` // files below that they had a part in
}

func (a *app) trust(ctx context.Context, b *places.Book, args []string) error {
	if err := mine(); err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	var out trustChanged
	for _, dir := range args {
		if at, err := os.Stat(dir); err != nil || !at.IsDir() {
			return problem.Usage("margay trust endorse is for files", "%s is not a folder", dir)
		}
		names, err := mediation.Folder(dir)
		if err != nil {
			return problem.Usage("margay trust add FOLDER", "%s: %w", dir, err)
		}
		if err := b.Trust(ctx, names...); err != nil {
			return err
		}
		out.Trusted = append(out.Trusted, names[0])
	}
	all, err := b.All(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		for _, dir := range out.Trusted {
			if all[i].File() && places.Below(all[i].Path, dir) {
				out.Strangers++
				break
			}
		}
	}
	return a.Print(&out, func(w io.Writer) {
		for _, dir := range out.Trusted {
			cli.Fprintf(w, "trusted: %s\n", invocation.Printable(dir))
		}
		if out.Strangers > 0 {
			cli.Fprintf(w, "strangers had a part in %s there: margay trust files\n", invocation.Count(out.Strangers, "file"))
		}
	})
}

func (a *app) trustServer(ctx context.Context, st *state.State, args []string) error {
	if err := mine(); err != nil {
		return err
	}
	n, err := mediation.ForgetServer(ctx, st, args[0])
	if err != nil {
		return problem.Unexpected(err)
	}
	if n == 0 {
		return problem.Failure("use its name in the agent's configuration", "no tools of %s were seen", args[0])
	}
	return a.Print(map[string]any{"server": args[0], "tools": n}, func(w io.Writer) {
		cli.Fprintf(w, "%s of %s: what it says of them next counts as what it said first\n", invocation.Count(n, "tool"), invocation.Printable(args[0]))
	})
}

func (a *app) distrust(ctx context.Context, b *places.Book, args []string) error {
	if err := mine(); err != nil {
		return err
	}
	var out trustChanged
	for _, dir := range args {
		full, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		names := []string{full}
		if folder, err := mediation.Folder(full); err == nil {
			names = folder
		}
		found := false
		for _, n := range names {
			gone, err := b.Distrust(ctx, n)
			if err != nil {
				return err
			}
			found = found || gone
		}
		if !found {
			return problem.Failure("margay trust list shows them; those of taint.workspaces are in the configuration", "%s is not among the folders that you trust", dir)
		}
		out.Removed = append(out.Removed, full)
	}
	return a.Print(&out, func(w io.Writer) {
		for _, dir := range out.Removed {
			cli.Fprintf(w, "no longer trusted: %s\n", invocation.Printable(dir))
		}
	})
}

func (a *app) endorse(ctx context.Context, b *places.Book, args []string) error {
	if err := mine(); err != nil {
		return err
	}
	var out trustChanged
	for _, path := range args {
		full, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		names := []string{full}
		if real, err := filepath.EvalSymlinks(full); err == nil && real != full {
			names = append(names, real)
		}
		for _, n := range names {
			gone, err := b.Endorse(ctx, n)
			if err != nil {
				return err
			}
			out.Endorsed = append(out.Endorsed, gone...)
		}
	}
	if len(out.Endorsed) == 0 {
		return problem.Failure("margay trust files lists them", "strangers had a part in none of these files")
	}
	return a.Print(&out, func(w io.Writer) {
		for _, path := range out.Endorsed {
			cli.Fprintf(w, "endorsed: %s\n", invocation.Printable(path))
		}
	})
}

// listPlaces prints the places of one kind.
func (a *app) listPlaces(ctx context.Context, b *places.Book, which func(*places.Place) bool) error {
	all, err := b.All(ctx)
	if err != nil {
		return err
	}
	rows := a.Rows()
	for i := range all {
		if p := &all[i]; which(p) {
			if err := rows.Add(p, "%s\t%s\n", invocation.Printable(p.Path), p.At.Local().Format(time.DateTime)); err != nil {
				return err
			}
		}
	}
	return rows.Flush()
}

// offered are places of one kind, for completion.
func (a *app) offered(ctx context.Context, st *state.State, trusted bool) ([]string, error) {
	all, err := places.New(places.Config{Store: st.Store, Keys: &st.Keys}).All(ctx)
	var out []string
	for _, p := range all {
		if p.Tool == nil && p.Trusted == trusted && len(out) < invocation.MaxOffered {
			out = append(out, p.Path)
		}
	}
	return out, err
}
