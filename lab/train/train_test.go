package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/monitor"
)

func drawRows(t *rapid.T) *rows {
	n := rapid.IntRange(4, 30).Draw(t, "n")
	r := &rows{}
	for i := range n {
		x := rapid.SliceOfN(rapid.Float64Range(-3, 3), width, width).Draw(t, "x")
		r.add(x, i%2 == 0)
	}
	return r
}

// TestGradient compares gradient and Hessian with differences of the loss.
func TestGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, lambda := drawRows(t), rapid.SampledFrom(Lambdas()).Draw(t, "lambda")
		var at theta
		copy(at[:], rapid.SliceOfN(rapid.Float64Range(-1, 1), params, params).Draw(t, "theta"))
		var g theta
		var h [params][params]float64
		objective(r, lambda, &at, &g, &h)
		const e = 1e-5
		for i := range at {
			up, down := at, at
			up[i] += e
			down[i] -= e
			slope := (objective(r, lambda, &up, nil, nil) - objective(r, lambda, &down, nil, nil)) / (2 * e)
			if math.Abs(slope-g[i]) > 1e-4*(1+math.Abs(slope)) {
				t.Fatalf("gradient %d is %g, not %g", i, g[i], slope)
			}
			var gu, gd theta
			objective(r, lambda, &up, &gu, nil)
			objective(r, lambda, &down, &gd, nil)
			for j := range i + 1 {
				if bend := (gu[j] - gd[j]) / (2 * e); math.Abs(bend-h[i][j]) > 1e-3*(1+math.Abs(bend)) {
					t.Fatalf("Hessian %d,%d is %g, not %g", i, j, h[i][j], bend)
				}
			}
		}
	})
}

// TestMinimum: the fit is where the gradient vanishes, whatever the data.
func TestMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, lambda := drawRows(t), rapid.SampledFrom(Lambdas()).Draw(t, "lambda")
		at := fitLogistic(r, lambda)
		var g theta
		objective(r, lambda, &at, &g, nil)
		for i, x := range g {
			if math.Abs(x) > 1e-3 {
				t.Fatalf("gradient %d is %g", i, x)
			}
		}
	})
}

// TestRising: where the data say otherwise, the weights of rising features are
// 0, and the fit is the best without them.
func TestRising(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, lambda := drawRows(t), rapid.SampledFrom(Lambdas()).Draw(t, "lambda")
		up := rapid.SliceOfDistinct(rapid.IntRange(0, width-1), rapid.ID[int]).Draw(t, "rising")
		if len(up) == 0 {
			return
		}
		was := slices.Clone(r.x)
		at := fitRising(r, lambda, up)
		if !slices.Equal(was, r.x) {
			t.Fatal("the rows were changed")
		}
		var g theta
		objective(r, lambda, &at, &g, nil)
		for i, x := range g {
			held := slices.Contains(up, i) && at[i] == 0
			if at[i] < 0 && slices.Contains(up, i) || !held && math.Abs(x) > 1e-3 {
				t.Fatalf("weight %d is %g, gradient %g", i, at[i], x)
			}
		}
	})
}

// TestRecovers: from many draws of a known model the fit finds its weights.
func TestRecovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var truth theta
	truth[2], truth[9], truth[width] = 1.5, -0.8, -0.5
	r := &rows{}
	for range 20_000 {
		x := make([]float64, width)
		for i := range x {
			x[i] = random.NormFloat64()
		}
		r.add(x, random.Float64() < sigmoid(truth.logit(x)))
	}
	got := fitLogistic(r, 0.01)
	for i := range got {
		if math.Abs(got[i]-truth[i]) > 0.08 {
			t.Errorf("weight %d is %g, not %g", i, got[i], truth[i])
		}
	}
}

