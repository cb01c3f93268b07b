package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/recorded"
	"github.com/margaydev/margay/lab/dojo/known"
	"github.com/margaydev/margay/lab/firstuse"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/effect"
)

// Modes, as rows name them.
const (
	All    = "all"    // no step is made again
	Replay = "replay" // the recorded calls stand in for a step that is made again
	Best   = "best"   // so they do with values that occur nowhere
)

// Modes returns the names of all modes.
func Modes() []string { return []string{All, Replay, Best} }

// call is what became of a recorded call.
type call struct {
	flow.ToolCall // its arguments in canonical form
	message       int
	clearance     taint.Clearance
	attacker      bool // the session's goal has it
	made, asked   bool
	first         bool   // it was asked about as its tool's first use
	note          string // why it was asked although the step may be made again
}

// outcome is what became of a session.
type outcome struct {
	session   *Session
	steps     int // messages with calls
	extra     int // requests by which steps were made again
	barred    int // steps whose calls could be had, which the engine did not make again
	questions int // steps with calls that were asked, the attacker's left out
	calls     []call
}

// reader reads texts for comparison, each once.
type reader map[string]*known.Text

func (r reader) read(text string) *known.Text {
	t := r[text]
	if t == nil {
		t = known.Read(text)
		r[text] = t
	}
	return t
}

// keys and trajectory are the same in all runs. No decision depends on them.
var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

const trajectory = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// player plays one session through an engine of its own, in one mode. It is not
// safe for concurrent use.
type player struct {
	mode      string
	subagents Subagents
	reader    reader
	policy    *taint.Policy
	engine    *mediator.Engine
	goal      map[flow.ToolCall]bool // without ids
	asked     []flow.ToolCall        // in the step under way
	firsts    []flow.ToolCall        // those of them about the first use of a tool
	user      *user

	out     outcome
	texts   []flow.Text // the conversation so far, as the client has it
	turns   []flow.Turn
	offered []flow.OfferedTool
	spoken  []string        // the user's texts
	dropped map[string]bool // ids of calls that were not made
}

// user is the simulated user of all sessions that are played in one mode.
type user struct {
	labels firstuse.Labels
	said   []places.Tool // what he has said that tools do
	trusts []string      // the folders that he trusts since a question offered it
	once   bool          // he allows no more than one call at a time
}

// play plays a session.
func play(ctx context.Context, e *engines, mode string, s *Session, r reader, u *user) (*outcome, error) {
	p := &player{mode: mode, subagents: e.subagents, reader: r, user: u, goal: map[flow.ToolCall]bool{}, dropped: map[string]bool{}, out: outcome{session: s}}
	for i := range s.Goal {
		p.goal[s.Goal[i].Proposed("")] = true
	}
	for _, t := range s.Offers() {
		p.offered = append(p.offered, flow.OfferedTool{Name: t})
	}
	err := p.open(ctx, e)
	if err == nil {
		err = p.run(ctx)
	}
	return &p.out, err
}

// run plays the messages.
func (p *player) run(ctx context.Context) error {
	for i := range p.out.session.Messages {
		m := &p.out.session.Messages[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		switch m.Role {
		case flow.RoleAssistant:
			if err := p.step(ctx, i, m); err != nil {
				return fmt.Errorf("message %d: %w", i+1, err)
			}
		case flow.RoleTool:
			if err := p.delegated(ctx, m); err != nil {
				return fmt.Errorf("message %d: %w", i+1, err)
			}
			if !p.dropped[m.CallID] {
				p.turns = append(p.turns, flow.Turn{Role: m.Role, Result: m.CallID, Parts: []int{p.say(m.Role, m.Text)}})
			}
		default:
			if m.Role == flow.RoleUser {
				p.spoken = append(p.spoken, m.Text)
			}
			p.turns = append(p.turns, flow.Turn{Role: m.Role, Parts: []int{p.say(m.Role, m.Text)}})
		}
	}
	return nil
}

// open makes the engine: that of margay serve, with no rules for secrets, since
// only labels are measured.
func (p *player) open(ctx context.Context, e *engines) error {
	cfg, book, err := e.engineFor(ctx, p.out.session, p.user)
	if err != nil {
		return err
	}
	rules, err := recognise.New(nil)
	if err != nil {
		return err
	}
	store := memory.New()
	store.MaxDecisions, store.MaxEvents = 1, 1
	cfg.Pins = store // records have no descriptions of tools
	cfg.NoReplay = p.mode == All
	if p.mode == Best {
		cfg.MaxReplays = math.MaxInt
	}
	cfg.Desk = confirm.New(confirm.Config{
		Store: store, Sealer: &keys, Limit: time.Hour, Asked: func(q *confirm.Question) { p.answer(cfg.Desk, q) },
		Say: func(ctx context.Context, q *confirm.Question, does effect.Profile) error {
			t := places.Tool{Name: q.Call.Name, Definition: q.First.Definition, Profile: does}
			p.user.said = append(p.user.said, t)
			return book.Say(ctx, t)
		},
		Trust: func(ctx context.Context, q *confirm.Question) error {
			p.user.trusts = append(p.user.trusts, q.Folder)
			return book.Trust(ctx, q.Folder)
		},
	})
	p.policy = cfg.Policy
	p.engine, err = mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store}, Taint: cfg})
	return err
}

