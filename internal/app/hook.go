package app

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/localsock"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/internal/state"
)

// hookTime bounds a hook, whatever it waits for. It is less than what harnesses
// wait for it.
const hookTime = 20 * time.Second

func (a *app) hookCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "hook",
		Short: "Answer the hooks of Claude Code, Codex and Cursor",
		Long: `Answer the hooks of Claude Code, Codex and Cursor.

margay hook install asks a harness to run "margay hook HARNESS" at every step.
That reads one event from standard input and answers in the harness's own terms:
prompts with secrets are not sent, calls with secrets are not made, and results
are edited where the harness has a place for it. docs/agents.md tells what each
one covers.

Where a mediator is running (margay run, margay serve), it decides; otherwise
the hook decides alone. The exit code is 0 or 2: whatever goes wrong blocks.`,
	}
	for _, name := range hook.Names() {
		c.AddCommand(&cobra.Command{
			Use: name, Short: "Answer one event of " + name + ", from standard input",
			Run: func(cmd *cobra.Command, _ []string) {
				answer := a.hook(cmd.Context(), name)
				_, err := a.out.Write(answer.Out)
				_, _ = a.err.Write(answer.Err)
				if a.code = answer.Exit; err != nil {
					a.code = hook.Block
				}
			},
		})
	}
	c.AddCommand(a.hookInstallCommand(), a.hookUninstallCommand())
	return c
}

// hook answers one event in time, or blocks.
func (a *app) hook(ctx context.Context, name string) hook.Answer {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	done := make(chan hook.Answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- hook.Failed("internal error of type %T", p)
			}
		}()
		done <- a.answer(ctx, name)
	}()
	select {
	case answer := <-done:
		return answer
	case <-ctx.Done(): // standard input that nobody closes, a store that hangs
		return hook.Failed("the event was not decided within %s", hookTime)
	}
}

func (a *app) answer(ctx context.Context, name string) hook.Answer {
	event, err := io.ReadAll(io.LimitReader(a.in, hook.MaxEvent+1))
	if err != nil {
		return hook.Failed("the event can't be read")
	}
	if len(event) > hook.MaxEvent {
		return hook.Failed("the event is larger than %d bytes", hook.MaxEvent)
	}
	conn, err := a.mediator(ctx)
	switch {
	case errors.Is(err, localsock.ErrNone):
		return a.decideAlone(ctx, name, event)
	case err != nil:
		return hook.Failed("the running mediator can't be reached: %v", err)
	}
	answer, err := hook.Ask(ctx, conn, name, event)
	if err != nil {
		return hook.Failed("the running mediator did not answer (restart it): %v", err)
	}
	return answer
}

// mediator connects to one that is running: to the one that this process runs
// in, or to the user's.
func (a *app) mediator(ctx context.Context) (net.Conn, error) {
	if path := os.Getenv(localsock.Env); path != "" {
		if conn, err := localsock.Dial(ctx, path); !errors.Is(err, localsock.ErrNone) {
			return conn, err
		}
	}
	var failed error
	path := localsock.Path(func() string {
		c, err := a.load(nil)
		if err != nil {
			failed = err
			return ""
		}
		return c.State()
	})
	if failed != nil {
		return nil, failed
	}
	return localsock.Dial(ctx, path)
}

// decideAlone answers an event in this process.
func (a *app) decideAlone(ctx context.Context, name string, event []byte) hook.Answer {
	c, err := a.load(nil)
	if err != nil {
		return hook.Failed("%v", err)
	}
	if c.Log.File == "" {
		c.Log.Level = "error" // standard error is for the harness
	}
	log, closeLog, err := a.logger(c.Log)
	if err != nil {
		return hook.Failed("%v", err)
	}
	defer closeLog()
	st, err := state.Open(ctx, c)
	if err != nil {
		return hook.Failed("%v", err)
	}
	defer st.Close()
	var family flow.TrajectoryID
	if id := os.Getenv(config.EnvTrajectory); id != "" { // inside margay run
		if family, err = flow.ParseTrajectoryID(id); err != nil {
			return hook.Failed("%s: %v", config.EnvTrajectory, err)
		}
	}
	h, err := serve.NewHooks(c, st, family, log)
	if err != nil {
		return hook.Failed("%v", err)
	}
	return h.Handle(ctx, name, event)
}
