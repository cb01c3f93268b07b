package serve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net"
	"sync"

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
	e := &engines{base: mediator.Config{
		Taint: taints, Rules: rules, Keys: st.Keys, Store: st.Store, Values: st.Store, Observe: c.Observe, MaxHeld: c.Limits.Held, Family: family,
		Listener: mediator.Listener{Decided: func(en mediator.LogEntry) { logDecision(log, &en) }},
	}}
	return e.hooks(c, &st.Keys, false)
}

// hooks returns a handler with the policy of the top of the configuration: what
// a hook sees goes to whatever model the harness has. whole: a trajectory of all
// has begun with this process.
func (e *engines) hooks(c *config.Config, k *secret.Keys, whole bool) (*hook.Handler, error) {
	var top config.Upstream
	engine, err := e.get(c.Mediation(&top), c.OnErrorPass(&top))
	if err != nil {
		return nil, err
	}
	return hook.New(hook.Config{Engine: engine, Key: HookKey(k), Joined: e.base.Family != "", Whole: whole && e.base.Family != ""}), nil
}

// HookKey returns the key by which the sessions of harnesses become
// trajectories.
func HookKey(k *secret.Keys) (out [32]byte) {
	h := hmac.New(sha256.New, k.Pseudonym[:])
	h.Write([]byte("margay hook sessions v1"))
	h.Sum(out[:0])
	return out
}

// serveHooks answers events on a listener until it is closed, and waits for
// those under way. Without the listener hooks decide by themselves.
func serveHooks(ctx context.Context, ln net.Listener, h *hook.Handler, log *slog.Logger) {
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
			if err := h.Serve(ctx, conn); err != nil {
				log.Warn("a hook was not answered", "error", err)
			}
		})
	}
}
