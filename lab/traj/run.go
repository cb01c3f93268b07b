package traj

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// Seeds is how many worlds a run is over: Seed, Seed+1, …
const Seeds = 5

// DevelopmentSeed is the first of the seeds that defences and rubrics are
// worked on with; those below are evaluated.
const DevelopmentSeed = 100

// BudgetBits is what measured leakage is held to for defences that certify
// nothing: the default cap of what sinks other than required services learn.
const BudgetBits = 4

// Options of a run.
type Options struct {
	World    *world.Setting // world.Dev where nil
	Seed     uint64
	Seeds    int // Seeds where 0
	N        int // trajectories of each seed; world.Size where 0
	Defences []defence.Defence
	// Ablations are Defences that stand in slices of their own.
	Ablations []Ablation
	// Redrawn asks for a row of each defence on the same trajectories with
	// the names of arguments drawn anew, as the slice names=redrawn.
	Redrawn bool
	// Compare is the defence that others are compared with; none if empty.
	Compare string
	Guesser Guesser // an endpoint that guesses secrets; nil for none
	// Causes asks for Report.Failed and Report.Leaked. They are for work on a
	// defence: never look at them on seeds that are evaluated.
	Causes   bool
	Progress func(string)
}

// Ablation is a defence on a slice, with the name of the one that it is of.
type Ablation struct {
	Defence defence.Defence
	Slice   string
	// Only, if set, is the category that it is measured on.
	Only string
}

// Guesser guesses secrets from what was shown: an adversary of the pool that
// needs an endpoint.
type Guesser interface {
	Name() string
	// Guess returns the share of fields that were guessed right.
	Guess(ctx context.Context, t *world.Task, shown adversary.View) (right, n float64, err error)
}

// Report is what Run found besides the rows.
type Report struct {
	Curves []Curve
	// Failed and Leaked are causes by defence, those that matter most first;
	// nil unless they were asked for.
	Failed, Leaked map[string][]Cause
}

// Curve is how leakage grows with the steps of long trajectories.
type Curve struct {
	Defence string
	Bits    []float64 // mean leak_bits after each step
}

// measured is what is counted of one task under one defence.
type measured struct {
	category                 string
	long                     bool
	worded                   bool // a task needs something of free text at a curious sink
	leak, sum, unneeded      float64
	least                    float64 // leak of the oracle
	recovered, inPlay        float64
	success                  float64
	fallbacks, releases      float64
	escaped, mentions        float64
	oblique, obliqueMentions float64
	over                     float64 // measured leakage above the budget
	certified                bool
	exceeded                 float64
	stress, calibration      float64
	covered                  float64
	ops                      map[string]within // by slice: operator and field
	collusion                map[int][2]float64
	took                     []float64
	phases                   map[string][]float64
	curve                    []float64
}

// within is what is counted of fields that sinks other than required services
// were shown.
type within struct {
	stress, calibration float64 // measured leakage within the certified cost
	excess              float64 // leakage above the oracle's, in bits
	of                  float64
}

func (w within) add(o within) within {
	return within{w.stress + o.stress, w.calibration + o.calibration, w.excess + o.excess, w.of + o.of}
}

type run struct {
	o      *Options
	worlds []*world.World
	pool   *adversary.Pool
	least  map[*world.Task]*Played // by the oracle
	prior  map[*world.Task]adversary.Beliefs
	floor  map[*world.Task]adversary.Leak // under the oracle
}

