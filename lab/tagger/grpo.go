package tagger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/reward"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// Policy are the options of the second stage: group relative policy optimisation by the
// reward that the verifier computes (OCELOT, section 4.2 and equation 3).
type Policy struct {
	Steps  int     `json:"steps"`  // batches; 0: there is no second stage
	Beta   float64 `json:"beta"`   // weighs fallback
	Lambda float64 `json:"lambda"` // multiplies the weights of what other than required services learn
	// Escapes weighs the share of a step's mentions that should not arrive and do. The
	// paper has no such term: its verifier can't see what a defender leaves out. A
	// simulated world can.
	Escapes float64 `json:"escapes"`
	Seed    uint64  `json:"seed"` // of the tasks, 100 or above
}

// Check reports what is wrong with the options, before a first stage is trained for them.
func (p *Policy) Check(cfg defence.MargayConfig) error {
	if !(p.Escapes >= 0 && p.Escapes <= 1000) {
		return errors.New("the weight of escapes is from 0 to 1,000")
	}
	_, err := reward.New(reward.Options{Seed: p.Seed, N: 1, Beta: p.Beta, Lambda: p.Lambda, Margay: cfg})
	return err
}

// The second stage draws tasks of the world dev with seed TaskSeed, and is measured on the
// categories in HeldOut with seed HeldSeed.
const (
	TaskSeed = 300
	HeldSeed = 200
)

// HeldOut are the categories that the second stage has no task of.
var HeldOut = []string{"customer-support", "medical-records", "payments", "tax-filing"}

const (
	policyTasks  = 480
	groupSize    = 8
	shareGroups  = 2
	mixedTexts   = 4    // of a share
	mixedWeight  = 0.05 // of their losses
	policyRate   = 1e-3
	policyKL     = 0.05
	policyEvery  = 20 // steps between checkpoints
	latestStep   = 8  // of a task: those before it are released again for each sample
	maxPolicyLen = 4000
)

// episode is a step of a task, from its start.
type episode struct {
	task string
	step int
}

// episodes are the steps that the second stage learns from: of short tasks of categories
// that are not held out, with text that the tagger reads.
func episodes(tasks []*world.Task) (out []episode) {
	for _, t := range tasks {
		if t.Long || slices.Contains(HeldOut, t.Category) {
			continue
		}
		for i := range min(len(t.Steps), latestStep) {
			read, size := false, 0
			for k := range t.Steps[i].Parts {
				p := &t.Steps[i].Parts[k]
				if p.Free || p.Field == "" {
					read, size = read || p.Text != "", size+len(p.Text)
				}
			}
			if read && size <= maxPolicyLen {
				out = append(out, episode{t.ID, i})
			}
		}
	}
	return out
}

// refined is what a checkpoint of the second stage holds.
type refined struct {
	Policy  Policy
	Start   string // hash of the network that it starts from, and its calibration
	Network *network
	Adam    *adam
	Curve   []Reward
}

// Reward is the mean over the samples of a batch.
type Reward struct {
	Reward   float64 `json:"reward"` // equation 3
	Utility  float64 `json:"utility"`
	Fallback float64 `json:"fallback"`
	Escapes  float64 `json:"escapes"` // share of mentions
	KL       float64 `json:"kl"`
}

// trial plays one group: it draws a situation, and returns what each sample is worth in
// it, and the sum of what was measured.
type trial func(ctx context.Context, r *rand.Rand, samples []*sample) ([]float64, Reward, error)

// judged is the trial by the verifier.
func judged(p *Policy, cfg defence.MargayConfig) (trial, error) {
	judge, err := reward.New(reward.Options{Seed: p.Seed, N: policyTasks, Beta: p.Beta, Lambda: p.Lambda, Margay: cfg})
	if err != nil {
		return nil, err
	}
	all := episodes(judge.Tasks())
	return func(ctx context.Context, r *rand.Rand, samples []*sample) (worth []float64, sum Reward, _ error) {
		e := all[r.IntN(len(all))]
		for _, s := range samples {
			got, err := judge.Score(ctx, &reward.Output{Task: e.task, Step: e.step, Defender: s, Screener: s})
			if err != nil {
				return nil, sum, err
			}
			escapes := float64(got.Escaped) / float64(max(1, got.Mentions))
			worth = append(worth, got.Reward-p.Escapes*escapes)
			sum.Reward += got.Reward
			sum.Utility += got.Utility
			sum.Fallback += got.Fallback
			sum.Escapes += escapes
		}
		return worth, sum, nil
	}, nil
}

