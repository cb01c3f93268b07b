package screen

import (
	"context"
	"errors"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
)

// last takes the last region for relevant.
type last struct {
	err  error
	asks *Question
}

func (l *last) Relevant(_ context.Context, q *Question) ([]bool, error) {
	l.asks = q
	out := make([]bool, len(q.Regions))
	out[len(out)-1] = true
	return out, l.err
}

func TestScreener(t *testing.T) {
	untrusted := label.Label{Integrity: label.Untrusted}
	private := label.Label{Confidentiality: label.Private}
	h := &clear.History{Lattice: label.FourPoint, Messages: []clear.Message{
		{Message: flow.Message{Role: flow.RoleUser, Text: "Do it"}},
		{Message: flow.Message{Role: flow.RoleTool, Text: "ab", Regions: []flow.Region{
			{Start: 0, End: 1, Label: untrusted}, {Start: 1, End: 2, Label: private, From: flow.Provenance{Field: "b"}},
		}}, Kind: clear.KindResult, Tool: "get"},
	}}
	l := &last{}
	level, err := Screener{l}.Screen(t.Context(), h)
	if err != nil || level.Admits(h.Lattice, untrusted) || !level.Admits(h.Lattice, private) {
		t.Errorf("level %s, %v", level.Format(h.Lattice), err)
	}
	if q := l.asks; len(q.Requests) != 1 || len(q.Regions) != 2 || q.Regions[1] != (Region{Text: "b", Message: 1, Tool: "get", Field: "b"}) {
		t.Errorf("asked %+v", q)
	}
	l.err = errors.New("no answer")
	if level, err := (Screener{l}).Screen(t.Context(), h); err == nil || !level.Admits(h.Lattice, untrusted) {
		t.Errorf("after an error: level %s, %v", level.Format(h.Lattice), err)
	}
}
