package step

import (
	"context"
	"slices"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Pass clears one call of an answer that was made from a view, if it may be made
// unasked. It fails closed.
func (st *Step) Pass(ctx context.Context, call flow.ToolCall, from View) clear.Cleared {
	calls := []flow.ToolCall{call}
	r, err := st.rule(ctx, calls, true, from)
	if err != nil || !r.cleared[0].Covers(call) {
		return clear.Cleared{}
	}
	if st.mark(ctx, call, from.Label) != nil {
		return clear.Cleared{}
	}
	permitAll(st.s.Labels, st.cfg.Key, calls)
	return r.cleared[0]
}

// noteReplay writes to the log that a step was made again, and why.
func (st *Step) noteReplay(ctx context.Context, r *ruling) error {
	var why []flow.Reason
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Outcome != flow.Allow {
			why = append(why, v.Reasons...)
		}
	}
	why = append(why, flow.Reason{Code: "replayed", Detail: "the step was made again without what its calls must not follow from", Action: flow.ActRedact})
	return st.s.Record(ctx, flow.Call, flow.Rewrite, why...)
}

// settle asks about the calls that need it, and returns those that are not
// made, by their place, with what the model reads instead. What was decided
// is in the log before it returns.
func (st *Step) settle(ctx context.Context, r *ruling) (map[int]string, error) {
	told := map[int]string{}
	outcome, reasons, answered := flow.Allow, []flow.Reason(nil), false
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if answered && v.Outcome == flow.Confirm {
			covered, err := st.covers(ctx, r, i)
			if err != nil {
				return told, err
			}
			if covered {
				reasons = append(reasons, v.Reasons...)
			}
		}
		if v.Outcome == flow.Allow {
			continue
		}
		if st.cfg.Report {
			reasons = append(reasons, v.Reasons...)
			continue
		}
		answer, why := confirm.Deny, ""
		if v.Outcome == flow.Confirm {
			answer, why = st.askOnce(ctx, v, r.view.Label, &r.cleared[i])
		}
		if answer == confirm.Deny {
			var err error
			if told[i], err = st.s.RefuseCall(ctx, st.told(v, why), v.Reasons...); err != nil {
				return told, err
			}
			continue
		}
		reasons = append(append(reasons, v.Reasons...), confirmed(string(answer)))
		outcome, answered = flow.Confirm, true
	}
	if len(reasons) == 0 {
		return told, nil
	}
	if st.cfg.Report {
		reasons = session.Reported(reasons)
	}
	return told, st.s.Record(ctx, flow.Call, outcome, reasons...)
}

// covers decides about one call of a ruling again, after a person allowed another one,
// and reports whether that yes covers it.
func (st *Step) covers(ctx context.Context, r *ruling, i int) (bool, error) {
	calls := make([]flow.ToolCall, len(r.Verdicts))
	for k := range calls {
		calls[k] = r.Verdicts[k].Call
	}
	now, err := st.rule(ctx, calls, false, r.view)
	if err != nil || now.Verdicts[i].Outcome != flow.Allow {
		return false, err
	}
	r.Verdicts[i], r.cleared[i] = now.Verdicts[i], now.cleared[i]
	return true, nil
}

// askOnce asks a person about a call that was not refused in this step, and
// clears it if the answer is yes.
func (st *Step) askOnce(ctx context.Context, v *taint.Verdict, under label.Label, cleared *clear.Cleared) (confirm.Answer, string) {
	d, err := st.cfg.Key.Digest(v.Call)
	if err != nil {
		return confirm.Deny, err.Error()
	}
	if st.denied[d] {
		return confirm.Deny, "it was refused before"
	}
	q, err := st.question(v, under)
	if err != nil {
		return confirm.Deny, err.Error()
	}
	answer, why := st.ask(ctx, q, nil)
	if answer != confirm.Deny {
		var ok bool
		if *cleared, ok = v.Confirmed(st.cfg.Key.Digests(), d); !ok {
			answer, why = confirm.Deny, "the answer was to another call"
		}
	}
	if answer != confirm.Deny {
		if err := st.allowed(ctx, v, under); err != nil {
			answer, why = confirm.Deny, "where strangers' words go could not be remembered"
		}
	}
	if answer == confirm.Deny {
		if st.denied == nil {
			st.denied = map[clear.Digest]bool{}
		}
		st.denied[d] = true
	}
	return answer, why
}

// Commit remembers the label of an answer that counts: what it said and called,
// as the client gets it. Passed are calls that went out already.
func (st *Step) Commit(texts []string, calls, passed []flow.ToolCall, from View) {
	permitAll(st.s.Labels, st.cfg.Key, calls)
	mem := st.s.Labels.Memory(st.cfg.Book())
	var said []string
	say := func(t taint.Turn) {
		mem.Remember(toSay(&t, st.after[len(st.after)-1]), from.Label)
		said = append(said, t.Text)
	}
	for _, t := range texts {
		say(taint.Turn{Role: flow.RoleAssistant, Text: t})
	}
	for _, c := range slices.Concat(calls, passed) {
		say(taint.Turn{Role: flow.RoleAssistant, Kind: clear.KindCall, Text: session.Arguments(c.Arguments), Tool: c.Name})
	}
	if from.Label != (label.Label{}) {
		st.s.Quote(said, from.Label, st.spoken())
	}
}

// Save makes durable what Commit remembers for other conversations, before the
// answer's last event goes out.
func (st *Step) Save(ctx context.Context) error { return st.s.SaveQuotes(ctx) }

// spoken are the user's and the developer's own texts.
func (st *Step) spoken() []string {
	var out []string
	for i := range st.h.Messages {
		m := &st.h.Messages[i]
		if m.Kind != clear.KindText || !speaks(m.Role) {
			continue
		}
		for _, r := range m.Regions {
			if r.Label == (label.Label{}) {
				out = append(out, m.Text[r.Start:r.End])
			}
		}
	}
	return out
}
