package mcpproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mcpproxy/pin"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire/mcp"
)

// link is what is known of one session between a client and the server. It is
// safe for concurrent use.
type link struct {
	p    *Proxy
	open func(ctx context.Context) (*mediator.Session, error)
	// shared: several clients may speak through it, so that an answer of a
	// client's to what was not asked here is none of its business.
	shared bool
	// apart: each request has a channel of its own for its answer, so that an
	// error can name an id that is in use.
	apart bool

	mu      sync.Mutex
	elicits bool    // the client shows forms
	calls   waiting // of the client
	asks    waiting // of the server
}

// asked is a request that was passed on.
type asked struct {
	method, target string
	typed          bool
	note           string // what the model reads with the result
	cancelled      bool
	// Of a call, where labels are kept: its arguments, or that they are not
	// known any more.
	args   string
	forgot bool
	held   *held // it waits for a person, and was not passed on
}

// calls reports whether a request of a side's is a call of a tool of the server's.
func (a *asked) calls(from *side) bool { return from == client && a.method == "tools/call" }

// waiting are requests without an answer, and some that have one.
type waiting struct {
	open map[mcp.ID]asked
	done map[mcp.ID]asked
	old  []mcp.ID // of done, in order
}

// maxDone bounds the requests that are remembered as answered.
const maxDone = 256

func (w *waiting) add(id mcp.ID, a asked) {
	if w.open == nil {
		w.open, w.done = map[mcp.ID]asked{}, map[mcp.ID]asked{}
	}
	w.open[id] = a
}

// settle takes a request off the list.
func (w *waiting) settle(id mcp.ID) (asked, bool) {
	a, ok := w.open[id]
	if !ok || a.held != nil {
		return a, false
	}
	delete(w.open, id)
	if _, ok := w.done[id]; !ok {
		if w.old = append(w.old, id); len(w.old) > maxDone {
			delete(w.done, w.old[0])
			w.old = w.old[1:]
		}
	}
	past := a
	past.args, past.forgot = "", true
	w.done[id] = past
	return a, true
}

// room makes room for one more: those that were cancelled need no answer.
func (w *waiting) room(limit int) bool {
	if len(w.open) < limit {
		return true
	}
	for id, a := range w.open {
		if a.cancelled {
			delete(w.open, id)
			return true
		}
	}
	return false
}

// outcome is what becomes of bytes that one side sent.
type outcome struct {
	forward *cut.Released   // to the other side; nil for nothing
	replies []*cut.Released // to the sender
	// Of what was passed on or answered: the request's id; empty for none.
	id      mcp.ID
	refused bool // nothing of the message itself is forwarded
	unread  bool // it is not a message
	taken   bool // it was for Margay itself
	// decision is what refused it, where the sender is told by other means.
	decision string
	held     *held
}

// side is one end of a link, and says how its messages are treated.
type side struct {
	verb      flow.Verb
	name      string
	own, them func(*link) *waiting // requests of this side, and of the other
}

var (
	client = &side{flow.Call, "client", func(l *link) *waiting { return &l.calls }, func(l *link) *waiting { return &l.asks }}
	server = &side{flow.Observe, "server", func(l *link) *waiting { return &l.asks }, func(l *link) *waiting { return &l.calls }}
)

// reason is a connector's own.
func reason(code, format string, args ...any) flow.Reason {
	return flow.Reason{Code: code, Detail: fmt.Sprintf(format, args...), Action: flow.ActBlock}
}

// note records what was refused without the mediator and returns the id of the
// decision, which is empty where the log fails. Where the client has gone, the store
// has not failed, and nobody is told.
func (l *link) note(ctx context.Context, from *side, r flow.Reason) string {
	if r.Code == "store-failed" && ctx.Err() != nil {
		return ""
	}
	s, err := l.open(ctx)
	if err != nil { // the store may be back
		s, err = l.p.cfg.Engine.Session(ctx, &mediator.SessionRequest{Sink: l.p.sink, Refuses: true})
	}
	if err != nil {
		return ""
	}
	res := s.Decide(ctx, from.verb, &mediator.Message{Outcome: flow.Deny, Notes: []flow.Reason{r}})
	return res.Decision.ID
}

