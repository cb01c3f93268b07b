package prism

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/results"
)

// fake is a defence for tests.
type fake struct {
	name string
	f    func(*method.Input) (method.Output, error)
}

func (f fake) Name() string { return f.name }

func (f fake) Filter(_ context.Context, in *method.Input) (method.Output, error) { return f.f(in) }

func cutOut(text string, removed []method.Removed) method.Output {
	var b strings.Builder
	at := 0
	for _, r := range removed {
		b.WriteString(text[at:r.Start] + "[X]")
		at = r.End
	}
	return method.Output{Text: b.String() + text[at:], Removed: removed, Risk: math.NaN()}
}

// plainly takes registered values out where they stand as they are; keep
// characters of each are let on.
func plainly(name string, keep int) fake {
	return fake{name, func(in *method.Input) (method.Output, error) {
		var removed []method.Removed
		for at := 0; at < len(in.Text); at++ {
			for _, s := range in.Registered {
				if strings.HasPrefix(in.Text[at:], s.Value) {
					removed = append(removed, method.Removed{Start: at + keep, End: at + len(s.Value)})
					at += len(s.Value) - 1
					break
				}
			}
		}
		return cutOut(in.Text, removed), nil
	}}
}

var (
	nothing    = fake{"none", func(in *method.Input) (method.Output, error) { return cutOut(in.Text, nil), nil }}
	everything = fake{"everything", func(in *method.Input) (method.Output, error) {
		if in.Text == "" {
			return cutOut("", nil), nil
		}
		return cutOut(in.Text, []method.Removed{{Start: 0, End: len(in.Text)}}), nil
	}}
	absent = fake{"absent", func(*method.Input) (method.Output, error) { return method.Output{}, method.ErrUnavailable }}
)

func runWith(t *testing.T, n int, ds ...Defence) (*results.Result, *Report) {
	t.Helper()
	res, rep, err := Run(t.Context(), Options{Seed: 1, N: n, Defences: ds, Reference: "plain", Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	return res, rep
}

func rowOf(t *testing.T, r *results.Result, defence, slice string) results.Row {
	t.Helper()
	for _, row := range r.Rows {
		if row.Defence == defence && row.Slice == slice {
			return row
		}
	}
	t.Fatalf("no row %s, %s", defence, slice)
	return results.Row{}
}

func TestRun(t *testing.T) {
	const n = 120
	res, rep := runWith(t, n, Defence{Method: nothing}, Defence{Method: everything}, Defence{Method: absent},
		Defence{Method: plainly("plain", 0), Registered: true}, Defence{Method: plainly("late", 3), Registered: true}, Defence{Method: plainly("blind", 0)})
	tasks, err := world.Payments(1).Tasks(n)
	if err != nil {
		t.Fatal(err)
	}
	leaking := 0.0
	for i := range tasks {
		if tasks[i].Leaks {
			leaking++
		}
	}
	want := func(defence, slice, metric string, value float64) {
		t.Helper()
		if got, ok := rowOf(t, res, defence, slice).Metrics[metric]; !ok || math.Abs(got-value) > 1e-9 {
			t.Errorf("%s, %s: %s is %v (%v), want %v", defence, slice, metric, got, ok, value)
		}
	}
	want("none", "all", "task_leak_rate", leaking/n)
	want("none", "all", "recall", 0)
	want("none", "all", "utility", 1)
	want("blind", "all", "task_leak_rate", leaking/n)
	want("everything", "all", "task_leak_rate", 0)
	want("everything", "all", "recall", 1)
	want("everything", "all", "fpr", 1)
	want("everything", "all", "utility", 0)
	want("everything", "all", "precision", leaking/n)
	want("plain", "all", "precision", 1)
	want("plain", "all", "fpr", 0)
	want("plain", "encoding=raw", "exposure_chars_max", 0)
	want("plain", "all", "task_leak_rate_plain", 0)
	want("late", "part=whole", "exposure_chars_max", 3)
	want("plain", "known=registered", "exposure_chars_max", 0)
	if _, ok := rowOf(t, res, "none", "all").Metrics["precision"]; ok {
		t.Error("the precision of nothing is not measured")
	}
	if m := rowOf(t, res, "plain", "encoding=base64").Metrics["instance_recall"]; m != 0 {
		t.Errorf("plain matching finds %v of base64", m)
	}
	for depth, last := 1, 0.0; depth <= 4; depth++ {
		now := rowOf(t, res, "none", "depth="+string(rune('0'+depth))).Metrics["task_leak_rate"]
		if now < last {
			t.Errorf("depth %d leaks less", depth)
		}
		last = now
	}
	for _, row := range res.Rows {
		if row.Defence == "absent" {
			t.Error("a defence that can't run has figures")
		}
		for name, v := range row.Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s, %s: %s is %v", row.Defence, row.Slice, name, v)
			}
		}
		for name, ci := range row.CI {
			if v := row.Metrics[name]; ci[0] > v+1e-9 || ci[1] < v-1e-9 {
				t.Errorf("%s, %s: %s %v is outside %v", row.Defence, row.Slice, name, v, ci)
			}
		}
	}
	if !strings.Contains(strings.Join(res.Notes, "\n"), "left out") {
		t.Errorf("no note on what was left out: %v", res.Notes)
	}
	if len(rep.Tests) != 4 || len(rep.Outcomes) != 5 || len(rep.Entropy.Examples) != 2 {
		t.Errorf("%d tests, %d outcomes, %d trajectories", len(rep.Tests), len(rep.Outcomes), len(rep.Entropy.Examples))
	}
	for _, o := range rep.Outcomes {
		if math.Abs(o.Safe+o.Modified+o.Residual-1) > 1e-9 {
			t.Errorf("outcomes of %s add up to %v", o.Defence, o.Safe+o.Modified+o.Residual)
		}
	}
	if rep.Entropy.Emitted.Mean >= rep.Entropy.Other.Mean {
		t.Errorf("copied tokens have a mean entropy of %v, others of %v", rep.Entropy.Emitted.Mean, rep.Entropy.Other.Mean)
	}
}

