package answer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/stream"
	"github.com/margaydev/margay/taint/clear"
)

// Event is one unit of a model's streamed answer, as a wire decoded it. What
// it points to must stay as it is until Release.
type Event struct {
	Raw    []byte // the event as it came
	Data   []byte // its payload
	Deltas []flow.Delta
	// Names are the server's own: ids, models, fingerprints, padding. They
	// are looked at as they are written, and can't be edited: a known secret
	// in one ends the generation.
	Names [][]byte
	// Finished lists the choices that end with this event.
	Finished []int
	// Ended lists the items whose texts end with this event.
	Ended []flow.Item
	// Choices lists the choices that the event is about. One about none, or
	// about all, keeps its place among all others.
	Choices []int
	// ID names the answer, where later requests go on with it by its name.
	ID []byte
	// Failed: the upstream says here that it failed. What waits was never
	// decided, and does not go out.
	Failed bool
}

// ErrHalted ends a generation that may not go on: the connector closes the
// client's stream in the API's own terms and cancels the upstream.
var ErrHalted = errors.New("generation halted")

// ErrDenied ends a generation that could not be decided. Errors of a
// Stream that wrap it say why, in words that hold no content.
var ErrDenied = errors.New("generation denied")

// Stop is an error that ends a generation, with the decision that does.
type Stop struct {
	// Why is ErrDenied or ErrHalted.
	Why              error
	Decision, Detail string
}

func (s *Stop) Error() string {
	if s.Detail == "" {
		return s.Why.Error()
	}
	return s.Why.Error() + ": " + s.Detail
}

// Unwrap returns ErrDenied or ErrHalted.
func (s *Stop) Unwrap() error { return s.Why }

// Stream mediates one streamed answer. Events are delayed whole until all
// their text is decided, and never re-cut: one that holds nothing to edit goes
// out as it came. It is not safe for concurrent use.
//
// Events that arrived together are added one by one and released together:
// their texts are then looked at in one go, which is most of what a token
// costs. What is found does not depend on how a text is cut (package stream),
// so neither does what goes out.
type Stream struct {
	opt  Options
	s    *session.Session
	ctx  context.Context //nolint:containedctx // one generation is one call
	cfg  *stream.Config
	text map[flow.StreamKey]*text
	last *text   // the text of the last delta: most deltas go on with it
	news []*text // those with bytes that were not looked at

	*room
	calls map[int]*calls // by choice
	seen  []int          // choices that events were about

	names   names
	plain   map[string]struct{} // strings outside the choices that are clean, or their hashes
	settled text                // stands for them
	fresh   []audit.Finding     // found, not yet recorded
	by      *session.Result     // what was found last, committed: events go out under it
	halted  bool
	ended   string              // the decision that halts it
	trace   *audit.AnswerTracer // nil if nobody observes
	hold    int                 // bytes that may be held until Settle; 0: nothing is held
	holding int
	passed  []flow.ToolCall // that the gate let through
	blocks  []int           // scratch: choices that wait
}

