package front

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/problem"
)

// hookTime bounds a hook, whatever it waits for. Harnesses wait longer.
const hookTime = 20 * time.Second

func (a *app) hookCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "hook",
		Short: "Answer the hooks of Claude Code, Codex and Cursor",
		Long: `Answer the hooks of Claude Code, Codex and Cursor.

margay hook install makes a harness run "margay hook HARNESS" at each step. The
command reads one event from standard input and answers in the harness's own
format: prompts with secrets are not sent, calls with secrets are not made, and
results are edited if the harness allows it. docs/agents.md says what each
harness covers.

If a mediator is running (margay run, margay serve), it decides; otherwise the
hook decides alone. The exit code is 0 or 2: a failure blocks.`,
	}
	for _, name := range hook.Names() {
		c.AddCommand(&cobra.Command{
			Use: name, Short: "Answer one event of " + name + ", from standard input",
			Run: func(cmd *cobra.Command, _ []string) {
				answer := a.hook(cmd.Context(), name)
				_, err := answer.Out.WriteTo(a.Out)
				_, _ = answer.Err.WriteTo(a.Err)
				if a.Code = answer.Exit; err != nil {
					a.Code = hook.Block
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
	case <-ctx.Done(): // such as standard input that nobody closes
		return hook.Failed("the event was not decided within %s", hookTime)
	}
}

func (a *app) answer(ctx context.Context, name string) hook.Answer {
	event, err := io.ReadAll(io.LimitReader(a.In, hook.MaxEvent+1))
	if err != nil {
		return hook.Failed("the event can't be read")
	}
	if len(event) > hook.MaxEvent {
		return hook.Failed("the event is larger than %d bytes", hook.MaxEvent)
	}
	conn, err := a.mediator(ctx)
	switch {
	case errors.Is(err, localsock.ErrNotRunning):
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

// mediator connects to a running mediator: the one around this process, or the
// user's.
func (a *app) mediator(ctx context.Context) (net.Conn, error) {
	if path := os.Getenv(localsock.Env); path != "" {
		if conn, err := localsock.Dial(ctx, path); !errors.Is(err, localsock.ErrNotRunning) {
			return conn, err
		}
	}
	var failed error
	path := localsock.Path(func() string {
		c, err := a.Load(nil)
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

// nextStep is the hint of an error in brackets; empty for none.
func nextStep(err error) string {
	var p *problem.Error
	if !errors.As(err, &p) || p.Hint == "" {
		return ""
	}
	return " (" + p.Hint + ")"
}

// decideAlone answers an event in this process.
func (a *app) decideAlone(ctx context.Context, name string, event []byte) hook.Answer {
	c, err := a.Load(nil)
	if err != nil {
		return hook.Failed("%v", err)
	}
	if c.Log.File == "" {
		c.Log.Level = "error" // standard error is for the harness
	}
	log, st, done, err := a.open(ctx, c, false)
	if err != nil {
		return hook.Failed("%v%s", err, nextStep(err))
	}
	defer done()
	family, err := familyFromEnv()
	if err != nil {
		return hook.Failed("%v", err)
	}
	h, err := serve.NewHooks(c, st, family, log)
	if err != nil {
		return hook.Failed("%v", err)
	}
	return h.Handle(ctx, name, event)
}
