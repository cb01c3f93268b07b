package screen

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// Over makes a taint.Screener of an adviser that needs no preliminary answer.
type Over struct{ Adviser Adviser }

// Screen implements taint.Screener: the join of the labels of what is
// relevant.
func (o Over) Screen(ctx context.Context, h *taint.History) (taint.Level, error) {
	return Level(ctx, o.Adviser, h, nil, "")
}

// Level asks an adviser about all regions of a history that somebody else than
// the user or the developer made, and returns the level that admits what is
// relevant. Calls and answer are the preliminary answer, if there is one.
// After an error the level admits everything; the error is told for the log.
func Level(ctx context.Context, a Adviser, h *taint.History, calls []flow.ToolCall, answer string) (taint.Level, error) {
	q := &Question{Requests: h.Own(), Calls: calls, Answer: answer}
	var labels []label.Label
	for i := range h.Messages {
		m := &h.Messages[i]
		if m.Kind == taint.KindText && m.Role != flow.RoleAssistant {
			continue
		}
		for _, r := range m.Regions {
			labels = append(labels, r.Label)
			q.Regions = append(q.Regions, Region{
				Text: m.Text[r.Start:r.End], Message: i, Tool: m.Tool, Field: r.From.Field, Bottom: r.Label == label.Label{},
			})
		}
	}
	relevant, err := a.Relevant(ctx, q)
	if err != nil || len(relevant) != len(labels) {
		return taint.Everything(), err
	}
	var l label.Label
	for i, yes := range relevant {
		if yes {
			l = h.Lattice.Join(l, labels[i])
		}
	}
	return taint.AtLabel(l), nil
}
