package mediator

import (
	"github.com/margaydev/margay/flow"
)

// calls are the tool calls of one choice.
type calls struct {
	seen, dropped map[int]bool
	passed        map[int]bool    // may be made
	closed        map[int]bool    // decided: all their arguments are there
	args          map[int][]*text // those of a call are one text or several
	open          int
	started       bool
}

// endCall decides a tool call: all of it is there.
func (g *Generation) endCall(choice, item int) error {
	c := g.calls[choice]
	if c == nil || c.closed[item] {
		return nil
	}
	c.closed[item] = true
	for _, t := range c.args[item] {
		if !t.done {
			g.endArguments(t)
		}
	}
	if t := g.text[flow.StreamKey{Choice: choice, Field: flow.FieldToolName, Item: item}]; t != nil {
		if err := g.end(t); err != nil {
			return err
		}
	}
	g.pass(choice, item)
	return nil
}

// endCalls decides all calls of a choice.
func (g *Generation) endCalls(choice int) error {
	if c := g.calls[choice]; c != nil {
		for item := range c.seen {
			if err := g.endCall(choice, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// endArguments decides arguments that are complete. The call's name waits with
// them, so all of it is there.
func (g *Generation) endArguments(t *text) {
	choice, item := t.key.Choice, t.key.Item
	name := ""
	if n := g.text[flow.StreamKey{Choice: choice, Field: flow.FieldToolName, Item: item}]; n != nil {
		name = string(n.win[:min(len(n.win), 128)])
	}
	t.done, t.cut = true, t.len
	v := g.s.arguments(g.cfg, name, t.win)
	g.note(t, v.found)
	t.edits, t.all = v.edits, v.edits
	t.trace.decided(t.len, v.edits, v.found)
	g.seal(t)
	c := g.calls[choice]
	if v.refusal == "" || c.dropped[item] {
		return
	}
	c.dropped[item] = true
	g.sayInstead(flow.Item{Choice: choice, Item: item}, v.refusal)
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
