package dojo

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/margaydev/margay/lab/dojo/episode"
	"github.com/margaydev/margay/lab/dojo/known"
	"github.com/margaydev/margay/screen"
)

// Traced is a question that a screener is asked in an episode, with what
// the next action draws on (lab/dojo/known.Draws), the user's requests and the
// tool's schema being known.
type Traced struct {
	Question *screen.Question
	known.Drawn
}

// Questions plays an episode, everything being shown and allowed, and returns
// the questions in order.
func (o *Options) Questions(ctx context.Context, ep *episode.Episode, rules Rules) ([]Traced, error) {
	schemas := map[string]string{}
	for _, t := range o.Set.Tools[ep.Suite] {
		schemas[t.Name] = schemaValues(t.Schema)
	}
	ask := &recall{schemas: schemas}
	goal := ""
	if ep.Goal != nil {
		goal = *ep.Goal
	}
	_, err := o.playOne(ctx, Tainted("questions", rules, Step{Screen: ask}), newPlay(ep, newReader(goal), true))
	return ask.out, err
}

// recall is a screener that keeps what it is asked and takes everything for
// relevant.
type recall struct {
	schemas map[string]string
	out     []Traced
}

// Relevant implements screen.Adviser.
func (a *recall) Relevant(_ context.Context, q *screen.Question) ([]bool, error) {
	all := make([]bool, len(q.Regions))
	for i := range all {
		all[i] = true
	}
	a.out = append(a.out, Trace(q, a.schemas))
	return all, nil
}

// Trace labels a question. schemas are what the schemas of tools say of
// values, by tool.
func Trace(q *screen.Question, schemas map[string]string) Traced {
	var without, texts []*known.Text
	for _, r := range q.Requests {
		without = append(without, known.Read(r))
	}
	for i := range q.Regions {
		texts = append(texts, known.Read(q.Regions[i].Text))
	}
	l := Traced{q, known.Drawn{Needed: make([]bool, len(texts))}}
	add := func(d known.Drawn) {
		l.Computed, l.Any = l.Computed || d.Computed, append(l.Any, d.Any...)
		for i, yes := range d.Needed {
			l.Needed[i] = l.Needed[i] || yes
		}
	}
	for _, c := range q.Calls {
		var args map[string]any
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		d.UseNumber()
		if d.Decode(&args) != nil {
			l.Computed = true
			continue
		}
		add(known.Draws(args, append(without[:len(without):len(without)], known.Read(schemas[c.Name])), texts))
	}
	if len(q.Calls) == 0 {
		add(known.AnswerDraws(q.Answer, without, texts))
	}
	return l
}
