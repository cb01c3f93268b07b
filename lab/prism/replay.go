package prism

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/train"
)

// Recording is a record of a real model, to be put through the defences.
type Recording struct {
	Path string
	// Instructed is the record of the same model at the same tasks that was told
	// method.Instruction: the defence "prompt" is measured on it. Empty where there
	// is none.
	Instructed string
}

// Replay puts records of a real model (Record) through the defences: of one model
// in one repository, each of another seed. Rows are of slices source=NAME and
// source=NAME,…, where the name is what the model's begins with, and of
// source=NAME,seed=N where there are several. What the model said is what it said:
// a defence changes an output and not what later agents saw. Options' Seed is the
// bootstrap's; Repository and N are the records'.
func Replay(ctx context.Context, recordings []Recording, o Options) (*results.Result, *Report, error) {
	o.defaults()
	all, parts, err := o.recorded(recordings)
	if err != nil {
		return nil, nil, err
	}
	h := parts[0].header
	for _, p := range parts {
		g := p.game
		begin := func() func(int) played {
			return func(i int) played { return g.replay(ctx, p.turns[i], p.instructed[i]) }
		}
		progress := func(s string) { o.Progress(fmt.Sprintf("seed %d: %s", p.header.Seed, s)) }
		if err := g.run(ctx, progress, begin); err != nil {
			return nil, nil, err
		}
		all.results = append(all.results, slices.Clone(g.results)...)
	}
	all.results[0].err = slices.Clone(all.results[0].err)
	for _, p := range parts { // what one has not is left out of all
		for d, err := range p.game.results[0].err {
			all.results[0].err[d] = cmp.Or(all.results[0].err[d], err)
		}
	}
	name := h.Speaker()
	res, rep := all.figures(&o, fmt.Sprintf("%s: recorded, %d tasks of the repository %s, at most %d tokens an agent, top %d log-probabilities, %s; %s",
		h.Model, len(all.tasks), h.Repository, h.MaxTokens, h.TopLogprobs, h.heat(), h.ModelHash))
	var told []Recorded
	for _, p := range parts {
		told = append(told, p.told...)
	}
	res.Rows = append(res.Rows, theorem(told, h.Vocabulary)...)
	if len(parts) > 1 {
		for _, p := range parts {
			one, _ := p.game.figures(&o, "")
			for _, row := range one.Rows {
				if row.Slice == "all" || row.Slice == "zones" || strings.HasPrefix(row.Slice, ablation) {
					row.Slice = strings.TrimSuffix(fmt.Sprintf("seed=%d,%s", p.header.Seed, row.Slice), ",all")
					res.Rows = append(res.Rows, row)
				}
			}
		}
		res.Notes = append(res.Notes, name+": rows without a seed are of all the seeds together, each with secrets of its own")
	}
	for i := range res.Rows {
		if row := &res.Rows[i]; row.Slice == "all" {
			row.Slice = "source=" + name
		} else {
			row.Slice = "source=" + name + "," + row.Slice
		}
	}
	res.Notes = append(res.Notes, name+": the truth is which of the repository's secrets the recorded text holds, plain or encoded; entropies are the server's, or lower bounds from the alternatives recorded")
	if slices.ContainsFunc(parts, func(p *part) bool { return p.instructed[0] != nil }) {
		res.Notes = append(res.Notes, name+": prompt is the same model at the same tasks with the instruction in each agent's system prompt; nothing is taken out of its texts, so it leaks less or not, and finds nothing")
	}
	return res, rep, nil
}

// part is what one record has.
type part struct {
	header            *Header
	game              *game
	told              []Recorded
	turns, instructed [][]*Recorded
}

// recorded reads records. The game of all is without results.
func (o *Options) recorded(recordings []Recording) (all *game, parts []*part, err error) {
	for i, r := range recordings {
		p := &part{}
		if p.header, p.told, err = ReadRecord(r.Path); err != nil {
			return nil, nil, err
		}
		if len(p.told) == 0 {
			return nil, nil, fmt.Errorf("%s: nothing is recorded", r.Path)
		}
		var tasks []world.Task
		if tasks, p.turns, err = byTask(r.Path, p.told); err != nil {
			return nil, nil, err
		}
		p.instructed = make([][]*Recorded, len(tasks))
		if r.Instructed != "" {
			if p.instructed, err = alike(r.Instructed, p.header, tasks); err != nil {
				return nil, nil, err
			}
		}
		p.game = newGame(p.header.repository(), tasks, o)
		p.game.vocabulary = p.header.Vocabulary
		if i == 0 {
			all = newGame(p.header.repository(), nil, o)
			all.vocabulary = p.header.Vocabulary
		} else if err := p.header.beside(parts); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.Path, err)
		}
		all.tasks = append(all.tasks, tasks...)
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return nil, nil, errors.New("no record to measure on")
	}
	return all, parts, nil
}

// beside is an error if a record can't be measured together with others.
func (h *Header) beside(others []*part) error {
	first := others[0].header
	if h.Model != first.Model || h.ModelHash != first.ModelHash || h.Repository != first.Repository || h.Vocabulary != first.Vocabulary || (h.Instruction != "") != (first.Instruction != "") {
		return errors.New("of another model or repository than the record before")
	}
	if slices.ContainsFunc(others, func(p *part) bool { return p.header.Seed == h.Seed }) {
		return fmt.Errorf("a second record of seed %d", h.Seed)
	}
	return nil
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
		if g.defences[d].Method.Name() == "prompt" {
			if instructed == nil {
				p.err[d] = fmt.Errorf("prompt: %w: not recorded with the instruction", method.ErrUnavailable)
				continue
			}
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