// room is the memory that a generation leaves to the next one.
type room struct {
	queue []*held // events that wait, in order
	free  []*held
	out   []Outgoing
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// text is one text of the answer.
type text struct {
	key     flow.StreamKey
	scan    *stream.Scanner   // nil for a call's arguments, which are decided when complete
	risk    *risk             // nil where the risk model does not judge
	trace   *audit.TextTracer // nil if nobody observes
	win     []byte            // the bytes from base on: what waits, and all of a call's arguments
	emitted []byte            // all that goes out, where calls are looked at as they come
	base    int64
	len     int64         // bytes so far
	sum     hash.Hash     // of all bytes, where the wire may repeat them
	all     []stream.Edit // the same
	fixed   bool          // an edit ends the answer
	halt    int64         // where what ends the answer begins, from 1; 0 for nothing
	looked  int64         // bytes that were looked at
	cut     int64         // bytes that are decided
	edits   []stream.Edit
	done    bool
	fresh   bool // in Stream.news
	found   int  // findings taken
	pieces  int  // deltas that wait
}

// held is an event that waits.
type held struct {
	raw, data []byte
	own       []byte // their memory, once they are kept over a Release
	kept      bool
	choices   []int
	pieces    []piece
	say       []flow.Notice
	calls     bool // it carries part of a tool call
	finish    bool

	choice [1]int // where choices and pieces begin: most events have one
	piece  [1]piece
}

// piece is a delta's place in its text.
type piece struct {
	t        *text
	from, to int64
}

// Calls decides about tool calls as texts.
type Calls interface {
	// Arguments decides about the complete arguments of a call: the edits, what
	// was found, and what the model reads if the call is not made.
	Arguments(ctx context.Context, cfg *stream.Config, name string, args []byte) (edits []stream.Edit, found []stream.Finding, withheld audit.Finding, refusal string)
	// Rubrics reports whether calls are held to rubrics, too.
	Rubrics() bool
}

// Options say how an answer is mediated. They hold for all of it.
type Options struct {
	Calls Calls
	// Ends: the wire tells the end of each item; else a further tool call ends
	// the one before it.
	Ends bool
	// Repeats: the wire repeats whole texts (flow.Delta.Copy).
	Repeats bool
	// MaxHeld bounds the bytes that are held until Settle. Without it an answer
	// that has to be held is denied.
	MaxHeld int
	// Hold keeps the whole answer until Settle: what becomes of its calls is
	// not known before all of them are.
	Hold bool
	// Gate clears every complete call of an answer that is not held. From the
	// first that it does not clear, what was not released is held until Settle.
	// Nil is for who does not hold calls to what they follow from: all go out.
	Gate func(flow.ToolCall) clear.Cleared
}

// room is how many bytes may be held, where some must be.
func (o *Options) room() int { return max(o.MaxHeld, 1) }

// Open starts to mediate a streamed answer.
func Open(ctx context.Context, s *session.Session, opt Options) *Stream {
	g := &Stream{s: s, ctx: ctx, opt: opt, room: rooms.Get().(*room), text: map[flow.StreamKey]*text{}, calls: map[int]*calls{}}
	g.cfg = config(s, nil)
	g.trace = s.Trace.Answer()
	if opt.Hold {
		g.hold = opt.room()
	}
	return g
}

// Add takes an event. Nothing is released before Release. After an error
// nothing more may be sent to the client but what ends the stream.
func (g *Stream) Add(ev *Event) (err error) {
	defer g.recover(nil, &err)
	h := g.queued(ev)
	g.queue = append(g.queue, h)
	for i := range ev.Deltas {
		if err := g.delta(h, &ev.Deltas[i]); err != nil {
			return err
		}
	}
	for _, n := range ev.Names {
		g.names.add(n)
	}
	for _, c := range ev.Choices {
		if !slices.Contains(g.seen, c) {
			g.seen = append(g.seen, c)
		}
	}
	for _, it := range ev.Ended {
		g.endTexts(func(k flow.StreamKey) bool { return k.Choice == it.Choice && k.Item == it.Item })
		g.endCall(it.Choice, it.Item)
	}
	for _, c := range ev.Finished {
		g.endTexts(func(k flow.StreamKey) bool { return k.Choice == c })
		g.endCalls(c)
	}
	h.finish = len(ev.Ended)+len(ev.Finished) > 0
	return nil
}

// Release decides what was added and returns the events that may go out, in
// order. What it returns is valid until the next call, and as long as the
// memory of the events that were added. After an error nothing more may be
// sent to the client but what it returns and what ends the stream.
func (g *Stream) Release() (out []Outgoing, err error) {
	defer g.recover(&out, &err)
	for i, t := range g.news {
		g.news[i] = nil
		t.fresh = false
		if !t.done {
			g.look(t)
		}
	}
	g.news = g.news[:0]
	if g.trace != nil {
		g.waiting()
	}
	return g.release()
}

// Close ends the answer: everything is decided and released.
func (g *Stream) Close() (out []Outgoing, err error) {
	defer g.recover(&out, &err)
	g.endTexts(func(flow.StreamKey) bool { return true })
	for c := range g.calls {
		g.endCalls(c)
	}
	return g.release()
}

// Held returns the bytes of text that wait.
func (g *Stream) Held() int64 {
	n := int64(0)
	for _, t := range g.text {
		n += t.len - t.cut
	}
	return n
}

func (g *Stream) recover(out *[]Outgoing, err *error) {
	if p := recover(); p != nil {
		if out != nil {
			*out = nil
		}
		*err = g.deny("internal-error", session.InternalError(p))
	}
}

func (g *Stream) queued(ev *Event) *held {
	if len(g.free) == 0 {
		some := make([]held, 8)
		for i := range some {
			h := &some[i]
			h.choices, h.pieces = h.choice[:0], h.piece[:0]
			g.free = append(g.free, h)
		}
	}
	n := len(g.free) - 1
	h := g.free[n]
	g.free = g.free[:n]
	h.raw, h.data = ev.Raw, ev.Data
	h.choices = append(h.choices[:0], ev.Choices...)
	h.pieces, h.say, h.calls, h.finish, h.kept = h.pieces[:0], nil, false, false, false
	return h
}

// keep copies an event that outlives the memory that it came in.
func (h *held) keep() {
	if h.kept {
		return
	}
	h.kept = true
	n := len(h.raw)
	h.own = append(append(h.own[:0], h.raw...), h.data...)
	h.raw = h.own[:n:n]
	if h.data != nil { // a comment has none, and must not get any
		h.data = h.own[n:]
	}
}

func (g *Stream) delta(h *held, d *flow.Delta) error {
	if d.Key.Choice < 0 {
		g.whole(h, d)
		return nil
	}
	t := g.last
	if t == nil || t.key != d.Key {
		if t = g.text[d.Key]; t == nil {
			var err error
			if t, err = g.start(d.Key); err != nil {
				return err
			}
		}
		g.last = t
	}
	if d.Copy {
		return g.copied(h, t, d)
	}
	if t.done && len(d.Text) > 0 {
		// Text behind its end: a stream that does this is not decided.
		return g.deny("text-after-end", "the stream goes on with a text that it had ended")
	}
	p := piece{t: t, from: t.len, to: t.len + int64(len(d.Text))}
	h.pieces = append(h.pieces, p)
	t.pieces++
	t.len = p.to
	t.win = append(t.win, d.Text...)
	t.trace.Write(d.Text)
	t.fixed = t.fixed || d.Fixed
	if g.opt.Gate != nil && emits(d.Key) && len(t.emitted) < g.opt.MaxHeld {
		t.emitted = append(t.emitted, d.Text...)
	}
	if t.sum != nil {
		t.sum.Write(d.Text)
	}
	if d.Key.Field == flow.FieldToolArguments {
		h.calls = true
		if t.len > session.MaxArguments {
			return g.deny("too-large", "the arguments of a tool call are larger than can be decided")
		}
		return nil
	}
	h.calls = h.calls || d.Key.Field == flow.FieldToolName
	if t.risk != nil {
		t.risk.read(t.scan, t.cut, d)
	}
	if !t.fresh {
		t.fresh = true
		g.news = append(g.news, t)
	}
	return nil
}

// seal halts the generation where a text needs an edit that can't be edited.
func (g *Stream) seal(t *text) {
	if t.fixed && len(t.edits) > 0 {
		g.halt(t, t.edits[0].Start)
	}
}

// halt ends the answer at an offset of a text.
func (g *Stream) halt(t *text, at int64) {
	g.halted = true
	if t.halt == 0 || at < t.halt-1 {
		t.halt = at + 1
	}
}

// start starts a text.
func (g *Stream) start(k flow.StreamKey) (*text, error) {
	const maxTexts = 4096
	if len(g.text) >= maxTexts {
		return nil, g.deny("too-large", "the stream has too many texts")
	}
	t := &text{key: k, win: make([]byte, 0, 256)}
	if g.opt.Repeats {
		t.sum = sha256.New()
	}
	if ofCall(&k) {
		g.startCall(t)
	}
	if k.Field != flow.FieldToolArguments {
		t.scan, t.risk = g.cfg.NewScanner(), judge(g.s, k)
	}
	if t.trace = g.trace.Text(k); t.risk != nil {
		t.risk.trace = t.trace
	}
	g.text[k] = t
	return t, nil
}

// look reads the bytes of a text that were not looked at.
func (g *Stream) look(t *text) {
	t.scan.Write(t.win[t.looked-t.base:])
	t.looked = t.len
	g.take(t)
}

func (g *Stream) take(t *text) {
	t.cut = t.scan.Cut()
	n := len(t.edits)
	t.edits = t.scan.Edits(t.edits)
	if g.opt.Repeats {
		t.all = append(t.all, t.edits[n:]...)
	}
	g.seal(t)
	edited(g.s, t.key, t.edits[n:])
	found := t.scan.Findings()
	if t.trace != nil {
		t.trace.Decided(t.cut, t.edits[n:], found[t.found:])
	}
	if len(found) > t.found {
		g.note(t, found[t.found:])
		t.found = len(found)
	}
}

func (g *Stream) note(t *text, found []stream.Finding) {
	for i := range found {
		var j session.Found
		j.Add(g.s, &found[i], &flow.Text{Field: t.key.Field, Path: func() string {
			if g.opt.Ends && t.key.Path != "" {
				return fmt.Sprintf("output[%d].%s", t.key.Item, t.key.Path)
			}
			if g.opt.Ends {
				return fmt.Sprintf("content[%d].%s", t.key.Item, t.key.Field)
			}
			return fmt.Sprintf("choices[%d].%s", t.key.Choice, t.key.Field)
		}})
		g.fresh = append(g.fresh, j.Findings...)
		if found[i].Action == flow.ActBlock || g.s.Policy.Halts(&found[i]) {
			g.halt(t, found[i].Start)
		}
	}
}

// end decides the rest of a text.
func (g *Stream) end(t *text) {
	switch {
	case t.done:
	case t.key.Field == flow.FieldToolArguments:
		g.endArguments(t)
	default:
		t.done = true
		if t.looked < t.len {
			g.look(t)
		}
		t.scan.Close()
		g.take(t)
		t.scan = nil
	}
}

// endTexts decides the rest of some texts.
func (g *Stream) endTexts(which func(flow.StreamKey) bool) {
	for k, t := range g.text {
		if which(k) {
			g.end(t)
		}
	}
}

// endCalls decides all calls of a choice.
func (g *Stream) endCalls(choice int) {
	if k := g.calls[choice]; k != nil {
		for item := range k.by {
			g.endCall(choice, item)
		}
	}
}

// stopped is the end of a generation that may not go on. Its decision is the one
// that found why.
func (g *Stream) stopped() error { return &Stop{Why: ErrHalted, Decision: g.ended} }

func (g *Stream) deny(code, detail string) error {
	r := g.s.Failed(g.ctx, flow.Generate, code, detail)
	return &Stop{ErrDenied, r.Decision.ID, detail}
}

// commit makes what was found durable, before the events that it is about go
// out under the result.
func (g *Stream) commit() error {
	if fresh := g.fresh; len(fresh) > 0 {
		g.fresh = nil
		r := session.Result{Decision: g.s.Decision(flow.Generate)}
		r.Conclude(&session.Found{Findings: fresh})
		if slices.ContainsFunc(fresh, func(f audit.Finding) bool { return f.Action != flow.ActReport }) {
			r.Decision.Outcome = flow.Rewrite
		}
		if g.halted {
			r.Decision.Outcome = flow.Deny
			g.ended = r.Decision.ID
		}
		if err := g.s.CommitOrPass(g.ctx, &r); err != nil {
			return g.deny(session.CodeStore, session.StoreFailed(err))
		}
		g.by = &r
	}
	if g.by != nil && g.by.Releases() {
		return nil
	}
	// Nothing was found yet, or what ends the answer was: the text before that
	// goes out.
	r := session.Result{Decision: g.s.Decision(flow.Generate)}
	if err := g.s.Commit(g.ctx, &r); err != nil {
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	g.by = &r
	return nil
}
