package answer

import (
	"maps"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/altered"
)

// call is one tool call of an answer. Nothing of it goes out before all of it is
// there.
type call struct {
	name    *text   // nil where none came
	args    []*text // one text or several
	closed  bool    // all of it is there, and it is decided
	dropped bool    // it is taken out
	passed  bool    // it may be made
	made    altered.Call
}

// calls are the tool calls of one choice.
type calls struct {
	by   map[int]*call
	open int // the latest one's item
}

// callOf returns a call, nil where the choice has none with the item.
func (g *Stream) callOf(choice, item int) *call {
	if k := g.calls[choice]; k != nil {
		return k.by[item]
	}
	return nil
}

// startCall adds a text to the call that it belongs to. Where the wire does not
// tell the end of a call, a further one ends the one before it.
func (g *Stream) startCall(t *text) {
	choice, item := t.key.Choice, t.key.Item
	k := g.calls[choice]
	if k == nil {
		k = &calls{by: map[int]*call{}, open: item}
		g.calls[choice] = k
	}
	if !g.opt.Ends && k.open != item {
		g.endCall(choice, k.open)
	}
	k.open = item
	c := k.by[item]
	if c == nil {
		c = &call{}
		k.by[item] = c
	}
	if t.key.Field == flow.FieldToolArguments {
		c.args = append(c.args, t)
	} else if t.key.Path == "" {
		c.name = t
	}
}

// endCall decides a tool call: all of it is there.
func (g *Stream) endCall(choice, item int) {
	c := g.callOf(choice, item)
	if c == nil || c.closed {
		return
	}
	c.closed = true
	for _, t := range c.args {
		g.end(t)
	}
	if c.name != nil {
		g.end(c.name)
	}
	call := c.proposed()
	c.made.Digest = g.s.Altered.Digest(call.Name, call.Arguments)
	g.pass(choice, item)
}

// endArguments decides arguments that are complete. The call's name waits with
// them, so all of it is there.
func (g *Stream) endArguments(t *text) {
	c, name := g.callOf(t.key.Choice, t.key.Item), ""
	if c.name != nil {
		name = string(c.name.win[:min(len(c.name.win), 128)])
	}
	t.done, t.cut = true, t.len
	edits, found, withheld, refusal := g.opt.Calls.Arguments(g.ctx, g.cfg, name, t.win)
	known := len(g.fresh)
	g.note(t, found)
	if len(edits) > 0 && c.made.Finding.ID == "" {
		c.made.Finding = altered.First(g.fresh[known:], withheld)
	}
	t.edits, t.all = edits, edits
	t.trace.Decided(t.len, edits, found)
	g.seal(t)
	if refusal != "" && !c.dropped {
		g.drop(c, flow.Item{Choice: t.key.Choice, Item: t.key.Item}, refusal, false)
	}
}

// drop takes a call out, and says a text where its first event stands. decided:
// the log has why.
func (g *Stream) drop(c *call, it flow.Item, text string, decided bool) {
	c.dropped = true
	for _, h := range g.queue {
		for _, p := range h.pieces {
			if k := &p.t.key; k.Choice == it.Choice && k.Item == it.Item && ofCall(k) {
				h.say = append(h.say, flow.Notice{Choice: it.Choice, Item: it.Item, Text: text, Decision: decided})
				return
			}
		}
	}
}

// Made are the calls of an answer that has ended and goes out, by choice and in
// order.
func (g *Stream) Made() [][]altered.Call {
	var out [][]altered.Call
	for _, k := range g.calls {
		var made []altered.Call
		for _, item := range slices.Sorted(maps.Keys(k.by)) {
			if c := k.by[item]; c.closed && !c.dropped {
				made = append(made, c.made)
			}
		}
		out = append(out, made)
	}
	return out
}

// ofCall reports whether a text is a part of a tool call.
func ofCall(k *flow.StreamKey) bool {
	return k.Field == flow.FieldToolArguments || k.Field == flow.FieldToolName
}

// renumber is the new index of a call behind those that were taken out.
func (g *Stream) renumber(choice, index int) (int, bool) {
	k := g.calls[choice]
	if k == nil {
		return index, false
	}
	n := index
	for d, c := range k.by {
		if c.dropped && d < index && d >= 0 {
			n--
		}
	}
	c := k.by[index]
	return n, c != nil && c.dropped
}

// reason is "stop" for a choice whose calls were all taken out.
func (g *Stream) reason(choice int, reason string) string {
	if k := g.calls[choice]; k != nil && (reason == "tool_calls" || reason == "function_call") && k.dropped() == len(k.by) {
		return "stop"
	}
	return reason
}

// dropped counts the calls that were taken out.
func (k *calls) dropped() int {
	n := 0
	for _, c := range k.by {
		if c.dropped {
			n++
		}
	}
	return n
}
