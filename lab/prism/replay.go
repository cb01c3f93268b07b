package prism

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/train"
)

// Replay puts a record of a real model (Record) through the defences. Rows are
// of slices source=NAME and source=NAME,…, where the name is what the model's
// begins with. What the model said is what it said: a defence changes an output
// and not what later agents saw. Options' Seed is the bootstrap's; Repository
// and N are the record's.
func Replay(ctx context.Context, path string, o Options) (*results.Result, *Report, error) {
	h, recorded, err := ReadRecord(path)
	if err != nil {
		return nil, nil, err
	}
	if len(recorded) == 0 {
		return nil, nil, fmt.Errorf("%s: nothing is recorded", path)
	}
	o.defaults()
	tasks, turns, err := byTask(path, recorded)
	if err != nil {
		return nil, nil, err
	}
	instructed := make([][]*Recorded, len(turns))
	if o.Instructed != "" {
		if instructed, err = alike(o.Instructed, h, tasks); err != nil {
			return nil, nil, err
		}
	}
	g := newGame(h.repository(), tasks, &o)
	g.vocabulary = h.Vocabulary
	if err := g.run(ctx, o.Progress, func() func(int) played { return func(i int) played { return g.replay(ctx, turns[i], instructed[i]) } }); err != nil {
		return nil, nil, err
	}
	name := h.Speaker()
	res, rep := g.figures(&o, fmt.Sprintf("%s: recorded, %d tasks of the repository %s, at most %d tokens an agent, top %d log-probabilities, %s; %s",
		h.Model, len(tasks), h.Repository, h.MaxTokens, h.TopLogprobs, h.heat(), h.ModelHash))
	res.Rows = append(res.Rows, theorem(recorded, h.Vocabulary)...)
	for i := range res.Rows {
		if row := &res.Rows[i]; row.Slice == "all" {
			row.Slice = "source=" + name
		} else {
			row.Slice = "source=" + name + "," + row.Slice
		}
	}
	res.Notes = append(res.Notes, name+": the truth is which of the repository's secrets the recorded text holds, plain or encoded; entropies are the server's, or lower bounds from the alternatives recorded")
	if o.Instructed != "" {
		res.Notes = append(res.Notes, name+": prompt is the same model at the same tasks with the instruction in each agent's system prompt; nothing is taken out of its texts, so it leaks less or not, and finds nothing")
	}
	return res, rep, nil
}

// alike reads the record of the model of h at the same tasks that was told an
// instruction, by task.
func alike(path string, h *Header, tasks []world.Task) ([][]*Recorded, error) {
	other, recorded, err := ReadRecord(path)
	if err != nil {
		return nil, err
	}
	if other.Instruction == "" || other.Model != h.Model || other.ModelHash != h.ModelHash || other.Repository != h.Repository || other.Seed != h.Seed || !slices.Equal(other.Secrets, h.Secrets) {
		return nil, fmt.Errorf("%s: not of the same model, repository and seed with an instruction", path)
	}
	of, turns, err := byTask(path, recorded)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(of, tasks, func(a, b world.Task) bool { return a.ID == b.ID }) {
		return nil, fmt.Errorf("%s: other tasks", path)
	}
	return turns, nil
}

// byTask groups a record.
func byTask(path string, recorded []Recorded) ([]world.Task, [][]*Recorded, error) {
	var tasks []world.Task
	var turns [][]*Recorded
	for i := range recorded {
		r := &recorded[i]
		if n := len(tasks); n == 0 || tasks[n-1].ID != r.Task {
			tasks = append(tasks, world.Task{ID: r.Task, Category: r.Category, Pressure: r.Pressure})
			turns = append(turns, nil)
		}
		last := len(turns) - 1
		if n := len(turns[last]); n == len(world.Agents) || r.Agent != world.Agents[n] {
			return nil, nil, fmt.Errorf("%s:%d: %s of %s is out of turn", path, i+2, r.Agent, r.Task)
		}
		turns[last] = append(turns[last], r)
	}
	for i := range turns {
		if len(turns[i]) != len(world.Agents) {
			return nil, nil, fmt.Errorf("%s: %s is not complete", path, tasks[i].ID)
		}
	}
	return tasks, turns, nil
}

