package answer

import (
	"maps"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
)

// clearedCall is a call that the kernel let pass.
func clearedCall(t *testing.T, call flow.ToolCall) clear.Cleared {
	t.Helper()
	r := clear.Decide(&clear.Step{Lattice: label.FourPoint, From: clear.BasisOf(label.Label{}), Calls: []clear.Proposal{{Call: call}}})
	c, ok := r.Verdicts[0].Cleared()
	if !ok {
		t.Fatal("the call is not cleared")
	}
	return c
}

// TestSettle: of the calls that wait, only those go out that are cleared as they
// stand, and that nobody refused.
func TestSettle(t *testing.T) {
	waiting := func() *Stream {
		k := &calls{by: map[int]*call{}}
		for i := range 5 {
			k.by[i] = &call{name: &text{win: []byte("read")}, args: []*text{{win: []byte("{}")}}, passed: i == 4}
		}
		return &Stream{room: &room{}, calls: map[int]*calls{0: k}, hold: 1}
	}
	read := flow.ToolCall{Name: "read", Arguments: "{}"}
	cleared := map[flow.Item]clear.Cleared{
		{Item: 0}: clearedCall(t, read),
		{Item: 1}: clearedCall(t, flow.ToolCall{Name: "read", Arguments: `{"x":1}`}), // another call
		{Item: 3}: clearedCall(t, read),
	}
	refused := map[flow.Item]string{{Item: 3}: "no"}
	for _, c := range []struct {
		cleared map[flow.Item]clear.Cleared
		refused map[flow.Item]string
		report  bool
		want    map[int]bool
	}{
		{cleared, refused, false, map[int]bool{1: true, 2: true, 3: true}},
		{nil, nil, false, map[int]bool{0: true, 1: true, 2: true, 3: true}},
		{nil, refused, true, map[int]bool{3: true}},
	} {
		g := waiting()
		g.Settle(c.cleared, c.refused, c.report)
		dropped := map[int]bool{}
		for i, one := range g.calls[0].by {
			if one.dropped {
				dropped[i] = true
			}
		}
		if !maps.Equal(dropped, c.want) || g.Holds() {
			t.Errorf("%v are taken out, want %v", dropped, c.want)
		}
	}
}

// TestHoldsWithoutBound: a call that is not cleared is held, where nobody said how
// much may be: the answer is denied then.
func TestHoldsWithoutBound(t *testing.T) {
	c := &call{}
	g := &Stream{room: &room{}, calls: map[int]*calls{0: {by: map[int]*call{0: c}}}, opt: Options{Gate: func(flow.ToolCall) clear.Cleared { return clear.Cleared{} }}}
	if g.pass(0, 0); c.passed || !g.Holds() {
		t.Error("it is not held")
	}
}
