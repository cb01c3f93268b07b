package mediator

import (
	"context"
	"errors"
	"fmt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/stream"
)

// Event is one unit of a model's streamed answer, as a wire decoded it.
type Event struct {
	Raw    []byte // the event as it came; copied where it is held
	Data   []byte // its payload
	Deltas []flow.Delta
	// Finished lists the choices that end with this event.
	Finished []int
	// Choices lists the choices that the event is about. One about none, or
	// about all, keeps its place among all others.
	Choices []int
}

// Out is an event that is released.
type Out struct {
	Raw, Data []byte
	// Edit is nil where the event goes out as it came.
	Edit *Edit
	// Say are texts of ours that go out before the event.
	Say []Say
}

// Edit says what changes in an event.
type Edit struct {
	Text   map[int][]byte // new texts by the delta's place
	Call   func(choice, index int) (newIndex int, drop bool)
	Finish func(choice int, reason string) string
}

// Say is text of the mediator's own in a choice.
type Say struct {
	Choice int
	Text   string
}

// ErrHalted ends a generation that may not go on: the connector closes the
// client's stream in the API's own terms and cancels the upstream.
var ErrHalted = errors.New("generation halted")

// ErrDenied ends a generation that could not be decided.
var ErrDenied = errors.New("generation denied")

// maxArguments bounds the arguments of one tool call.
const maxArguments = 8 << 20

// Generation mediates one streamed answer. Events are delayed whole until all
// their text is decided, and never re-cut: one that holds nothing to edit goes
// out as it came. It is not safe for concurrent use.
type Generation struct {
	s    *Session
	ctx  context.Context //nolint:containedctx // one generation is one call
	cfg  *stream.Config
	text map[flow.StreamKey]*text
	last *text // the text of the last delta: most deltas go on with it

	queue []*held
	free  []*held
	out   []Out
	calls map[int]*calls // by choice

	fresh  []FindingRecord // found, not yet recorded
	logged int
	halted bool
	blocks []int // scratch: choices that wait
}

// text is one text of the answer.
type text struct {
	key    flow.StreamKey
	scan   *stream.Scanner
	args   []byte // of a tool call: all of it, decided when complete
	len    int64
	cut    int64
	edits  []stream.Edit
	done   bool
	seen   int // findings taken
	pieces int // deltas that wait
}

// held is an event that waits.
type held struct {
	raw, data []byte
	choices   []int
	pieces    []piece
	say       []Say
	calls     bool // it carries part of a tool call
	finish    bool
}

// piece is a delta's place in its text.
type piece struct {
	t        *text
	from, to int64
	text     []byte
}

// calls are the tool calls of one choice.
type calls struct {
	seen, dropped map[int]bool
	open          int
	started       bool
}

// Generate begins to mediate a streamed answer.
func (s *Session) Generate(ctx context.Context) *Generation {
	overlay, _ := s.t.discovered()
	g := &Generation{s: s, ctx: ctx, text: map[flow.StreamKey]*text{}, calls: map[int]*calls{}}
	g.cfg = s.config(flow.Generate, overlay, nil, nil)
	g.cfg.HoldURLs = !s.e.cfg.Observe
	return g
}

// Push takes an event and returns those that are released by it. What it
// returns is valid until the next call. After an error nothing more may be
// sent to the client but what ends the stream.
func (g *Generation) Push(ev *Event) (out []Out, err error) {
	defer g.recover(&out, &err)
	g.recycle()
	h := g.hold(ev)
	for i := range ev.Deltas {
		if err := g.delta(h, &ev.Deltas[i]); err != nil {
			return nil, err
		}
	}
	for _, c := range ev.Finished {
		if err := g.finish(c); err != nil {
			return nil, err
		}
		h.finish = true
	}
	g.queue = append(g.queue, h)
	return g.release()
}

// Close ends the answer: everything is decided and released.
func (g *Generation) Close() (out []Out, err error) {
	defer g.recover(&out, &err)
	g.recycle()
	for _, t := range g.text {
		if err := g.end(t); err != nil {
			return nil, err
		}
	}
	return g.release()
}

