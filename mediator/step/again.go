package step

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/observe"
)

// View is what a model is shown of a step.
type View struct {
	Label    label.Label // of what is generated from it
	Withheld *flow.Withheld
	basis    clear.Basis
	level    clear.Level
	replayed bool
}

// view is the history at a level, as the request's codec writes it; again: the
// step is made a second time.
func (st *Step) view(level clear.Level, again bool) View {
	v := st.h.Redact(level)
	defer traceWithheld(st.s, st.h, &v, again)
	w := &flow.Withheld{Instead: map[int]string{}, Without: map[int]bool{}, Before: map[int]string{}, Hidden: map[int]bool{}, Edits: map[int]string{}}
	shown := make([]*clear.Shown, len(st.place))
	answer := "" // that stands for what was left out before the next message
	for i := range v.Messages {
		m := &v.Messages[i]
		if m.Message < 0 {
			answer = m.Text
			continue
		}
		shown[m.Message] = m
		if answer != "" {
			w.Before[st.place[m.Message].turn] = answer
			answer = ""
		}
	}
	for i, p := range st.place {
		t := &st.turns[p.turn]
		switch m := shown[i]; {
		case m == nil && (t.Role == flow.RoleAssistant || p.part < 0):
			w.Without[p.turn] = true
		case m == nil:
			w.Edits[p.part] = clear.Withheld
		case !m.Changed:
		case p.part < 0:
			w.Instead[p.turn] = observe.Wrap(st.h.Messages[i].Tool, m.Text)
		default:
			w.Edits[p.part] = m.Text
		}
	}
	for i := range st.tools {
		if !slices.Contains(v.Tools, i) {
			w.Hidden[i] = true
		}
	}
	// What is shown of results is quoted as ever, and what else was edited
	// stays edited.
	maps.Copy(w.Edits, st.Wrapped())
	return View{Label: v.Label, Withheld: w, basis: v.Basis(), level: level}
}

// ruling is what becomes of the calls of an answer.
type ruling struct {
	taint.Ruling
	view    View
	cleared []clear.Cleared // by place; the zero one for a call that may not be made
}

// rule decides about the calls of an answer that was generated from a view.
func (st *Step) rule(ctx context.Context, calls []flow.ToolCall, more bool, from View) (ruling, error) {
	grants, err := st.grants(ctx)
	if err != nil {
		return ruling{}, err
	}
	r := st.policy.Decide(taint.Step{
		Calls: calls, More: more, From: from.basis, User: st.h.Own(), History: st.h, Level: from.level, Grants: grants, Key: st.cfg.Key,
		Replayed: from.replayed || st.partial || st.cfg.NoReplay || st.cfg.Report,
	})
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; from.replayed && v.Outcome == flow.Allow && st.repeats(v, &from) {
			v.Outcome = flow.Confirm
			v.Reasons = append(v.Reasons, flow.Reason{Code: codeRepeated, Detail: "such a call was made before, which the model was not shown when the step was made again"})
		}
	}
	out := ruling{Ruling: r, view: from, cleared: make([]clear.Cleared, len(calls))}
	for i := range r.Verdicts {
		out.cleared[i], _ = r.Verdicts[i].Cleared()
	}
	return out, nil
}

// goesOn reports whether a model that was told of refused calls so often may be
// told once more: these calls are all that it made, and of tools that it is
// offered.
func (st *Step) goesOn(told int, refused []flow.RefusedCall) bool {
	if st.partial || st.cfg.Report || told >= cmp.Or(st.cfg.MaxTold, 1) {
		return false
	}
	return len(refused) > 0 && !slices.ContainsFunc(refused, func(c flow.RefusedCall) bool {
		return !slices.ContainsFunc(st.tools, func(t flow.OfferedTool) bool { return t.Name == c.Name })
	})
}

// codeRepeated is the code of the reason that a call was made before already.
const codeRepeated = "repeated"

// repeats reports whether a call was made before, in a turn that a view leaves
// out: a model that is not shown what it did does it once more. Calls that may
// follow from all of the history are left aside, which are those that read.
func (st *Step) repeats(v *taint.Verdict, from *View) bool {
	if !v.Clearance.Confirm && v.Clearance.Limit.Admits(st.h.Lattice, st.context) {
		return false
	}
	for i := range from.Withheld.Without {
		if slices.ContainsFunc(st.turns[i].Calls, func(c flow.TurnCall) bool {
			return st.policy.Alike(v.Call, flow.ToolCall{Name: c.Name, Arguments: session.Arguments(c.Arguments)})
		}) {
			return true
		}
	}
	return false
}

// Wrapped are the new texts of the results of tools, in which they are quoted
// as data, by part.
func (st *Step) Wrapped() map[int]string {
	out := map[int]string{}
	if st.cfg.Report {
		return out
	}
	for i := range st.h.Messages {
		m := &st.h.Messages[i]
		if m.Kind != clear.KindResult {
			continue
		}
		t := &st.turns[st.place[i].turn]
		if t.Foreign && t.Result == "" { // some of its strings are addresses
			continue
		}
		for _, p := range t.Parts {
			out[p] = observe.Wrap(m.Tool, st.text(p))
		}
	}
	return out
}

// Holds reports whether an answer that is made from a view must be held until
// all its calls are known, as the step may be made again: the view is too high
// for some tool that the model is offered.
func (st *Step) Holds(from View) bool {
	if st.policy.InWorkspace(from.Label) || from.Label == (label.Label{}) || st.cfg.Report || st.partial || st.cfg.NoReplay {
		return false
	}
	for i := range st.tools {
		if !st.tools[i].Server && !st.policy.Fits(st.tools[i].Name, from.Label) {
			return true
		}
	}
	return false
}

// First is the view that the step is made from: all of the history, unless a
// screener takes less for relevant. It reports false for all of it.
func (st *Step) First(ctx context.Context) (View, bool) {
	if st.cfg.Screen == nil || st.partial || st.context == (label.Label{}) || st.cfg.Report {
		return View{Label: st.context, basis: st.h.Basis().With(st.h.Lattice, st.context), level: clear.Everything()}, false
	}
	level, err := st.cfg.Screen.Screen(ctx, st.h)
	if err != nil {
		level = clear.Everything() // an adviser that fails costs questions, never security
	}
	return st.view(level, false), true
}
