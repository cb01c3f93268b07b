package serve

import (
	"context"
	"log/slog"
	"reflect"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
)

// engines makes one engine for each policy: upstreams of the same policy
// share what they know.
type engines struct {
	base mediator.Config
	made []*mediator.Engine
	of   []mediator.Config
}

// newEngines returns engines over a state that share the rules of a
// configuration until ctx ends, and the registry that releases are held to; nil
// for none.
// asked is called for each question to a person; nil for nobody.
func newEngines(ctx context.Context, c *config.Config, st *state.State, log *slog.Logger, asked func(*confirm.Question)) (*engines, *mediation.Rulebook, error) {
	e := &engines{base: mediator.Config{Config: session.Config{Keys: st.Keys, Store: st.Store, Values: st.Store, Observe: c.Observe, MaxHeld: c.Limits.Held, TrajectoryBytes: c.Limits.Trajectories}}}
	var err error
	if e.base.Rules, err = state.Rules(c); err != nil {
		return nil, nil, err
	}
	if e.base.Taint, err = mediation.Taint(c, st, asked, log); err != nil {
		return nil, nil, err
	}
	held, err := mediation.OpenRulebook(c, log)
	if err == nil && held != nil {
		e.base.Declassify, err = held.Declassify(ctx, c, st, asked)
	}
	return e, held, err
}

// top returns the engine with the policy at the top of the configuration.
func (e *engines) top(c *config.Config) (*mediator.Engine, error) {
	var up config.Upstream
	return e.get(c.Mediation(&up), c.OnErrorPass(&up))
}

func (e *engines) get(p mediator.Policy, pass bool) (*mediator.Engine, error) {
	for i := range e.of {
		if reflect.DeepEqual(e.of[i].Policy, p) && e.of[i].OnErrorPass == pass {
			return e.made[i], nil
		}
	}
	mc := e.base
	mc.Policy, mc.OnErrorPass = p, pass
	m, err := mediator.New(mc)
	if err != nil {
		return nil, problem.Unexpected(err)
	}
	e.made, e.of = append(e.made, m), append(e.of, mc)
	return m, nil
}

// logDecision writes a decision to the log: ids, kinds and places alone.
func logDecision(log *slog.Logger, en *audit.Entry) {
	if en.Count&(en.Count-1) != 0 {
		return // of a flood fewer and fewer lines
	}
	level, code := slog.LevelInfo, ""
	if en.Outcome == flow.Deny {
		level = slog.LevelWarn
	}
	if len(en.Reasons) > 0 {
		code = en.Reasons[0].Code
	}
	ctx := context.Background()
	log.Log(ctx, level, "decision", "id", en.ID, "verb", en.Verb, "sink", en.Sink.Name, "outcome", en.Outcome, "code", code, "count", en.N(), "findings", len(en.Findings), "trajectory", en.Trajectory)
	for i := range en.Findings {
		f := &en.Findings[i]
		log.Debug("finding", "id", f.ID, "kind", f.Kind, "rule", f.Rule, "name", f.Name, "action", f.Action, "path", f.Path)
	}
}
