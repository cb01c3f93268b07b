package serve

import (
	"context"
	"log/slog"
	"reflect"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
)

// engines makes one engine for each policy: upstreams of the same policy
// share what they know.
type engines struct {
	base mediator.Config
	made []*mediator.Engine
	of   []mediator.Config
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
		return nil, problem.Failure(problem.Doctor, "%w", err)
	}
	e.made, e.of = append(e.made, m), append(e.of, mc)
	return m, nil
}

// logDecision writes a decision to the log: ids, kinds and places alone.
func logDecision(log *slog.Logger, en *mediator.LogEntry) {
	level := slog.LevelInfo
	if en.Outcome == flow.Deny {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	log.Log(ctx, level, "decision", "id", en.ID, "verb", en.Verb, "sink", en.Sink.Name, "outcome", en.Outcome, "findings", len(en.Findings), "trajectory", en.Trajectory)
	for i := range en.Findings {
		f := &en.Findings[i]
		log.Debug("finding", "id", f.ID, "kind", f.Kind, "rule", f.Rule, "name", f.Name, "action", f.Action, "path", f.Path)
	}
}
