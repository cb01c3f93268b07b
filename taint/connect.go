package taint

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/document"
)

// Argument returns a call's argument at the top, as a text; false where it has
// none, or one that is a list or an object.
func Argument(call flow.ToolCall, name string) (string, bool) {
	t := document.Arguments(call.Arguments)
	if t == nil {
		return "", false
	}
	for c := 1; c < len(t.Nodes); c = t.Nodes[c].Next {
		if n := &t.Nodes[c]; n.Key == name && n.Kind != document.List && n.Kind != document.Dict {
			return n.Value, true
		}
	}
	return "", false
}

// Alike reports whether two calls do the same, as far as Margay can see: they
// have the same arguments, or the same ones among those that say where
// something goes.
func (p *Policy) Alike(a, b flow.ToolCall) bool {
	if a.Name != b.Name {
		return false
	}
	x, y := document.Arguments(a.Arguments), document.Arguments(b.Arguments)
	if x == nil || y == nil {
		return true // nothing is known of what one of them does
	}
	var without []string
	if t := p.tools[a.Name]; t != nil && len(t.Destinations) > 0 {
		for _, n := range append(x.Top(), y.Top()...) {
			if !slices.Contains(t.Destinations, n) {
				without = append(without, n)
			}
		}
	}
	return bytes.Equal(x.Canonical(nil, 0, without), y.Canonical(nil, 0, without))
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
		if r.Spec != nil {
			if !r.Spec.Harmless() {
				return false
			}
			continue
		}
		if !r.Deny && (p.scheme.OfPeople() && len(r.Readers) > 0 || !p.limit(r, nil).Admits(p.scheme.Lattice, l)) {
			return false
		}
	}
	return true
}