// notMade answers a call with a text for the model, and records why.
func (l *link) notMade(ctx context.Context, id mcp.ID, a *asked, r flow.Reason, why string) outcome {
	v := verdict{why: "the call was not made: " + why, decision: l.note(ctx, client, r)}
	return refused(id, a, "["+v.text()+"]")
}

// failure is an error that answers the request with an id.
func failure(id mcp.ID, code int, r flow.Reason, decision string) *cut.Released {
	return cut.Own(mcp.NewFailure(id, code, "margay: "+r.Detail, r.Code, decision))
}

// fail answers a request of a side's with an error, and records why.
func (l *link) fail(ctx context.Context, from *side, id mcp.ID, code int, r flow.Reason) outcome {
	return outcome{refused: true, replies: []*cut.Released{failure(id, code, r, l.note(ctx, from, r))}}
}

// refused answers a call with a text for the model.
func refused(id mcp.ID, a *asked, text string) outcome {
	return outcome{refused: true, replies: []*cut.Released{cut.Own(mcp.NewRefusal(id, a.typed, text))}}
}

// unreadable decides about bytes of one side that are no message. Requests
// among them are answered, and so is whoever waits for an answer among them.
func (l *link) unreadable(ctx context.Context, from *side, code int, r flow.Reason, about []mcp.About) outcome {
	decision := l.note(ctx, from, r)
	out := outcome{refused: true, unread: true, decision: decision}
	for _, a := range about {
		if a.Method {
			out.replies = append(out.replies, failure(a.ID, code, r, decision))
			continue
		}
		l.mu.Lock()
		_, ok := from.them(l).settle(a.ID)
		l.mu.Unlock()
		if ok {
			if out.forward == nil {
				out.forward = &cut.Released{}
			} else {
				out.forward.Own([]byte("\n")) // each is on a line of its own
			}
			out.forward.Append(*failure(a.ID, mcp.CodeDenied, r, decision))
			out.id = a.ID
		}
	}
	// A server may write what is not a message, such as a banner, and expects no
	// answer.
	if from == client && len(out.replies) == 0 && out.forward == nil {
		out.replies = []*cut.Released{failure(mcp.NullID, code, r, decision)}
	}
	return out
}

// tooLarge decides about a message that is larger than the limit.
func (l *link) tooLarge(ctx context.Context, from *side, about []mcp.About) outcome {
	r := reason("too-large", "a message of the %s's is larger than %d bytes (limits.body)", from.name, l.p.cfg.MaxMessage)
	return l.unreadable(ctx, from, mcp.CodeInvalid, r, about)
}

// take decides about the bytes of one message of a side's. replayed: the
// server may send again what it has sent before.
func (l *link) take(ctx context.Context, from *side, parser *mcp.Parser, raw []byte, replayed bool) outcome {
	parser.Limits = mcp.Limits{MaxBytes: l.p.cfg.MaxMessage}
	m, err := parser.Parse(raw)
	var bad *mcp.Error
	if errors.As(err, &bad) {
		r := reason(bad.Reason, "a message of the %s's is refused: %s", from.name, bad.Detail)
		return l.unreadable(ctx, from, bad.Code, r, mcp.Skim(raw))
	}
	switch m.Kind {
	case mcp.Request:
		return l.request(ctx, from, parser, m, replayed)
	case mcp.Notification:
		return l.notification(ctx, from, parser, m)
	default:
		return l.answer(ctx, from, parser, m, replayed)
	}
}