func (g *game) replay(ctx context.Context, turns, instructed []*Recorded) played {
	p := played{under: make([][]step, len(g.defences)), err: make([]error, len(g.defences)), toolSeen: -1}
	for agent, r := range turns {
		text := r.Text()
		p.free = append(p.free, g.judge(r.emissions(), &method.Output{Text: text}))
		s := scored{tokens: r.MonitorTokens()}
		for i := range s.tokens {
			s.entropies = append(s.entropies, r.Tokens[i].entropy())
		}
		p.entropy = append(p.entropy, courseOf(r.emissions(), s, g.vocabulary))
		if p.toolSeen < 0 && g.shows(r) {
			p.toolSeen = agent
		}
	}
	for d := range g.defences {
		var steps []step
		arrivals := 0
		turns := turns
		if g.defences[d].Method.Name() == "prompt" && instructed != nil {
			turns = instructed
		}
		for _, r := range turns {
			in := method.Input{Task: r.Task, Agent: r.Agent, Private: r.Private, Tool: r.Tool, Vocabulary: g.vocabulary, Text: r.Text()}
			for _, m := range r.Prompt {
				in.Context += m.Content + "\n"
			}
			if g.defences[d].Registered {
				in.Registered = g.registered
			}
			if g.defences[d].Distributions {
				in.Tokens = r.MonitorTokens()
			}
			s, _, err := g.filter(ctx, &g.defences[d], &in, r.emissions())
			if err != nil {
				p.err[d] = err
				steps = nil
				break
			}
			s.arrivals = arrivals
			for _, f := range s.emitted {
				if f.leaked {
					arrivals++
				}
			}
			steps = append(steps, s)
		}
		p.under[d] = steps
	}
	return p
}

// shown is all that the model was shown.
func (r *Recorded) shown() []string {
	out := make([]string, len(r.Prompt))
	for i := range r.Prompt {
		out[i] = r.Prompt[i].Content
	}
	return out
}

func (r *Recorded) emissions() []world.Emission {
	out := make([]world.Emission, len(r.Emissions))
	for i, e := range r.Emissions {
		out[i] = world.Emission(e)
	}
	return out
}

func (g *game) shows(r *Recorded) bool {
	for _, p := range r.Private {
		for i := range g.repository.Secrets {
			if strings.Contains(p, g.repository.Secrets[i].Value) {
				return true
			}
		}
	}
	return false
}

// entropy is what the server told, or the least that it may be.
func (s *spoken) entropy() float64 {
	if n := len(columns); len(s.Telemetry) == n && s.Telemetry[n-1] >= 0 {
		return s.Telemetry[n-1]
	}
	return atLeast(s.Logprobs)
}

// atLeast is the entropy of a distribution of which only the likeliest
// probabilities are known, with all that is missing as one symbol.
func atLeast(logprobs []float64) float64 {
	h, rest := 0.0, 1.0
	for _, l := range logprobs {
		p := math.Exp(l)
		h -= p * l
		rest -= p
	}
	if rest > 0 {
		h -= rest * math.Log(rest)
	}
	return max(h, 0)
}

// RecordedTraces are a record's outputs as traces to train on, in its order.
func RecordedTraces(path string) ([]train.Trace, error) {
	h, recorded, err := ReadRecord(path)
	if err != nil {
		return nil, err
	}
	digests := make([]string, len(h.Secrets))
	for i := range h.Secrets {
		digests[i] = world.Digest(h.Secrets[i].Value)
	}
	out := make([]train.Trace, 0, len(recorded))
	for i := range recorded {
		r := &recorded[i]
		t := train.Trace{
			ID: r.Task + "/" + r.Agent, Task: r.Task, Agent: r.Agent, Source: h.Model, Vocabulary: h.Vocabulary, Private: r.shown(),
			Tool: r.Tool, Tokens: r.MonitorTokens(), Secrets: digests,
		}
		for _, e := range r.Emissions {
			if e.Secret < 0 || e.Secret >= len(digests) {
				return nil, fmt.Errorf("%s: %s has an emission of secret %d of %d", path, t.ID, e.Secret, len(digests))
			}
			t.Spans = append(t.Spans, train.Span{Start: e.Start, End: e.End, Secret: digests[e.Secret], Encoding: e.Encoding, Whole: e.Whole})
		}
		out = append(out, t)
	}
	return out, nil
}
