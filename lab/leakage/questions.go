package leakage

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/screen"
)

// Labelled is a question that a screener may be asked of a task, with what the
// ground truth says of each region.
type Labelled struct {
	Question *screen.Question
	Needed   []bool
}

// Questions returns the questions about a task's steps and its answer, in
// order, the agent having been shown all of it. A region is needed if the
// step names it under needs.
func Questions(t *Task) ([]Labelled, error) {
	p, err := newPlayer(t)
	if err != nil {
		return nil, err
	}
	var out []Labelled
	ask := func(calls []flow.ToolCall, answer string, needs []string) {
		l := Labelled{Question: p.question(calls, answer)}
		for i := range p.regions {
			l.Needed = append(l.Needed, slices.Contains(needs, p.regions[i].id))
		}
		out = append(out, l)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		call, err := encode(s.Call, s.Args)
		if err != nil {
			return nil, err
		}
		ask([]flow.ToolCall{call}, "", s.Needs)
		if err := p.add(s.Result, s.Call, label.Label{}); err != nil {
			return nil, err
		}
	}
	if t.Answer != nil {
		ask(nil, t.Answer.Text, t.Answer.Needs)
	}
	return out, nil
}

// question is what a screener is asked about the next action.
func (p *player) question(calls []flow.ToolCall, answer string) *screen.Question {
	q := &screen.Question{Requests: slices.Clone(p.requests), Calls: calls, Answer: answer}
	for i := range p.regions {
		q.Regions = append(q.Regions, p.regions[i].Region)
	}
	return q
}
