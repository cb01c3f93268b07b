package declassify

import (
	"context"
	"encoding/hex"
	"slices"

	"github.com/margaydev/margay/declassify/choice"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// Defender is an adviser that reads a candidate and returns evidence: a statement
// as package evidence reads it. It must return soon after its context ends.
type Defender interface {
	Evidence(ctx context.Context, r *Request) ([]byte, error)
}

// Challenged is a defender that answers challenges, in a call without the memory
// of the first.
type Challenged interface {
	Answers(ctx context.Context, r *Request, c []evidence.Challenge) ([]byte, error)
}

// Request is the candidate as a defender sees it. A defender must not keep it.
type Request struct {
	Context evidence.Context
	Tool    *schema.Tool
	Parts   []Part
	Rules   Rules
	// Plan returns the operators that the verifier would choose for labels, and
	// the hash of the variant that they make. Defenders may return these, or
	// others that disclose less.
	Plan func([]evidence.Label) ([]evidence.Proposal, string, error)
	// Variant is the hash of the candidate with operators applied.
	Variant func([]evidence.Label, []evidence.Proposal) (string, error)
}

// Ask asks the defender and binds its evidence to this release. If anything
// fails, it adds no labels.
func (d *Draft) Ask(ctx context.Context) {
	if d.v.cfg.Defender == nil || d.c.Tool.Channel == flow.ChannelUser {
		return
	}
	tool := d.c.Tool
	tool.Args = slices.Clone(tool.Args)
	bound := d.context()
	req := &Request{Context: bound, Tool: &tool, Parts: slices.Clone(d.c.Parts), Rules: d.rules, Plan: d.planned, Variant: d.proposed}
	req.Context.Rubrics = slices.Clone(bound.Rubrics)
	stated, err := d.statement(ctx, req, &bound)
	var answers []clause.Answer
	if err == nil {
		answers, err = d.challenge(ctx, req, stated.Atoms)
	}
	d.clock.to(&d.r.Phases.Defend)
	if err != nil {
		d.r.because(rule.Of(err, evidence.Failed), "the evidence is ignored: %v", err)
		return
	}
	d.labels, d.proposals, d.answers = stated.Atoms, stated.Operators, answers
}

func (d *Draft) context() evidence.Context {
	hashes := d.rules.Hashes()
	out := evidence.Context{
		Action: d.c.Decision, Channel: string(d.c.Tool.Channel), Sink: d.c.Tool.Sink,
		Class: d.c.Tool.Class.Known().String(), Rubrics: make([]string, len(hashes)), Prev: d.s.Head.String(),
	}
	for i, h := range hashes {
		out.Rubrics[i] = h.String()
	}
	return out
}

// statement asks for evidence and binds it.
func (d *Draft) statement(ctx context.Context, req *Request, bound *evidence.Context) (*evidence.Statement, error) {
	raw, err := evidence.Call(ctx, d.v.cfg.Deadline, func(ctx context.Context) ([]byte, error) { return d.v.cfg.Defender.Evidence(ctx, req) })
	if err != nil {
		return nil, err
	}
	s, err := evidence.Parse(raw)
	if err != nil {
		return nil, err
	}
	if err := s.Bind(bound); err != nil {
		return nil, err
	}
	if err := evidence.Check(texts(d.c.Parts), s.Atoms, s.Operators); err != nil {
		return nil, err
	}
	got, err := d.proposed(s.Atoms, s.Operators)
	if err != nil {
		return nil, err
	}
	if got != s.Variant {
		return nil, evidence.Variant.Errorf("its operators make another variant")
	}
	return s, nil
}

// challenge makes the second pass. If anything fails, it returns no answers and
// believes no label. What the second pass sees where the first saw nothing may be of
// any field, as if a clause had matched there.
func (d *Draft) challenge(ctx context.Context, r *Request, labels []evidence.Label) ([]clause.Answer, error) {
	second, ok := d.v.cfg.Defender.(Challenged)
	if !ok || d.v.cfg.Challenges <= 0 {
		return nil, nil
	}
	pool := evidence.Pool{Fields: d.fields, Key: d.v.cfg.Key[:], Bind: d.c.Decision + "\x00" + d.c.Tool.Sink}
	cs := pool.Draw(d.v.cfg.Challenges, labels, d.askable())
	if len(cs) == 0 {
		return nil, nil
	}
	raw, err := evidence.Call(ctx, d.v.cfg.Deadline, func(ctx context.Context) ([]byte, error) { return second.Answers(ctx, r, slices.Clone(cs)) })
	if err != nil {
		return nil, err
	}
	yes, err := evidence.ParseAnswers(raw, len(cs))
	if err != nil {
		return nil, err
	}
	out := make([]clause.Answer, len(cs))
	for i, c := range cs {
		out[i] = clause.Answer{Challenge: c, Yes: yes[i]}
		in, m := &d.readings[c.Part], rubric.Match{Start: c.Start, End: c.End, Field: rubric.AnyField, Clause: clause.Challenge}
		if c.Disputed(labels, yes[i]) && !slices.Contains(in.Matches, m) {
			in.Matches = append(in.Matches, m)
			d.r.because(clause.Challenge, "a text: the defender left out bytes %d to %d, and then said what they touch", c.Start, c.End)
		}
	}
	return out, nil
}

// askable is what is known of the parts without the evidence.
func (d *Draft) askable() []evidence.Text {
	out := make([]evidence.Text, len(d.readings))
	for i := range d.readings {
		r, p, t := &d.readings[i], &d.c.Parts[i], &out[i]
		if t.Text = p.Text; r.Typed() {
			t.Found = []evidence.Place{{End: len(p.Text)}}
			continue
		}
		_, screened := d.rules.Screened(p.Path, d.class)
		t.Free = r.Passes || screened && d.screen.by != nil
		for _, m := range r.Matches {
			t.Found = append(t.Found, evidence.Place{Start: m.Start, End: m.End})
		}
		for _, n := range r.Names {
			t.Held = append(t.Held, evidence.Place{Start: n.Start, End: n.End})
		}
	}
	return out
}

// planned returns the operators that the verifier would choose for labels, and
// the hash of their variant.
func (d *Draft) planned(labels []evidence.Label) ([]evidence.Proposal, string, error) {
	labels = slices.Clone(labels)
	proposals := make([]evidence.Proposal, len(labels))
	for i := range proposals {
		proposals[i] = evidence.Propose(i, rubric.Op{Kind: rubric.Redact})
	}
	if err := evidence.Check(texts(d.c.Parts), labels, proposals); err != nil {
		return nil, "", err
	}
	p := d.cutter
	p.pieces = nil
	if err := p.cut(labels, nil); err != nil {
		return nil, "", err
	}
	p.plan()
	p.variant()
	for i := range labels {
		if labels[i].Field == evidence.None {
			proposals[i] = evidence.Propose(i, rubric.Op{Kind: rubric.Identity})
		}
	}
	for i := range p.pieces {
		if a := &p.pieces[i]; a.label >= 0 {
			proposals[a.label] = evidence.Propose(a.label, a.ops[a.op])
		}
	}
	hash, err := d.proposed(labels, proposals)
	return proposals, hash, err
}

// proposed is the hash of the candidate with a defender's operators applied.
func (d *Draft) proposed(labels []evidence.Label, proposals []evidence.Proposal) (string, error) {
	labels, proposals = slices.Clone(labels), slices.Clone(proposals)
	if err := evidence.Check(texts(d.c.Parts), labels, proposals); err != nil {
		return "", err
	}
	p := d.cutter
	p.pieces = make([]Piece, len(labels))
	for i := range labels {
		l := &labels[i]
		op, _ := proposals[i].Of()
		if op == choice.Pseudonym && p.c.Names == nil {
			return "", evidence.Operator.Errorf("atom %d: there are no pseudonyms here", i)
		}
		p.pieces[i] = Piece{part: l.Part, start: l.Start, end: l.End, text: p.c.Parts[l.Part].Text[l.Start:l.End], Field: l.Field, ops: []rubric.Op{op}, label: i, canon: p.readings[l.Part].canonical(l.Start, l.End, l.Field)}
	}
	parts, failed := p.build(func(a *Piece) (string, error) {
		if a.ops[0].Kind == rubric.Identity { // whether in its population or not
			return a.text, nil
		}
		return p.apply(a)
	})
	if len(failed) > 0 {
		return "", evidence.Operator.Errorf("an operator can't be applied")
	}
	variant := seal(&d.v.cfg.Key, parts).Variant()
	return hex.EncodeToString(variant[:]), nil
}
