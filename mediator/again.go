package mediator

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// View is what a model is shown of a step.
type View struct {
	Label    label.Label // of what is generated from it
	Withheld *flow.Withheld
	level    taint.Level
	replayed bool
}

// view is the history at a level, as the request's codec writes it; again: the
// step is made a second time.
func (st *Step) view(level taint.Level, again bool) View {
	v := st.h.Redact(level)
	defer st.traceWithheld(&v, again)
	w := &flow.Withheld{Instead: map[int]string{}, Without: map[int]bool{}, Before: map[int]string{}, Hidden: map[int]bool{}, Edits: map[int]string{}}
	shown := make([]*taint.Shown, len(st.place))
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
			w.Edits[p.part] = taint.Withheld
		case !m.Changed:
		case p.part < 0:
			w.Instead[p.turn] = taint.Wrap(st.h.Messages[i].Tool, m.Text)
		default:
			w.Edits[p.part] = m.Text
		}
	}
	for i := range st.tools {
		w.Hidden[i] = !slices.Contains(v.Tools, i)
	}
	maps.DeleteFunc(w.Hidden, func(_ int, hidden bool) bool { return !hidden })
	// What is shown of results is quoted as ever, and what else was edited
	// stays edited.
	for p, text := range st.Wrapped() {
		w.Edits[p] = text
	}
	return View{Label: v.Label, Withheld: w, level: level}
}

// Ruling is what becomes of the calls of an answer.
type Ruling struct {
	taint.Ruling
	view View
}

// Rule decides about the calls of an answer that was generated from a view.
func (st *Step) Rule(ctx context.Context, calls []flow.ToolCall, from View) (Ruling, error) {
	grants, err := st.grants(ctx)
	if err != nil {
		return Ruling{}, err
	}
	r := st.cfg.Policy.Decide(taint.Step{
		Calls: calls, Label: from.Label, User: st.h.Own(), History: st.h, Level: from.level, Grants: grants, Key: st.cfg.Key,
		Replayed: from.replayed || st.partial || st.cfg.NoReplay || st.cfg.Report,
	})
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; from.replayed && v.Outcome == flow.Allow && st.repeats(v, &from) {
			v.Outcome = flow.Confirm
			v.Reasons = append(v.Reasons, flow.Reason{Code: CodeRepeated, Detail: "such a call was made before, which the model was not shown when the step was made again"})
		}
	}
	return Ruling{r, from}, nil
}

// GoesOn reports whether a model that was told of refused calls so often may be
// told once more: these calls are all that it made, and of tools that it is
// offered.
func (st *Step) GoesOn(told int, refused []flow.RefusedCall) bool {
	if st.partial || st.cfg.Report || told >= cmp.Or(st.cfg.MaxTold, 1) {
		return false
	}
	return len(refused) > 0 && !slices.ContainsFunc(refused, func(c flow.RefusedCall) bool {
		return !slices.ContainsFunc(st.tools, func(t flow.OfferedTool) bool { return t.Name == c.Name })
	})
}

// CodeRepeated is the code of the reason that a call was made before already.
const CodeRepeated = "repeated"

// repeats reports whether a call was made before, in a turn that a view leaves
// out: a model that is not shown what it did does it once more. Calls that may
// follow from all of the history are left aside, which are those that read.
func (st *Step) repeats(v *taint.Verdict, from *View) bool {
	if !v.Clearance.Confirm && v.Clearance.Limit.Admits(st.h.Lattice, st.context) {
		return false
	}
	for i := range from.Withheld.Without {
		if slices.ContainsFunc(st.turns[i].Calls, func(c flow.TurnCall) bool {
			return st.cfg.Policy.Alike(v.Call, flow.ToolCall{Name: c.Name, Arguments: canonical(c.Arguments)})
		}) {
			return true
		}
	}
	return false
}

// Again is the view that a step is made again from, where it should be, and the
// request as body writes it. It reports false where it may not, any more, and
// where the same request has led nowhere before.
func (st *Step) Again(r *Ruling, body func(*View) []byte) (View, []byte, bool) {
	if !r.Replay {
		return View{}, nil, false
	}
	v := st.view(r.Level, true)
	v.replayed = true
	b := body(&v)
	if st.s.t.labels.isBarren(sha256.Sum256(b)) || !st.s.t.labels.mayReplay(cmp.Or(st.cfg.MaxReplays, 256)) {
		return View{}, nil, false
	}
	return v, b, true
}

// Barren notes that a request for a step that was made again brought no calls
// that may be made. Such requests ask for the answer that is most likely, so
// that the same one would bring no other.
func (st *Step) Barren(body []byte) { st.s.t.labels.noteBarren(sha256.Sum256(body)) }

// Serves reports whether an answer that was made again may stand for the
// first: it makes calls, and all of them may be made.
func (r *Ruling) Serves() bool { return len(r.Verdicts) > 0 && r.Outcome() == flow.Allow }
