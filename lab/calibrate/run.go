package calibrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// Options of a run.
type Options struct {
	World   *world.Setting // world.Dev where nil
	Seed    uint64
	N       int // tasks of each half; world.Size where 0
	Defence defence.Defence
	Resolve Resolve
	// Rubrics are those that the defence may use, and which of them were
	// registered with a signature that was verified.
	Rubrics []*rubric.Rubric
	Signed  func(r *rubric.Rubric) bool
	Extra   Extra
	// Annotations are of how much recipients need fields; nil: gate C4 is not
	// measured.
	Annotations []Annotation
	Progress    func(string)

	// What tests change: a certified cost, the pools, and how many texts
	// classifiers of words learn from.
	charge func(k Key, bits float64) float64
	change func(p *Pools)
	texts  int
}

// Outcome is what a run found.
type Outcome struct {
	*results.Result

	Gates   []Gate
	Charges []Charge
}

// Run calibrates, and judges what it found by the gates.
func Run(ctx context.Context, o Options) (*Outcome, error) {
	if o.World == nil {
		o.World = world.Dev()
	}
	if o.N <= 0 {
		o.N = world.Size
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &run{o: &o, ties: ties{}}
	r.calibration, r.held = halves(o.World, o.Seed, o.N)
	lowest := int64(0)
	for _, one := range o.Rubrics {
		resolved := rubric.Combine(one)
		r.ties.add(resolved)
		l := resolved.Limits()
		for _, v := range l.Lambda[1:] {
			if lowest == 0 || v < lowest {
				lowest = v
			}
		}
		r.margin = max(r.margin, bits(l.Margin))
	}
	if len(o.Rubrics) == 0 {
		return nil, errors.New("there are no rubrics to calibrate")
	}
	o.Progress("training the adversaries")
	if err := r.train(ctx); err != nil {
		return nil, err
	}
	if err := r.atoms(); err != nil {
		return nil, err
	}
	out := &Outcome{Result: &results.Result{
		Suite: "calibrate", Seed: o.Seed, N: o.N, Environment: results.Here(),
		Source: fmt.Sprintf("%v, %d trajectories to calibrate on and %d others to report on, seed %d", o.World, o.N, o.N, o.Seed),
		Notes:  r.notes(),
	}}
	return out, r.all(ctx, out, lowest)
}

type run struct {
	o                    *Options
	ties                 ties
	margin               float64
	readers              readers
	calibration, held    []*world.Task
	sampled, heldSampled []Sequence
	outside              int
}

func (r *run) notes() []string {
	out := []string{
		fmt.Sprintf("adversaries were made from seeds %d to %d; limits of gates were fixed before the first run, and the source's own are lost in our copy", adversary.TrainSeed, scoresSeed),
		"cost_calibrated: upper bound, one-sided 95 %, bootstrap percentile, 1,000 resamples, of the 97 % quantile of what the worst of the calibration pool learns by an atom; intervals of coverage: Clopper-Pearson",
		"operator=…,pool=…: fields of held-out trajectories under " + r.o.Defence.Name() + "; atoms,operator=…: arguments with an operator drawn at random; coverage_calibrated holds those to calibrated costs instead of the rubrics'",
		fmt.Sprintf("%d mentions are outside of their field's population: redact, drop and substitute alone were drawn for them", r.outside),
	}
	if r.o.Extra.Model == nil && r.o.Extra.Stress == nil {
		out = append(out, "llm adversaries skipped: no endpoint configured")
	}
	if r.o.Extra.Scores == nil {
		out = append(out, "adversary by a model's likelihoods skipped: no endpoint configured")
	}
	return out
}

// train makes the adversaries that read.
func (r *run) train(ctx context.Context) (err error) {
	if r.readers, err = learnReaders(r.o.World, cmp.Or(r.o.texts, 3*world.Size)); err != nil {
		return err
	}
	if s := r.o.Extra.Scores; s != nil {
		r.o.Progress("calibrating the likelihoods of " + r.o.Extra.ScoresName)
		return s.Calibrate(ctx, r.o.World, world.Joint(), scoresSeed, scoresTasks)
	}
	return nil
}

// atoms samples both halves.
func (r *run) atoms() error {
	s := &sampler{resolve: r.o.Resolve, charge: r.o.charge}
	for _, half := range []struct {
		tasks []*world.Task
		to    *[]Sequence
	}{{r.calibration, &r.sampled}, {r.held, &r.heldSampled}} {
		for _, t := range half.tasks {
			one, err := s.sample(r.o.Seed, t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.ID, err)
			}
			*half.to = append(*half.to, one)
		}
	}
	r.outside = s.outside
	return nil
}

func (r *run) pools(p Prior) Pools {
	extra := r.o.Extra
	if p.Name != Priors()[0].Name {
		extra.Model, extra.Stress, extra.Scores = nil, nil, nil // what a model believes is no prior of ours
	}
	out := newPools(p, r.readers, r.ties.tied, extra)
	if r.o.change != nil {
		r.o.change(&out)
	}
	return out
}

