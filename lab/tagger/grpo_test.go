package tagger

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric/library"
)

func even() *tagger.Calibration {
	cal := &tagger.Calibration{Temperature: 1}
	for i := range cal.Threshold {
		cal.Threshold[i] = 0.5
	}
	for i := range cal.Score {
		cal.Score[i], cal.Private[i] = float32(i-tagger.Steps/2)/8, float32(i+1)/(tagger.Steps+1)
	}
	return cal
}

var shippedRubrics = sync.OnceValues(func() (defence.MargayConfig, error) {
	files := map[string][]byte{}
	for _, f := range library.All() {
		files[f.Name+".yaml"] = []byte(f.Text)
	}
	reg, err := defence.NewRegistry(files)
	if err != nil {
		return defence.MargayConfig{}, err
	}
	return reg.Config(defence.MargayConfig{})
})

func sampled(y *policy, n int, read func(*sample)) ([]*sample, *group) {
	g := &group{policy: y}
	var out []*sample
	for i := range n {
		s := &sample{g: g, r: rand.New(rand.NewPCG(7, uint64(i)))}
		read(s)
		out = append(out, s)
	}
	return out, g
}

const privateText = "Please send it to Maria Keller, who has been on sick leave since her operation. The parcel is blue."

// The gradient of a sample's loss is that of its probability and of the divergence from the
// reference, by differences.
func TestPolicyGradient(t *testing.T) {
	c := corpus(t)
	cal := even()
	n, ref := newNetwork(rand.New(rand.NewPCG(1, 1))), newNetwork(rand.New(rand.NewPCG(1, 1)))
	for k := range ref.Dense.Out { // near it, not at it
		ref.Dense.Out[k] += float32(k) / 20
	}
	read := func(s *sample) {
		s.spans(privateText)
		_, _ = s.Clear(t.Context(), strings.ToLower(privateText))
	}
	worth := []float64{1, 0, 0.4, -2}
	const kl = 0.3
	samples, g := sampled(newPolicy(n, ref, cal, c.senses), len(worth), read)
	learn(samples, worth, kl)
	to := newGradient()
	g.back(to)
	draws := 0
	for _, s := range samples {
		draws += len(s.drawn)
	}
	if draws < 20 {
		t.Fatalf("%d choices", draws)
	}
	loss := func() (sum float64) { // of the same choices
		again, _ := sampled(newPolicy(n, ref, cal, c.senses), 1, read)
		now := map[[4]int]*choice{}
		for _, r := range again[0].g.texts {
			for i := range r.sentences {
				x := &r.sentences[i]
				for _, c := range append([]*choice{&x.clear, &x.unclear}, pointers(x.runs)...) {
					now[keyOf(samples[0].g, c, again[0].g, x)] = c
				}
			}
		}
		for i, a := range advantages(worth) {
			for _, d := range samples[i].drawn {
				k := keyOf(nil, d.of, samples[0].g, sentenceOf(samples[0].g, d.of))
				c := now[k]
				if c == nil {
					t.Fatal("the runs have changed")
				}
				sum -= a * math.Log(c.p[d.class]) / float64(len(worth))
				for m := range c.p {
					sum += kl * c.p[m] * math.Log(c.p[m]/c.q[m]) / float64(len(worth))
				}
			}
		}
		return sum
	}
	check := func(what string, w *float32, got float32) {
		t.Helper()
		const h = 2e-3
		old := *w
		*w = old + h
		up := loss()
		*w = old - h
		down := loss()
		*w = old
		if want := (up - down) / (2 * h); math.Abs(want-float64(got)) > 0.05*math.Abs(want)+0.02 {
			t.Errorf("%s: the gradient is %g, by differences %g", what, got, want)
		}
	}
	d, e := &n.Dense, &to.dense
	moved := 0
	for j := range 8 {
		check("token", &d.Token[j][2*j], e.Token[j][2*j])
		check("pool", &d.Pool[j][2*j], e.Pool[j][2*j])
		check("out", &d.Out[j], e.Out[j])
		check("max", &d.Max[j], e.Max[j])
		check("mean", &d.Mean[j], e.Mean[j])
		check("conv", &d.Conv[1][17*j][j], e.Conv[1][17*j][j])
		check("first", &d.First[7*j+3][j], e.First[7*j+3][j])
		if math.Abs(float64(e.Out[j])) > 0.05 {
			moved++
		}
	}
	check("sentence", &d.Sentence[0], e.Sentence[0])
	if moved < 3 {
		t.Errorf("%d of 8 gradients differ from 0", moved)
	}
}

