package app

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/state"
)

// complete offers values of a flag to the shell.
func complete(c *cobra.Command, flag string, values func() []string) {
	completeBy(c, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

func completeBy(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is not there
	}
}

// upstreams names those of the configuration.
func (a *app) upstreams() []string {
	path := a.config
	if path == "" {
		path = os.Getenv(config.EnvConfig)
	}
	c, err := config.Load(path, os.Environ(), nil)
	if err != nil {
		return nil // the command itself says what is wrong
	}
	return slices.Sorted(maps.Keys(c.Upstreams))
}

// most bounds what is offered of what a store has.
const most = 50

// completeFirst offers values of a command's first argument to the shell.
func (a *app) completeFirst(values func(context.Context, *state.State) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := a.load(nil)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if _, err := os.Stat(c.StorePath()); err != nil { // asking makes no state
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		st, err := state.Open(cmd.Context(), c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer st.Close()
		out, err := values(cmd.Context(), st)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// families names those of the ledger.
func (a *app) families(ctx context.Context, st *state.State) ([]string, error) {
	var out []string
	for h, err := range st.Store.Heads(ctx) {
		if err != nil || len(out) == most {
			return out, err
		}
		out = append(out, string(h.Family)+"\t"+entries(h.Seq))
	}
	return out, nil
}

// questions names those that wait for an answer.
func (a *app) questions(ctx context.Context, st *state.State) ([]string, error) {
	d := confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys})
	rows, err := d.Rows(ctx, false, most)
	var out []string
	for i := range rows {
		q, err := question(d, &rows[i])
		if err != nil {
			return nil, err
		}
		out = append(out, q.ID+"\t"+printable(q.Call.Name))
	}
	return out, err
}

// actions are those that rubrics in force are for.
func (a *app) actions() []string {
	reg, _, err := a.openRegistry()
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, r := range reg.All() {
		for _, s := range r.Signature().Actions {
			if reg.Active(r) {
				out[s] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}