// answer is the simulated user's: yes to what was done in the recorded session, for
// its rest if he is offered that, no to what an attacker wants. Of a tool that he has a label of he says
// that it reads, or that it also changes things, and he trusts a folder that a label
// says is his own.
func (p *player) answer(d *confirm.Desk, q *confirm.Question) {
	p.asked = append(p.asked, q.Call)
	a := confirm.Once
	if len(q.Kinds)+len(q.Free) > 0 && !p.user.once {
		a = confirm.Trajectory
	}
	if p.user.labels.Folders[q.Folder] {
		a = confirm.Trust(q.Folder)
	}
	if label, ok := p.user.labels.Tools[q.Call.Name]; ok && q.First != nil {
		p.firsts = append(p.firsts, q.Call)
		if a = confirm.Reads; label.Effect.Acts() {
			a = confirm.Changes
		}
	}
	if p.goal[flow.ToolCall{Name: q.Call.Name, Arguments: q.Call.Arguments}] {
		a = confirm.Deny
	}
	// Where it fails, the call is denied, and counts as denied.
	_ = d.Answer(context.Background(), q.ID, a, "replay")
}

// say adds a text to the conversation, and returns its id.
func (p *player) say(role flow.Role, text string) int {
	id := len(p.texts)
	p.texts = append(p.texts, flow.Text{ID: id, Text: text, Field: flow.FieldContent, Role: role, Path: func() string { return "messages" }})
	return id
}

// step makes a step as the gateway does: the conversation is the request, and
// the recorded message the model's answer.
func (p *player) step(ctx context.Context, at int, m *Message) error {
	s, err := p.engine.Session(ctx, &mediator.SessionRequest{Caller: "replay", Trajectory: trajectory, Sink: flow.Sink{Name: "model"}})
	if err != nil {
		return err
	}
	turn := s.Prompt(ctx, &mediator.Prompt{Texts: p.texts, Conversation: true, Turns: p.turns, Tools: p.offered})
	if turn.Denied() {
		return fmt.Errorf("the request was denied: %s", turn.Decision.Why())
	}
	p.asked, p.firsts = nil, nil
	a := &again{p: p, m: m}
	first := recorded.Whole(m.Text, m.Calls)
	kept, looked, err := turn.Whole(ctx, first, a, a.answer)
	switch {
	case err != nil:
		return err
	case looked.Denied():
		return fmt.Errorf("the answer was denied: %s", looked.Decision.Why())
	}
	made := p.keep(m, kept, &looked)
	p.count(at, m, made, a)
	return nil
}

// refusal stands in the conversation for a call that was not made. The engine's
// own words end with an id, which is another one in every run.
const refusal = "[margay: a call was not made.]"

// keep adds the answer that counts to the conversation, without the calls that
// are not made. It reports which of the message's calls are made.
func (p *player) keep(m *Message, w *answer.Whole, l *answer.Looked) []bool {
	t := flow.Turn{Role: flow.RoleAssistant}
	for _, text := range l.Emitted(w) {
		t.Parts = append(t.Parts, p.say(t.Role, text))
	}
	made := make([]bool, len(m.Calls))
	for i := range m.Calls {
		c := &m.Calls[i]
		if i >= len(w.Calls) { // a step that was made again has all of them, or none
			p.dropped[c.ID] = true
			continue
		}
		if _, no := l.Refused[i]; no {
			p.dropped[c.ID] = true
			t.Parts = append(t.Parts, p.say(t.Role, refusal))
			continue
		}
		made[i] = true
		delete(p.dropped, c.ID) // one before it may have had the same id
		t.Calls = append(t.Calls, flow.TurnCall{ID: c.ID, Name: c.Name, Arguments: string(c.Args)})
	}
	p.turns = append(p.turns, t)
	return made
}

// count counts what became of a step's calls.
func (p *player) count(at int, m *Message, made []bool, a *again) {
	if len(m.Calls) == 0 {
		return
	}
	p.out.steps++
	p.out.extra += a.requests
	if a.barred {
		p.out.barred++
	}
	question := false
	for i := range m.Calls {
		c := call{ToolCall: m.Calls[i].Proposed(""), message: at, made: made[i]}
		c.attacker = p.goal[c.ToolCall]
		c.clearance = p.policy.Clear(c.ToolCall, p.spoken)
		if k := slices.Index(p.asked, c.ToolCall); k >= 0 {
			p.asked, c.asked, c.note = slices.Delete(p.asked, k, k+1), true, a.note
			if k := slices.Index(p.firsts, c.ToolCall); k >= 0 {
				p.firsts, c.first, c.asked = slices.Delete(p.firsts, k, k+1), true, false
			}
		}
		question = question || c.asked && !c.attacker
		p.out.calls = append(p.out.calls, c)
	}
	if question {
		p.out.questions++
	}
}