// Held returns the bytes of text that wait.
func (g *Generation) Held() int64 {
	n := int64(0)
	for _, t := range g.text {
		n += t.len - t.cut
	}
	return n
}

func (g *Generation) recover(out *[]Out, err *error) {
	if p := recover(); p != nil {
		g.s.failed(flow.Generate, "internal-error", fmt.Sprintf("internal error of type %T; please report it", p))
		*out, *err = nil, ErrDenied
	}
}

func (g *Generation) recycle() {
	for i := range g.out {
		g.out[i] = Out{}
	}
	g.out = g.out[:0]
}

func (g *Generation) hold(ev *Event) *held {
	var h *held
	if n := len(g.free); n > 0 {
		h, g.free = g.free[n-1], g.free[:n-1]
	} else {
		h = &held{}
	}
	h.raw = append(h.raw[:0], ev.Raw...)
	h.data = append(h.data[:0], ev.Data...)
	h.choices = append(h.choices[:0], ev.Choices...)
	h.pieces, h.say, h.calls, h.finish = h.pieces[:0], nil, false, false
	return h
}

func (g *Generation) delta(h *held, d *flow.Delta) error {
	if d.Key.Choice < 0 {
		g.whole(h, d)
		return nil
	}
	t := g.last
	if t == nil || t.key != d.Key {
		if t = g.text[d.Key]; t == nil {
			var err error
			if t, err = g.begin(d.Key); err != nil {
				return err
			}
		}
		g.last = t
	}
	if t.done {
		// Text behind its end: a stream that does this is not decided.
		if len(d.Text) > 0 {
			return g.deny("text-after-end", "the stream goes on with a text that it had ended")
		}
	}
	p := piece{t: t, from: t.len, to: t.len + int64(len(d.Text))}
	t.len = p.to
	n := len(h.pieces)
	if n < cap(h.pieces) {
		p.text = h.pieces[:n+1][n].text[:0]
	}
	p.text = append(p.text, d.Text...)
	h.pieces = append(h.pieces, p)
	t.pieces++
	if d.Key.Field == flow.FieldToolArguments {
		h.calls = true
		if len(t.args)+len(d.Text) > maxArguments {
			return g.deny("too-large", "the arguments of a tool call are larger than can be decided")
		}
		t.args = append(t.args, d.Text...)
		return nil
	}
	h.calls = h.calls || d.Key.Field == flow.FieldToolName
	t.scan.Write(d.Text)
	g.take(t)
	return nil
}

// begin begins a text. A further tool call ends the one before it.
func (g *Generation) begin(k flow.StreamKey) (*text, error) {
	const maxTexts = 4096
	if len(g.text) >= maxTexts {
		return nil, g.deny("too-large", "the stream has too many texts")
	}
	t := &text{key: k}
	if k.Field == flow.FieldToolArguments || k.Field == flow.FieldToolName {
		c := g.calls[k.Choice]
		if c == nil {
			c = &calls{seen: map[int]bool{}, dropped: map[int]bool{}}
			g.calls[k.Choice] = c
		}
		if c.started && c.open != k.Item {
			if err := g.endCall(k.Choice, c.open); err != nil {
				return nil, err
			}
		}
		c.seen[k.Item], c.open, c.started = true, k.Item, true
	}
	if k.Field != flow.FieldToolArguments {
		t.scan = g.cfg.NewScanner()
	}
	g.text[k] = t
	return t, nil
}

// whole decides a string outside the choices at once.
func (g *Generation) whole(h *held, d *flow.Delta) {
	out, found := g.cfg.Text(append([]byte(nil), d.Text...))
	t := &text{key: d.Key, done: true, len: int64(len(d.Text)), cut: int64(len(d.Text))}
	if string(out) != string(d.Text) {
		t.edits = []stream.Edit{{End: t.len, Text: out}}
	}
	g.note(t, found)
	h.pieces = append(h.pieces, piece{t: t, to: t.len, text: append([]byte(nil), d.Text...)})
	t.pieces++
}

