// Package front puts Margay in front of agents: it runs them, serves them, and
// wraps their MCP servers and hooks.
package front

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(a *invocation.App) []*cobra.Command {
	c := &app{a}
	return []*cobra.Command{c.runCommand(), c.serveCommand(), c.mcpCommand(), c.hookCommand(), c.shimCommand()}
}

// open opens the log and the state of a command that mediates. The log goes to
// standard error or the configured file; if the child owns standard error, only
// errors and what somebody debugs go there. done closes both.
func (a *app) open(ctx context.Context, c *config.Config, child bool) (log *slog.Logger, st *state.State, done func(), err error) {
	if child && c.Log.File == "" && c.Log.Level != "debug" {
		c.Log.Level = "error"
	}
	w, closeLog := a.Err, func() {}
	if c.Log.File != "" {
		f, err := os.OpenFile(filepath.Clean(c.Log.File), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, nil, serve.LogProblem(err)
		}
		w, closeLog = f, func() { _ = f.Close() }
	}
	if st, err = state.Open(ctx, c); err != nil {
		closeLog()
		return nil, nil, nil, err
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // config.Check has read it
	opt := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opt)
	if c.Log.Format == "json" {
		h = slog.NewJSONHandler(w, opt)
	}
	return slog.New(h), st, func() { st.Close(); closeLog() }, nil
}

// familyFromEnv returns the trajectory of a margay run around this process;
// empty for none.
func familyFromEnv() (flow.TrajectoryID, error) {
	id := os.Getenv(config.EnvTrajectory)
	if id == "" {
		return "", nil
	}
	family, err := flow.ParseTrajectoryID(id)
	if err != nil {
		return "", problem.Usage("unset "+config.EnvTrajectory, "%s is %w", config.EnvTrajectory, err)
	}
	return family, nil
}
