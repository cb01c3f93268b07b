package mcpproxy

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mcpproxy/pin"
	"github.com/margaydev/margay/mcpproxy/token"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire/mcp"
)

const (
	// questionID begins the ids of Margay's own requests to clients. No answer
	// with such an id goes to a server.
	questionID = `"margay-question-`
	// formKey names the form in an answer that asks for input.
	formKey = "margay"
	// maxCarried bounds what a state carries of the server's.
	maxCarried = 64 << 10
	// maxKept bounds the arguments that are remembered until the result comes.
	maxKept = 64 << 10
	// formBy is how a question was answered.
	formBy = "elicitation"
)

// named is a call of a server's tool by the name that harnesses give it, which
// packs know it by.
func (p *Proxy) named(tool, args string) flow.ToolCall {
	return flow.ToolCall{Name: "mcp__" + p.cfg.Name + "__" + tool, Arguments: args}
}

// keep makes a list known, once nothing that was said of a tool counts for another.
func (p *Proxy) keep(ctx context.Context, list *pin.Seen) error {
	for _, tool := range list.Changed {
		if p.cfg.Changed == nil {
			break
		}
		if err := p.cfg.Changed(ctx, p.named(tool, "").Name); err != nil {
			return err
		}
	}
	return list.Keep(ctx)
}

// told notes what an answer told.
func (l *link) told(ctx context.Context, s *mediator.Session, m *mcp.Message, a asked) {
	if m.ID != mcp.NullID {
		l.returned(ctx, s, a, m.Results())
	}
}

// returned notes the results of a request.
func (l *link) returned(ctx context.Context, s *mediator.Session, a asked, results []string) {
	if !s.Clears {
		return
	}
	var call flow.ToolCall
	switch a.method {
	case "tools/call":
		call = l.p.named(a.target, a.args)
		if a.forgot {
			call.Name = l.p.named("", "").Name // of an unknown tool: the worst
		}
	case "initialize", "ping", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
		"resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "logging/setLevel", "completion/complete":
		return // no model reads this as a result
	default:
		call = l.p.named(a.method, "?") // of an unknown tool with unknown arguments: the worst
	}
	if err := s.Returned(ctx, &mediator.Returned{Call: call, Results: results}); err != nil {
		l.p.cfg.Log.Error("what a server returned could not be shared with the run", "server", l.p.cfg.Name, "error", err)
	}
}

// held is a call that waits for a person's answer.
type held struct {
	l       *link
	id      mcp.ID
	typed   bool
	raw     *cut.Released // the call, as it would go on
	pending *mediator.Pending
	elicits bool
	ctx     context.Context
	cancel  context.CancelFunc
}

// back is what a call brought back of a question of Margay's.
type back struct{ state, choice string }

// takeBack takes what is Margay's own out of a call that is made again.
func takeBack(parser *mcp.Parser, m *mcp.Message) (*back, *mcp.Message, error) {
	state, choice := m.Returned(formKey)
	if !token.Ours(state) {
		return nil, m, nil
	}
	raw, err := m.Carry(token.Carried(state))
	if err == nil {
		m, err = parser.Parse(raw)
	}
	return &back{state, choice}, m, err
}

// clear decides whether a call may follow from what was told before. It
// returns false where it may, and else what becomes of the call.
func (l *link) clear(ctx context.Context, m *mcp.Message, a asked, b *back, v *verdict) (outcome, bool) {
	c := &mediator.Clearing{Call: l.p.named(a.target, v.args)}
	no := false
	if b != nil {
		c.Back = &mediator.Back{Question: func(digest [32]byte) (string, bool) { return l.p.token.Open(b.state, digest, time.Now()) }, Answer: answerOf(b.choice), By: formBy}
		no = c.Back.Answer == confirm.Deny
	}
	p, err := v.s.Clear(ctx, c)
	switch {
	case no && p == nil:
		// Whatever the call follows from, and whatever was answered elsewhere,
		// here a person said no.
		return l.notMade(ctx, m.ID, &a, reason("call-refused", "a person said no to a call of %s", a.target), "the user said no."), true
	case err != nil:
		const why = "it could not be decided what it follows from."
		return l.notMade(ctx, m.ID, &a, reason("call-refused", "a call of %s: "+why, a.target), why), true
	case p == nil:
		return outcome{}, false
	case p.Question == nil:
		return refused(m.ID, &a, p.Refused), true
	}
	if carried := m.Carried(); a.typed && m.Elicits() && len(carried) <= maxCarried {
		if text := p.Ask(ctx, "the client"); text != nil {
			return refused(m.ID, &a, *text), true
		}
		return outcome{refused: true, replies: []*cut.Released{cut.Own(mcp.NewInputRequired(m.ID, formKey, p.Question.Text(), choices(p.Question), l.p.token.New(p.Question.ID, p.Question.Digest, p.Question.Expires, carried)))}}, true
	}
	h := &held{l: l, id: m.ID, typed: a.typed, raw: v.raw, pending: p}
	h.ctx, h.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	h.elicits = l.elicits && !a.typed
	a.held = h
	l.calls.add(m.ID, a)
	l.mu.Unlock()
	return outcome{refused: true, held: h, id: m.ID}, true
}

