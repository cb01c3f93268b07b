// Package invocation is one call of the command line: its flags and streams,
// and the configuration and state that they name. The packages of commands
// beside it build on it.
package invocation

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
)

// App is one invocation of margay.
type App struct {
	cli.Command
	Config   string // as --config names it
	StateDir string // as --state-dir names it
	NewState bool   // --new-state
}

// ConfigPath returns the configuration file that --config or the environment
// names; empty for neither.
func (a *App) ConfigPath() string { return cmp.Or(a.Config, os.Getenv(config.EnvConfig)) }

// Load reads the configuration. Changes that set makes override file and
// environment.
func (a *App) Load(set func(*config.Config)) (*config.Config, error) {
	c, err := config.Load(a.ConfigPath(), os.Environ(), func(c *config.Config) {
		if a.StateDir != "" {
			c.StateDir = a.StateDir
		}
		c.NewState = a.NewState
		if set != nil {
			set(c)
		}
	})
	if err == nil && len(c.Unknown) > 0 {
		a.Note("ignored, since it is not a key of the configuration: %s", strings.Join(c.Unknown, " "))
	}
	return c, err
}

// WithState runs f with the configuration and the state that it names.
func (a *App) WithState(ctx context.Context, f func(*config.Config, *state.State) error) error {
	c, err := a.Load(nil)
	if err != nil {
		return err
	}
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	return f(c, st)
}

// OnState is the RunE of a command that runs f with the state.
func (a *App) OnState(f func(ctx context.Context, st *state.State, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithState(cmd.Context(), func(_ *config.Config, st *state.State) error { return f(cmd.Context(), st, args) })
	}
}

// Upstreams names those of the configuration.
func (a *App) Upstreams() []string {
	c, err := config.Load(a.ConfigPath(), os.Environ(), nil)
	if err != nil {
		return nil // the command itself reports what is wrong
	}
	return slices.Sorted(maps.Keys(c.Upstreams))
}

// MaxOffered bounds how many entries of a store are offered.
const MaxOffered = 50

// CompleteFirst offers values of a command's first argument to the shell.
func (a *App) CompleteFirst(values func(context.Context, *state.State) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
		c, err := a.Load(nil)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if _, err := os.Stat(c.StorePath()); err == nil { // completion makes no state
			// The command itself reports what is wrong.
			_ = a.WithState(cmd.Context(), func(_ *config.Config, st *state.State) error {
				out, err = values(cmd.Context(), st)
				return err
			})
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