func TestMetrics(t *testing.T) {
	all := []scored{{0.9, true}, {0.8, false}, {0.7, true}, {0.2, false}, {0.2, true}}
	got := measure(slices.Clone(all), 0.6)
	for name, want := range map[string]float64{
		"precision": 2. / 3, "recall": 2. / 3, "f1": 2. / 3, "fpr": 0.5, "accuracy": 0.6,
		"auc":   (2 + 1 + 0.5) / 6, // of six pairs: 0.9 beats both, 0.7 one, 0.2 ties with one
		"brier": (0.01 + 0.64 + 0.09 + 0.04 + 0.64) / 5,
	} {
		if math.Abs(got[name]-want) > 1e-12 {
			t.Errorf("%s is %g, not %g", name, got[name], want)
		}
	}
	if got := measure([]scored{{0.1, false}}, 0.6); got["precision"] != 0 || len(got) != 3 {
		t.Errorf("one clean output: %v", got) // fpr, accuracy, brier
	}
	bins := calibration(all)
	if len(bins) != 4 || bins[0].N != 2 || bins[0].Observed != 0.5 || math.Abs(bins[0].Predicted-0.2) > 1e-12 {
		t.Errorf("%+v", bins)
	}
}

// TestTrainWithTelemetry: the white box weighs what telemetry tells, and the gray
// one does not.
func TestTrainWithTelemetry(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a model")
	}
	traces := synthetic(80, 1)
	for _, x := range traces {
		at := 0
		for i := range x.Tokens {
			k := &x.Tokens[i]
			private := 0.1 + 0.01*float64(at%7)
			if slices.ContainsFunc(x.Spans, func(s Span) bool { return s.Start <= at && at < s.End }) {
				private += 0.3
			}
			k.Telemetry = &monitor.Telemetry{HiddenNorm: 50, HiddenVariance: 3, HiddenSize: 64, Public: 0.3, Private: private, System: 0.1}
			at += len(k.Text)
		}
	}
	m, err := Monitor(writeTraces(t, traces), Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := m.Spec()
	private := slices.Index(s.Features, "private_provenance")
	if s.White.Weights[private] <= 0 || s.Gray.Weights[private] != 0 || s.Black.Weights[private] != 0 {
		t.Errorf("weights of private_provenance: %g, %g and %g", s.White.Weights[private], s.Gray.Weights[private], s.Black.Weights[private])
	}
	if got := s.Training.Metrics["feature=private_provenance"]; got["available"] != 1 || got["auc"] < 0.95 || got["mean_secret"] <= got["mean_other"] {
		t.Errorf("by itself: %v", got)
	}
	for _, part := range []string{"train", "test"} {
		if auc := s.Training.Metrics["white_box/"+part+"/outputs"]["auc"]; auc < 0.95 {
			t.Errorf("AUC %g on the %s part", auc, part)
		}
	}
}

func TestTrain(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a model")
	}
	dir := writeTraces(t, synthetic(160, 1))
	m, err := Monitor(dir, Options{Seed: 1, Seeds: 1})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Monitor(dir, Options{Seed: 1, Seeds: 1})
	if err != nil || again.Hash() != m.Hash() {
		t.Errorf("the same traces and seed make %s, then %s (%v)", m.Hash(), again.Hash(), err)
	}
	s := m.Spec()
	if s.Training.Outputs != 160 || s.Training.Leaking != 80 || s.Training.Vocabulary != 4096 || len(s.Training.Data) != 64 {
		t.Errorf("%+v", s.Training)
	}
	if !slices.Equal(s.White.Weights, s.Gray.Weights) {
		t.Error("without telemetry the white box is another one than the gray")
	}
	for _, k := range modes[gray:] {
		for _, part := range []string{"train", "test"} {
			got := s.Training.Metrics[k+"/"+part+"/outputs"]
			if got["auc"] < 0.95 || got["clean_touched"] > 0.1 {
				t.Errorf("%s on the %s part: %v", k, part, got)
			}
		}
		if got := s.Training.Metrics[k+"/train/outputs"]["clean_touched"]; got > touched {
			t.Errorf("%s touches %g of the clean training outputs", k, got)
		}
	}
	for _, f := range []monitor.Fit{s.White, s.Gray, s.Black} {
		for i := range 5 {
			if f.Weights[i] != 0 || f.Scale[i] != 0 {
				t.Errorf("weight %g of %s, which was never told", f.Weights[i], s.Features[i])
			}
		}
	}
	for _, i := range []int{5, 11, 12} {
		if s.Black.Weights[i] != 0 {
			t.Errorf("the black box weighs %s", s.Features[i])
		}
	}
	// It survives its file, and judges as before.
	b, err := json.Marshal(m.Spec())
	if err != nil {
		t.Fatal(err)
	}
	if back, err := monitor.Load(bytes.NewReader(b)); err != nil || back.Hash() != m.Hash() {
		t.Errorf("read again: %v", err)
	}
}

