package mediator

import (
	"context"
	"errors"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// Who sees an agent's calls and their results alone, not its conversation,
// holds a call to the join of all results before it in the trajectory: the
// step can't be made again there.

// Told notes that a tool told something, in a result to a call: what the
// trajectory's calls follow from has its label from then on.
func (s *Session) Told(call flow.ToolCall, result string) {
	cfg := s.e.cfg.Taint
	if cfg == nil {
		return
	}
	call.Arguments = Arguments(call.Arguments)
	r := (&taint.Labeller{Policy: cfg.Policy, Cache: s.t.labels(cfg)}).Result(call, label.Label{}, result)
	lat := cfg.Policy.Scheme().Lattice
	var l label.Label
	for i := range r.Regions {
		l = lat.Join(l, r.Regions[i].Label)
	}
	s.t.rise(lat, l)
	if l != (label.Label{}) {
		s.t.blame(confirm.Fault{Source: call.Name, Label: lat.Format(l)})
	}
}

// Pending is a call that may not follow from what its agent was told.
type Pending struct {
	s        *Session
	verdict  taint.Verdict
	under    label.Label
	question *confirm.Question // nil: it is never allowed
}

// Clear decides whether a call may follow from what the trajectory's tools
// have told. It returns nil where it may.
func (s *Session) Clear(ctx context.Context, call flow.ToolCall) (*Pending, error) {
	cfg := s.e.cfg.Taint
	if cfg == nil {
		return nil, nil //nolint:nilnil // it may
	}
	call.Arguments = Arguments(call.Arguments)
	under := s.t.highest(label.Label{})
	st := &Step{s: s, cfg: cfg, h: &taint.History{Lattice: cfg.Policy.Scheme().Lattice}, context: under}
	grants, err := st.grants(ctx)
	if err != nil {
		return nil, err
	}
	r := cfg.Policy.Decide(taint.Step{Calls: []flow.ToolCall{call}, Label: under, Grants: grants, Key: cfg.Key, Replayed: true})
	v := r.Verdicts[0]
	if v.Outcome == flow.Allow {
		return nil, nil //nolint:nilnil // it may
	}
	p := &Pending{s: s, verdict: v, under: under}
	if v.Outcome == flow.Confirm {
		if p.question, err = st.question(&v, under); err != nil {
			return nil, err
		}
		p.question.Faults = s.t.blamed()
	}
	if cfg.Report {
		return nil, p.record(ctx, "", "")
	}
	return p, nil
}

// Question is what a person is asked: by Ask, or by the connector's own means.
// It is nil where the call is never allowed.
func (p *Pending) Question() *confirm.Question { return p.question }

// Ask asks a person through the desk, and returns nil where the call may be
// made, else what the model is told.
func (p *Pending) Ask(ctx context.Context) (refused *string) {
	desk := p.s.e.cfg.Taint.Desk
	if p.question == nil || desk == nil {
		return p.Refuse(ctx, "")
	}
	if err := desk.Put(ctx, p.question); err != nil {
		return p.Refuse(ctx, err.Error())
	}
	answer, err := desk.Wait(ctx, p.question)
	switch {
	case errors.Is(err, confirm.ErrExpired):
		return p.Refuse(ctx, "question "+p.question.ID+" had no answer in time")
	case err != nil:
		return p.Refuse(ctx, err.Error())
	case answer == confirm.Deny:
		return p.Refuse(ctx, "the user said no")
	}
	return p.Allow(ctx, string(answer))
}

// Allow records that a person allowed the call, by whatever means. It returns
// nil, or what the model is told where that could not be recorded.
func (p *Pending) Allow(ctx context.Context, how string) (refused *string) {
	if p.question == nil {
		return p.Refuse(ctx, "")
	}
	if err := p.record(ctx, flow.ActAllow, how); err != nil {
		text := p.told("the answer could not be recorded")
		return &text
	}
	return nil
}

// Refuse records that the call is not made, and returns what the model is
// told.
func (p *Pending) Refuse(ctx context.Context, why string) *string {
	if why == "" && p.question != nil {
		why = "there is nobody to ask"
	}
	_ = p.record(ctx, flow.ActBlock, why) // it is not made, recorded or not
	text := p.told(why)
	return &text
}

func (p *Pending) told(why string) string {
	return (&Step{s: p.s, cfg: p.s.e.cfg.Taint}).told(&p.verdict, why)
}

// record writes the decision to the log; no action is a report.
func (p *Pending) record(ctx context.Context, a flow.Action, how string) error {
	d := p.s.decision(flow.Call)
	d.Reasons = append(d.Reasons, p.verdict.Reasons...)
	switch a {
	case flow.ActAllow:
		d.Outcome = flow.Confirm
		d.Reasons = append(d.Reasons, flow.Reason{Code: taint.CodeConfirmed, Detail: "allowed by a person: " + how, Action: a})
	case flow.ActBlock:
		d.Outcome = flow.Deny
		d.Reasons = append(d.Reasons, flow.Reason{Code: "call-refused", Detail: p.told(how), Action: a})
	default:
		for i := range d.Reasons {
			d.Reasons[i].Action = flow.ActReport
		}
	}
	return p.s.record(ctx, &Result{Decision: d})
}
