package mediator

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint"
)

// Hold keeps the whole answer, at most so many bytes of it, until Let: what
// becomes of its calls is not known before all of them are. It is called
// before the first event.
func (g *Generation) Hold(most int) { g.hold = most }

// Gate has every complete call looked at. From the first that does not pass,
// what has not gone out is held, at most so many bytes, until Let. It is called
// before the first event.
func (g *Generation) Gate(most int, pass func(flow.ToolCall) bool) { g.most, g.gate = most, pass }

// Holds reports whether the answer is held.
func (g *Generation) Holds() bool { return g.hold > 0 }

// Let ends Hold. What is held goes out with the next Release.
func (g *Generation) Let() { g.hold = 0 }

// holdAll keeps the events that have come.
func (g *Generation) holdAll() error {
	if g.halted {
		return ErrHalted
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

// ProposedCall is a tool call of an answer that is held.
type ProposedCall struct {
	flow.Item
	Call flow.ToolCall // its arguments as they would go out
}

// Proposed returns the calls of an answer that has ended and is held, those
// aside that are decided already.
func (g *Generation) Proposed() []ProposedCall {
	var out []ProposedCall
	for choice, c := range g.calls {
		for item := range c.seen {
			if !c.dropped[item] && !c.passed[item] {
				out = append(out, ProposedCall{flow.Item{Choice: choice, Item: item}, g.proposed(choice, item)})
			}
		}
	}
	slices.SortFunc(out, func(a, b ProposedCall) int { return cmp.Or(a.Choice-b.Choice, a.Item.Item-b.Item.Item) })
	return out
}

// proposed is a complete call that waits.
func (g *Generation) proposed(choice, item int) flow.ToolCall {
	var call flow.ToolCall
	if n := g.text[flow.StreamKey{Choice: choice, Field: flow.FieldToolName, Item: item}]; n != nil {
		call.Name = string(apply(n.edits, 0, n.win))
	}
	var args []string
	for _, t := range g.calls[choice].args[item] {
		args = append(args, string(apply(t.edits, 0, t.win)))
	}
	call.Arguments = Arguments(args...)
	return call
}

// pass asks the gate about a complete call.
func (g *Generation) pass(choice, item int) {
	if c := g.calls[choice]; g.gate != nil && g.hold == 0 && !c.dropped[item] {
		call := g.proposed(choice, item)
		if c.passed[item] = g.gate(call); !c.passed[item] {
			g.hold = g.most
			return
		}
		g.gone = append(g.gone, call)
	}
}

// Arguments are those of a call in one canonical form. Of texts that are no
// JSON object, those of tools that take a text, it makes one. What looks like
// an object and is not a strict one stays as it is: its call is never made.
func Arguments(texts ...string) string {
	if len(texts) == 0 {
		return "{}"
	}
	if len(texts) == 1 {
		if c, ok := taint.Canonical(texts[0]); ok {
			return c
		}
		if strings.HasPrefix(strings.TrimSpace(texts[0]), "{") {
			return texts[0] // an object that can be read in several ways is none
		}
	}
	var input any = texts
	if len(texts) == 1 {
		input = texts[0]
	}
	out, err := json.Marshal(map[string]any{"input": input})
	if err != nil {
		return "{}"
	}
	return string(out)
}

// Gone are the calls that the gate let through.
func (g *Generation) Gone() []flow.ToolCall { return g.gone }

// Said returns what an answer says besides its calls. Of one that was neither
// held nor gated it is not known.
func (g *Generation) Said() []string {
	var out []string
	for k, t := range g.text {
		switch {
		case !says(k) || t.len == 0:
		case g.gate != nil:
			out = append(out, string(t.said))
		default:
			out = append(out, string(apply(t.edits, 0, t.win)))
		}
	}
	return out
}

// says reports whether a text is what the model says to the user.
func says(k flow.StreamKey) bool {
	return k.Choice >= 0 && (k.Field == flow.FieldContent || k.Field == flow.FieldRefusal)
}

// Refuse takes a call out of an answer that is held. The text is said instead.
func (g *Generation) Refuse(it flow.Item, text string) {
	if c := g.calls[it.Choice]; c != nil && !c.dropped[it.Item] {
		c.dropped[it.Item] = true
		g.sayInstead(it, text)
	}
}

// sayInstead says a text where a call's first event stands.
func (g *Generation) sayInstead(it flow.Item, text string) {
	for _, h := range g.queue {
		for _, p := range h.pieces {
			if k := &p.t.key; k.Choice == it.Choice && k.Item == it.Item && (k.Field == flow.FieldToolArguments || k.Field == flow.FieldToolName) {
				h.say = append(h.say, flow.Say{Choice: it.Choice, Item: it.Item, Text: text})
				return
			}
		}
	}
}
