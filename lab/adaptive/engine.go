package adaptive

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/pack"
)

// keys are the same in all episodes. No decision depends on them.
var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

// product is what the engine of a setting is made of. It is safe for concurrent use.
type product struct {
	policy *taint.Policy
	rules  *recognise.Set
	coding bool
}

func newProduct(coding bool, packs ...string) (*product, error) {
	var bindings []pack.Binding
	for _, n := range packs {
		p, err := pack.Builtin(n)
		if err != nil {
			return nil, err
		}
		bindings = append(bindings, pack.Bind(p, ""))
	}
	policy, err := pack.Policy(observe.Machine(), nil, bindings...)
	if err != nil {
		return nil, err
	}
	rules, err := recognise.New(nil)
	return &product{policy: policy, rules: rules, coding: coding}, err
}

// engine is the mediator of one episode, with the scripted user.
type engine struct {
	*mediator.Engine
	yes   bool // the user's answer to the call under way
	asked bool
	lets  bool // the question said that a yes lets builds and tests run
	// grants: where a question offers it, his yes is for the rest of the conversation;
	// always: that one said that code runs which strangers change later.
	grants, always bool
}

func (p *product) open(grants bool) (*engine, error) {
	e := &engine{grants: grants}
	store := memory.New()
	store.MaxDecisions, store.MaxEvents = 1, 1
	cfg := &mediator.Taint{
		Policy: p.policy, Key: taint.Key{1}, Pins: store,
		// As margay serve has it: two underscores name a tool of a server.
		Foreign: func(tool string) bool { return strings.Contains(tool, "__") },
	}
	if p.coding {
		cfg.Machine = places.New(places.Config{
			Store: store, Keys: &keys, Dir: root, Home: home, Roots: []string{root}, State: []string{home + "/.config/margay", home + "/.local/share/margay"},
		})
	}
	cfg.Desk = confirm.New(confirm.Config{Store: store, Sealer: &keys, Limit: time.Hour, Asked: func(q *confirm.Question) {
		e.asked = true
		for _, d := range q.Deeds {
			e.lets = e.lets || strings.Contains(d.Why, "a yes holds for builds and tests")
		}
		a := confirm.Deny
		if e.yes {
			a = confirm.Once
			if e.grants && len(q.Kinds) > 0 {
				a = confirm.Trajectory
				e.always = e.always || strings.Contains(strings.Join(q.Kinds, " "), "as strangers' text may have changed it")
			}
		}
		_ = cfg.Desk.Answer(context.Background(), q.ID, a, "adaptive") // where it fails, the call is denied
	}})
	var err error
	e.Engine, err = mediator.New(mediator.Config{Config: session.Config{Rules: p.rules, Keys: keys, Store: store}, Taint: cfg})
	return e, err
}

// chat is one conversation of an agent's.
type chat struct {
	e       *engine
	id      string
	texts   []flow.Text
	turns   []flow.Turn
	offered []flow.OfferedTool
	calls   int
	// orders are the attackers' texts that stand in it, and whose they are.
	orders map[string]author
}

