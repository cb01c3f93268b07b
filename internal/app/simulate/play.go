// Package simulate plays recorded sessions through the engine that a configuration
// makes, and counts the calls that a person would be asked about.
//
// There is no model: a step that Margay would have made again is asked about at once,
// so that the figures are upper bounds. The user says yes, once, to every question.
// Only labels count; what calls would disclose is not asked about.
package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/recorded"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/effect"
)

// keys and trajectory are the same in all runs. No decision depends on them.
var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

const trajectory = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// outcome is what became of a session's calls.
type outcome struct {
	calls, denied int
	asked         map[cause]int
}

// cause is why calls were asked about.
type cause struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

// player plays one session. It is not safe for concurrent use.
type player struct {
	engine  *mediator.Engine
	taint   *mediator.Taint
	asked   []*confirm.Question // in the step under way
	texts   []flow.Text
	turns   []flow.Turn
	offered []flow.OfferedTool
	user    []string
	dropped map[string]bool // ids of calls that were not made
	out     outcome
}

// play plays a session under what base says: the mediator's configuration, of which
// only the machine and the memories are the session's own.
func play(ctx context.Context, base *mediator.Taint, roots []string, trusted bool, s *recorded.Session) (*outcome, error) {
	p := &player{dropped: map[string]bool{}, out: outcome{asked: map[cause]int{}}}
	store := memory.New()
	store.MaxDecisions, store.MaxEvents = 1, 1
	p.taint = &mediator.Taint{
		Policy: base.Policy, Key: base.Key, Foreign: base.Foreign, Screen: base.Screen, MaxTold: -1, NoReplay: true,
		Pins: store, Machine: recorded.Machine(s, &keys, trusted, nil, roots...),
	}
	p.taint.Desk = confirm.New(confirm.Config{Store: store, Sealer: &keys, Limit: time.Hour, Asked: func(q *confirm.Question) {
		p.asked = append(p.asked, q)
		_ = p.taint.Desk.Answer(context.Background(), q.ID, confirm.Once, "simulate") // a call without a yes counts as denied
	}})
	rules, err := recognise.New(nil)
	if err != nil {
		return nil, err
	}
	if p.engine, err = mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store}, Taint: p.taint}); err != nil {
		return nil, err
	}
	for _, t := range s.Tools {
		p.offered = append(p.offered, flow.OfferedTool{Name: t})
	}
	for i := range s.Messages {
		if err := p.message(ctx, &s.Messages[i]); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return &p.out, nil
}

// say adds a text to the conversation, and returns its id.
func (p *player) say(role flow.Role, text string) int {
	id := len(p.texts)
	p.texts = append(p.texts, flow.Text{ID: id, Text: text, Field: flow.FieldContent, Role: role, Path: func() string { return "messages" }})
	return id
}

func (p *player) message(ctx context.Context, m *recorded.Message) error {
	switch {
	case m.Role == flow.RoleAssistant:
		return p.step(ctx, m)
	case m.Role == flow.RoleTool && p.dropped[m.CallID]:
		return nil
	case m.Role == flow.RoleUser:
		p.user = append(p.user, m.Text)
	}
	p.turns = append(p.turns, flow.Turn{Role: m.Role, Result: m.CallID, Parts: []int{p.say(m.Role, m.Text)}})
	return nil
}

// step makes a step as the gateway does: the conversation is the request, and the
// recorded message the model's answer.
func (p *player) step(ctx context.Context, m *recorded.Message) error {
	s, err := p.engine.Session(ctx, &mediator.SessionRequest{Caller: "simulate", Trajectory: trajectory, Sink: flow.Sink{Name: "model"}})
	if err != nil {
		return err
	}
	turn := s.Prompt(ctx, &mediator.Prompt{Texts: p.texts, Conversation: true, Turns: p.turns, Tools: p.offered})
	if turn.Denied() {
		return fmt.Errorf("the request was denied: %s", turn.Decision.Why())
	}
	p.asked = nil
	whole, looked, err := turn.Whole(ctx, recorded.Whole(m.Text, m.Calls), nil, nil)
	switch {
	case err != nil:
		return err
	case looked.Denied():
		return fmt.Errorf("the answer was denied: %s", looked.Decision.Why())
	}
	p.keep(m, whole, &looked)
	return nil
}

// refusal stands in the conversation for a call that was not made.
const refusal = "[margay: a call was not made.]"

// keep adds the answer to the conversation, without the calls that are not made, and
// counts its calls.
func (p *player) keep(m *recorded.Message, w *answer.Whole, l *answer.Looked) {
	t := flow.Turn{Role: flow.RoleAssistant}
	for _, text := range l.Emitted(w) {
		t.Parts = append(t.Parts, p.say(t.Role, text))
	}
	for i := range m.Calls {
		c := &m.Calls[i]
		p.out.calls++
		call := c.Proposed("")
		k := slices.IndexFunc(p.asked, func(q *confirm.Question) bool { return q.Call.Name == call.Name && q.Call.Arguments == call.Arguments })
		if k >= 0 {
			p.out.asked[cause{c.Name, p.reason(p.asked[k])}]++
			p.asked = slices.Delete(p.asked, k, k+1)
		}
		if _, no := l.Refused[i]; no {
			if k < 0 {
				p.out.denied++
			}
			p.dropped[c.ID] = true
			t.Parts = append(t.Parts, p.say(t.Role, refusal))
			continue
		}
		delete(p.dropped, c.ID) // one before it may have had the same id
		t.Calls = append(t.Calls, flow.TurnCall{ID: c.ID, Name: c.Name, Arguments: string(c.Args)})
	}
	p.turns = append(p.turns, t)
}

// reason says in a word or two what a question is about: the effects of the call,
// without those that anybody may cause where there are others, or else the codes of
// what its pack says.
func (p *player) reason(q *confirm.Question) string {
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, mild := range []bool{false, true} {
		for i := range q.Deeds {
			if name := q.Deeds[i].Effect; mild == (name == effect.Observe.String() || name == effect.Edit.String()) {
				add(name)
			}
		}
		if len(out) > 0 {
			break
		}
	}
	if len(out) == 0 {
		c := p.taint.Policy.Clear(q.Call, p.user)
		for _, r := range c.Reasons {
			add(r.Code)
		}
		if len(q.Faults) > 0 {
			add("label")
		}
	}
	slices.Sort(out)
	return strings.Join(out, "+")
}
