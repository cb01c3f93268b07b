package prism

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// families are the kinds of slices of rows.
func families(rows []results.Row) map[string]bool {
	out := map[string]bool{}
	for i := range rows {
		parts := strings.Split(rows[i].Slice, ",")
		for k, p := range parts {
			parts[k], _, _ = strings.Cut(p, "=")
		}
		out[strings.Join(parts, ",")] = true
	}
	return out
}

func TestEverySlice(t *testing.T) {
	model := monitor.Default()
	all, err := method.New(t.Context(), method.Options{Model: model, Only: []string{"none", "rules", "monitor", "monitor-risk"}})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	var ds []Defence
	for _, m := range all.Methods {
		d := Defence{Method: m, Registered: m.Name() == "monitor", Distributions: strings.HasPrefix(m.Name(), "monitor")}
		if m.Name() == "monitor-risk" {
			d.Thresholds = [2]float64{0.3, 0.6}
		}
		ds = append(ds, d)
	}
	variants, err := Ablations(model)
	if err != nil {
		t.Fatal(err)
	}
	res, rep, err := Run(t.Context(), Options{Seed: 2, N: 12, Repository: "healthcare", Defences: append(ds, variants...), Resamples: 20})
	if err != nil {
		t.Fatal(err)
	}
	res.Rows = append(res.Rows, ModelRows(model, "")...)
	got := families(res.Rows)
	for _, want := range []string{
		"all", "source", "category", "pressure", "depth", "encoding", "transform", "part", "known", "kind", "stage", "mcnemar,against", "zones", "zones,of",
		"outcome", "latency", "entropy", "entropy,of", "ablation", "training,mode,part", "training,mode,part,of", "weights,mode", "weights,mode,scale",
	} {
		if !got[want] {
			t.Errorf("no row of %s; there are %v", want, slices.Sorted(maps.Keys(got)))
		}
	}
	seen := map[string]bool{}
	for i := range res.Rows {
		row := &res.Rows[i]
		if key := row.Defence + " " + row.Slice; seen[key] {
			t.Errorf("two rows %s", key)
		} else {
			seen[key] = true
		}
		for name, v := range row.Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s, %s: %s is %v", row.Defence, row.Slice, name, v)
			}
		}
	}
	// Zones are of those that have thresholds.
	zones := res.Row("monitor-risk", "zones").Metrics
	if sum := zones["green"] + zones["yellow"] + zones["red"]; math.Abs(sum-1) > 1e-9 || zones["tau2"] != 0.6 {
		t.Errorf("zones %v", zones)
	}
	if _, ok := res.Row("monitor", "zones").Metrics["green"]; ok {
		t.Error("zones without thresholds")
	}
	// A variant has no part in what compares methods.
	if len(rep.Outcomes) != len(ds) || len(rep.Tests) != len(ds)-1 {
		t.Errorf("%d outcomes, %d tests of %d defences", len(rep.Outcomes), len(rep.Tests), len(ds))
	}
	// Leaving nothing out, or what counts nothing, changes nothing.
	whole := res.Row("monitor-risk", "all").Metrics
	for _, same := range []string{"ablation=nothing", "ablation=active-only"} {
		for name, v := range res.Row("monitor-risk", same).Metrics {
			if w, ok := whole[name]; ok && w != v {
				t.Errorf("%s: %s is %v, not %v", same, name, v, w)
			}
		}
	}
	for _, test := range rep.Tests {
		row := res.Row("monitor", "mcnemar,against="+test.Defence)
		if row == nil || row.Metrics["worse"] != float64(test.Worse) || row.Metrics["better"] != float64(test.Better) {
			t.Errorf("%+v as %+v", test, row)
		}
	}
}

func TestAblations(t *testing.T) {
	model := monitor.Default()
	spec := model.Spec()
	in := map[string]int{}
	for _, c := range FeatureClasses() {
		for _, f := range c.Features {
			in[f]++
		}
	}
	for _, f := range spec.Features {
		if in[f] != 1 {
			t.Errorf("%s is in %d classes, not in one", f, in[f])
		}
	}
	variants, err := Ablations(model)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, v := range variants {
		if names[v.Variant] || !strings.HasPrefix(v.Variant, "ablation=") && v.Variant != "box=gray" {
			t.Errorf("variant %q", v.Variant)
		}
		names[v.Variant] = true
	}
	for i, f := range spec.Features {
		if names["ablation=without:"+f] != (spec.White.Weights[i] != 0 || spec.Gray.Weights[i] != 0) {
			t.Errorf("%s of weight %v", f, spec.White.Weights[i])
		}
	}
}

func TestModelRows(t *testing.T) {
	m := monitor.Default()
	rows := ModelRows(m, "trained=x,")
	normal, raw := 0.0, map[string]float64{}
	for i := range rows {
		switch rows[i].Slice {
		case "trained=x,weights,mode=white_box,scale=normalised":
			for _, v := range rows[i].Metrics {
				normal += max(0, v)
			}
		case "trained=x,weights,mode=white_box":
			raw = rows[i].Metrics
		}
	}
	if math.Abs(normal-1) > 1e-9 {
		t.Errorf("positive normalised weights add up to %v", normal)
	}
	for i, f := range monitor.Features() {
		if v, ok := raw[f]; !ok || v != m.Spec().White.Weights[i] {
			t.Errorf("%s: %v (%v)", f, v, ok)
		}
	}
}

// A monitor is not measured on the secrets that it was trained on.
func TestTrainOnRecordRefuses(t *testing.T) {
	const path = "testdata/smollm2-healthcare.jsonl.gz"
	if _, err := TrainOnRecord(path, []string{path}, train.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestTails(t *testing.T) {
	for z, want := range map[float64]float64{0: 0, 1.959963984540054: math.Log10(0.05), 10: math.Log10(1.523970604832105e-23)} {
		if got := log10Tails(z); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v, want %v", z, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Float64Range(0, 100).Draw(t, "z")
		if a, b := log10Tails(z), log10Tails(z+0.1); !(b < a) || math.IsInf(b, 0) {
			t.Fatalf("%v: %v, then %v", z, a, b)
		}
	})
	// 3, 6 and 9 against 1, 2 and 4: U is 8.
	m := map[string]float64{}
	compared(m, 8.0/9, 3, 3)
	if math.Abs(m["mann_whitney_u"]-8) > 1e-9 || math.Abs(m["log10_p"]-math.Log10(0.1266)) > 1e-3 {
		t.Errorf("%v", m)
	}
}

// TestCalibrationError: risks that are the shares that leak have none.
func TestCalibrationError(t *testing.T) {
	if got := calibrationError([]float64{0.5, 0.5, 0, 1}, []bool{true, false, false, true}); got != 0 {
		t.Errorf("calibrated: %g", got)
	}
	if got := calibrationError([]float64{0.9, 0.9, 0.1, 0.1}, []bool{false, false, false, false}); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("%g, want 0.5", got)
	}
}
