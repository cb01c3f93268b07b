package mediator

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/stream"
)

// release returns the events at the head of each choice whose text is
// decided. Choices do not wait for each other; an event about none waits for
// all, and all behind it wait for it.
func (g *Generation) release() ([]Out, error) {
	if err := g.record(); err != nil {
		return nil, err
	}
	g.blocks = g.blocks[:0]
	barrier := false
	kept := g.queue[:0]
	for _, h := range g.queue {
		all := len(h.choices) == 0
		wait := barrier || all && len(g.blocks) > 0 || !h.decided() || !all && g.blocked(h.choices)
		if !wait {
			g.out = append(g.out, g.render(h))
			g.done(h)
			continue
		}
		kept = append(kept, h)
		barrier = barrier || all
		g.blocks = append(g.blocks, h.choices...)
	}
	clear(g.queue[len(kept):])
	g.queue = kept
	return g.out, g.policy()
}

func (g *Generation) blocked(choices []int) bool {
	for _, c := range choices {
		if slices.Contains(g.blocks, c) {
			return true
		}
	}
	return false
}

func (h *held) decided() bool {
	for i := range h.pieces {
		if p := &h.pieces[i]; p.to > p.t.cut || !p.t.done && p.t.key.Field == flow.FieldToolName {
			return false
		}
	}
	if h.calls {
		for i := range h.pieces {
			if p := &h.pieces[i]; p.t.key.Field == flow.FieldToolArguments && !p.t.done {
				return false
			}
		}
	}
	return true
}

// done gives a released event's memory back for the next one.
func (g *Generation) done(h *held) {
	for i := range h.pieces {
		p := &h.pieces[i]
		p.t.pieces--
		if p.t.pieces == 0 && p.to == p.t.len {
			p.t.edits = p.t.edits[:0]
		}
		p.t = nil
	}
	if cap(h.raw) < 1<<14 && len(g.free) < 64 {
		g.free = append(g.free, h)
	}
}

// render makes the edit of an event, if it needs one.
func (g *Generation) render(h *held) Out {
	o := Out{Raw: h.raw, Data: h.data, Say: h.say}
	var texts map[int][]byte
	for i := range h.pieces {
		p := &h.pieces[i]
		if !touches(p.t.edits, p.from, p.to) {
			continue
		}
		if texts == nil {
			texts = map[int][]byte{}
		}
		texts[i] = apply(p.t.edits, p.from, p.text)
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
		return o
	}
	o.Edit = &Edit{Text: texts}
	if dropping != nil {
		o.Edit.Call = g.call
		o.Edit.Finish = g.reason
	}
	return o
}

// call renumbers the calls behind one that was taken out.
func (g *Generation) call(choice, index int) (int, bool) {
	k := g.calls[choice]
	if k == nil {
		return index, false
	}
	n := index
	for d := range k.dropped {
		if d < index && d >= 0 {
			n--
		}
	}
	return n, k.dropped[index]
}

// reason is "stop" for a choice whose calls were all taken out.
func (g *Generation) reason(choice int, reason string) string {
	k := g.calls[choice]
	if k != nil && len(k.dropped) == len(k.seen) && (reason == "tool_calls" || reason == "function_call") {
		return "stop"
	}
	return reason
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