func (l *link) request(ctx context.Context, from *side, parser *mcp.Parser, m *mcp.Message, replayed bool) outcome {
	if from == client {
		l.p.seen.Add(1)
	}
	a := asked{method: m.Method, target: m.Target(), typed: m.Typed()}
	l.mu.Lock()
	own := from.own(l)
	_, used := own.open[m.ID]
	fits := used || own.room(l.p.cfg.MaxPending)
	l.mu.Unlock()
	switch {
	case used && !replayed:
		id := mcp.NullID // an answer with the id would be taken for the first one's
		if l.apart {
			id = m.ID
		}
		return l.fail(ctx, from, id, mcp.CodeInvalid, reason("id-in-use", "a request of the %s's has the id of one that waits for its answer", from.name))
	case !fits:
		return l.fail(ctx, from, m.ID, mcp.CodeDenied, reason("too-many", "%d requests of the %s's wait for an answer", l.p.cfg.MaxPending, from.name))
	case a.calls(from) && l.p.pins.Denied(a.target):
		r := reason("tool-changed", "the tool %s is not the one that it was at first sight; margay mcp forget takes it as it is now", a.target)
		return l.notMade(ctx, m.ID, &a, r, "the tool's description or schema has changed since it was first seen.")
	}
	var b *back
	if a.calls(from) && l.p.cfg.Engine.Clears {
		id := m.ID
		var err error
		if b, m, err = takeBack(parser, m); err != nil {
			return l.fail(ctx, from, id, mcp.CodeInvalid, reason("state", "a call of the client's brings back a state that can't be read"))
		}
	}
	v := l.mediate(ctx, from, parser, m, a)
	if v.denied {
		return outcome{refused: true, replies: []*cut.Released{v.reply(m.ID, &a, a.calls(from))}}
	}
	a.note = v.note
	if a.calls(from) && v.s.Clears {
		if a.args, a.forgot = v.args, len(v.args) > maxKept; a.forgot {
			a.args = ""
		}
		if out, stopped := l.clear(ctx, m, a, b, &v); stopped {
			return out
		}
	}
	l.mu.Lock()
	if from == client && a.method == "initialize" {
		l.elicits = m.Elicits()
	}
	from.own(l).add(m.ID, a)
	l.mu.Unlock()
	return outcome{forward: v.raw, id: m.ID}
}

func (l *link) notification(ctx context.Context, from *side, parser *mcp.Parser, m *mcp.Message) outcome {
	if id, ok := m.Cancels(); ok {
		if from == client && l.cancels(id) {
			return outcome{refused: true, taken: true}
		}
		l.mu.Lock()
		own := from.own(l)
		if a, ok := own.open[id]; ok {
			a.cancelled = true // its answer may be on its way, or never come
			own.open[id] = a
		}
		l.mu.Unlock()
	}
	if from == client && m.Method == "tools/call" && l.p.cfg.Engine.Clears {
		return outcome{refused: true, decision: l.note(ctx, from, reason("call-refused", "a call without an id can't be asked about"))}
	}
	v := l.mediate(ctx, from, parser, m, asked{method: m.Method})
	if v.denied {
		return outcome{refused: true, decision: v.decision} // nobody waits for an answer; the log tells
	}
	return outcome{forward: v.raw}
}

// answer decides about an answer, or an error without an id.
func (l *link) answer(ctx context.Context, from *side, parser *mcp.Parser, m *mcp.Message, replayed bool) outcome {
	if from == client && l.ours(ctx, m) {
		return outcome{refused: true, taken: true}
	}
	var a asked
	if m.ID != mcp.NullID {
		l.mu.Lock()
		them := from.them(l)
		var known, twice bool
		if a, known = them.settle(m.ID); !known {
			a, twice = them.done[m.ID]
			known = twice && replayed
		}
		l.mu.Unlock()
		if !known && !(l.shared && from == client) {
			r := reason("unknown-id", "the %s answered what nobody asked", from.name)
			if twice {
				r = reason("answered-twice", "the %s answered a request twice; the second answer is dropped", from.name)
			}
			return outcome{refused: true, decision: l.note(ctx, from, r)}
		}
	}
	m.Note = a.note
	v := l.mediate(ctx, from, parser, m, a)
	if from == server && !v.denied {
		l.told(ctx, v.s, m, a)
	}
	switch {
	case !v.denied:
		return outcome{forward: v.raw, id: m.ID}
	case m.ID == mcp.NullID:
		return outcome{refused: true, decision: v.decision}
	default:
		return outcome{forward: v.reply(m.ID, &a, a.method == "tools/call"), id: m.ID, refused: true}
	}
}

// verdict is what the mediator made of a message.
type verdict struct {
	raw            *cut.Released
	denied         bool
	code, decision string
	why            string
	told           string // the mediator's own words for the model
	s              *mediator.Session
	args           string // of a call, as they go on
	note           string // for the model, with the call's result
}

