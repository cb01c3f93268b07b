package dojo

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Rules gives the policy of a suite's tools.
type Rules func(suite string) (*taint.Policy, error)

// Step is how the agent step of taint.md §4 is made at a request: in this
// process, with the model as a function. Through the gateway it is made there.
type Step struct {
	// None shows what is trusted and public alone. Otherwise Screen says what
	// matters; nil: everything.
	None   bool
	Screen screen.Adviser
	// Replay makes a step again, below what its calls may follow from, where
	// they may not follow from what was shown.
	Replay bool
}

// Tainted is a defence by labels, its steps made in this process.
func Tainted(name string, rules Rules, step Step) Defence {
	return Defence{name, func(t *Task, m harness.Model) (harness.Model, error) {
		p, err := rules(t.Suite)
		if err != nil {
			return nil, err
		}
		g := &guard{task: t, step: step, inner: m, policy: p, memory: taint.NewMemory(p, guardBytes, nil)}
		g.labels = &taint.Labeller{Policy: p, Cache: g.memory, Steps: g.memory}
		return g, nil
	}}
}

const guardBytes = 16 << 20

// guard makes agent steps over the core. It is not safe for concurrent use.
type guard struct {
	task   *Task
	step   Step
	inner  harness.Model
	policy *taint.Policy
	memory *taint.Memory
	labels *taint.Labeller
}

// place tells which part of a request a turn is: its message, and the call in
// it or -1.
type place struct{ message, call int }

// turns takes a request apart.
func turns(r *harness.Request) ([]taint.Turn, []place) {
	var out []taint.Turn
	var at []place
	for i := range r.Messages {
		m := &r.Messages[i]
		t := taint.Turn{Role: m.Role, Text: m.Text}
		if m.Role == flow.RoleTool {
			t.Kind, t.Tool, t.Call = clear.KindResult, m.Tool, m.CallID
		}
		if m.Text != "" || len(m.Calls) == 0 {
			out, at = append(out, t), append(at, place{i, -1})
		}
		for j, c := range m.Calls {
			out, at = append(out, callTurn(c)), append(at, place{i, j})
		}
	}
	return out, at
}

func callTurn(c flow.ToolCall) taint.Turn {
	return taint.Turn{Role: flow.RoleAssistant, Kind: clear.KindCall, Text: c.Arguments, Tool: c.Name, Call: c.ID}
}

func (g *guard) history(r *harness.Request) (*clear.History, []place) {
	ts, at := turns(r)
	names := make([]string, len(r.Tools))
	for i := range r.Tools {
		names[i] = r.Tools[i].Name
	}
	// The harness's own tools: their developer describes them.
	return g.labels.History(ts, g.policy.Describe(names, func(string) bool { return false })), at
}

// render is a request as a view shows it.
func render(r *harness.Request, h *clear.History, v clear.View, at []place) *harness.Request {
	out := &harness.Request{Model: r.Model}
	last := -1 // the message of the request that the last one stands for
	for _, s := range v.Messages {
		if s.Message < 0 {
			out.Messages, last = append(out.Messages, harness.Message{Role: flow.RoleAssistant, Text: s.Text}), -1
			continue
		}
		p, m := at[s.Message], &h.Messages[s.Message]
		if p.message != last {
			from := &r.Messages[p.message]
			out.Messages, last = append(out.Messages, harness.Message{Role: from.Role, CallID: from.CallID, Tool: from.Tool}), p.message
		}
		to := &out.Messages[len(out.Messages)-1]
		if p.call >= 0 {
			to.Calls = append(to.Calls, flow.ToolCall{ID: m.Call, Name: m.Tool, Arguments: s.Text})
			continue
		}
		to.Text = s.Text
	}
	for _, i := range v.Tools {
		out.Tools = append(out.Tools, r.Tools[i])
	}
	return out
}

// Generate implements harness.Model: one agent step.
func (g *guard) Generate(ctx context.Context, r *harness.Request) (harness.Message, error) {
	h, at := g.history(r)
	// A refused call is not made, and the step is made again; the scripted
	// model knows what was refused.
	for range again * 2 {
		level, err := g.level(ctx, r, h, at)
		if err != nil {
			return harness.Message{}, err
		}
		answer, under, verdicts, err := g.generate(ctx, r, h, at, level)
		if err != nil {
			return harness.Message{}, err
		}
		var left []flow.ToolCall
		for i := range verdicts {
			v := &verdicts[i]
			if v.Outcome == flow.Allow || v.Outcome == flow.Confirm && g.task.Confirm(v.Call) {
				left = append(left, v.Call)
			}
		}
		if len(left) == 0 && len(answer.Calls) > 0 {
			continue
		}
		answer.Calls = left
		if answer.Text != "" {
			g.memory.Remember(taint.Turn{Role: flow.RoleAssistant, Text: answer.Text}, under)
		}
		for _, c := range left {
			g.memory.Remember(callTurn(c), under)
		}
		return answer, nil
	}
	return harness.Message{Text: refusal}, nil
}

// generate asks the model at a level, and again below what the calls need.
func (g *guard) generate(ctx context.Context, r *harness.Request, h *clear.History, at []place, level clear.Level) (harness.Message, label.Label, []taint.Verdict, error) {
	view := h.Redact(level)
	answer, err := g.inner.Generate(ctx, render(r, h, view, at))
	if err != nil {
		return answer, label.Label{}, nil, err
	}
	own := h.Own()
	ruling := g.policy.Decide(taint.Step{Calls: answer.Calls, From: view.Basis(), User: own, History: h, Level: level})
	if !g.step.Replay || !ruling.Replay {
		return answer, view.Label, ruling.Verdicts, nil
	}
	lower := h.Redact(ruling.Level)
	second, err := g.inner.Generate(ctx, render(r, h, lower, at))
	if err != nil {
		return answer, label.Label{}, nil, err
	}
	if len(second.Calls) > 0 {
		again := g.policy.Decide(taint.Step{Calls: second.Calls, From: lower.Basis(), User: own, History: h, Level: ruling.Level, Replayed: true})
		if again.Outcome() == flow.Allow {
			return second, lower.Label, again.Verdicts, nil
		}
	}
	// No call, or none that may be made: the first one is put to the user.
	return answer, view.Label, ruling.Verdicts, nil
}

// level is what the screener shows for the next action.
func (g *guard) level(ctx context.Context, r *harness.Request, h *clear.History, at []place) (clear.Level, error) {
	switch {
	case g.step.None:
		return clear.Level{}, nil
	case g.step.Screen == nil:
		return clear.Everything(), nil
	}
	if h.Context() == (label.Label{}) {
		return clear.Level{}, nil // nothing is at stake
	}
	preliminary, err := g.inner.Generate(ctx, render(r, h, h.Redact(clear.Everything()), at))
	if err != nil {
		return clear.Level{}, err
	}
	// An adviser that fails makes everything relevant.
	level, _ := screen.Level(ctx, g.step.Screen, h, preliminary.Calls, preliminary.Text)
	return level, nil
}

// Labelled are the defences by labels that need no endpoint.
func Labelled(rules Rules, lexical screen.Adviser) []Defence {
	return []Defence{
		Tainted("none", rules, Step{None: true}),
		Tainted("all", rules, Step{}),
		Tainted("lexical", rules, Step{Screen: lexical}),
		Tainted("replay", rules, Step{Replay: true}),
	}
}
