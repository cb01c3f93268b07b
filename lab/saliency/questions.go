package saliency

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/margaydev/margay/lab/dojo"
	"github.com/margaydev/margay/lab/dojo/episode"
	"github.com/margaydev/margay/lab/leakage"
	"github.com/margaydev/margay/screen"
)

// Labelled is a question with its labels.
type Labelled struct {
	Suite, Task string
	Question    *screen.Question
	Needed      []int // a label a region
	// Any are regions of which one is needed, by their places.
	Any [][]int
}

// GeneratedSeed is the seed of the generated tasks that the network is trained
// on: another than that of the benchmark's.
const GeneratedSeed = 1000

// Leakage are the questions of lab/leakage's tasks.
func Leakage(tasks []*leakage.Task) ([]Labelled, error) {
	var out []Labelled
	for _, t := range tasks {
		qs, err := leakage.Questions(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.ID, err)
		}
		for _, q := range qs {
			out = append(out, Labelled{t.Suite, t.ID, q.Question, labels(q.Needed, nil, false), nil})
		}
	}
	return out, nil
}

// Dojo are the questions of AgentDojo's user tasks, short ones first.
func Dojo(ctx context.Context, set *episode.Set, rules dojo.Rules) ([]Labelled, error) {
	o := &dojo.Options{Set: set}
	var out []Labelled
	for _, e := range set.Episodes {
		if !e.Benign() {
			continue
		}
		qs, err := o.Questions(ctx, e, rules)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.ID(), err)
		}
		for _, q := range qs {
			if len(q.Question.Calls) > 0 || q.Question.Answer != "" {
				out = append(out, Labelled{e.Suite, e.ID(), q.Question, labels(q.Needed, q.Any, q.Computed), q.Any})
			}
		}
	}
	size := func(l Labelled) (n int) {
		for i := range l.Question.Regions {
			n += len(l.Question.Regions[i].Text)
		}
		return n
	}
	slices.SortStableFunc(out, func(a, b Labelled) int { return cmp.Compare(size(a), size(b)) })
	return out, nil
}

// labels are Open for regions of which one of several is needed, and for those
// that a computed value may come from.
func labels(needed []bool, any [][]int, open bool) []int {
	out := make([]int, len(needed))
	for i, yes := range needed {
		switch {
		case yes:
			out[i] = Yes
		case open || slices.ContainsFunc(any, func(of []int) bool { return slices.Contains(of, i) }):
			out[i] = Open
		}
	}
	return out
}

// Blind are questions without their proposed answer, one for each that differs.
func Blind(qs []Labelled) []Labelled {
	var out []Labelled
	for _, l := range qs {
		q := *l.Question
		q.Calls, q.Answer = nil, ""
		l.Question, l.Task = &q, l.Task+"/blind"
		out = append(out, l)
	}
	return out
}

// Ask asks a source all questions that are not in its record. Those that have no
// answer are counted.
func Ask(ctx context.Context, s *Source, qs []Labelled, progress func(string)) (failed int, err error) {
	for i := range qs {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		l, err := s.Ask(ctx, qs[i].Question, &qs[i])
		if err != nil {
			failed++
			progress(fmt.Sprintf("%s: %v", qs[i].Task, err))
			continue
		}
		l.label(&qs[i]) // also what was recorded under other labels
		progress(fmt.Sprintf("%d of %d questions", i+1, len(qs)))
	}
	return failed, nil
}
