package step

import (
	"context"
	"errors"
	"slices"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Who sees an agent's calls and their results alone, not its conversation,
// holds a call to the join of all results before it in the trajectory: the
// step can't be made again there.

// Trajectory holds a session's calls to what its trajectory's tools told.
type Trajectory struct{ asker }

// Open returns how the calls of a session are held; cfg is nil where labels are
// not looked at, so that they are held to nothing. At is what is known of the
// trajectory's start: where things may have been told before this process knew
// it, its calls may follow from the worst, unless the trajectory is known and was
// not left meanwhile.
//
// Its tools work in dir; empty for where the agent was started.
func Open(ctx context.Context, s *session.Session, cfg *Taint, at session.Start, dir string) *Trajectory {
	t := &Trajectory{asker{s: s, cfg: cfg}}
	if cfg == nil {
		return t
	}
	t.policy = cfg.on(ctx, dir)
	scheme := cfg.Policy.Scheme()
	t.h = &clear.History{Lattice: scheme.Lattice}
	switch {
	case at == session.StartHere:
		s.Labels.Rise(scheme.Lattice, label.Label{})
	case at == session.StartResumed || at == session.StartUnseen && !s.Labels.Known():
		worst := scheme.Worst()
		s.Labels.Rise(scheme.Lattice, worst, confirm.Fault{Source: "what Margay did not see", Label: scheme.Lattice.Format(worst)})
	}
	return t
}

// Returned is what a tool returned to a call.
type Returned struct {
	Call    flow.ToolCall
	Results []string
	// By, where not empty, asked a person about the call, and did not report the
	// answer: that the call was made was a yes.
	By string
}

// Returned notes what a tool returned: what the trajectory's calls follow from has
// its label from then on. An error says that a peer could not be reached, which is
// made up for when it next can be, or that a yes could not be recorded.
func (t *Trajectory) Returned(ctx context.Context, r *Returned) error {
	cfg := t.cfg
	if cfg == nil {
		return nil
	}
	call := r.Call
	call.Arguments = session.Arguments(call.Arguments)
	var err error
	if r.By != "" {
		err = t.made(ctx, call, r.By)
	}
	lat := t.h.Lattice
	for _, result := range r.Results {
		labelled := (&taint.Labeller{Policy: t.policy, Cache: t.s.Labels.Memory(cfg.Book())}).Result(call, label.Label{}, result)
		var l label.Label
		for i := range labelled.Regions {
			l = lat.Join(l, labelled.Regions[i].Label)
		}
		var faults []confirm.Fault
		if l != (label.Label{}) {
			faults = []confirm.Fault{{Source: call.Name, Label: lat.Format(l)}}
		}
		t.s.Labels.Rise(lat, l, faults...)
		_, shared := t.share(ctx, nil, nil)
		err = errors.Join(err, shared)
	}
	return err
}

// Clearing asks whether a call may be made.
type Clearing struct {
	Call flow.ToolCall
	// Redeem uses a yes that a person gave to the same call before, once.
	Redeem bool
	// Back is an answer that the client brought back with the call; nil for
	// none.
	Back *Back
}

// Back is an answer to a question about a call that was asked before.
type Back struct {
	// Question returns the id of the question, where what the client brought
	// back is about the call with a digest.
	Question func(digest [32]byte) (id string, ok bool)
	Answer   confirm.Answer
	By       string
}

// Pending is a call that may not follow from what its agent was told.
type Pending struct {
	// Question is what a person is asked; nil where the call is refused.
	Question *confirm.Question
	// Refused is what the model reads about a call that is not made. The refusal
	// is recorded.
	Refused string

	asker
	verdict taint.Verdict
}

// Clear decides whether a call may follow from what the trajectory's tools
// have told. It returns nil where it may, and for a call that a Step of the
// trajectory has let through, once.
func (t *Trajectory) Clear(ctx context.Context, c *Clearing) (*Pending, error) {
	if t.cfg == nil {
		return nil, nil //nolint:nilnil // it may
	}
	call := c.Call
	call.Arguments = session.Arguments(call.Arguments)
	if spent, err := t.spend(ctx, call); err != nil || spent {
		return nil, err
	}
	under := t.s.Labels.Highest(label.Label{})
	grants, err := t.grants(ctx)
	if err != nil {
		return nil, err
	}
	r := t.policy.Decide(taint.Step{Calls: []flow.ToolCall{call}, From: clear.BasisOf(under), Grants: grants, Key: t.cfg.Key, Replayed: true})
	p := &Pending{asker: t.asker, verdict: r.Verdicts[0]}
	if _, ok := p.verdict.Cleared(); ok {
		return nil, t.mark(ctx, call, under)
	}
	if p.verdict.Outcome == flow.Confirm {
		if p.Question, err = t.question(&p.verdict, under); err != nil {
			return nil, err
		}
		p.Question.Faults = t.s.Labels.Faults()
	}
	var refused *string
	switch {
	case t.cfg.Report:
		return nil, t.s.Record(ctx, flow.Call, flow.Allow, session.Reported(p.verdict.Reasons)...)
	case p.Question == nil:
		refused = p.refuse(ctx, "")
	case c.Back != nil:
		if refused = p.back(ctx, c.Back); refused == nil {
			return nil, nil //nolint:nilnil // it may
		}
	case c.Redeem && p.redeem(ctx):
		return nil, nil //nolint:nilnil // it may
	}
	if refused != nil {
		p.Question, p.Refused = nil, *refused
	}
	return p, nil
}

// spend uses what was let through for the call elsewhere: it is not asked about
// again.
func (t *Trajectory) spend(ctx context.Context, call flow.ToolCall) (bool, error) {
	d, err := t.cfg.Key.Digest(call)
	if err != nil {
		_, err = t.share(ctx, nil, nil)
		return false, err
	}
	if t.s.Labels.Spend(d, t.s.Sink.Name) {
		return true, nil
	}
	return t.share(ctx, &d, nil)
}

// Ask puts the question to a person, whom somebody near the client asks, such as
// a harness; empty for nobody, and then the call is refused until a person has
// said yes. It returns nil if somebody asks, else what the model reads.
func (p *Pending) Ask(ctx context.Context, by string) (refused *string) {
	if err := p.put(ctx, p.Question); err != nil {
		return p.refuse(ctx, err.Error())
	}
	if by == "" {
		return p.refuse(ctx, "a person has to allow it: margay approve show "+p.Question.ID+". It may be made again then")
	}
	reasons := append(slices.Clip(p.verdict.Reasons), flow.Reason{Code: "call-asked", Detail: "a person is asked by " + by, Action: flow.ActBlock})
	if err := p.s.Record(ctx, flow.Call, flow.Confirm, reasons...); err != nil {
		return p.refuse(ctx, "the question could not be recorded")
	}
	return nil
}

// Wait puts the question to a person and waits for the answer. Show is called
// with the question once it is known at the desk; nil shows it nowhere else. It
// returns nil if the call may be made, else what the model reads. Nobody waits
// for a client that has disconnected.
func (p *Pending) Wait(ctx context.Context, show func(*confirm.Question)) (refused *string) {
	answer, why := p.ask(ctx, p.Question, show)
	return p.answered(ctx, answer, why)
}

// Answer answers the question by other means than the desk's own. Where another
// answer was first, that one counts; one that is not offered is a no.
func (p *Pending) Answer(ctx context.Context, a confirm.Answer, by string) {
	desk := p.cfg.Desk
	if desk.Answer(ctx, p.Question.ID, a, by) != nil {
		_ = desk.Answer(ctx, p.Question.ID, confirm.Deny, by)
	}
}

// answered records a person's answer. It returns nil where the call may be made.
func (p *Pending) answered(ctx context.Context, answer confirm.Answer, why string) (told *string) {
	if answer == confirm.Deny {
		return p.refuse(ctx, why)
	}
	return p.allow(ctx, string(answer))
}

// back takes the answer to a question that was put about the same call before.
// It returns nil where the call may be made.
func (p *Pending) back(ctx context.Context, b *Back) (refused *string) {
	id, ok := b.Question(p.Question.Digest)
	if b.Answer == confirm.Deny { // whatever was answered elsewhere
		if ok && p.resume(ctx, id) == nil {
			p.Answer(ctx, confirm.Deny, b.By)
		}
		return p.refuse(ctx, "the user said no")
	}
	if !ok {
		return p.refuse(ctx, "the answer is to another question, or came too late")
	}
	if err := p.resume(ctx, id); err != nil {
		return p.refuse(ctx, err.Error())
	}
	p.Answer(ctx, b.Answer, b.By)
	answer, why := p.wait(ctx, p.Question)
	return p.answered(ctx, answer, why)
}

// resume takes up a question that was put about the same call before, by its
// id. It fails where that one was about another call.
func (p *Pending) resume(ctx context.Context, id string) error {
	if p.cfg.Desk == nil {
		return errNobody
	}
	row, err := p.cfg.Desk.Row(ctx, id)
	if err != nil {
		return err
	}
	if row.Digest != p.Question.Digest || row.Trajectory != p.Question.Trajectory {
		return errors.New("the question was about another call")
	}
	p.Question.ID, p.Question.Asked, p.Question.Expires = row.ID, row.Asked, row.Expires
	return nil
}

// redeem uses a yes that a person gave to the same call before, once. It
// reports whether there was one, and it is recorded.
func (p *Pending) redeem(ctx context.Context) bool {
	rows, err := p.asked(ctx, p.Question.Digest, true)
	if err != nil {
		return false
	}
	for i := range rows {
		r := &rows[i]
		if r.Answer != confirm.Once || r.Used {
			continue
		}
		p.Question.ID, p.Question.Expires = r.ID, r.Expires
		if got, err := p.cfg.Desk.Wait(ctx, p.Question); err == nil && got == confirm.Once {
			return p.allow(ctx, string(got)) == nil
		}
	}
	return false
}

// made notes that a call was made that somebody else asked a person about,
// without telling the answer: it was a yes.
func (t *Trajectory) made(ctx context.Context, call flow.ToolCall, by string) error {
	digest, err := t.cfg.Key.Digest(call)
	if err != nil {
		return err
	}
	rows, err := t.asked(ctx, digest, false)
	if err != nil || len(rows) == 0 {
		return err
	}
	r := &rows[0]
	if err := t.cfg.Desk.Answer(ctx, r.ID, confirm.Once, by); err != nil {
		return err
	}
	q := &confirm.Question{ID: r.ID, Digest: r.Digest, Expires: r.Expires}
	if _, err := t.cfg.Desk.Wait(ctx, q); err != nil { // it is used
		return err
	}
	if err := t.mark(ctx, call, t.s.Labels.Highest(label.Label{})); err != nil {
		return err
	}
	return t.s.Record(ctx, flow.Call, flow.Confirm, confirmed("once, by "+by))
}

// allow records that a person allowed the call, by whatever means. It returns
// nil, or what the model reads if that could not be recorded.
func (p *Pending) allow(ctx context.Context, how string) (told *string) {
	if _, ok := p.verdict.Confirmed(p.cfg.Key.Digests(), p.Question.Digest); !ok {
		return p.refuse(ctx, "the answer was to another call")
	}
	if p.allowed(ctx, &p.verdict, p.s.Labels.Highest(label.Label{})) != nil {
		return p.refuse(ctx, "where strangers' words go could not be remembered")
	}
	if p.s.Record(ctx, flow.Call, flow.Confirm, append(slices.Clip(p.verdict.Reasons), confirmed(how))...) != nil {
		text := p.told(&p.verdict, "the answer could not be recorded")
		return &text
	}
	d := clear.Digest(p.Question.Digest)
	p.s.Labels.Permit(d, p.s.Sink.Name)
	_, _ = p.share(ctx, nil, &d) // else somebody else asks once more
	return nil
}

// refuse records that the call is not made, and returns what the model reads.
func (p *Pending) refuse(ctx context.Context, why string) *string {
	text, _ := p.s.RefuseCall(ctx, p.told(&p.verdict, why), p.verdict.Reasons...) // it is not made, recorded or not
	return &text
}
