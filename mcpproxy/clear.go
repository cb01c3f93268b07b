package mcpproxy

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire/mcp"
)

const (
	// questionID begins the ids of Margay's own requests to clients. No answer
	// with such an id goes to a server.
	questionID = `"margay-question-`
	// stateMark begins Margay's own states.
	stateMark = "margay-state-1."
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

// told notes what an answer told.
func (l *link) told(ctx context.Context, s *mediator.Session, m *mcp.Message, a asked) {
	if !s.Clears() || m.ID == mcp.NullID {
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
		return // what no model is told as a result
	default:
		call = l.p.named(a.method, "{}") // of an unknown tool: the worst
	}
	for _, text := range m.Results() {
		if err := s.Told(ctx, call, text); err != nil {
			l.p.cfg.Log.Error("what a server told could not be shared with the run", "server", l.p.cfg.Name, "error", err)
		}
	}
}

// held is a call that waits for a person's answer.
type held struct {
	l       *link
	id      mcp.ID
	typed   bool
	raw     []byte // the call, as it would go on
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
	if !strings.HasPrefix(state, stateMark) {
		return nil, m, nil
	}
	raw, err := m.Carry(carriedBy(state))
	if err == nil {
		m, err = parser.Parse(raw)
	}
	return &back{state, choice}, m, err
}

// clear decides whether a call may follow from what was told before. It
// returns false where it may, and else what becomes of the call.
func (l *link) clear(ctx context.Context, m *mcp.Message, a asked, b *back, v *verdict) (outcome, bool) {
	refused := func(text string) (outcome, bool) {
		return outcome{refused: true, replies: [][]byte{mcp.NewRefusal(m.ID, a.typed, text)}}, true
	}
	if b != nil && answerOf(b.choice) == confirm.Deny {
		// Whatever was answered elsewhere, here a person said no.
		p, err := v.s.Clear(ctx, l.p.named(a.target, v.args))
		if err == nil && p != nil && p.Question() != nil {
			if id, ok := l.p.openState(b.state, p.Question().Digest); ok && p.Resume(ctx, id) == nil {
				_ = p.Answer(ctx, confirm.Deny, formBy)
			}
			return refused(*p.Refuse(ctx, "the user said no"))
		}
		l.note(ctx, client, reason("call-refused", "a person said no to a call of %s", a.target))
		return refused("[margay: the call was not made: the user said no.]")
	}
	p, err := v.s.Clear(ctx, l.p.named(a.target, v.args))
	switch {
	case err != nil:
		return refused("[margay: the call was not made: it could not be decided what it follows from.]")
	case p == nil:
		return outcome{}, false
	case p.Question() == nil:
		return refused(*p.Refuse(ctx, ""))
	}
	q := p.Question()
	if b != nil {
		id, ok := l.p.openState(b.state, q.Digest)
		if !ok {
			return refused(*p.Refuse(ctx, "the answer is to another question, or came too late"))
		}
		if err := p.Resume(ctx, id); err != nil {
			return refused(*p.Refuse(ctx, err.Error()))
		}
		l.answered(ctx, p, b.choice)
		if text := p.Wait(ctx); text != nil {
			return refused(*text)
		}
		return outcome{}, false
	}
	if carried := m.Carried(); a.typed && m.Elicits() && len(carried) <= maxCarried {
		if err := p.Put(ctx); err != nil {
			return refused(*p.Refuse(ctx, err.Error()))
		}
		if err := p.Asked(ctx, "the client"); err != nil {
			return refused(*p.Refuse(ctx, "the question could not be recorded"))
		}
		return outcome{refused: true, replies: [][]byte{mcp.NewInputRequired(m.ID, formKey, q.Text(), choices(q), l.p.newState(q, carried))}}, true
	}
	h := &held{l: l, id: m.ID, typed: a.typed, raw: append([]byte(nil), v.raw...), pending: p}
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
	return append(out, mcp.Choice{Value: string(confirm.Deny), Title: "Deny"})
}

// answerOf is what a person chose. Whatever is no yes is a no.
func answerOf(choice string) confirm.Answer {
	switch a := confirm.Answer(choice); a {
	case confirm.Once, confirm.Trajectory:
		return a
	default:
		return confirm.Deny
	}
}

// answered passes an answer on to the desk. Where another one was first, that
// one counts.
func (l *link) answered(ctx context.Context, p *mediator.Pending, choice string) {
	if err := p.Answer(ctx, answerOf(choice), formBy); err != nil {
		_ = p.Answer(ctx, confirm.Deny, formBy) // an answer that is not offered
	}
}

// settle asks, waits, and says what becomes of the call. ask sends a message
// to the client; it is not called where the client shows no forms.
func (h *held) settle(ask func(message []byte)) outcome {
	defer h.cancel()
	p, l := h.pending, h.l
	out := outcome{refused: true, id: h.id}
	var text *string
	if err := p.Put(h.ctx); err != nil {
		text = p.Refuse(context.WithoutCancel(h.ctx), err.Error())
	} else {
		var id mcp.ID
		if h.elicits {
			id = mcp.ID(questionID + rand.Text() + `"`)
			l.p.ask(id, h)
			ask(mcp.NewElicitation(id, p.Question().Text(), choices(p.Question())))
		}
		text = p.Wait(h.ctx)
		if h.elicits && l.p.asked(id) != nil {
			ask(mcp.NewCancelled(id))
		}
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
		out.replies = [][]byte{mcp.NewRefusal(h.id, h.typed, *text)}
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

// ask remembers a question to a client.
func (p *Proxy) ask(id mcp.ID, h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.questions == nil {
		p.questions = map[mcp.ID]*held{}
	}
	p.questions[id] = h
}

// asked takes a question off the list; nil where it is not there.
func (p *Proxy) asked(id mcp.ID) *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.questions[id]
	delete(p.questions, id)
	return h
}

// ours takes a client's answer to a question of Margay's, and reports whether
// it is one: it goes no further.
func (l *link) ours(ctx context.Context, m *mcp.Message) bool {
	if !strings.HasPrefix(string(m.ID), questionID) {
		return false
	}
	if h := l.p.asked(m.ID); h != nil {
		l.answered(ctx, h.pending, m.Chosen())
	} else {
		l.note(ctx, client, reason("unknown-id", "the client answered a question too late, or twice"))
	}
	return true
}

// carriedBy is what a state carries of the server's. It is not believed before
// openState; a call that needs no answer goes on with it all the same, as with
// anything else that a client says to a server.
func carriedBy(state string) string {
	if _, head := stateHead(state); head != nil {
		return string(head[9+int(head[8]):])
	}
	return ""
}

// newState is what a client brings back with its answer: the question's id,
// when it expires, and what the call carried for the server, under a MAC with
// the call's digest.
func (p *Proxy) newState(q *confirm.Question, carried string) string {
	head := binary.BigEndian.AppendUint64(nil, uint64(q.Expires.UnixMilli())) //nolint:gosec // after 1970
	head = append(append(append(head, byte(len(q.ID))), q.ID...), carried...)
	return stateMark + base64.RawURLEncoding.EncodeToString(append(p.stateMAC(head, q.Digest), head...))
}

func (p *Proxy) stateMAC(head []byte, digest [32]byte) []byte {
	h := hmac.New(sha256.New, p.cfg.Key[:])
	h.Write([]byte("margay mcp request state v1\x00"))
	h.Write(digest[:])
	h.Write([]byte(p.cfg.Name + "\x00"))
	h.Write(head)
	return h.Sum(nil)
}

// stateHead is a state without its MAC; nil where it is none.
func stateHead(state string) (mac, head []byte) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(state, stateMark))
	if err != nil || len(b) < sha256.Size+9 || len(b) < sha256.Size+9+int(b[sha256.Size+8]) {
		return nil, nil
	}
	return b[:sha256.Size], b[sha256.Size:]
}

// openState returns the question that a state is about, where it is Margay's
// own, about this call, and has not expired.
func (p *Proxy) openState(state string, digest [32]byte) (question string, ok bool) {
	mac, head := stateHead(state)
	if head == nil || !hmac.Equal(mac, p.stateMAC(head, digest)) {
		return "", false
	}
	if !time.Now().Before(time.UnixMilli(int64(binary.BigEndian.Uint64(head)))) { //nolint:gosec // as it was written
		return "", false
	}
	return string(head[9 : 9+int(head[8])]), true
}
