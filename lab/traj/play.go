package traj

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// Played is one task under one defence: what went on, step by step.
type Played struct {
	Task      *world.Task
	Released  [][]string // by step and part; nil: denied
	Why       [][]string // by step, as the defence says
	Fallbacks int
	Phases    []map[string]time.Duration
	Took      []time.Duration
	Certified *defence.Certified // nil without a ledger
}

// Play plays a task.
func Play(ctx context.Context, d defence.Defence, t *world.Task) (*Played, error) {
	var s defence.Session
	var err error
	if i, ok := d.(defence.Informed); ok {
		s = i.BeginWith(t)
	} else if s, err = d.Begin(ctx, defence.KnownOf(t)); err != nil {
		return nil, fmt.Errorf("%s, %s: %w", d.Name(), t.ID, err)
	}
	p := &Played{Task: t}
	for i := range t.Steps {
		from := time.Now()
		out, err := s.Release(ctx, defence.CandidateOf(t, i))
		if err != nil {
			return nil, fmt.Errorf("%s, %s, %v: %w", d.Name(), t.ID, &t.Steps[i], err)
		}
		p.Took = append(p.Took, time.Since(from))
		p.Released, p.Why = append(p.Released, out.Parts), append(p.Why, out.Why)
		p.Phases = append(p.Phases, out.Phases)
		if out.Fallback {
			p.Fallbacks++
		}
	}
	if a, ok := s.(defence.Accountant); ok {
		c, err := a.Certified(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", d.Name(), t.ID, err)
		}
		p.Certified = &c
	}
	return p, nil
}

// Success reports whether every essential step was served.
func (p *Played) Success() bool {
	for i := range p.Task.Steps {
		if p.Task.Steps[i].Essential && !p.Task.Served(i, p.Released[i]) {
			return false
		}
	}
	return true
}

// Views are what each sink was shown, by name, for those of the classes that
// keep says, up to a step.
func (p *Played) Views(upto int, keep func(flow.Class) bool) map[string]*adversary.Seen {
	out := map[string]*adversary.Seen{}
	for i := range min(upto, len(p.Released)) {
		s := &p.Task.Steps[i]
		if !keep(s.Sink.Class) || p.Released[i] == nil {
			continue
		}
		v := out[s.Sink.Name]
		if v == nil {
			v = &adversary.Seen{}
			out[s.Sink.Name] = v
		}
		for k := range s.Parts {
			v.Add(&s.Parts[k], p.Released[i][k])
		}
	}
	return out
}

// Others are all sinks but those that the task can't be done without.
func Others(c flow.Class) bool { return c != flow.RequiredService }

// Hostile are those that nobody trusts.
func Hostile(c flow.Class) bool { return c.Known() == flow.Adversarial }

// Pool puts the views of the k sinks that were told most together, of all for
// k = 0.
func Pool(views map[string]*adversary.Seen, k int) *adversary.Seen {
	names := make([]string, 0, len(views))
	for n := range views {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(views[b].Facts), len(views[a].Facts)), cmp.Compare(a, b))
	})
	if k > 0 {
		names = names[:min(k, len(names))]
	}
	out := &adversary.Seen{}
	for _, n := range names {
		out.Join(views[n])
	}
	return out
}

// inPlay are the fields of which something stands in a candidate for a sink
// that is not needed.
func inPlay(t *world.Task) []bool {
	out := make([]bool, len(world.Fields))
	for i := range t.Steps {
		if t.Steps[i].Sink.Class == flow.RequiredService {
			continue
		}
		for k := range t.Steps[i].Parts {
			for _, m := range t.Steps[i].Parts[k].Mentions {
				out[slices.Index(world.Fields, m.Field)] = true
			}
		}
	}
	return out
}

// Recovered is the mean probability that the best guess of a secret is right,
// over those in play: what pooled views give, as a sum and a number of secrets.
func Recovered(t *world.Task, l *adversary.Leak) (sum, n float64) {
	for i, in := range inPlay(t) {
		if in {
			sum += l.Recovered[i]
			n++
		}
	}
	return sum, n
}

// Escapes counts mentions in free text on their way to sinks that the task
// does not need, and those that got there as they were: all of them, and of
// them those that no pattern could see.
func (p *Played) Escapes() (escaped, all, oblique, obliqueAll float64) {
	for i := range p.Task.Steps {
		s := &p.Task.Steps[i]
		if s.Sink.Class == flow.RequiredService {
			continue
		}
		for k := range s.Parts {
			part := &s.Parts[k]
			if !part.Free || len(part.Mentions) == 0 {
				continue
			}
			there := make([]bool, len(part.Mentions))
			if p.Released[i] != nil {
				there = world.Survived(part, p.Released[i][k])
			}
			for j := range part.Mentions {
				if p.Task.Owed(i, k, j) {
					continue
				}
				all++
				one := 0.0
				if there[j] {
					one = 1
				}
				escaped += one
				if part.Mentions[j].Oblique {
					oblique += one
					obliqueAll++
				}
			}
		}
	}
	return escaped, all, oblique, obliqueAll
}
