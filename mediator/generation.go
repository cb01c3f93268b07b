package mediator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/stream"
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
}

// ErrHalted ends a generation that may not go on: the connector closes the
// client's stream in the API's own terms and cancels the upstream.
var ErrHalted = errors.New("generation halted")

// ErrDenied ends a generation that could not be decided. Errors of a
// Generation that wrap it say why, in words that hold no content.
var ErrDenied = errors.New("generation denied")

// maxArguments bounds the arguments of one tool call.
const maxArguments = 8 << 20

// Generation mediates one streamed answer. Events are delayed whole until all
// their text is decided, and never re-cut: one that holds nothing to edit goes
// out as it came. It is not safe for concurrent use.
//
// Events that arrived together are added one by one and released together:
// their texts are then looked at in one go, which is most of what a token
// costs. What is found does not depend on how a text is cut (package stream),
// so neither does what goes out.
type Generation struct {
	// Ends says that the wire tells the end of each item; else a further
	// tool call ends the one before it. Repeats says that it repeats whole
	// texts (flow.Delta.Copy). They are set before the first event.
	Ends, Repeats bool

	s    *Session
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
	fresh   []FindingRecord     // found, not yet recorded
	halted  bool
	trace   *answerTrace // nil where nobody looks on
	hold    int          // bytes that may be held until Let; 0: nothing is held
	holding int
	gate    func(flow.ToolCall) bool
	most    int             // bytes that are held from the gate on
	gone    []flow.ToolCall // that the gate let through
	blocks  []int           // scratch: choices that wait
}

// room is the memory that a generation leaves to the next one.
type room struct {
	queue []*held // events that wait, in order
	free  []*held
	out   []flow.Outgoing
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// text is one text of the answer.
type text struct {
	key    flow.StreamKey
	scan   *stream.Scanner // nil for a call's arguments, which are decided when complete
	risk   *risk           // nil where the risk model does not judge
	trace  *textTrace      // nil where nobody looks on
	win    []byte          // the bytes from base on: what waits, and all of a call's arguments
	said   []byte          // all that was said, where calls are looked at as they come
	base   int64
	len    int64         // bytes so far
	sum    hash.Hash     // of all bytes, where the wire may repeat them
	all    []stream.Edit // the same
	fixed  bool          // an edit ends the answer
	halt   int64         // where what ends the answer begins, from 1; 0 for nothing
	looked int64         // bytes that were looked at
	cut    int64         // bytes that are decided
	edits  []stream.Edit
	done   bool
	fresh  bool // in Generation.news
	found  int  // findings taken
	pieces int  // deltas that wait
}

// held is an event that waits.
type held struct {
	raw, data []byte
	own       []byte // their memory, once they are kept over a Release
	kept      bool
	choices   []int
	pieces    []piece
	say       []flow.Say
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

// Generate begins to mediate a streamed answer.
func (s *Session) Generate(ctx context.Context) *Generation {
	overlay, _ := s.t.discovered()
	g := &Generation{s: s, ctx: ctx, room: rooms.Get().(*room), text: map[flow.StreamKey]*text{}, calls: map[int]*calls{}}
	g.cfg = s.config(flow.Generate, overlay, nil, nil)
	g.cfg.HoldURLs = !s.e.cfg.Observe
	g.trace = s.traceAnswer()
	return g
}

// Push takes an event and returns those that are released by it, as Add and
// Release do.
func (g *Generation) Push(ev *Event) ([]flow.Outgoing, error) {
	if err := g.Add(ev); err != nil {
		return nil, err
	}
	return g.Release()
}

// Add takes an event. Nothing is released before Release. After an error
// nothing more may be sent to the client but what ends the stream.
func (g *Generation) Add(ev *Event) (err error) {
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
		if !contains(g.seen, c) {
			g.seen = append(g.seen, c)
		}
	}
	for _, it := range ev.Ended {
		h.finish = true
		if err := g.endItem(it); err != nil {
			return err
		}
	}
	for _, c := range ev.Finished {
		h.finish = true
		if err := g.finish(c); err != nil {
			return err
		}
	}
	return nil
}

// Release decides what was added and returns the events that may go out, in
// order. What it returns is valid until the next call, and as long as the
// memory of the events that were added. After an error nothing more may be
// sent to the client but what it returns and what ends the stream.
func (g *Generation) Release() (out []flow.Outgoing, err error) {
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
		g.trace.waiting(g)
	}
	return g.release()
}