func (v *verdict) text() string {
	s := "margay: " + v.why
	if v.decision != "" {
		s += " (decision " + v.decision + "; margay explain " + v.decision + ")"
	}
	return s
}

// reply answers a request that is denied: a call with a text for the model,
// another one with an error.
func (v *verdict) reply(id mcp.ID, a *asked, call bool) *cut.Released {
	if call {
		return cut.Own(mcp.NewRefusal(id, a.typed, cmp.Or(v.told, "["+v.text()+"]")))
	}
	return cut.Own(mcp.NewFailure(id, mcp.CodeDenied, v.text(), v.code, v.decision))
}

// unstored is the verdict where the store fails.
func (l *link) unstored(ctx context.Context, from *side, why string) verdict {
	r := reason("store-failed", "%s", why)
	return verdict{denied: true, code: r.Code, why: why + "; run margay doctor", decision: l.note(ctx, from, r)}
}

// mediate decides about a message of a side's. a is the request that it is or
// that it answers.
func (l *link) mediate(ctx context.Context, from *side, parser *mcp.Parser, m *mcp.Message, a asked) verdict {
	s, err := l.open(ctx)
	if err != nil {
		l.p.cfg.Log.Error("denied", "server", l.p.cfg.Name, "error", err)
		return l.unstored(ctx, from, err.Error())
	}
	parts := m.Parts(a.method)
	tm := mediator.Message{Tool: cmp.Or(a.target, a.method), Texts: make([]flow.Text, len(parts)), Arguments: m.Arguments(), Names: m.Names(), States: m.States()}
	for i := range parts {
		p := &parts[i]
		tm.Texts[i] = flow.Text{
			ID: p.ID, Text: p.Text, Field: p.Field, Tool: a.target, Fixed: p.Key, Opaque: p.Opaque, JSON: p.JSON,
			Path: func() string { return strings.TrimSuffix(a.method+" "+m.Path(p), " ") },
		}
	}
	list := &pin.Seen{}
	if from == server && m.Kind == mcp.Response && a.method == "tools/list" {
		if list, err = l.p.pins.Check(ctx, m.Tools(), m.More()); err != nil {
			return l.unstored(ctx, from, "the store failed: "+err.Error())
		}
		tm.Notes, tm.Denied = list.Notes, list.Denied
	}
	res := s.Decide(ctx, from.verb, &tm)
	if err := l.p.keep(ctx, list); err != nil {
		return l.unstored(ctx, from, "the store failed: "+err.Error())
	}
	if res.Denied() {
		return verdict{denied: true, code: "denied", decision: res.Decision.ID, why: res.Decision.Why(), told: res.Refusal}
	}
	raw := &cut.Released{}
	err = raw.Encode(&res, func(dst []byte) ([]byte, error) {
		edited, err := parser.Rewrite(m, res.Edits)
		return append(dst, edited...), err
	})
	if err != nil {
		r := reason("not-editable", "a message of the %s's holds a secret and can't be edited", from.name)
		return verdict{denied: true, code: r.Code, decision: l.note(ctx, from, r), why: r.Detail}
	}
	v := verdict{raw: raw, s: s, note: res.Told}
	if a.calls(from) && s.Clears {
		v.args = m.CallArguments()
		if edited, ok := res.Edits[tm.Arguments]; ok {
			v.args = edited
		}
	}
	return v
}

// drop takes a request of the client's off the list, and reports whether it
// was there.
func (l *link) drop(id mcp.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.calls.open[id]
	delete(l.calls.open, id)
	return ok
}

// ended takes all requests of the client's off the list and returns an error
// for each.
func (l *link) ended(ctx context.Context, why flow.Reason) []*cut.Released {
	l.mu.Lock()
	open := l.calls.open
	l.calls.open = nil
	l.mu.Unlock()
	maps.DeleteFunc(open, func(_ mcp.ID, a asked) bool { return a.cancelled }) // nobody waits for these
	var out []*cut.Released
	for id := range open {
		out = append(out, failure(id, mcp.CodeClosed, why, l.note(ctx, server, why)))
	}
	return out
}
