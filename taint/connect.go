package taint

import (
	"bytes"
	"slices"

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

// Alike reports whether two calls do the same, as far as that can be told: they
// have the same arguments, or the same ones among those that say where
// something goes.
func (p *Policy) Alike(a, b flow.ToolCall) bool {
	if a.Name != b.Name {
		return false
	}
	x, y := arguments(a.Arguments), arguments(b.Arguments)
	if x == nil || y == nil {
		return true // nothing is known of what one of them does
	}
	var without []string
	if t := p.tools[a.Name]; t != nil && len(t.Destinations) > 0 {
		for _, n := range append(x.top(), y.top()...) {
			if !slices.Contains(t.Destinations, n) {
				without = append(without, n)
			}
		}
	}
	return bytes.Equal(x.canonical(nil, 0, without), y.canonical(nil, 0, without))
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
