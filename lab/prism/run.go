package prism

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/margaydev/margay/lab/lm"
	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/results"
)

// Defence is a method and what it is given.
type Defence struct {
	Method method.Method
	// Registered: the repository's secrets are registered beforehand.
	Registered bool
	// Distributions: it looks at the tokens' distributions. Others get the
	// text alone, which saves time.
	Distributions bool
	// Thresholds are its τ1 and τ2, for the zones; 0 where it has none.
	Thresholds [2]float64
	// Variant, where not empty, says that the method is a variant of the one
	// of its name. It has one row, of all tasks, whose slice is the Variant,
	// and no part in tests, outcomes and zones.
	Variant string
}

// discoverer is a method that learns secrets from what an agent reads. What it
// learned splits the figures by what was known, and decides nothing.
type discoverer interface {
	Discovers(text string) []string
}

// Options of a run.
type Options struct {
	Seed uint64
	N    int // tasks; all 2,000 where 0
	// Repository is "payments" where empty. Evaluating on the training
	// repository is for tests.
	Repository string
	Defences   []Defence
	// Reference is the defence that McNemar's tests compare the others with;
	// "monitor" where empty.
	Reference string
	Resamples int // of the bootstrap; 10,000 where 0
	Progress  func(string)
}

func (o *Options) defaults() {
	if o.N == 0 {
		o.N = world.AllTasks
	}
	if o.Repository == "" {
		o.Repository = "payments"
	}
	if o.Reference == "" {
		o.Reference = "monitor"
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

// Run plays the tasks under every defence, and without any, and measures. A
// defence that fails with method.ErrUnavailable is left out with a note; any
// other error ends the run.
func Run(ctx context.Context, o Options) (*results.Result, *Report, error) {
	o.defaults()
	r, err := repository(o.Repository, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	// Training and evaluation must not share a secret, by construction and
	// in fact.
	if err := world.Disjoint(world.Healthcare(o.Seed), world.Payments(o.Seed)); err != nil {
		return nil, nil, err
	}
	tasks, err := r.Tasks(o.N)
	if err != nil {
		return nil, nil, err
	}
	model, err := speaker()
	if err != nil {
		return nil, nil, err
	}
	g := newGame(r, tasks, &o)
	g.vocabulary = model.Vocabulary()
	err = g.run(ctx, o.Progress, func() func(int) played {
		scorer := model.NewScorer()
		return func(i int) played { return g.play(ctx, scorer, &g.tasks[i]) }
	})
	if err != nil {
		return nil, nil, err
	}
	o.Progress("figures")
	res, rep := g.figures(&o, fmt.Sprintf("sim: simulated repository %s, scripted agents, token distributions of an adaptive n-gram model with copying", r.Name))
	// What all means: this source.
	for _, row := range res.Rows {
		if row.Slice == "all" {
			row.Slice = "source=sim"
			res.Rows = append(res.Rows, row)
		}
	}
	res.Notes = append(res.Notes, "the share of tasks that leak undefended is set by category and pressure after the paper's Tables 7 and 8")
	return res, rep, nil
}

// game is a run.
type game struct {
	repository *world.Repository
	registered []method.Secret
	tasks      []world.Task
	vocabulary int
	defences   []Defence
	results    []played
}

func newGame(r *world.Repository, tasks []world.Task, o *Options) *game {
	g := &game{repository: r, tasks: tasks, defences: o.Defences, results: make([]played, len(tasks))}
	for i := range r.Secrets {
		g.registered = append(g.registered, method.Secret{Name: r.Secrets[i].Name, Value: r.Secrets[i].Value})
	}
	return g
}

// played is what happened in one task.
type played struct {
	free     []step   // without a defence, by agent
	under    [][]step // by defence; nil where it is left out
	entropy  []course // without a defence, by agent
	err      []error  // by defence
	toolSeen int      // the first agent whose tools told a target, or -1
}

// step is one agent's turn under one defence.
type step struct {
	emitted  []fate
	removed  int // stretches taken out
	rightly  int // those of them that touch an emission
	tokens   int
	arrivals int // leaked emissions that the agent was shown
	plain    bool
	risk     float64 // NaN where the method has none
	halted   bool
	took     time.Duration // for the output
	reading  time.Duration // before it, for what the agent was shown
}

// fate is what became of an emission.
type fate struct {
	world.Emission
	left    int // characters of the secret that went on
	touched bool
	leaked  bool
	known   string // "registered", "discovered" or "no"
	kind    string // of the secret
}

func (s *step) modified() bool { return s.removed > 0 || s.halted }

func (g *game) run(ctx context.Context, progress func(string), begin func() func(int) played) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	inParallel(ctx, len(g.tasks), func() func(int) {
		play := begin()
		return func(i int) { g.results[i] = play(i) }
	}, func(i int) {
		for d, err := range g.results[i].err {
			// What is left out is left out of all tasks.
			out := errors.Is(err, method.ErrUnavailable) && errors.Is(g.results[0].err[d], method.ErrUnavailable)
			if err != nil && !out && failed == nil {
				failed = fmt.Errorf("%s, %s: %w", g.defences[d].Method.Name(), g.tasks[i].ID, err)
				stop()
			}
		}
		if (i+1)%20 == 0 {
			progress(fmt.Sprintf("%d of %d tasks", i+1, len(g.tasks)))
		}
	})
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// play plays one task without a defence and under each.
func (g *game) play(ctx context.Context, scorer *lm.Scorer, t *world.Task) played {
	p := played{under: make([][]step, len(g.defences)), err: make([]error, len(g.defences)), toolSeen: -1}
	known := map[string]scored{} // by context and text
	scoring := func(turn *world.Turn) scored {
		key := turn.Context + "\x00" + turn.Text
		s, ok := known[key]
		if !ok {
			s = score(scorer, turn)
			known[key] = s
		}
		return s
	}
	shared := t.Opening()
	for agent := range world.Agents {
		turn := t.Play(agent, shared)
		p.free = append(p.free, g.judge(turn.Emissions, &method.Output{Text: turn.Text}))
		p.entropy = append(p.entropy, courseOf(turn.Emissions, scoring(turn), g.vocabulary))
		if p.toolSeen < 0 && g.tells(turn, t) {
			p.toolSeen = agent
		}
		shared = world.Append(shared, agent, turn.Text)
	}
	for d := range g.defences {
		p.under[d], p.err[d] = g.defend(ctx, &g.defences[d], t, scoring)
	}
	return p
}

func (g *game) defend(ctx context.Context, d *Defence, t *world.Task, scoring func(*world.Turn) scored) ([]step, error) {
	var steps []step
	shared := t.Opening()
	arrivals := 0
	for agent := range world.Agents {
		turn := t.Play(agent, shared)
		in := method.Input{
			Task: t.ID, Agent: turn.Agent, Context: turn.Context, Private: turn.Private, Tool: len(turn.Tools) > 0,
			Vocabulary: g.vocabulary, Text: turn.Text,
		}
		if d.Registered {
			in.Registered = g.registered
		}
		if d.Distributions {
			in.Tokens = scoring(turn).tokens
		}
		s, text, err := g.filter(ctx, d, &in, turn.Emissions)
		if err != nil {
			return nil, err
		}
		s.arrivals = arrivals
		for _, f := range s.emitted {
			if f.leaked {
				arrivals++
			}
		}
		steps = append(steps, s)
		shared = world.Append(shared, agent, text)
	}
	return steps, nil
}

// filter puts one output through a defence and judges what goes on.
func (g *game) filter(ctx context.Context, d *Defence, in *method.Input, emissions []world.Emission) (step, string, error) {
	start := time.Now()
	out, err := d.Method.Filter(ctx, in)
	took := time.Since(start)
	if err != nil {
		return step{}, "", err
	}
	if err := check(&out, in.Text); err != nil {
		return step{}, "", err
	}
	s := g.judge(emissions, &out)
	s.took, s.reading, s.tokens = took-out.Reading, out.Reading, len(in.Tokens)
	g.known(d, in, &s)
	return s, out.Text, nil
}

// known notes what the defence knew of each secret before it was emitted.
func (g *game) known(d *Defence, in *method.Input, s *step) {
	var discovered []string
	if m, ok := d.Method.(discoverer); ok && !d.Registered && len(s.emitted) > 0 {
		discovered = m.Discovers(in.Context)
	}
	for i := range s.emitted {
		f := &s.emitted[i]
		f.known = "no"
		if d.Registered {
			f.known = "registered"
			continue
		}
		value := g.repository.Secrets[f.Secret].Value
		for _, v := range discovered {
			if strings.Contains(v, value) || len(v) >= world.MinFragment && strings.Contains(value, v) {
				f.known = "discovered"
				break
			}
		}
	}
}
