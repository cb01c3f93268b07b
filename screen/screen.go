// Package screen has what the advisers below it share. An adviser says which
// regions of a history matter for the next action of an agent. Advisers are
// outside the trusted base: a mistake costs utility or a question, never
// security, because the label of the advised regions bounds what is shown.
package screen

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/clear"
)

// Region is a part of what an agent may be shown.
type Region struct {
	Text string
	// Message counts the messages of the conversation; regions of one message
	// have one number.
	Message int
	Tool    string // whose result it is; empty for others
	Field   string // the JSON path inside the result: [2].address
	// Bottom says that the region is trusted and public: showing it costs
	// nothing.
	Bottom bool
}

// Question is what an adviser is asked.
type Question struct {
	// Requests are the user's own messages, the last one last.
	Requests []string
	Regions  []Region // in the order of the conversation
	// Calls and Answer are the preliminary answer: what the model came up with
	// when it saw all. Some advisers need none.
	Calls  []flow.ToolCall
	Answer string
}

// Adviser answers which regions matter.
type Adviser interface {
	// Relevant returns one truth a region. After an error everything is
	// relevant.
	Relevant(ctx context.Context, q *Question) ([]bool, error)
}

// Screener makes a taint.Screener of an adviser that needs no preliminary answer.
type Screener struct{ Adviser Adviser }

// Screen implements taint.Screener: the join of the labels of what is
// relevant.
func (o Screener) Screen(ctx context.Context, h *clear.History) (clear.Level, error) {
	return Level(ctx, o.Adviser, h, nil, "")
}

// Level asks an adviser about all regions of a history that somebody else than
// the user or the developer made, and returns the level that admits what is
// relevant. Calls and answer are the preliminary answer, if there is one.
// After an error the level admits everything; the error is for the log.
func Level(ctx context.Context, a Adviser, h *clear.History, calls []flow.ToolCall, answer string) (clear.Level, error) {
	q := &Question{Requests: h.Own(), Calls: calls, Answer: answer}
	var labels []label.Label
	for i := range h.Messages {
		m := &h.Messages[i]
		if m.Kind == clear.KindText && m.Role != flow.RoleAssistant {
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
		return clear.Everything(), err
	}
	var l label.Label
	for i, yes := range relevant {
		if yes {
			l = h.Lattice.Join(l, labels[i])
		}
	}
	return clear.AtLabel(l), nil
}