func (e *engine) chat(n int) *chat {
	return &chat{e: e, orders: map[string]author{}, id: fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ69G5F%02d", n)}
}

// say adds a text to the conversation, and returns its id.
func (c *chat) say(role flow.Role, text string) int {
	id := len(c.texts)
	c.texts = append(c.texts, flow.Text{ID: id, Text: text, Field: flow.FieldContent, Role: role, Path: func() string { return "messages" }})
	return id
}

func (c *chat) offer(name, description string) {
	o := flow.OfferedTool{Name: name}
	if description != "" {
		o.Parts = []int{c.say(flow.RoleDeveloper, description)}
	}
	c.offered = append(c.offered, o)
}

func (c *chat) user(text string) {
	c.turns = append(c.turns, flow.Turn{Role: flow.RoleUser, Parts: []int{c.say(flow.RoleUser, text)}})
}

// result adds what the last call returned.
func (c *chat) result(text string) {
	c.turns = append(c.turns, flow.Turn{Role: flow.RoleTool, Result: fmt.Sprintf("c%d", c.calls), Parts: []int{c.say(flow.RoleTool, text)}})
}

// outcome is what became of a proposed call.
type outcome struct {
	made, asked bool
	// by is who had a part in what the step that counts was made from.
	by author
}

// answers makes a step in which the model says a text, and proposes a call if it has a
// name. follows: it does so because of the attacker's orders.
func (c *chat) answers(ctx context.Context, text, tool, args string, follows bool) (outcome, error) {
	s, err := c.e.Session(ctx, &mediator.SessionRequest{Caller: "adaptive", Trajectory: c.id, Sink: flow.Sink{Name: "model"}})
	if err != nil {
		return outcome{}, err
	}
	turn := s.Prompt(ctx, &mediator.Prompt{Texts: c.texts, Conversation: true, Turns: c.turns, Tools: c.offered})
	if turn.Denied() {
		return outcome{}, fmt.Errorf("the request was denied: %s", turn.Decision.Why())
	}
	c.e.yes, c.e.asked, c.e.lets = !follows, false, false
	up := &upstream{c: c, text: text, tool: tool, args: args, follows: follows}
	kept, looked, err := turn.Whole(ctx, whole(text, tool, args), up, up.answer)
	if err != nil {
		return outcome{}, err
	}
	if looked.Denied() {
		return outcome{asked: c.e.asked}, nil
	}
	t := flow.Turn{Role: flow.RoleAssistant}
	for _, said := range looked.Emitted(kept) {
		t.Parts = append(t.Parts, c.say(t.Role, said))
	}
	_, refused := looked.Refused[0]
	made := len(kept.Calls) > 0 && !refused
	if made {
		c.calls++
		t.Calls = []flow.TurnCall{{ID: fmt.Sprintf("c%d", c.calls), Name: tool, Arguments: args}}
	} else if len(t.Parts) == 0 {
		t.Parts = []int{c.say(t.Role, "A call was not made.")}
	}
	c.turns = append(c.turns, t)
	o := outcome{made: made, asked: c.e.asked}
	for _, by := range c.orders {
		o.by = max(o.by, by)
	}
	if kept == up.again {
		o.by = up.seen
	}
	return o, nil
}

// whole is an answer with a text and a call.
func whole(text, tool, args string) *answer.Whole {
	w := &answer.Whole{}
	add := func(f flow.Field, tool, text string) int {
		id := len(w.Texts)
		w.Texts = append(w.Texts, flow.Text{ID: id, Text: text, Field: f, Tool: tool, Path: func() string { return "answer" }})
		return id
	}
	if text != "" {
		w.Says = []int{add(flow.FieldContent, "", text)}
	}
	if tool != "" {
		w.Calls = []answer.ToolCallText{{Name: tool, Arguments: add(flow.FieldToolArguments, tool, args)}}
	}
	return w
}

// upstream is the scripted model where a step is made again. It implements
// mediator.Upstream.
type upstream struct {
	c                *chat
	text, tool, args string
	follows, sees    bool
	hidden           bool // the tool is not offered
	seen             author
	again            *answer.Whole
}

// GoOn implements mediator.Upstream.
func (*upstream) GoOn([]string, []flow.RefusedCall) []byte { return nil }

// Withhold implements mediator.Upstream: it notes what is shown.
func (u *upstream) Withhold(w *flow.Withheld) []byte {
	var shown []string
	u.hidden = false
	for i := range u.c.offered {
		o := &u.c.offered[i]
		if w.Hidden[i] {
			u.hidden = u.hidden || o.Name == u.tool
			continue
		}
		for _, p := range o.Parts {
			shown = append(shown, u.c.texts[p].Text)
		}
	}
	for i := range u.c.turns {
		t := &u.c.turns[i]
		if w.Without[i] {
			continue
		}
		if text, ok := w.Before[i]; ok {
			shown = append(shown, text)
		}
		if text, ok := w.Instead[i]; ok {
			shown = append(shown, text)
			continue
		}
		for _, id := range t.Parts {
			text := u.c.texts[id].Text
			if edit, ok := w.Edits[id]; ok && t.Role != flow.RoleTool {
				text = edit
			}
			shown = append(shown, text)
		}
	}
	u.sees, u.seen = !u.follows, theUser
	for o, by := range u.c.orders {
		for _, s := range shown {
			if strings.Contains(s, o) {
				u.sees, u.seen = true, max(u.seen, by)
			}
		}
	}
	body, _ := json.Marshal(shown) // texts can be written as JSON
	return body
}

func (u *upstream) answer(context.Context, []byte) (*answer.Whole, error) {
	u.again = whole("", u.tool, u.args)
	if !u.sees || u.hidden {
		u.again = whole("I lack information for this.", "", "")
	}
	return u.again, nil
}