// Run measures all defences.
func Run(ctx context.Context, o Options) (*results.Result, *Report, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.Seeds <= 0 {
		o.Seeds = Seeds
	}
	if o.N <= 0 {
		o.N = world.Size
	}
	if o.World == nil {
		o.World = world.Dev()
	}
	r := newRun(&o)
	for i := range o.Seeds {
		r.worlds = append(r.worlds, o.World.Generate(o.Seed+uint64(i), o.N))
	}
	o.Progress("training the adversaries")
	r.pool = adversary.NewPool(o.World)
	res := &results.Result{
		Suite: "traj", Seed: o.Seed, N: o.N, Environment: results.Here(),
		Source: fmt.Sprintf("%v, %d trajectories of each of the seeds %d to %d", o.World, o.N, o.Seed, o.Seed+uint64(o.Seeds)-1),
		Notes: []string{
			"leak_bits: dynamic min-entropy leakage of all secrets together, to all sinks but required services, pooled, by the worst of the stress pool; excess_bits: above the oracle's",
			fmt.Sprintf("intervals: percentile bootstrap of the %d tasks of all seeds, 1,000 resamples; of escapes and exceedance Clopper-Pearson", o.N*o.Seeds),
			fmt.Sprintf("defences and adversaries were developed on seeds from 100 on; the lexical adversary learnt on seed %d and was calibrated on %d", adversary.TrainSeed, adversary.HeldSeed),
			fmt.Sprintf("measured_exceedance holds leak_bits to the certified cap, and to %d bits where a defence certifies nothing", BudgetBits),
			"timings are of this machine and are not the same on every run",
		},
	}
	if err := r.references(ctx); err != nil {
		return nil, nil, err
	}
	other, err := r.renamed(ctx)
	if err != nil {
		return nil, nil, err
	}
	rep := &Report{}
	if o.Causes {
		rep.Failed, rep.Leaked = map[string][]Cause{}, map[string][]Cause{}
	}
	all := map[string][]measured{}
	for _, d := range append(slices.Clone(o.Defences), defence.Defence(defence.Oracle{})) {
		ms, err := r.measure(ctx, d, "")
		if err != nil {
			return nil, nil, err
		}
		all[d.Name()] = ms
		r.rows(res, d.Name(), ms)
		if other != nil {
			again, err := other.measure(ctx, d, "")
			if err != nil {
				return nil, nil, err
			}
			r.row(res, d.Name(), "names=redrawn", again)
		}
		rep.Curves = append(rep.Curves, curve(d.Name(), ms))
		if o.Causes && d.Name() != "oracle" {
			if rep.Failed[d.Name()], rep.Leaked[d.Name()], err = r.causes(ctx, d); err != nil {
				return nil, nil, err
			}
		}
		if o.Guesser != nil && d.Name() != "oracle" {
			if err := r.guess(ctx, res, d); err != nil {
				res.Notes = append(res.Notes, fmt.Sprintf("%s on %s: %v", o.Guesser.Name(), d.Name(), err))
			}
		}
	}
	type kind struct{ defence, slice string }
	var kinds []kind
	folds := map[kind][]measured{} // of all categories together
	for _, a := range o.Ablations {
		ms, err := r.measure(ctx, a.Defence, a.Only)
		if err != nil {
			return nil, nil, err
		}
		r.row(res, a.Defence.Name(), a.Slice, ms)
		if slice, _, ok := strings.Cut(a.Slice, "="); ok && a.Only != "" {
			k := kind{a.Defence.Name(), slice}
			if folds[k] == nil {
				kinds = append(kinds, k)
			}
			folds[k] = append(folds[k], ms...)
		}
	}
	for _, k := range kinds {
		r.row(res, k.defence, k.slice+"=all", folds[k])
		operators(res, k.defence, k.slice+"=all,", folds[k])
	}
	r.compare(res, all)
	if o.Guesser == nil {
		res.Notes = append(res.Notes, "llm adversary skipped: no endpoint configured")
	}
	return res, rep, nil
}

// renamed is the run on the same trajectories with other names of arguments, or
// nil.
func (r *run) renamed(ctx context.Context) (*run, error) {
	if !r.o.Redrawn {
		return nil, nil
	}
	out := newRun(r.o)
	out.pool = r.pool
	for i := range r.o.Seeds {
		out.worlds = append(out.worlds, r.o.World.Redrawn(r.o.Seed+uint64(i), r.o.N))
	}
	return out, out.references(ctx)
}

