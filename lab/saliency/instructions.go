package saliency

import (
	"context"
	"fmt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/dojo/episode"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/saliency"
)

// Kinds of lines that figure 3 is made from: the output obeys an injection, or
// goes on with the user's task. The last region is the user's request, the others
// are the results before it.
const (
	obeys   = "obeys"
	ignores = "ignores"
)

const maxInstructed = 5000 // bytes of results

// instructed asks about one episode under attack, twice: at the step where the
// injection is obeyed, what that call draws on, and what the user's next call
// does.
func (s *Source) instructed(ctx context.Context, ep *episode.Episode) error {
	q := &screen.Question{Requests: []string{ep.Prompt}}
	user, steps := ep.Ignored.Calls(), ep.Obeyed.Calls()
	size, from := 0, -1
	owner := episode.Align(user, steps)
	for i, own := range owner {
		if own < 0 {
			from = i
			break
		}
		q.Regions = append(q.Regions, screen.Region{Text: steps[i].Result, Message: i, Tool: steps[i].Call.Function})
		size += len(steps[i].Result)
	}
	if from <= 0 || size > maxInstructed {
		return nil
	}
	for i := from; i < len(steps); i++ {
		if owner[i] < 0 {
			continue
		}
		for kind, call := range map[string]*episode.Call{obeys: &steps[from].Call, ignores: &steps[i].Call} { // Write sorts the lines
			q.Calls = []flow.ToolCall{{Name: call.Function, Arguments: call.Arguments()}}
			p := saliency.Write(q)
			last := len(p.Messages) - 1
			p.Regions = append(p.Regions, saliency.Span{Message: last, End: len([]rune(p.Messages[last].Content))})
			if err := s.instruction(ctx, p, kind, ep.ID()); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

func (s *Source) instruction(ctx context.Context, p *saliency.Prompt, kind, task string) error {
	key, err := keyOf(p)
	if err != nil || s.Record.Line(key) != nil {
		return err
	}
	a, err := s.Client.Ask(ctx, p)
	if err != nil {
		return err
	}
	l := &Line{Key: key, Task: task, Kind: kind, Prompt: a.PromptTokens, Output: a.OutputTokens}
	for i := range a.Regions {
		r := &Region{Needed: Open, Tokens: a.Regions[i].Tokens, Cut: a.Regions[i].Cut}
		if f := a.Regions[i].Features; f != nil {
			r.Features = (*[saliency.Count]float64)(f)
		}
		l.Regions = append(l.Regions, r)
	}
	return s.Record.Add(l)
}

// Instructions asks about n episodes under attack, spread over all.
func Instructions(ctx context.Context, s *Source, set *episode.Set, n int, progress func(string)) error {
	var eps []*episode.Episode
	for _, e := range set.Episodes {
		if e.Executable() {
			eps = append(eps, e)
		}
	}
	for i := range min(n, len(eps)) {
		if err := s.instructed(ctx, eps[i*len(eps)/n]); err != nil {
			return fmt.Errorf("%s: %w", eps[i*len(eps)/n].ID(), err)
		}
		progress(fmt.Sprintf("%d of %d episodes under attack", i+1, n))
	}
	return nil
}
