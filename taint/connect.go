package taint

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Canonical returns a call's arguments without space, with sorted keys, and
// false where they are not one strict JSON object. It is the form in which
// they are compared: clients write what a model said anew.
func Canonical(args string) (string, bool) {
	t := arguments(args)
	if t == nil {
		return "", false
	}
	return string(t.canonical(nil, 0, nil)), true
}

// Argument returns a call's argument at the top, as a text; false where it has
// none, or one that is a list or an object.
func Argument(call flow.ToolCall, name string) (string, bool) {
	t := arguments(call.Arguments)
	if t == nil {
		return "", false
	}
	for c := 1; c < len(t.nodes); c = t.nodes[c].next {
		if n := &t.nodes[c]; n.key == name && n.kind != list && n.kind != dict {
			return n.value, true
		}
	}
	return "", false
}

// Fits reports whether a label could keep no call of a tool from being made,
// whatever the arguments are that its pack knows. Calls are decided one by one
// all the same.
func (p *Policy) Fits(tool string, l label.Label) bool {
	if l == (label.Label{}) {
		return true
	}
	t := p.tools[tool]
	if t == nil || len(t.Rules) == 0 || len(t.Rules[len(t.Rules)-1].When) > 0 {
		return false // some call is held to the bottom
	}
	for i := range t.Rules {
		r := &t.Rules[i]
		if !r.Deny && (p.scheme.people && len(r.Readers) > 0 || !p.limit(r, nil).Admits(p.scheme.Lattice, l)) {
			return false
		}
	}
	return true
}
