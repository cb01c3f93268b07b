package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.10g, want %.10g", what, got, want)
	}
}

func TestConfusion(t *testing.T) {
	var c Confusion
	for _, d := range [][2]bool{{true, true}, {true, true}, {true, true}, {true, false}, {false, true}, {false, false}, {false, false}, {false, false}} {
		c.Add(d[0], d[1])
	}
	if c != (Confusion{3, 1, 1, 3}) {
		t.Fatal(c)
	}
	near(t, "precision", c.Precision(), 0.75, 0)
	near(t, "recall", c.Recall(), 0.75, 0)
	near(t, "F1", c.F1(), 0.75, 0)
	near(t, "FPR", c.FPR(), 0.25, 0)
	near(t, "accuracy", c.Accuracy(), 0.75, 0)
	none := Confusion{TN: 4}
	if !math.IsNaN(none.Precision()) || !math.IsNaN(none.Recall()) || !math.IsNaN(none.F1()) {
		t.Error("ratios over nothing are defined")
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000)
		c := Confusion{n.Draw(t, "tp"), n.Draw(t, "fp"), n.Draw(t, "fn"), n.Draw(t, "tn")}
		p, r := c.Precision(), c.Recall()
		if h := 2 * p * r / (p + r); math.Abs(h-c.F1()) > 1e-12 {
			t.Fatalf("F1 %v is not the harmonic mean %v", c.F1(), h)
		}
	})
}

func TestQuantile(t *testing.T) {
	x := []float64{4, 1, 3, 2}
	near(t, "median", Quantile(x, 0.5), 2.5, 0)
	near(t, "least", Quantile(x, 0), 1, 0)
	near(t, "greatest", Quantile(x, 1), 4, 0)
	near(t, "third", Quantile(x, 1.0/3), 2, 1e-12)
	if !slices.Equal(x, []float64{4, 1, 3, 2}) {
		t.Error("the argument was sorted")
	}
	if !math.IsNaN(Quantile(nil, 0.5)) || !math.IsNaN(Mean(nil)) {
		t.Error("a quantile of nothing is defined")
	}
}

func TestAUC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "n")
		score := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 6), func(i int) float64 { return float64(i) }), n, n).Draw(t, "score")
		truth := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "truth")
		var wins, pairs float64
		for i := range n {
			for j := range n {
				if truth[i] && !truth[j] {
					pairs++
					switch {
					case score[i] > score[j]:
						wins++
					case score[i] == score[j]:
						wins += 0.5
					}
				}
			}
		}
		got := AUC(score, truth)
		if pairs == 0 {
			if !math.IsNaN(got) {
				t.Fatal("defined with one class")
			}
		} else if math.Abs(got-wins/pairs) > 1e-12 {
			t.Fatalf("AUC %v, want %v", got, wins/pairs)
		}
	})
}

// Values by bisection of exact rational sums; none and all by 1 − (α/2)^(1/n).
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{
		{0, 2000, 0, 0.0018427},
		{0, 10, 0, 0.3084971},
		{10, 10, 0.6915029, 1},
		{3, 10, 0.0667395, 0.6524529},
		{7, 40, 0.0733827, 0.3277901},
	} {
		got := ClopperPearson(c.k, c.n, 0.95)
		near(t, "lower", got[0], c.lo, 2e-6)
		near(t, "upper", got[1], c.hi, 2e-6)
	}
}

func TestBootstrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		r := Ratio{make([]float64, n), make([]float64, n)}
		for i := range n {
			r.Den[i] = float64(rapid.IntRange(0, 1).Draw(t, "den"))
			r.Num[i] = r.Den[i] * float64(rapid.IntRange(0, 1).Draw(t, "num"))
		}
		b := Bootstrap{Seed: rapid.Uint64().Draw(t, "seed"), Resamples: 200}
		v, ci := r.Value(), b.Intervals(n, r)[0]
		if math.IsNaN(v) {
			if !math.IsNaN(ci[0]) {
				t.Fatal("an interval of nothing")
			}
			return
		}
		if ci[0] < 0 || ci[1] > 1 || ci[0] > ci[1] {
			t.Fatalf("interval %v", ci)
		}
		if (v == 0 || v == 1) && ci[1]-ci[0] <= 0 {
			t.Fatalf("certain of %v from %d tasks", v, n)
		}
		if again := b.Intervals(n, r)[0]; again != ci {
			t.Fatal("the same seed gave another interval")
		}
		for _, d := range b.Difference(n, []Ratio{r}, []Ratio{r}) {
			if d != [2]float64{} {
				t.Fatalf("a method differs from itself by %v: not paired", d)
			}
		}
	})
}

// The interval covers a known rate about as often as it says.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials, n, p = 300, 120, 0.3
	covered := 0
	for s := range trials {
		r := Ratio{make([]float64, n), make([]float64, n)}
		for i := range n {
			r.Den[i] = 1
			if rng.Float64() < p {
				r.Num[i] = 1
			}
		}
		ci := Bootstrap{Seed: uint64(s), Resamples: 300}.Intervals(n, r)[0]
		if ci[0] <= p && p <= ci[1] {
			covered++
		}
	}
	if got := float64(covered) / trials; got < 0.90 || got > 0.99 {
		t.Errorf("95 %% intervals cover the truth in %.1f %% of %d trials", 100*got, trials)
	}
}

func TestStatistic(t *testing.T) {
	x := []float64{1, 2, 3, 4, 100}
	ci := Bootstrap{Seed: 1, Resamples: 500}.Statistic(len(x), func(count []int32) float64 {
		most := math.Inf(-1)
		for i, c := range count {
			if c > 0 {
				most = max(most, x[i])
			}
		}
		return most
	})
	if ci[1] != 100 || ci[0] > 4 {
		t.Error(ci)
	}
}

func TestMcNemar(t *testing.T) {
	m := NewMcNemar(2, 10) // 2·(1+12+66)/4096
	near(t, "exact", m.Exact, 158.0/4096, 1e-12)
	near(t, "mid-p", m.MidP, (158.0-66)/4096, 1e-12)
	near(t, "log10", m.Log10, math.Log10(158.0/4096), 1e-9)
	if m := NewMcNemar(0, 0); m.Exact != 1 || m.MidP != 1 || m.Log10 != 0 {
		t.Error("no difference", m)
	}
	m = NewMcNemar(3, 3)
	near(t, "exact at equality", m.Exact, 1, 0)
	near(t, "mid-p at equality", m.MidP, 1-20.0/64/2, 1e-12)
	// The paper's Table 9, first row: 1,424 tasks and none the other way.
	near(t, "log10 of 2^-1423", NewMcNemar(0, 1424).Log10, -1423*math.Log10(2), 1e-6)
	rapid.Check(t, func(t *rapid.T) {
		b, c := rapid.IntRange(0, 300).Draw(t, "b"), rapid.IntRange(0, 300).Draw(t, "c")
		m, r := NewMcNemar(b, c), NewMcNemar(c, b)
		if m.Exact != r.Exact || m.MidP != r.MidP {
			t.Fatal("not symmetric")
		}
		if m.MidP > m.Exact || m.MidP < 0 || m.Exact > 1 {
			t.Fatalf("%+v", m)
		}
	})
	if got := Pair([]bool{true, true, false, false}, []bool{false, true, true, true}); got.B != 1 || got.C != 2 {
		t.Error(got)
	}
}

func TestCohenH(t *testing.T) {
	near(t, "h", CohenH(1, 0), math.Pi, 1e-12)
	near(t, "h of equals", CohenH(0.3, 0.3), 0, 0)
	near(t, "h of 71.2 % and 0", CohenH(0.712, 0), 2.0086538, 1e-6)
	if CohenH(0.2, 0.4) >= 0 {
		t.Error("no sign")
	}
}
