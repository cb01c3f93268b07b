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

// Clears reports whether calls are held to what they may follow from.
func (s *Session) Clears() bool { return s.e.Clears() }

// Clears reports whether calls are held to what they may follow from.
func (e *Engine) Clears() bool { return e.cfg.Taint != nil }

// Begin notes that the trajectory begins here, with nothing told before.
func (s *Session) Begin() {
	if cfg := s.e.cfg.Taint; cfg != nil {
		s.t.labels.rise(cfg.Policy.Scheme().Lattice, label.Label{})
	}
}

// Unseen notes that things may have been told before this process knew the
// trajectory: its calls may follow from the worst. Where the trajectory is
// known and goes on that is not so; resumed says that it was left meanwhile.
func (s *Session) Unseen(resumed bool) {
	cfg := s.e.cfg.Taint
	if cfg == nil {
		return
	}
	scheme := cfg.Policy.Scheme()
	worst := scheme.Worst()
	if resumed || !s.t.labels.hasBegun() {
		s.t.labels.rise(scheme.Lattice, worst)
		s.t.labels.blame(confirm.Fault{Source: "what Margay did not see", Label: scheme.Lattice.Format(worst)})
	}
}

// Told notes that a tool told something, in a result to a call: what the
// trajectory's calls follow from has its label from then on. An error says that
// a peer could not be told, which is made up for when it next can.
func (s *Session) Told(ctx context.Context, call flow.ToolCall, result string) error {
	cfg := s.e.cfg.Taint
	if cfg == nil {
		return nil
	}
	call.Arguments = Arguments(call.Arguments)
	r := (&taint.Labeller{Policy: cfg.Policy, Cache: s.t.labels.memory(cfg)}).Result(call, label.Label{}, result)
	lat := cfg.Policy.Scheme().Lattice
	var l label.Label
	for i := range r.Regions {
		l = lat.Join(l, r.Regions[i].Label)
	}
	s.t.labels.rise(lat, l)
	if l != (label.Label{}) {
		s.t.labels.blame(confirm.Fault{Source: call.Name, Label: lat.Format(l)})
	}
	_, err := s.share(ctx, nil, nil)
	return err
}

// Pending is a call that may not follow from what its agent was told.
type Pending struct {
	s        *Session
	verdict  taint.Verdict
	under    label.Label
	question *confirm.Question // nil: it is never allowed
}

// Clear decides whether a call may follow from what the trajectory's tools
// have told. It returns nil where it may, and for a call that a Step of the
// trajectory has let through, once.
func (s *Session) Clear(ctx context.Context, call flow.ToolCall) (*Pending, error) {
	cfg := s.e.cfg.Taint
	if cfg == nil {
		return nil, nil //nolint:nilnil // it may
	}
	call.Arguments = Arguments(call.Arguments)
	if d, err := cfg.Key.Digest(call); err == nil {
		// What was let through elsewhere is not asked about again.
		spent := s.t.labels.spend(d, s.sink.Name)
		if !spent {
			if spent, err = s.share(ctx, &d, nil); err != nil {
				return nil, err
			}
		}
		if spent {
			return nil, nil //nolint:nilnil // it may
		}
	} else if _, err := s.share(ctx, nil, nil); err != nil {
		return nil, err
	}
	under := s.t.labels.highest(label.Label{})
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
		p.question.Faults = s.t.labels.blamed()
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
	if err := p.Put(ctx); err != nil {
		return p.Refuse(ctx, err.Error())
	}
	return p.Wait(ctx)
}

// ErrNobody says that there is nobody to ask.
var ErrNobody = errors.New("there is nobody to ask")

// Put makes the question known at the desk, and gives it its id. Whoever asks
// by other means besides answers it with Answer.
func (p *Pending) Put(ctx context.Context) error {
	desk := p.s.e.cfg.Taint.Desk
	if p.question == nil || desk == nil {
		return ErrNobody
	}
	return desk.Put(ctx, p.question)
}

// Answer answers the question that was put, by whatever means. Where another
// answer was first, that one counts.
func (p *Pending) Answer(ctx context.Context, a confirm.Answer, by string) error {
	return p.s.e.cfg.Taint.Desk.Answer(ctx, p.question.ID, a, by)
}

