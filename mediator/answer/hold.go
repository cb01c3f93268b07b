package answer

import (
	"cmp"
	"iter"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint/clear"
)

// Holds reports whether the answer is held.
func (g *Stream) Holds() bool { return g.hold > 0 }

// uncleared is said instead of a call that nobody cleared, where there is
// nothing else to say.
const uncleared = "[margay: a call was not made: nobody cleared it.]"

// Settle ends the hold. The calls that wait go out with the next Release if they
// are cleared; the others are taken out, and the texts of refused are said instead.
// Report lets calls go out that nobody cleared: what would become of them is only
// reported.
func (g *Stream) Settle(cleared map[flow.Item]clear.Cleared, refused map[flow.Item]string, report bool) {
	for it, c := range g.waitingCalls() {
		text, no := refused[it]
		if no || !report && !cleared[it].Covers(c.proposed()) {
			g.drop(c, it, cmp.Or(text, uncleared), no)
		}
	}
	g.hold = 0
}

// waitingCalls are the calls that are not decided.
func (g *Stream) waitingCalls() iter.Seq2[flow.Item, *call] {
	return func(yield func(flow.Item, *call) bool) {
		for choice, k := range g.calls {
			for item, c := range k.by {
				if !c.dropped && !c.passed && !yield(flow.Item{Choice: choice, Item: item}, c) {
					return
				}
			}
		}
	}
}

// holdAll keeps the events that have come.
func (g *Stream) holdAll() error {
	if g.halted {
		return g.stopped()
	}
	for _, h := range g.queue {
		if !h.kept {
			g.holding += len(h.raw) + len(h.data)
			h.keep()
		}
	}
	if g.holding > g.hold {
		return g.deny("too-large", "the answer is larger than margay holds until its calls are known (limits.body)")
	}
	return nil
}

// Proposed returns the calls of an answer that has ended and is held, as they would
// go out, and which they are. Those that are decided already are not among them.
func (g *Stream) Proposed() (calls []flow.ToolCall, items []flow.Item) {
	for it := range g.waitingCalls() {
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b flow.Item) int { return cmp.Or(a.Choice-b.Choice, a.Item-b.Item) })
	for _, it := range items {
		calls = append(calls, g.callOf(it.Choice, it.Item).proposed())
	}
	return calls, items
}

// proposed is a complete call as it would go out. An empty text beside others is
// an event that waits for the call, and no argument.
func (c *call) proposed() flow.ToolCall {
	var call flow.ToolCall
	if c.name != nil {
		call.Name = string(c.name.edited())
	}
	var args []string
	for _, t := range c.args {
		if len(t.win) > 0 {
			args = append(args, string(t.edited()))
		}
	}
	if len(args) == 0 && len(c.args) > 0 {
		args = append(args, "")
	}
	call.Arguments = session.Arguments(args...)
	return call
}

// edited is a text as it goes out, where all of it waits.
func (t *text) edited() []byte { return session.Apply(t.edits, 0, t.win) }

// pass asks the gate about a complete call.
func (g *Stream) pass(choice, item int) {
	if c := g.callOf(choice, item); g.opt.Gate != nil && g.hold == 0 && !c.dropped {
		call := c.proposed()
		if c.passed = g.opt.Gate(call).Covers(call); !c.passed {
			g.hold = g.opt.room()
			return
		}
		g.passed = append(g.passed, call)
	}
}

// Passed are the calls that the gate let through.
func (g *Stream) Passed() []flow.ToolCall { return g.passed }

// Emitted returns what an answer says besides its calls. Of one that was neither
// held nor gated it is not known.
func (g *Stream) Emitted() []string {
	var out []string
	for k, t := range g.text {
		switch {
		case !emits(k) || t.len == 0:
		case g.opt.Gate != nil:
			out = append(out, string(t.emitted))
		default:
			out = append(out, string(t.edited()))
		}
	}
	return out
}

// emits reports whether a text is what the model says to the user.
func emits(k flow.StreamKey) bool {
	return k.Choice >= 0 && (k.Field == flow.FieldContent || k.Field == flow.FieldRefusal)
}