func (r *run) all(ctx context.Context, out *Outcome, lowest int64) error {
	res := out.Result
	r.o.Progress("playing")
	tasks, err := play(ctx, r.o.Defence, r.held)
	if err != nil {
		return err
	}
	list := newRegister()
	for i, prior := range Priors() {
		r.o.Progress("prior " + prior.Name)
		pools := r.pools(prior)
		ms, err := learn(ctx, &pools, &prior, r.sampled)
		if err != nil {
			return err
		}
		held, err := learn(ctx, &pools, &prior, r.heldSampled)
		if err != nil {
			return err
		}
		cs := cells(r.o.Seed, ms)
		atoms := coverAtoms(cs, held)
		c, err := cover(ctx, &pools, &prior, r.margin, list, tasks)
		if err != nil {
			return err
		}
		if i > 0 {
			r.coverRows(res, "prior="+prior.Name+",", c, &atoms)
			continue
		}
		ps, err := r.pairs(ctx, &pools)
		if err != nil {
			return err
		}
		es, err := escapes(ctx, r.o.Defence, r.held)
		if err != nil {
			return err
		}
		stages, err := r.stages()
		if err != nil {
			return err
		}
		r.summary(res, c, es)
		r.coverRows(res, "", c, &atoms)
		r.cellRows(res, cs)
		r.adversaryRows(res, &pools, held)
		r.pairRows(res, ps)
		r.foldRows(res, ms, held)
		r.escapeRows(res, es)
		out.Charges = charges(cs)
		gates := []Gate{disjointPools(&pools), disjointTasks(r.calibration, r.held), costs(cs)}
		of := c.by[""]
		if of == nil {
			of = &[2]tally{}
		}
		gates = append(gates, atLeast("A4", "coverage of the calibration pool, held-out trajectories", &of[0], LeastCalibration),
			atLeast("A5", "coverage of the stress pool, held-out trajectories", &of[1], LeastStress),
			far(held), stronger(held), weights(lowest), joint(ps))
		gates = append(gates, escaped(es)...)
		gates = append(gates, construction(stages)...)
		gates = append(gates, agreement(r.o.Annotations), exceedance(c.measured), atLeast("C6", "trajectories of which the stress pool learns at most what was certified of all values together", &c.totals, LeastStress))
		out.Gates = gates
	}
	gateRows(res, out.Gates)
	return nil
}

// learn measures sequences.
func learn(ctx context.Context, pools *Pools, prior *Prior, all []Sequence) ([]Measured, error) {
	by := make([][]Measured, len(all))
	err := each(all, func(s Sequence, i int) (err error) {
		by[i], err = measure(ctx, pools, prior, &s)
		return errors.Join(err, ctx.Err())
	})
	return slices.Concat(by...), err
}

// each calls f for all on all cores.
func each[T any](all []T, f func(one T, i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, runtime.NumCPU())
	for k := range errs {
		wg.Go(func() {
			for i := k; i < len(all) && errs[k] == nil; i += len(errs) {
				errs[k] = f(all[i], i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// pairs measures pairs by the rubric that declares most of them.
func (r *run) pairs(ctx context.Context, pools *Pools) ([]Pair, error) {
	best := rubric.Combine(r.o.Rubrics[0])
	for _, one := range r.o.Rubrics[1:] {
		if c := rubric.Combine(one); len(c.Graph().Factors) > len(best.Graph().Factors) {
			best = c
		}
	}
	return pairs(ctx, pools, r.ties, best, r.calibration, r.o.Seed)
}

// stages looks at the rubrics by what the tasks of their categories need.
func (r *run) stages() ([]Stage, error) {
	var out []Stage
	for _, one := range r.o.Rubrics {
		out = append(out, Stage{Rubric: one.Name(), signed: r.o.Signed != nil && r.o.Signed(one)})
	}
	for _, t := range r.held {
		for i := range t.Steps {
			s := &t.Steps[i]
			rules, err := r.o.Resolve(query(s))
			conflict := errors.Is(err, rubric.ErrConflict)
			if err != nil && !conflict {
				return nil, fmt.Errorf("%s: %w", t.ID, err)
			}
			at := slices.IndexFunc(out, func(o Stage) bool { return strings.Contains(o.Rubric, s.Action) })
			if at < 0 {
				continue
			}
			out[at].steps.add(!conflict && !rules.IsFallback() && rules.Conflict(s.Sink.Class) == nil)
			if conflict {
				continue
			}
			for k := range s.Parts {
				p := &s.Parts[k]
				found := rules.Match(p.Path, p.Text)
				for j := range p.Mentions {
					m := &p.Mentions[j]
					if m.Oblique || !p.Free || !slices.Contains(rules.Fields(), string(m.Field)) {
						continue
					}
					out[at].hits.add(slices.ContainsFunc(found, func(f rubric.Match) bool { return f.Start < m.End && m.Start < f.End }))
				}
			}
		}
	}
	return out, nil
}

func interval(t tally) [2]float64 {
	ci := stats.ClopperPearson(t.in, t.of, .95)
	return [2]float64{round(ci[0]), round(ci[1])}
}