func (g *Generation) take(t *text) {
	t.cut = t.scan.Cut()
	t.edits = t.scan.Edits(t.edits)
	if found := t.scan.Findings(); len(found) > t.seen {
		g.note(t, found[t.seen:])
		t.seen = len(found)
	}
}

func (g *Generation) note(t *text, found []stream.Finding) {
	for i := range found {
		var j judged
		j.add(g.s, &found[i], &Text{Field: t.key.Field, Path: func() string {
			return fmt.Sprintf("choices[%d].%s", t.key.Choice, t.key.Field)
		}}, flow.Generate)
		g.fresh = append(g.fresh, j.findings...)
		g.halted = g.halted || found[i].Action == flow.ActBlock || g.s.policy.Halt && found[i].Action == flow.ActRedact
	}
}

// end decides the rest of a text.
func (g *Generation) end(t *text) error {
	if t.done {
		return nil
	}
	if t.key.Field == flow.FieldToolArguments {
		return g.endCall(t.key.Choice, t.key.Item)
	}
	t.done = true
	t.scan.Close()
	g.take(t)
	t.scan = nil
	return nil
}

// endCall decides a complete tool call.
func (g *Generation) endCall(choice, item int) error {
	name := ""
	if t := g.text[flow.StreamKey{Choice: choice, Field: flow.FieldToolName, Item: item}]; t != nil {
		if err := g.end(t); err != nil {
			return err
		}
		name = g.nameOf(t)
	}
	t := g.text[flow.StreamKey{Choice: choice, Field: flow.FieldToolArguments, Item: item}]
	if t == nil || t.done {
		return nil
	}
	t.done, t.cut = true, t.len
	v := g.s.arguments(g.cfg, name, t.args)
	g.note(t, v.found)
	t.edits, t.args = v.edits, nil
	if v.refusal == "" {
		return nil
	}
	g.calls[choice].dropped[item] = true
	for _, h := range g.queue {
		for _, p := range h.pieces {
			if p.t == t || p.t.key == (flow.StreamKey{Choice: choice, Field: flow.FieldToolName, Item: item}) {
				h.say = append(h.say, Say{Choice: choice, Text: v.refusal})
				return nil
			}
		}
	}
	return nil
}

// nameOf returns a tool's name from the pieces that wait.
func (g *Generation) nameOf(t *text) string {
	var b []byte
	for _, h := range g.queue {
		for _, p := range h.pieces {
			if p.t == t && len(b) < 128 {
				b = append(b, p.text...)
			}
		}
	}
	return string(b[:min(len(b), 128)])
}

func (g *Generation) finish(choice int) error {
	for k, t := range g.text {
		if k.Choice == choice {
			if err := g.end(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// policy halts where a finding asks for it.
func (g *Generation) policy() error {
	if g.halted {
		return ErrHalted
	}
	return nil
}

func (g *Generation) deny(code, detail string) error {
	g.s.failed(flow.Generate, code, detail)
	return ErrDenied
}

// record logs what was found before the events that it is about go out.
func (g *Generation) record() error {
	if len(g.fresh) == 0 {
		return nil
	}
	fresh := g.fresh
	g.fresh = nil
	r := Result{Decision: g.s.decision(flow.Generate)}
	g.s.conclude(&r, judged{findings: fresh})
	for i := range fresh {
		if fresh[i].Action != flow.ActReport {
			r.Decision.Outcome = flow.Rewrite
		}
	}
	if g.halted {
		r.Decision.Outcome = flow.Deny
	}
	g.logged += len(fresh)
	if err := g.s.record(g.ctx, &r); err != nil {
		if !g.s.e.cfg.OnErrorPass {
			return g.deny(codeStore, "the store failed: "+err.Error()+"; run margay doctor")
		}
	}
	return nil
}