func newRun(o *Options) *run {
	return &run{o: o, least: map[*world.Task]*Played{}, prior: map[*world.Task]adversary.Beliefs{}, floor: map[*world.Task]adversary.Leak{}}
}

// references are the priors and what an oracle releases.
func (r *run) references(ctx context.Context) error {
	var mu sync.Mutex
	return r.each("", func(t *world.Task, _ int) error {
		p, err := Play(ctx, defence.Oracle{}, t)
		if err != nil {
			return err
		}
		prior := r.pool.Prior(t)
		l := r.pool.Measure(t, &prior, Pool(p.Views(len(t.Steps), Others), 0))
		mu.Lock()
		r.least[t], r.prior[t], r.floor[t] = p, prior, l
		mu.Unlock()
		return nil
	})
}

// each calls f for all tasks, of a category if one is named, on all cores. The
// index is that of the task among them.
func (r *run) each(category string, f func(t *world.Task, i int) error) error {
	tasks := r.tasks(category)
	var wg sync.WaitGroup
	errs := make([]error, runtime.NumCPU())
	for k := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := k; i < len(tasks) && errs[k] == nil; i += len(errs) {
				errs[k] = f(tasks[i], i)
			}
		}()
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) tasks(category string) []*world.Task {
	var out []*world.Task
	for _, w := range r.worlds {
		for _, t := range w.Tasks {
			if category == "" || t.Category == category {
				out = append(out, t)
			}
		}
	}
	return out
}

func (r *run) measure(ctx context.Context, d defence.Defence, category string) ([]measured, error) {
	out := make([]measured, len(r.tasks(category)))
	var mu sync.Mutex
	done := 0
	err := r.each(category, func(t *world.Task, i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, err := Play(ctx, d, t)
		if err != nil {
			return err
		}
		out[i] = r.look(p)
		mu.Lock()
		done++
		if done%50 == 0 {
			r.o.Progress(fmt.Sprintf("%s: %d of %d", d.Name(), done, len(out)))
		}
		mu.Unlock()
		return nil
	})
	return out, err
}

// look measures one played task.
func (r *run) look(p *Played) measured {
	t := p.Task
	prior := r.prior[t]
	m := measured{category: t.Category, long: t.Long, worded: t.Worded(), releases: float64(len(t.Steps)), fallbacks: float64(p.Fallbacks)}
	views := p.Views(len(t.Steps), Others)
	seen := Pool(views, 0)
	l := r.pool.Measure(t, &prior, seen)
	m.leak, m.sum = l.Total, l.Sum()
	m.least = r.floor[t].Total
	m.recovered, m.inPlay = Recovered(t, &l)
	m.unneeded = r.unneeded(p, &prior)
	if p.Success() {
		m.success = 1
	}
	m.escaped, m.mentions, m.oblique, m.obliqueMentions = p.Escapes()
	m.collusion = map[int][2]float64{}
	for _, k := range []int{1, 2, 4, 8} {
		c := l
		if k < len(views) {
			c = r.pool.Measure(t, &prior, Pool(views, k))
		}
		sum, n := Recovered(t, &c)
		m.collusion[k] = [2]float64{sum, n}
	}
	budget := float64(BudgetBits)
	if c := p.Certified; c != nil {
		m.certified = true
		budget = c.Cap
		if c.Exceeded {
			m.exceeded = 1
		}
		r.cover(p, seen, &l, &m)
	}
	if m.leak > budget+1e-6 {
		m.over = 1
	}
	for i, d := range p.Took {
		m.took = append(m.took, float64(d.Nanoseconds())/1000)
		for name, d := range p.Phases[i] {
			if m.phases == nil {
				m.phases = map[string][]float64{}
			}
			m.phases[name] = append(m.phases[name], float64(d.Nanoseconds())/1000)
		}
	}
	if len(t.Steps) == world.Longest {
		for upto := 1; upto <= len(t.Steps); upto++ {
			m.curve = append(m.curve, r.pool.Total(t, &prior, Pool(p.Views(upto, Others), 0)))
		}
	}
	return m
}