// TestSplit: a task is on one side, and so are both classes on both.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []output
		for i := range rapid.IntRange(16, 60).Draw(t, "n") {
			all = append(all, output{group: string(rune('a' + i/2)), leaks: i/2%2 == 0})
		}
		seed := rapid.Uint64().Draw(t, "seed")
		train, test, err := split(all, seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(train)+len(test) != len(all) || len(test) == 0 {
			t.Fatalf("%d and %d of %d", len(train), len(test), len(all))
		}
		for _, a := range train {
			if slices.ContainsFunc(test, func(b *output) bool { return a.group == b.group }) {
				t.Fatalf("task %s is on both sides", a.group)
			}
		}
		fold := folds(train, foldCount, seed)
		for i := range train {
			for j := range train {
				if train[i].group == train[j].group && fold[i] != fold[j] {
					t.Fatalf("task %s is in two folds", train[i].group)
				}
			}
		}
	})
}

func TestRefused(t *testing.T) {
	clean := synthetic(40, 1)
	clean = slices.DeleteFunc(clean, func(x *Trace) bool { return len(x.Spans) > 0 })
	var e *Error
	if _, err := Monitor(writeTraces(t, clean), Options{}); !errors.Is(err, ErrOneClass) || !errors.As(err, &e) {
		t.Errorf("clean alone: %v", err)
	}
	dir := writeTraces(t, synthetic(40, 1))
	if _, err := Monitor(dir, Options{Against: writeTraces(t, synthetic(4, 1))}); !errors.Is(err, ErrOverlap) {
		t.Errorf("the same secrets: %v", err)
	}
	if _, err := Monitor(dir, Options{Against: writeTraces(t, synthetic(4, 2))}); err != nil {
		t.Errorf("other secrets: %v", err)
	}
	nameless := synthetic(4, 2)
	for _, x := range nameless {
		x.Secrets, x.Spans = nil, nil
	}
	if _, err := Monitor(dir, Options{Against: writeTraces(t, nameless)}); !errors.Is(err, ErrOverlap) {
		t.Errorf("no digests: %v", err)
	}
	if _, err := Monitor(t.TempDir(), Options{}); !errors.Is(err, ErrNoTraces) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Monitor(filepath.Join(dir, "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// TestSigns: weights have the signs that the theory says, whatever the data, and the
// size of a hidden state has none.
func TestSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, lambda := drawRows(t), rapid.SampledFrom(Lambdas()).Draw(t, "lambda")
		got := fitSigned(r, lambda)
		for i, w := range got[:width] {
			if slices.Contains(rising, i) && w < 0 || slices.Contains(falling, i) && w > 0 || slices.Contains(silent, i) && w != 0 {
				t.Errorf("%s weighs %g", monitor.Features()[i], w)
			}
		}
	})
}

// A floor moves no decision at tau1: the same outputs and tokens reach it.
func TestFloorMovesNothing(t *testing.T) {
	start, err := neutral(monitor.TrendWindow)
	if err != nil {
		t.Fatal(err)
	}
	var all []output
	for _, x := range synthetic(60, 5) {
		all = append(all, observe(start, x))
	}
	part, _, err := split(all, 1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := fit(start, part, gray, onWindows, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := thresholds(m, part, gray, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, floor := range []float64{0.01, 0.1, maxFloor} {
		high, err := thresholds(m, part, gray, floor)
		if err != nil {
			t.Fatal(err)
		}
		a, b, touched := judge(bare, part, gray), judge(high, part, gray), 0
		for i := range a {
			for k := range a[i].tokens {
				was, is := a[i].tokens[k].risk, b[i].tokens[k].risk
				if (was >= fitOf(bare, gray).Tau1) != (is >= fitOf(high, gray).Tau1) || is < floor {
					t.Fatalf("floor %g: %g became %g", floor, was, is)
				}
				if was >= fitOf(bare, gray).Tau1 {
					touched++
				}
			}
		}
		if touched == 0 {
			t.Error("no token is touched: nothing is compared")
		}
	}
}