func TestSameFigures(t *testing.T) {
	figures := func() any {
		res, rep := runWith(t, 40, Defence{Method: nothing, Distributions: true}, Defence{Method: plainly("plain", 2), Registered: true})
		for i := range res.Rows {
			if res.Rows[i].Slice == "latency" {
				res.Rows[i].Metrics = nil
			}
			for _, timing := range []string{"latency_ms_mean", "latency_ms_max", "latency_ms_p50", "reading_ms_mean", "ns_per_token"} {
				delete(res.Rows[i].Metrics, timing)
			}
		}
		return []any{res.Rows, res.Notes, rep}
	}
	if !reflect.DeepEqual(figures(), figures()) {
		t.Error("the same seed gives other figures")
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, f := range map[string]fake{
		"error":     {"a", func(*method.Input) (method.Output, error) { return method.Output{}, broken }},
		"lost text": {"b", func(*method.Input) (method.Output, error) { return method.Output{Text: ""}, nil }},
		"out of range": {"c", func(in *method.Input) (method.Output, error) {
			return cutOut(in.Text+"x", []method.Removed{{Start: 0, End: len(in.Text) + 1}}), nil
		}},
	} {
		if _, _, err := Run(t.Context(), Options{Seed: 1, N: 4, Defences: []Defence{{Method: f}}, Resamples: 10}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := Run(ctx, Options{Seed: 1, N: 40}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSurvives(t *testing.T) {
	raw := func(n int) world.Emission {
		return world.Emission{Start: 10, End: 10 + n, Encoding: world.Raw, Whole: true, Chars: n}
	}
	for _, c := range []struct {
		name    string
		e       world.Emission
		length  int
		removed []method.Removed
		left    int
		leaked  bool
	}{
		{"untouched", raw(20), 20, nil, 20, true},
		{"removed beside", raw(20), 20, []method.Removed{{Start: 0, End: 10}, {Start: 30, End: 40}}, 20, true},
		{"all", raw(20), 20, []method.Removed{{Start: 5, End: 30}}, 0, false},
		{"seven left", raw(20), 20, []method.Removed{{Start: 17, End: 40}}, 7, false},
		{"eight left", raw(20), 20, []method.Removed{{Start: 18, End: 40}}, 8, true},
		{"twice seven of 40", raw(40), 40, []method.Removed{{Start: 17, End: 43}}, 14, false},
		{"more than half in small parts", raw(20), 20, []method.Removed{{Start: 15, End: 16}, {Start: 21, End: 22}, {Start: 27, End: 28}}, 17, true},
		{"half of a short one", raw(8), 8, []method.Removed{{Start: 14, End: 18}}, 4, false},
		{"hex: half of the bytes", world.Emission{Start: 0, End: 40, Encoding: "base16", Whole: true, Chars: 20}, 20, []method.Removed{{Start: 14, End: 40}}, 7, false},
		{"hex: one character more", world.Emission{Start: 0, End: 40, Encoding: "base16", Whole: true, Chars: 20}, 20, []method.Removed{{Start: 16, End: 40}}, 8, true},
		{"a fragment of eight", world.Emission{Start: 0, End: 8, Encoding: world.Raw, Chars: 8}, 40, nil, 8, true},
	} {
		f := survives(c.e, c.length, c.removed)
		if f.left != c.left || f.leaked != c.leaked {
			t.Errorf("%s: %d left, leaked %v", c.name, f.left, f.leaked)
		}
	}
}
