package answer

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/stream"
)

// Outgoing is an event that was decided and may go out. The zero Outgoing may
// not.
type Outgoing struct {
	flow.Outgoing
	by *session.Result // what was found before it, committed
}

// Releases implements cut.Permit: the decision was committed and releases.
func (o *Outgoing) Releases() bool { return o.by != nil && o.by.Releases() }

// release returns the events at the head of each choice whose text is
// decided. Choices do not wait for each other; an event about none waits for
// all, and all behind it wait for it.
//
// A generation that is halted releases nothing behind the event that halts it:
// those that happened to arrive with it are no longer its answer.
func (g *Stream) release() ([]Outgoing, error) {
	g.out = g.out[:0]
	if err := g.checkNames(); err != nil {
		return nil, err
	}
	if err := g.commit(); err != nil {
		return nil, err
	}
	if g.hold > 0 {
		return nil, g.holdAll()
	}
	g.blocks = g.blocks[:0]
	barrier, known := false, false
	for _, h := range g.queue {
		known = known || g.halted && h.halts()
	}
	kept := g.queue[:0]
	for i, h := range g.queue {
		if barrier || len(g.blocks) > 0 && len(g.blocks) == len(g.seen) {
			kept = append(kept, g.queue[i:]...) // all the rest waits
			break
		}
		all := len(h.choices) == 0
		if all && len(g.blocks) > 0 || !g.settles(h) || slices.ContainsFunc(h.choices, g.blocked) {
			kept = append(kept, h)
			barrier = all
			for _, c := range h.choices {
				if !slices.Contains(g.blocks, c) {
					g.blocks = append(g.blocks, c)
				}
			}
			continue
		}
		if err := g.refused(h); err != nil {
			return nil, err
		}
		g.out = append(g.out, Outgoing{by: g.by})
		o := &g.out[len(g.out)-1]
		o.Raw, o.Data, o.Notices, o.Edit = h.raw, h.data, h.say, g.edit(h)
		if o.Edit != nil && h.sealed() {
			g.out = g.out[:len(g.out)-1]
			break
		}
		last := g.halted && o.Edit != nil && (h.halts() || !known)
		g.done(h)
		if last {
			break
		}
	}
	if g.halted {
		return g.out, g.stopped()
	}
	clear(g.queue[len(kept):])
	g.queue = kept
	for _, h := range kept {
		h.keep()
	}
	return g.out, nil
}

// refused records the calls that are not made and that an event says so of,
// before it goes out.
func (g *Stream) refused(h *held) error {
	for i := range h.say {
		n := &h.say[i]
		if n.Decision {
			continue
		}
		told, err := g.s.RefuseCall(g.ctx, n.Text)
		if err != nil && !g.s.Passes() {
			return g.deny(session.CodeStore, session.StoreFailed(err))
		}
		n.Text, n.Decision = told, true
	}
	return nil
}

func (g *Stream) blocked(choice int) bool { return slices.Contains(g.blocks, choice) }

// settles reports whether all texts of an event are decided, and the whole of
// a call that it is about.
func (g *Stream) settles(h *held) bool {
	for i := range h.pieces {
		p := &h.pieces[i]
		if k := &p.t.key; p.to > p.t.cut || ofCall(k) && !g.callOf(k.Choice, k.Item).closed {
			return false
		}
	}
	return true
}

// halts reports whether an event has some of what ends the answer, or comes
// behind it.
func (h *held) halts() bool {
	return slices.ContainsFunc(h.pieces, func(p piece) bool { return p.t.halt > 0 && p.to >= p.t.halt })
}

// sealed reports whether an event needs an edit that it can't have.
func (h *held) sealed() bool {
	return slices.ContainsFunc(h.pieces, func(p piece) bool { return p.t.fixed && p.touched() })
}

// touched reports whether an edit of its text is about a piece.
func (p *piece) touched() bool {
	return slices.ContainsFunc(p.t.edits, func(e stream.Edit) bool { return e.Start < p.to && e.End > p.from })
}

// done gives a released event's memory back for the next one.
func (g *Stream) done(h *held) {
	for i := range h.pieces {
		p := &h.pieces[i]
		p.t.drop(p.to)
		p.t = nil
	}
	h.raw, h.data, h.say = nil, nil, nil
	if cap(h.own) > 1<<12 {
		h.own = nil
	}
	if len(g.free) < 64 {
		g.free = append(g.free, h)
	}
}

// drop forgets a text up to an offset: the deltas of a text are released in
// their order.
func (t *text) drop(to int64) {
	const much = 512
	switch t.pieces--; {
	case t.pieces == 0:
		t.base, t.win, t.edits = t.len, t.win[:0], t.edits[:0]
		if cap(t.win) > 16*much {
			t.win = nil
		}
	case to-t.base > much:
		t.win = t.win[:copy(t.win, t.win[to-t.base:])]
		t.base = to
		n := 0
		for n < len(t.edits) && t.edits[n].End <= to {
			n++
		}
		t.edits = t.edits[:copy(t.edits, t.edits[n:])]
	}
}

// bytes are those of a piece.
func (p *piece) bytes() []byte { return p.t.win[p.from-p.t.base : p.to-p.t.base] }

// edit makes the edit of an event, nil if it needs none.
func (g *Stream) edit(h *held) *flow.Edit {
	var texts map[int][]byte
	for i := range h.pieces {
		p := &h.pieces[i]
		if p.from == p.to || !p.touched() {
			continue
		}
		if texts == nil {
			texts = map[int][]byte{}
		}
		texts[i] = session.Apply(p.t.edits, p.from, p.bytes())
	}
	dropping := (h.calls || h.finish) && slices.ContainsFunc(h.choices, func(c int) bool { return g.calls[c] != nil && g.calls[c].dropped() > 0 })
	if texts == nil && !dropping {
		return nil
	}
	e := &flow.Edit{Text: texts}
	if dropping {
		e.Call, e.Finish = g.renumber, g.reason
	}
	return e
}

// Free gives the generation's memory to the next one. Neither the generation
// nor what it returned may be used after it. It need not be called, but observers
// get the answer then.
func (g *Stream) Free() {
	g.trace.End(g.traced())
	r := g.room
	if r == nil {
		return
	}
	g.room = nil
	clear(r.out[:cap(r.out)])
	clear(r.queue[:cap(r.queue)])
	r.out, r.queue = r.out[:0], r.queue[:0]
	rooms.Put(r)
}

// waiting notes which texts of a streamed answer wait for more to come.
func (g *Stream) waiting() {
	for _, t := range g.text {
		if t.cut < t.len && t.scan != nil {
			t.trace.Wait(t.cut, t.len)
		}
	}
	g.trace.Progress()
}

// traced is how a streamed answer has ended.
func (g *Stream) traced() audit.Answer {
	if g.trace == nil {
		return audit.Answer{}
	}
	out := audit.Answer{Stream: true, Halted: g.halted, Dropped: g.hold > 0}
	for _, t := range g.text {
		out.Broken = out.Broken || !t.done
	}
	return out
}