// refine trains a network further. What it returns shares nothing with the start, which is
// the reference.
func refine(ctx context.Context, c *Corpus, start *network, cal *tagger.Calibration, o *Options) (*refined, error) {
	cfg := o.Margay
	m, err := encode(c, start.clone(), cal)
	if err != nil {
		return nil, err
	}
	cfg.Screener = tagger.NewScreener(m) // of the steps before
	play, err := judged(&o.Policy, cfg)
	if err != nil {
		return nil, err
	}
	return (&refinement{corpus: c, start: start, cal: cal, play: play, mixed: mixedTexts}).run(ctx, o)
}

// refinement is a second stage. Each share of a batch has some of the first stage's texts
// as well, with their labels, so that the network does not forget what no task has.
type refinement struct {
	corpus *Corpus
	start  *network
	cal    *tagger.Calibration
	play   trial
	mixed  int
}

func (f *refinement) run(ctx context.Context, o *Options) (*refined, error) {
	start, cal := f.start, f.cal
	s := &refined{Policy: o.Policy, Start: start.hash(cal), Network: start.clone(), Adam: newAdam()}
	if o.Resume && o.Checkpoint != "" {
		if err := s.load(second(o.Checkpoint)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	shares := make([]*gradient, shareCount)
	for i := range shares {
		shares[i] = newGradient()
	}
	began, first := time.Now(), s.Adam.Step
	for s.Adam.Step < s.Policy.Steps {
		step := s.Adam.Step
		errs, got := make([]error, shareCount), make([]Reward, shareCount)
		var wg sync.WaitGroup
		for i := range shares {
			wg.Go(func() {
				got[i], errs[i] = f.share(ctx, shares[i], s.Network, o.Seed, uint64(step*shareCount+i))
			})
		}
		wg.Wait()
		if err := errors.Join(append(errs, ctx.Err())...); err != nil {
			return nil, err
		}
		progress := float64(step) / float64(s.Policy.Steps)
		s.Adam.apply(s.Network, shares, policyRate*min(1, float64(step+1)/10)*(1-0.9*progress))
		s.Curve = append(s.Curve, mean(got))
		if done := s.Adam.Step; done%cmp.Or(o.every, policyEvery) == 0 || done == s.Policy.Steps {
			left := time.Since(began) / time.Duration(max(1, done-first)) * time.Duration(s.Policy.Steps-done)
			m := mean(s.Curve[max(0, len(s.Curve)-policyEvery):])
			o.Progress(fmt.Sprintf("second stage, step %d of %d, reward %.3f, utility %.3f, fallback %.3f, escapes %.3f, divergence %.4f, %s left",
				done, s.Policy.Steps, m.Reward, m.Utility, m.Fallback, m.Escapes, m.KL, left.Round(time.Second)))
			if o.Checkpoint != "" {
				if err := save(second(o.Checkpoint), s); err != nil {
					return nil, err
				}
			}
		}
	}
	return s, nil
}

// second is the file of the second stage's checkpoint.
func second(checkpoint string) string { return checkpoint + ".grpo" }

// share draws the groups of one share of a batch, and computes its gradient.
func (f *refinement) share(ctx context.Context, to *gradient, n *network, seed, number uint64) (sum Reward, _ error) {
	to.reset()
	y := newPolicy(n, f.start, f.cal, f.corpus.senses)
	r := rand.New(rand.NewPCG(seed, number|1<<52))
	var p pass
	for i := range uint64(f.mixed) {
		t, err := f.corpus.Draw(Train, seed, (number|1<<40)*mixedTexts+i)
		if err != nil {
			return sum, err
		}
		if text := t.tokens(&y.features); len(text) > 0 {
			n.forward(&p, text, r)
			for i := range p.pool {
				p.pool[i].lose(text, to)
				p.pool[i].scale(mixedWeight)
			}
			n.backFrom(&p, text, to)
		}
	}
	for range shareGroups {
		g := &group{policy: y}
		samples := make([]*sample, groupSize)
		for i := range samples {
			samples[i] = &sample{g: g, r: rand.New(rand.NewPCG(r.Uint64(), uint64(i)))}
		}
		worth, got, err := f.play(ctx, r, samples)
		if err != nil {
			return sum, err
		}
		sum.add(&got)
		sum.KL += groupSize * learn(samples, worth, policyKL)
		g.back(to)
	}
	for _, x := range []*float64{&sum.Reward, &sum.Utility, &sum.Fallback, &sum.Escapes, &sum.KL} {
		*x /= shareGroups * groupSize
	}
	return sum, nil
}

// scale multiplies the gradients at a sentence's outputs.
func (q *pooled) scale(by float32) {
	q.dScore *= by
	for t := range q.dOut {
		for k := range q.dOut[t] {
			q.dOut[t][k] *= by
		}
	}
}

func (r *Reward) add(x *Reward) {
	r.Reward += x.Reward
	r.Utility += x.Utility
	r.Fallback += x.Fallback
	r.Escapes += x.Escapes
	r.KL += x.KL
}

func mean(all []Reward) (out Reward) {
	for i := range all {
		out.add(&all[i])
	}
	n := float64(max(1, len(all)))
	return Reward{out.Reward / n, out.Utility / n, out.Fallback / n, out.Escapes / n, out.KL / n}
}

func (s *refined) load(path string) error {
	var got refined
	if err := load(path, &got); err != nil {
		return err
	}
	if got.Policy != s.Policy || got.Start != s.Start || got.Network == nil || got.Adam == nil || len(got.Curve) != got.Adam.Step ||
		len(got.Network.Rows) != len(s.Network.Rows) || len(got.Adam.Rows1) != len(s.Network.Rows) || len(got.Adam.Rows2) != len(s.Network.Rows) {
		return ErrCheckpoint
	}
	*s = got
	return nil
}

func (n *network) clone() *network { return &network{slices.Clone(n.Rows), n.Dense} }

// hash is that of a network and what calibrates it.
func (n *network) hash(cal *tagger.Calibration) string {
	h := sha256.New()
	for _, v := range []any{n.Rows, &n.Dense, cal} {
		_ = binary.Write(h, binary.LittleEndian, v) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Second is what a card says of the second stage.
type Second struct {
	Policy
	World string   `json:"world"`
	Held  []string `json:"held_out"` // categories
	Group int      `json:"group"`    // samples of a step
	Batch int      `json:"batch"`    // groups
	KL    float64  `json:"kl"`       // weight of the divergence from the first stage
	Heat  float64  `json:"heat"`
	Rate  float64  `json:"rate"`
	First Reward   `json:"first"` // mean over the first steps
	Last  Reward   `json:"last"`
}

func (s *refined) card() *Second {
	k := min(policyEvery, len(s.Curve))
	return &Second{
		Policy: s.Policy, World: world.Dev().String(), Held: HeldOut, Group: groupSize, Batch: shareCount * shareGroups, KL: policyKL, Heat: heat, Rate: policyRate,
		First: mean(s.Curve[:k]).rounded(), Last: mean(s.Curve[len(s.Curve)-k:]).rounded(),
	}
}

func (r Reward) rounded() Reward {
	return Reward{round4(r.Reward), round4(r.Utility), round4(r.Fallback), round4(r.Escapes), round4(r.KL)}
}

func (p *Policy) flags() string {
	return fmt.Sprintf(" --grpo %d --beta %g --lambda %g --escapes %g --tasks-seed %d", p.Steps, p.Beta, p.Lambda, p.Escapes, p.Seed)
}

// secondStage trains what the first stage left, as it would be deployed.
func secondStage(ctx context.Context, c *Corpus, n *network, o *Options) (*refined, error) {
	o.Progress("calibrating the first stage")
	n.cut()
	cal, err := calibrate(c, n, o.Seed, o.Texts)
	if err != nil {
		return nil, err
	}
	return refine(ctx, c, n, cal, o)
}

// encode makes a model of a network, whose embeddings are rounded.
func encode(c *Corpus, n *network, cal *tagger.Calibration) (*tagger.Model, error) {
	rows, scale := n.cut()
	file, err := tagger.Encode(rows, scale, c.senses, &n.Dense, cal)
	if err != nil {
		return nil, err
	}
	return tagger.Load(file)
}