// Wait waits for the answer to the question that was put, and returns nil
// where the call may be made, else what the model is told.
func (p *Pending) Wait(ctx context.Context) (refused *string) {
	answer, err := p.s.e.cfg.Taint.Desk.Wait(ctx, p.question)
	switch {
	case errors.Is(err, confirm.ErrExpired):
		return p.Refuse(ctx, "question "+p.question.ID+" had no answer in time")
	case err != nil:
		return p.Refuse(context.WithoutCancel(ctx), err.Error())
	case answer == confirm.Deny:
		return p.Refuse(ctx, "the user said no")
	}
	return p.Allow(ctx, string(answer))
}

// Resume takes up a question that was put about the same call before, by its
// id. It fails where that one was about another call.
func (p *Pending) Resume(ctx context.Context, id string) error {
	desk := p.s.e.cfg.Taint.Desk
	if p.question == nil || desk == nil {
		return ErrNobody
	}
	row, err := desk.Row(ctx, id)
	if err != nil {
		return err
	}
	if row.Digest != p.question.Digest || row.Trajectory != p.question.Trajectory {
		return errors.New("the question was about another call")
	}
	p.question.ID, p.question.Asked, p.question.Expires = row.ID, row.Asked, row.Expires
	return nil
}

// maxRedeemed bounds the questions among which a yes is looked for.
const maxRedeemed = 100

// Redeem uses a yes that a person gave to the same call before, once. It
// reports whether there was one, and it is recorded.
func (p *Pending) Redeem(ctx context.Context) bool {
	cfg := p.s.e.cfg.Taint
	if p.question == nil || cfg.Desk == nil {
		return false
	}
	rows, err := cfg.Desk.Rows(ctx, true, maxRedeemed)
	if err != nil {
		return false
	}
	for i := range rows {
		r := &rows[i]
		if r.Answer != confirm.Once || r.Used || r.Digest != p.question.Digest || r.Trajectory != p.question.Trajectory {
			continue
		}
		p.question.ID, p.question.Expires = r.ID, r.Expires
		if got, err := cfg.Desk.Wait(ctx, p.question); err == nil && got == confirm.Once {
			return p.Allow(ctx, string(got)) == nil
		}
	}
	return false
}

// Asked records that somebody else asks a person, such as a harness.
func (p *Pending) Asked(ctx context.Context, by string) error {
	d := p.s.decision(flow.Call)
	d.Outcome = flow.Confirm
	d.Reasons = append(d.Reasons, p.verdict.Reasons...)
	d.Reasons = append(d.Reasons, flow.Reason{Code: "call-asked", Detail: "a person is asked by " + by, Action: flow.ActBlock})
	return p.s.record(ctx, &Result{Decision: d})
}

// Made notes that a call was made that a person was asked about by somebody
// else, whose answer is not seen: it was a yes.
func (s *Session) Made(ctx context.Context, call flow.ToolCall, by string) error {
	cfg := s.e.cfg.Taint
	if cfg == nil || cfg.Desk == nil {
		return nil
	}
	rows, err := cfg.Desk.Rows(ctx, false, maxRedeemed)
	if err != nil || len(rows) == 0 {
		return err
	}
	call.Arguments = Arguments(call.Arguments)
	digest, err := cfg.Key.Digest(call)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if r.Digest != digest || r.Trajectory != s.t.id {
			continue
		}
		if err := cfg.Desk.Answer(ctx, r.ID, confirm.Once, by); err != nil {
			return err
		}
		q := &confirm.Question{ID: r.ID, Digest: r.Digest, Expires: r.Expires}
		if _, err := cfg.Desk.Wait(ctx, q); err != nil { // it is used
			return err
		}
		d := s.decision(flow.Call)
		d.Outcome = flow.Confirm
		d.Reasons = append(d.Reasons, flow.Reason{Code: taint.CodeConfirmed, Detail: "allowed by a person: once, by " + by, Action: flow.ActAllow})
		return s.record(ctx, &Result{Decision: d})
	}
	return nil
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
	d := taint.Digest(p.question.Digest)
	p.s.t.labels.permit(d, p.s.sink.Name)
	_, _ = p.s.share(ctx, nil, &d) // else somebody else asks once more
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
