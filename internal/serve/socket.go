package serve

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// maxHooks bounds the events that are decided at the same time. More wait.
const maxHooks = 64

// NewHooks returns what decides about the events of harnesses where no other
// mediator is running; family is the trajectory of all, or empty. Errors are of
// type *problem.Error or *config.Error.
func NewHooks(c *config.Config, st *state.State, family flow.TrajectoryID, log *slog.Logger) (*hook.Handler, error) {
	rules, err := state.Rules(c)
	if err != nil {
		return nil, err
	}
	taints, err := taintOf(c, st, nil)
	if err != nil {
		return nil, err
	}
	releases, err := declassifyOf(context.Background(), c, st, log, nil)
	if err != nil {
		return nil, err
	}
	e := &engines{base: mediator.Config{
		Declassify: releases, Taint: taints, Rules: rules, Keys: st.Keys, Store: st.Store, Values: st.Store, Observe: c.Observe, MaxHeld: c.Limits.Held, Family: family,
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) { logDecision(log, &en) }},
	}}
	h, _, err := e.hooks(c, &st.Keys, false)
	return h, err
}

// hooks returns a handler with the policy of the top of the configuration: what
// a hook sees goes to whatever model the harness has. whole: a trajectory of all
// has begun with this process.
func (e *engines) hooks(c *config.Config, k *secret.Keys, whole bool) (*hook.Handler, *mediator.Engine, error) {
	var top config.Upstream
	engine, err := e.get(c.Mediation(&top), c.OnErrorPass(&top))
	if err != nil {
		return nil, nil, err
	}
	return hook.New(hook.Config{Engine: engine, Key: HookKey(k), Joined: e.base.Family != "", Whole: whole && e.base.Family != ""}), engine, nil
}

// HookKey returns the key by which the sessions of harnesses become
// trajectories.
func HookKey(k *secret.Keys) (out [32]byte) {
	h := hmac.New(sha256.New, k.Pseudonym[:])
	h.Write([]byte("margay hook sessions v1"))
	h.Sum(out[:0])
	return out
}

// serveLocal answers events of hooks, and what MCP servers of the same run ask
// about labels, on a listener until it is closed, and waits for those under
// way. Without the listener they decide by themselves.
func serveLocal(ctx context.Context, ln net.Listener, h *hook.Handler, e *mediator.Engine, log *slog.Logger) {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, maxHooks)
	for {
		slots <- struct{}{}
		conn, err := ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				log.Error("the socket for hooks broke off", "error", err)
				_ = ln.Close()
			}
			return
		}
		all.Go(func() {
			defer func() { <-slots }()
			in := bufio.NewReaderSize(conn, 4096)
			_ = conn.SetReadDeadline(time.Now().Add(hook.MaxTime)) // who says nothing is not waited for
			if word, err := in.Peek(len(labelsWord)); err == nil && string(word) == labelsWord {
				if err := serveLabels(ctx, conn, in, e); err != nil {
					log.Warn("an MCP server was not told of labels", "error", err)
				}
				return
			}
			if err := h.Serve(ctx, &peeked{conn, in}); err != nil {
				log.Warn("a hook was not answered", "error", err)
			}
		})
	}
}