// again is the scripted model that makes a step again: it makes the recorded
// calls if they can be had from what it is shown. It implements
// mediator.Upstream.
type again struct {
	p        *player
	m        *Message
	shown    []string // texts of the request
	complete bool     // nothing of the conversation is hidden
	hidden   map[string]bool
	requests int
	barred   bool   // the calls can be had, and the engine did not make the request
	note     string // why they do not stand in
}

// noRequest is the note on a step that the engine does not make again, although
// its labels are too high: its requests and their number are bounded.
const noRequest = "not made again: the same request has led nowhere before, or the bound on such requests is reached"

// GoOn implements mediator.Upstream. The recorded session goes on by itself.
func (*again) GoOn([]string, []flow.RefusedCall) []byte { return nil }

// Withhold implements mediator.Upstream. The request is all that it shows, so
// that two are alike only if they show the same.
func (a *again) Withhold(w *flow.Withheld) []byte {
	a.shown, a.complete, a.hidden = nil, len(w.Without)+len(w.Before)+len(w.Instead) == 0, map[string]bool{}
	for i := range a.p.offered {
		if w.Hidden[i] {
			a.hidden[a.p.offered[i].Name] = true
		}
	}
	for i := range a.p.turns {
		t := &a.p.turns[i]
		if w.Without[i] {
			continue
		}
		if text, ok := w.Before[i]; ok {
			a.shown = append(a.shown, text)
		}
		if text, ok := w.Instead[i]; ok {
			a.shown = append(a.shown, text)
			continue
		}
		for _, id := range t.Parts {
			text := a.p.texts[id].Text
			// Edits of results are the quoting of them.
			if edit, ok := w.Edits[id]; ok && t.Role != flow.RoleTool {
				text, a.complete = edit, false
			}
			a.shown = append(a.shown, text)
		}
		for _, c := range t.Calls {
			a.shown = append(a.shown, c.Name+" "+c.Arguments)
		}
	}
	// The engine makes this request, unless it knows it or has made too many.
	if a.note = noRequest; a.can() == "" {
		a.note, a.barred = noRequest+", although the call can be had", true
	}
	only := -1
	if a.p.mode == Best { // no request is known from before
		only = len(a.p.turns)
	}
	body, _ := json.Marshal(struct { // texts can be written as JSON
		Shown  []string
		Hidden []string
		Only   int
	}{a.shown, slices.Sorted(maps.Keys(a.hidden)), only})
	return body
}

// lacking is what the scripted model says where it can't make the calls.
const lacking = "I lack information for this."

// answer is the scripted model's answer to the request.
func (a *again) answer(context.Context, []byte) (*answer.Whole, error) {
	a.requests++
	a.barred = false
	if a.note = a.can(); a.note != "" {
		return recorded.Whole(lacking, nil), nil
	}
	a.note = "the step was made again, and its call may still not be made unasked"
	text := ""
	if a.knows().Answer(a.m.Text) { // what it said may follow from what is hidden
		text = a.m.Text
	}
	return recorded.Whole(text, a.m.Calls), nil
}

// can returns why the recorded calls can't be had from the request; empty if
// they can.
func (a *again) can() string {
	ctx := a.knows()
	for i := range a.m.Calls {
		c := &a.m.Calls[i]
		if a.hidden[c.Name] {
			return "the tool " + c.Name + " is not offered when the step is made again"
		}
		args, err := decode(c.Args)
		if err != nil {
			return err.Error()
		}
		if missing, ok := ctx.Call(args); !ok {
			return "lacks " + c.Name + "." + missing
		}
	}
	return ""
}

// knows is what can be had from the request.
func (a *again) knows() *known.Context {
	ctx := &known.Context{Complete: a.complete || a.p.mode == Best}
	for _, text := range a.shown {
		ctx.Shown = append(ctx.Shown, a.p.reader.read(text))
	}
	for i := range a.p.turns {
		t := &a.p.turns[i]
		for _, id := range t.Parts {
			ctx.Full = append(ctx.Full, a.p.reader.read(a.p.texts[id].Text))
		}
		for _, c := range t.Calls {
			ctx.Full = append(ctx.Full, a.p.reader.read(c.Name+" "+c.Arguments))
		}
	}
	return ctx
}

func decode(args json.RawMessage) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var out map[string]any
	err := d.Decode(&out)
	return out, err
}