func pointers(all []choice) (out []*choice) {
	for i := range all {
		out = append(out, &all[i])
	}
	return out
}

func sentenceOf(g *group, c *choice) *sentence {
	for _, r := range g.texts {
		for i := range r.sentences {
			x := &r.sentences[i]
			if c == &x.clear || c == &x.unclear || slices.Contains(pointers(x.runs), c) {
				return x
			}
		}
	}
	return nil
}

// keyOf names a choice by its text, its place, and what it is about.
func keyOf(_ *group, c *choice, g *group, x *sentence) [4]int {
	text, kind := 0, 0
	for i, of := range g.order {
		r := g.texts[of]
		for k := range r.sentences {
			if &r.sentences[k] == x {
				text = i
			}
		}
	}
	if c == &x.clear {
		kind = 1
	} else if c == &x.unclear {
		kind = 2
	}
	return [4]int{text, c.from, c.to, kind}
}

// The probabilities of a choice add up to one, and draws come as often as they say.
func TestDraw(t *testing.T) {
	c := &choice{p: []float64{0.2, 0.5, 0.3}}
	s := &sample{r: rand.New(rand.NewPCG(1, 2))}
	var n [3]float64
	const all = 20_000
	for range all {
		n[s.draw(c)]++
	}
	for k := range n {
		if math.Abs(n[k]/all-c.p[k]) > 0.015 {
			t.Errorf("class %d is drawn in %.3f of all cases, not %.1f", k, n[k]/all, c.p[k])
		}
	}
	s.drawn = s.drawn[:2]
	s.drawn[0].class, s.drawn[1].class = 1, 2
	if got := s.logProbability(); math.Abs(got-math.Log(0.15)) > 1e-12 {
		t.Errorf("%g", got)
	}
}

func TestAdvantages(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		x := make([]float64, groupSize)
		for i := range x {
			x[i] = r.NormFloat64() * 3
		}
		sum, top := 0.0, 0
		got := advantages(x)
		for i, a := range got {
			sum += a
			if x[i] > x[top] {
				top = i
			}
		}
		if math.Abs(sum) > 1e-9 || got[top] != slices.Max(got) || got[top] <= 0 {
			t.Errorf("%v of %v", got, x)
		}
	}
	for _, a := range advantages([]float64{1, 1, 1}) {
		if a != 0 {
			t.Error("equal rewards have an advantage")
		}
	}
}

// labelled is the probability that a word of a text is in a span.
func labelled(y *policy, text, word string) float64 {
	at, n := strings.Index(text, word), 0
	samples, _ := sampled(y, 400, func(s *sample) {
		if slices.ContainsFunc(s.spans(text), func(x tagger.Span) bool { return x.Start <= at && at < x.End }) {
			n++
		}
	})
	return float64(n) / float64(len(samples))
}

// If a label on a word pays, the word is labelled more often. If it costs, less.
func TestRefine(t *testing.T) {
	c := corpus(t)
	cal := even()
	start := newNetwork(rand.New(rand.NewPCG(1, 1)))
	start.Dense.Out[0] += 2 * heat // so that there is not a label nearly always
	for _, pays := range []float64{1, -1} {
		play := func(_ context.Context, _ *rand.Rand, samples []*sample) (worth []float64, sum Reward, _ error) {
			at := strings.Index(privateText, "operation")
			for _, s := range samples {
				w := 0.0
				if slices.ContainsFunc(s.spans(privateText), func(x tagger.Span) bool { return x.Start <= at && at < x.End }) {
					w = pays
				}
				worth = append(worth, w)
				sum.Reward += w
			}
			return worth, sum, nil
		}
		o := &Options{Seed: 1, Policy: Policy{Steps: 40}, Progress: func(string) {}}
		got, err := (&refinement{corpus: c, start: start, cal: cal, play: play}).run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		before := labelled(newPolicy(start, start, cal, c.senses), privateText, "operation")
		after := labelled(newPolicy(got.Network, start, cal, c.senses), privateText, "operation")
		if (after-before)*pays < 0.1 {
			t.Errorf("paid %g, the word is labelled with probability %.2f, before %.2f", pays, after, before)
		}
		if s := got.card(); (s.Last.Reward-s.First.Reward)*pays < 0 && pays > 0 {
			t.Errorf("%+v", s)
		}
	}
}

func policyOptions(t *testing.T, p Policy) *Options {
	t.Helper()
	cfg, err := shippedRubrics()
	if err != nil {
		t.Fatal(err)
	}
	return &Options{Seed: 1, Policy: p, Margay: cfg, Progress: func(string) {}}
}