// Close ends the answer: everything is decided and released.
func (g *Generation) Close() (out []flow.Outgoing, err error) {
	defer g.recover(&out, &err)
	for _, t := range g.text {
		if err := g.end(t); err != nil {
			return nil, err
		}
	}
	for c := range g.calls {
		if err := g.endCalls(c); err != nil {
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

func (g *Generation) recover(out *[]flow.Outgoing, err *error) {
	if p := recover(); p != nil {
		g.s.failed(flow.Generate, "internal-error", fmt.Sprintf("internal error of type %T; please report it", p))
		if out != nil {
			*out = nil
		}
		*err = ErrDenied
	}
}

func contains(s []int, n int) bool {
	for _, x := range s {
		if x == n {
			return true
		}
	}
	return false
}

func (g *Generation) queued(ev *Event) *held {
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
	t.trace.write(d.Text)
	t.fixed = t.fixed || d.Fixed
	if g.gate != nil && says(d.Key) && len(t.said) < g.most {
		t.said = append(t.said, d.Text...)
	}
	if t.sum != nil {
		t.sum.Write(d.Text)
	}
	if d.Key.Field == flow.FieldToolArguments {
		h.calls = true
		if t.len > maxArguments {
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

// copied takes an event that repeats a whole text, which ends it. What repeats
// another text than was streamed is looked at as one of its own.
func (g *Generation) copied(h *held, t *text, d *flow.Delta) error {
	if t.len == 0 && !t.done {
		first := *d
		first.Copy = false
		if err := g.delta(h, &first); err != nil {
			return err
		}
		return g.end(t)
	}
	if err := g.end(t); err != nil {
		return err
	}
	own := append([]byte(nil), d.Text...)
	c := &text{key: d.Key, done: true, win: own, len: int64(len(own)), cut: int64(len(own)), fixed: t.fixed || d.Fixed}
	sum := sha256.Sum256(own)
	call := d.Key.Field == flow.FieldToolArguments || d.Key.Field == flow.FieldToolName
	switch {
	case c.len == t.len && string(sum[:]) == string(t.sum.Sum(nil)):
		c.edits = t.all
	case call && (g.gate != nil || g.hold > 0 || g.s.declassifies()):
		// What was decided is the call as it was streamed.
		return g.deny("copies-differ", "the stream repeats a tool call, and not as it was")
	case d.Key.Field == flow.FieldToolArguments:
		v := g.s.arguments(g.cfg, "", own)
		g.note(c, v.found)
		if c.edits = v.edits; v.refusal != "" && !g.calls[d.Key.Choice].dropped[d.Key.Item] {
			return g.deny("copies-differ", "the stream repeats the arguments of a tool call, and not as they were")
		}
	default:
		sc := g.cfg.NewScanner()
		sc.Write(own)
		sc.Close()
		c.edits = sc.Edits(nil)
		g.note(c, sc.Findings())
	}
	g.seal(c)
	h.pieces = append(h.pieces, piece{t: c, to: c.len})
	h.calls = h.calls || call
	c.pieces++
	return nil
}

// seal halts the generation where a text needs an edit that can't be edited.
func (g *Generation) seal(t *text) {
	if t.fixed && len(t.edits) > 0 {
		g.halt(t, t.edits[0].Start)
	}
}

// halt ends the answer at an offset of a text.
func (g *Generation) halt(t *text, at int64) {
	g.halted = true
	if t.halt == 0 || at < t.halt-1 {
		t.halt = at + 1
	}
}

// begin begins a text. Where the wire does not tell, a further tool call ends
// the one before it.
func (g *Generation) begin(k flow.StreamKey) (*text, error) {
	const maxTexts = 4096
	if len(g.text) >= maxTexts {
		return nil, g.deny("too-large", "the stream has too many texts")
	}
	t := &text{key: k, win: make([]byte, 0, 256)}
	if g.Repeats {
		t.sum = sha256.New()
	}
	if k.Field == flow.FieldToolArguments || k.Field == flow.FieldToolName {
		c := g.calls[k.Choice]
		if c == nil {
			c = &calls{seen: map[int]bool{}, dropped: map[int]bool{}, passed: map[int]bool{}, closed: map[int]bool{}, args: map[int][]*text{}}
			g.calls[k.Choice] = c
		}
		if !g.Ends && c.started && c.open != k.Item {
			if err := g.endCall(k.Choice, c.open); err != nil {
				return nil, err
			}
		}
		c.seen[k.Item], c.open, c.started = true, k.Item, true
		if k.Field == flow.FieldToolArguments {
			c.args[k.Item] = append(c.args[k.Item], t)
		}
	}
	if k.Field != flow.FieldToolArguments {
		t.scan, t.risk = g.cfg.NewScanner(), g.s.judge(k)
	}
	if t.trace = g.trace.text(k); t.risk != nil {
		t.risk.trace = t.trace
	}
	g.text[k] = t
	return t, nil
}

// whole decides a string outside the choices at once. A stream mostly repeats
// the same few.
func (g *Generation) whole(h *held, d *flow.Delta) {
	if g.isPlain(d.Text) {
		h.pieces = append(h.pieces, piece{t: &g.settled})
		g.settled.pieces++
		return
	}
	own := append([]byte(nil), d.Text...)
	out, found := g.cfg.Text(own)
	t := &text{key: d.Key, done: true, win: own, len: int64(len(own)), cut: int64(len(own))}
	if string(out) != string(d.Text) {
		t.edits = []stream.Edit{{End: t.len, Text: out}}
	}
	g.note(t, found)
	const many = 4096
	if len(found) == 0 && t.edits == nil && len(g.plain) < many {
		if g.plain == nil {
			g.plain = map[string]struct{}{}
		}
		if len(own) >= longPlain {
			sum := sha256.Sum256(own)
			own = append(sum[:], notUTF8)
		}
		g.plain[string(own)] = struct{}{}
	}
	h.pieces = append(h.pieces, piece{t: t, to: t.len})
	t.pieces++
}

// longPlain is the length from which clean strings are remembered by their
// hash: some wires echo all of a request several times.
const longPlain = 256

// notUTF8 tells a hash from a string.
const notUTF8 = 0xff

// isPlain reports whether a string outside the choices is known to be clean.
func (g *Generation) isPlain(b []byte) bool {
	if len(b) < longPlain {
		_, ok := g.plain[string(b)]
		return ok || len(b) == 0
	}
	sum := sha256.Sum256(b)
	_, ok := g.plain[string(append(sum[:], notUTF8))]
	return ok
}

// look reads the bytes of a text that were not looked at.
func (g *Generation) look(t *text) {
	t.scan.Write(t.win[t.looked-t.base:])
	t.looked = t.len
	g.take(t)
}

func (g *Generation) take(t *text) {
	t.cut = t.scan.Cut()
	n := len(t.edits)
	t.edits = t.scan.Edits(t.edits)
	if g.Repeats {
		t.all = append(t.all, t.edits[n:]...)
	}
	g.seal(t)
	g.s.edited(t.key, t.edits[n:])
	found := t.scan.Findings()
	if t.trace != nil {
		t.trace.decided(t.cut, t.edits[n:], found[t.found:])
	}
	if len(found) > t.found {
		g.note(t, found[t.found:])
		t.found = len(found)
	}
}

func (g *Generation) note(t *text, found []stream.Finding) {
	for i := range found {
		var j judged
		j.add(g.s, &found[i], &Text{Field: t.key.Field, Path: func() string {
			if g.Ends && t.key.Path != "" {
				return fmt.Sprintf("output[%d].%s", t.key.Item, t.key.Path)
			}
			if g.Ends {
				return fmt.Sprintf("content[%d].%s", t.key.Item, t.key.Field)
			}
			return fmt.Sprintf("choices[%d].%s", t.key.Choice, t.key.Field)
		}}, flow.Generate)
		g.fresh = append(g.fresh, j.findings...)
		if found[i].Action == flow.ActBlock || g.s.policy.halts(&found[i]) {
			g.halt(t, found[i].Start)
		}
	}
}

// end decides the rest of a text.
func (g *Generation) end(t *text) error {
	if t.done {
		return nil
	}
	if t.key.Field == flow.FieldToolArguments {
		g.endArguments(t)
		return nil
	}
	t.done = true
	if t.looked < t.len {
		g.look(t)
	}
	t.scan.Close()
	g.take(t)
	t.scan = nil
	return nil
}

// endItem decides the rest of an item's texts.
func (g *Generation) endItem(it flow.Item) error {
	for k, t := range g.text {
		if k.Choice == it.Choice && k.Item == it.Item {
			if err := g.end(t); err != nil {
				return err
			}
		}
	}
	return g.endCall(it.Choice, it.Item)
}

func (g *Generation) finish(choice int) error {
	for k, t := range g.text {
		if k.Choice == choice {
			if err := g.end(t); err != nil {
				return err
			}
		}
	}
	return g.endCalls(choice)
}

func (g *Generation) deny(code, detail string) error {
	g.s.failed(flow.Generate, code, detail)
	return fmt.Errorf("%w: %s", ErrDenied, detail)
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
	if err := g.s.record(g.ctx, &r); err != nil {
		if !g.s.e.cfg.OnErrorPass {
			return g.deny(codeStore, "the store failed: "+err.Error()+"; run margay doctor")
		}
	}
	return nil
}