// choices are what a person can answer.
func choices(q *confirm.Question) []mcp.Choice {
	out := []mcp.Choice{{Value: string(confirm.Once), Title: "Allow once"}}
	if q.Grant != [32]byte{} {
		out = append(out, mcp.Choice{Value: string(confirm.Trajectory), Title: "Allow for this trajectory"})
	}
	if q.First != nil {
		out = append(
			out,
			mcp.Choice{Value: string(confirm.Reads), Title: "Allow, and remember: it only reads"},
			mcp.Choice{Value: string(confirm.Changes), Title: "Allow, and remember: it also changes things"},
			mcp.Choice{Value: string(confirm.Asks), Title: "Allow, and ask each time"},
		)
	}
	if q.Folder != "" {
		out = append(out, mcp.Choice{Value: string(confirm.Trust(q.Folder)), Title: "Allow, and trust " + strconv.Quote(q.Folder) + " from now on"})
	}
	return append(out, mcp.Choice{Value: string(confirm.Deny), Title: "Deny"})
}

// answerOf is what a person chose. Anything but a yes is a no.
func answerOf(choice string) confirm.Answer {
	if a := confirm.Answer(choice); a.Yes() {
		return a
	}
	return confirm.Deny
}

// settle asks, waits, and says what becomes of the call. ask sends a message
// to the client; it is not called where the client shows no forms.
func (h *held) settle(ask func(message *cut.Released)) outcome {
	defer h.cancel()
	p, l := h.pending, h.l
	out := outcome{refused: true, id: h.id}
	var id mcp.ID
	text := p.Wait(h.ctx, func(q *confirm.Question) {
		if h.elicits {
			id = mcp.ID(questionID + rand.Text() + `"`)
			l.p.questions.Store(id, h)
			ask(cut.Own(mcp.NewElicitation(id, q.Text(), choices(q))))
		}
	})
	if id != "" && l.p.asked(id) != nil {
		ask(cut.Own(mcp.NewCancelled(id)))
	}
	l.mu.Lock()
	a, open := l.calls.open[h.id]
	open = open && a.held == h
	if open && text == nil {
		a.held = nil
		l.calls.add(h.id, a)
	} else if open {
		delete(l.calls.open, h.id)
	}
	l.mu.Unlock()
	switch {
	case !open: // it was cancelled, and nobody waits for an answer
	case text != nil:
		out.replies = []*cut.Released{cut.Own(mcp.NewRefusal(h.id, h.typed, *text))}
	default:
		out.forward, out.refused = h.raw, false
	}
	return out
}

// cancels takes a held call off the list, and reports whether there was one.
// Its server has never heard of it.
func (l *link) cancels(id mcp.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.calls.open[id]
	if !ok || a.held == nil {
		return false
	}
	delete(l.calls.open, id)
	a.held.cancel()
	return true
}

// asked takes a question off the list; nil where it is not there.
func (p *Proxy) asked(id mcp.ID) *held {
	h, _ := p.questions.LoadAndDelete(id)
	waits, _ := h.(*held)
	return waits
}

// ours takes a client's answer to a question of Margay's, and reports whether
// it is one: it goes no further.
func (l *link) ours(ctx context.Context, m *mcp.Message) bool {
	if !strings.HasPrefix(string(m.ID), questionID) {
		return false
	}
	if h := l.p.asked(m.ID); h != nil {
		h.pending.Answer(ctx, answerOf(m.Chosen()), formBy)
	} else {
		l.note(ctx, client, reason("unknown-id", "the client answered a question too late, or twice"))
	}
	return true
}
