package serve

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// maxHooks bounds the events that are decided at the same time. Others wait.
const maxHooks = 64

// NewHooks returns a handler for the events of harnesses, for a process without
// a running mediator; family is the trajectory of all, or empty. Errors are of
// type *problem.Error or *config.Error.
func NewHooks(c *config.Config, st *state.State, family flow.TrajectoryID, log *slog.Logger) (*hook.Handler, error) {
	es, _, err := newEngines(context.Background(), c, st, log, nil)
	if err != nil {
		return nil, err
	}
	es.base.Family = family
	es.base.Decided = func(en audit.Entry) { logDecision(log, &en) }
	engine, err := es.top(c)
	if err != nil {
		return nil, err
	}
	return es.hooks(engine, false), nil
}

// hooks returns a handler with an engine. whole: if all events belong to one
// trajectory, it started with this process.
func (e *engines) hooks(engine *mediator.Engine, whole bool) *hook.Handler {
	joined := e.base.Family != ""
	return hook.New(hook.Config{Engine: engine, Key: hookKey(&e.base.Keys), Joined: joined, Whole: whole && joined})
}

// hookKey returns the key that turns the sessions of harnesses into
// trajectories.
func hookKey(k *secret.Keys) [32]byte {
	return mediation.Derive(k.Pseudonym, "margay hook sessions v1")
}

// serveLocal answers events of hooks, and questions of the run's MCP servers
// about labels, until the listener is closed; then it waits for those under
// way. Without the listener, hooks and MCP servers decide by themselves.
func serveLocal(ctx context.Context, ln net.Listener, l *live, log *slog.Logger) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, maxHooks)
	for {
		slots <- struct{}{}
		conn, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				log.Error("the socket for hooks failed", "error", err)
				_ = ln.Close()
			}
			return
		}
		all.Go(func() {
			defer func() { <-slots }()
			s := l.take()
			defer s.busy.Done()
			in := bufio.NewReaderSize(conn, 4096)
			_ = conn.SetReadDeadline(time.Now().Add(hook.MaxTime)) // a silent client must not hold a slot
			if word, err := in.Peek(len(labelsWord)); err == nil && string(word) == labelsWord {
				if err := serveLabels(ctx, conn, in, s.engine); err != nil {
					log.Warn("an MCP server got no labels", "error", err)
				}
				return
			}
			if err := s.hooks.Serve(ctx, &peeked{conn, in}); err != nil {
				log.Warn("a hook got no answer", "error", err)
			}
		})
	}
}