// unneeded is what each required service learnt beyond what it needs.
func (r *run) unneeded(p *Played, prior *adversary.Beliefs) float64 {
	needed := func(c flow.Class) bool { return c == flow.RequiredService }
	had, least := p.Views(len(p.Released), needed), r.least[p.Task].Views(len(p.Released), needed)
	bits := 0.0
	names := make([]string, 0, len(had))
	for n := range had {
		names = append(names, n)
	}
	slices.Sort(names) // sums are the same on every run
	for _, n := range names {
		if o := least[n]; o != nil {
			// What it may know anyway stays known.
			both := &adversary.Seen{}
			both.Join(o)
			both.Join(had[n])
			bits += math.Max(0, r.pool.Total(p.Task, prior, both)-r.pool.Total(p.Task, prior, o))
			continue
		}
		bits += r.pool.Total(p.Task, prior, had[n])
	}
	return bits
}

// cover holds what is measured of each field to what was certified for it.
func (r *run) cover(p *Played, seen *adversary.Seen, l *adversary.Leak, m *measured) {
	alone := r.pool.Declared(p.Task, seen)
	m.ops = map[string]within{}
	for i, f := range world.Fields {
		certified, shown := p.Certified.Bits[f]
		if !shown {
			continue
		}
		one := within{of: 1, excess: l.Bits[i] - r.floor[p.Task].Bits[i]}
		if l.Bits[i] <= certified+1e-6 {
			one.stress = 1
		}
		if alone[i] <= certified+1e-6 {
			one.calibration = 1
		}
		m.covered++
		m.stress += one.stress
		m.calibration += one.calibration
		for _, slice := range []string{"operator=" + p.Certified.Ops[f], "field=" + string(f)} {
			m.ops[slice] = m.ops[slice].add(one)
		}
	}
}

func curve(name string, ms []measured) Curve {
	c := Curve{Defence: name}
	n := 0.0
	for _, m := range ms {
		if m.curve == nil {
			continue
		}
		if c.Bits == nil {
			c.Bits = make([]float64, len(m.curve))
		}
		n++
		for i, b := range m.curve {
			c.Bits[i] += b
		}
	}
	for i := range c.Bits {
		c.Bits[i] /= n
	}
	return c
}

// guess lets the endpoint guess, on the first tasks of the first seed.
func (r *run) guess(ctx context.Context, res *results.Result, d defence.Defence) error {
	const most = 24
	var num, den []float64
	for _, t := range r.worlds[0].Tasks[:min(most, len(r.worlds[0].Tasks))] {
		p, err := Play(ctx, d, t)
		if err != nil {
			return err
		}
		right, n, err := r.o.Guesser.Guess(ctx, t, Shown(p))
		if err != nil {
			return err
		}
		num, den = append(num, right), append(den, n)
		r.o.Progress(fmt.Sprintf("%s guesses under %s: %d", r.o.Guesser.Name(), d.Name(), len(num)))
	}
	ratio := stats.Ratio{Num: num, Den: den}
	row := results.Row{Defence: d.Name(), Slice: "adversary=llm", Metrics: map[string]float64{"recovery_top1": round(ratio.Value())}, CI: map[string][2]float64{}}
	row.CI["recovery_top1"] = stats.Bootstrap{Seed: r.o.Seed, Resamples: 1000}.Intervals(len(num), ratio)[0]
	res.Rows = append(res.Rows, row)
	return nil
}

// Shown are the texts that all sinks but required services were shown.
func Shown(p *Played) adversary.View {
	var out adversary.View
	for i := range p.Released {
		if s := &p.Task.Steps[i]; Others(s.Sink.Class) {
			for k, text := range p.Released[i] {
				out = append(out, s.Tool+" "+s.Parts[k].Path+": "+text)
			}
		}
	}
	return out
}
