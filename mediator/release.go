package mediator

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/stream"
)

// release returns the events at the head of each choice whose text is
// decided. Choices do not wait for each other; an event about none waits for
// all, and all behind it wait for it.
//
// A generation that is halted releases nothing behind the event that halts it:
// those that happened to arrive with it are no longer its answer.
func (g *Generation) release() ([]flow.Outgoing, error) {
	g.out = g.out[:0]
	if err := g.checkNames(); err != nil {
		return nil, err
	}
	if err := g.record(); err != nil {
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
		if all && len(g.blocks) > 0 || !g.settles(h) || !all && g.blocked(h.choices) {
			kept = append(kept, h)
			barrier = all
			for _, c := range h.choices {
				if !contains(g.blocks, c) {
					g.blocks = append(g.blocks, c)
				}
			}
			continue
		}
		g.out = append(g.out, flow.Outgoing{})
		o := &g.out[len(g.out)-1]
		o.Raw, o.Data, o.Say, o.Edit = h.raw, h.data, h.say, g.edit(h)
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
		return g.out, ErrHalted
	}
	clear(g.queue[len(kept):])
	g.queue = kept
	for _, h := range kept {
		h.keep()
	}
	return g.out, nil
}

func (g *Generation) blocked(choices []int) bool {
	for _, c := range choices {
		if contains(g.blocks, c) {
			return true
		}
	}
	return false
}

// settles reports whether all texts of an event are decided, and the whole of
// a call that it is about.
func (g *Generation) settles(h *held) bool {
	for i := range h.pieces {
		p := &h.pieces[i]
		if p.to > p.t.cut {
			return false
		}
		k := &p.t.key
		if (k.Field == flow.FieldToolName || k.Field == flow.FieldToolArguments) && !g.calls[k.Choice].closed[k.Item] {
			return false
		}
	}
	return true
}

// halts reports whether an event has some of what ends the answer, or comes
// behind it.
func (h *held) halts() bool {
	for i := range h.pieces {
		if p := &h.pieces[i]; p.t.halt > 0 && p.to >= p.t.halt {
			return true
		}
	}
	return false
}

// sealed reports whether an event needs an edit that it can't have.
func (h *held) sealed() bool {
	for i := range h.pieces {
		if p := &h.pieces[i]; p.t.fixed && touches(p.t.edits, p.from, p.to) {
			return true
		}
	}
	return false
}

// done gives a released event's memory back for the next one.
func (g *Generation) done(h *held) {
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
func (g *Generation) edit(h *held) *flow.Edit {
	var texts map[int][]byte
	for i := range h.pieces {
		p := &h.pieces[i]
		if len(p.t.edits) == 0 || p.from == p.to || !touches(p.t.edits, p.from, p.to) {
			continue
		}
		if texts == nil {
			texts = map[int][]byte{}
		}
		texts[i] = apply(p.t.edits, p.from, p.bytes())
	}
	var dropping *calls
	if h.calls || h.finish {
		for _, c := range h.choices {
			if k := g.calls[c]; k != nil && len(k.dropped) > 0 {
				dropping = k
			}
		}
	}
	if texts == nil && dropping == nil {
		return nil
	}
	e := &flow.Edit{Text: texts}
	if dropping != nil {
		e.Call, e.Finish = g.call, g.reason
	}
	return e
}

func touches(edits []stream.Edit, from, to int64) bool {
	for i := range edits {
		if e := &edits[i]; e.Start < to && e.End > from {
			return true
		}
	}
	return false
}

// apply edits the piece of a text that begins at from. What replaces a span
// stands where the span starts.
func apply(edits []stream.Edit, from int64, text []byte) []byte {
	to := from + int64(len(text))
	out := make([]byte, 0, len(text))
	at := from
	for i := range edits {
		e := &edits[i]
		if e.End <= at || e.Start >= to {
			continue
		}
		if e.Start > at {
			out = append(out, text[at-from:e.Start-from]...)
		}
		if e.Start >= from {
			out = append(out, e.Text...)
		}
		at = min(e.End, to)
	}
	return append(out, text[at-from:]...)
}

// Free gives the generation's memory to the next one. Neither the generation
// nor what it returned may be used after it. It need not be called, but those
// who look on are told of the answer then.
func (g *Generation) Free() {
	g.trace.end(g.traced())
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
