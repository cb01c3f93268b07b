package tagger

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/reward"
	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// What a sweep varies: the paper's Table VIII.
var (
	sweepBeta   = []float64{0, 0.1, 0.5, 1, 2}
	sweepLambda = []float64{1, 2, 4}
)

// settings are all pairs with the paper's reward, and those of the least λ with the weight
// of escapes, if there is one.
func settings(p Policy) (out []Policy) {
	add := func(escapes float64, lambdas []float64) {
		for _, lambda := range lambdas {
			for _, beta := range sweepBeta {
				one := p
				one.Beta, one.Lambda, one.Escapes = beta, lambda, escapes
				out = append(out, one)
			}
		}
	}
	add(0, sweepLambda)
	if p.Escapes > 0 {
		add(p.Escapes, sweepLambda[:1])
	}
	return out
}

// SweepOptions are those of a sweep.
type SweepOptions struct {
	Options
	Tasks int // of world dev, of which those of HeldOut are measured
	// Done are the rows of an earlier run, or nil. Each is kept. Keep is called with the
	// result so far, after each row.
	Done *results.Result
	Keep func(*results.Result) error
}

// Sweep trains one network's second stage once for each pair of β and λ, and measures each on the categories that the second stage has not
// seen. All keep the first stage's calibration: one that is fitted anew takes back what
// moves the network as a whole.
func Sweep(ctx context.Context, o *SweepOptions) (*results.Result, error) {
	c, err := NewCorpus("")
	if err != nil {
		return nil, err
	}
	n, err := fit(ctx, c, &o.Options)
	if err != nil {
		return nil, err
	}
	o.Progress("calibrating the first stage")
	n.cut()
	cal, err := calibrate(c, n, o.Seed, o.Texts)
	if err != nil {
		return nil, err
	}
	out := &results.Result{
		Suite: "grpo", Seed: HeldSeed, Source: world.Dev().String(), Environment: results.Here(), Models: map[string]string{"first stage": n.hash(cal)},
		Notes: []string{fmt.Sprintf("second stage: %d batches of %d steps, %d samples of each; tasks of seed %d. Categories that it has not seen: %v", o.Policy.Steps, shareCount*shareGroups, groupSize, o.Policy.Seed, HeldOut)},
	}
	row := func(slice string, make func() (*network, error)) error {
		if d := o.Done; d != nil && d.Models["first stage"] == out.Models["first stage"] && slices.Equal(d.Notes, out.Notes) && d.Row("tagger", slice) != nil {
			out.Rows, out.N = append(out.Rows, *d.Row("tagger", slice)), d.N
			return nil
		}
		n, err := make()
		if err != nil {
			return err
		}
		m, err := encode(c, n, cal)
		if err != nil {
			return err
		}
		r, tasks, err := held(ctx, m, o)
		if err != nil {
			return err
		}
		r.Slice, out.N = slice, tasks
		out.Rows = append(out.Rows, *r)
		o.Progress(fmt.Sprintf("%s: %v", slice, r.Metrics))
		return o.Keep(out)
	}
	if err := row("stage=1", func() (*network, error) { return n.clone(), nil }); err != nil {
		return nil, err
	}
	for _, p := range settings(o.Policy) {
		at := o.Options
		at.Checkpoint, at.Policy = "", p
		err := row(fmt.Sprintf("escapes=%g,lambda=%g,beta=%g", p.Escapes, p.Lambda, p.Beta), func() (*network, error) {
			s, err := refine(ctx, c, n, cal, &at)
			if err != nil {
				return nil, err
			}
			return s.Network, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// played is one task as a model has it.
type played struct {
	success, releases, denied, escaped, mentions, bits, exceeded float64
	steps, reward, utility, fallback                             float64
}

// held measures a model on the tasks of the categories that the second stage has not seen.
// The reward in the row is the paper's, with β = 0.5 and λ = 1.
func held(ctx context.Context, m *tagger.Model, o *SweepOptions) (*results.Row, int, error) {
	judge, err := reward.New(reward.Options{Seed: HeldSeed, N: o.Tasks, Beta: 0.5, Lambda: 1, Margay: o.Margay})
	if err != nil {
		return nil, 0, err
	}
	cfg := o.Margay
	cfg.Name, cfg.Defender, cfg.Screener = "tagger", tagger.New(m), tagger.NewScreener(m)
	margay, err := defence.NewMargay(cfg)
	if err != nil {
		return nil, 0, err
	}
	tasks := slices.DeleteFunc(slices.Clone(judge.Tasks()), func(t *world.Task) bool { return !slices.Contains(HeldOut, t.Category) })
	all, errs := make([]played, len(tasks)), make([]error, len(tasks))
	busy := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() {
			busy <- struct{}{}
			defer func() { <-busy }()
			errs[i] = all[i].play(ctx, judge, margay, &cfg, t)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, 0, err
		}
	}
	r := &results.Row{Defence: "tagger", Metrics: map[string]float64{}, CI: map[string][2]float64{}}
	add := func(name string, of func(*played) (num, den float64)) {
		var x stats.Ratio
		for i := range all {
			num, den := of(&all[i])
			x.Num, x.Den = append(x.Num, num), append(x.Den, den)
		}
		r.Metrics[name] = round4(x.Value())
		if ci := (stats.Bootstrap{Seed: HeldSeed}).Intervals(len(all), x)[0]; !math.IsNaN(ci[0]) {
			r.CI[name] = [2]float64{round4(ci[0]), round4(ci[1])}
		}
	}
	add("task_success", func(p *played) (float64, float64) { return p.success, 1 })
	add("utility", func(p *played) (float64, float64) { return p.utility, p.steps })
	add("fallback", func(p *played) (float64, float64) { return p.fallback, p.steps })
	add("denied", func(p *played) (float64, float64) { return p.denied, p.releases })
	add("charged_bits", func(p *played) (float64, float64) { return p.bits, 1 })
	add("escape_rate", func(p *played) (float64, float64) { return p.escaped, p.mentions })
	add("exceedance", func(p *played) (float64, float64) { return p.exceeded, 1 })
	add("reward", func(p *played) (float64, float64) { return p.reward, p.steps })
	return r, len(tasks), nil
}

func (p *played) play(ctx context.Context, judge *reward.Judge, d defence.Defence, cfg *defence.MargayConfig, t *world.Task) error {
	got, err := judge.Play(ctx, t.ID, cfg.Defender, cfg.Screener)
	if err != nil {
		return err
	}
	for _, r := range got {
		p.steps++
		p.reward, p.utility, p.fallback = p.reward+r.Reward, p.utility+r.Utility, p.fallback+r.Fallback
	}
	run, err := traj.Play(ctx, d, t)
	if err != nil {
		return err
	}
	if run.Success() {
		p.success = 1
	}
	p.releases, p.denied = float64(len(t.Steps)), float64(run.Fallbacks)
	p.escaped, p.mentions, _, _ = run.Escapes()
	p.bits = run.Certified.Total
	if run.Certified.Exceeded {
		p.exceeded = 1
	}
	return nil
}