// A second stage that was cut off and goes on ends as one that was not, and changes nothing
// that it starts from.
func TestRefineResumes(t *testing.T) {
	c := corpus(t)
	cal := even()
	start := newNetwork(rand.New(rand.NewPCG(1, 1)))
	start.cut()
	kept := start.clone()
	p := Policy{Steps: 3, Beta: 0.5, Lambda: 1, Escapes: 1, Seed: TaskSeed}
	want, err := refine(t.Context(), c, start, cal, policyOptions(t, p))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(start, kept) {
		t.Error("the first stage's network has changed")
	}
	if reflect.DeepEqual(want.Network, start) || len(want.Curve) != 3 {
		t.Error("nothing is learnt")
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := policyOptions(t, p)
	o.Checkpoint, o.every = filepath.Join(t.TempDir(), "checkpoint"), 1
	saved := 0
	o.Progress = func(string) {
		if saved++; saved == 2 {
			cancel()
		}
	}
	if _, err := refine(ctx, c, start, cal, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("it was not cut off: %v", err)
	}
	o.Resume, o.Progress = true, func(string) {}
	got, err := refine(t.Context(), c, start, cal, o)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it ends with other weights: %v", err)
	}
	o.Policy.Beta = 1
	if _, err := refine(t.Context(), c, start, cal, o); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("another β goes on from it: %v", err)
	}
	o.Policy.Beta = 0.5
	start.Dense.Out[0]++
	if _, err := refine(t.Context(), c, start, cal, o); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("another first stage goes on from it: %v", err)
	}
}

// Nothing is trained on seeds that are evaluated, or on categories that are held out.
func TestEpisodes(t *testing.T) {
	for _, seed := range []uint64{0, 1, traj.DevelopmentSeed - 1} {
		o := policyOptions(t, Policy{Steps: 1, Lambda: 1, Seed: seed})
		if _, err := refine(t.Context(), corpus(t), newNetwork(rand.New(rand.NewPCG(1, 1))), even(), o); err == nil {
			t.Errorf("it trains on tasks of seed %d", seed)
		}
	}
	if TaskSeed < traj.DevelopmentSeed || HeldSeed < traj.DevelopmentSeed || TaskSeed == HeldSeed || worldSeed < traj.DevelopmentSeed {
		t.Error("seeds that are evaluated")
	}
	tasks := world.Dev().Generate(TaskSeed, 48).Tasks
	all := episodes(tasks)
	categories := map[string]bool{}
	for _, e := range all {
		at := slices.IndexFunc(tasks, func(t *world.Task) bool { return t.ID == e.task })
		categories[tasks[at].Category] = true
	}
	for _, c := range HeldOut {
		if !slices.Contains(world.Dev().Categories(), c) {
			t.Errorf("no category %s", c)
		}
		if categories[c] {
			t.Errorf("%s is trained on", c)
		}
	}
	if len(categories)+len(HeldOut) != len(world.Dev().Categories()) || len(all) < 100 {
		t.Errorf("%d steps of %d categories", len(all), len(categories))
	}
}

// A sweep has each pair of β and λ once without the weight of escapes, and measures tasks
// of categories that the second stage has not seen, and of no others.
func TestSweep(t *testing.T) {
	seen := map[Policy]bool{}
	for _, p := range settings(Policy{Steps: 9, Escapes: 2, Seed: TaskSeed}) {
		if seen[p] || p.Steps != 9 || p.Seed != TaskSeed {
			t.Errorf("%+v", p)
		}
		seen[p] = true
	}
	if len(seen) != len(sweepBeta)*(len(sweepLambda)+1) || len(settings(Policy{})) != len(sweepBeta)*len(sweepLambda) {
		t.Errorf("%d settings", len(seen))
	}
	m, err := tagger.Default()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := shippedRubrics()
	if err != nil {
		t.Fatal(err)
	}
	row, n, err := held(t.Context(), m, &SweepOptions{Options: Options{Margay: cfg}, Tasks: 24})
	if err != nil || n != 2*len(HeldOut) {
		t.Fatalf("%d tasks, %v", n, err)
	}
	for _, name := range []string{"task_success", "utility", "fallback", "charged_bits", "escape_rate", "exceedance", "reward"} {
		if _, ok := row.Metrics[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if x := row.Metrics; x["exceedance"] != 0 || x["utility"] < 0.5 || x["utility"] > 1 || x["escape_rate"] > 0.2 {
		t.Errorf("%v", x)
	}
}
