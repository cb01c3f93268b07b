package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/lab/results"
)

func result() *results.Result {
	r := &results.Result{Suite: "prism", Seed: 7, N: 2000, Source: "sim", Notes: []string{"judge left out"}}
	r.Rows = []results.Row{
		{Defence: "none", Slice: "all", Metrics: map[string]float64{"recall": 0, "f1": math.NaN()}},
		{Defence: "monitor", Slice: "all", Metrics: map[string]float64{"recall": 0.9931, "latency_ms_mean": 0.25}, CI: map[string][2]float64{"recall": {0.98, 0.999}}},
		{Defence: "monitor", Slice: "category=role_play", Metrics: map[string]float64{"recall": 1}},
		{Defence: "monitor", Slice: "category=deployment", Metrics: map[string]float64{"recall": 0.5}},
		{Defence: "monitor", Slice: "zones", Metrics: map[string]float64{"green": 1}},
		{Defence: "monitor", Slice: "source=x,weights,mode=white_box", Metrics: map[string]float64{"bias": -1}},
	}
	return r
}

func figures(name string) []Figure {
	return []Figure{
		{Title: name, Alt: name, X: name, Y: name, Plot: Histogram{Series: []Values{{name, []float64{0.1, 0.2, 2, math.NaN()}}, {"b", []float64{0.9}}}, Bins: 4, Max: 1, Marks: []Mark{{name, 0.3}}}},
		{Title: name, Plot: Lines{Series: []Line{{Name: name, X: []float64{0, 1, 2, 3}, Y: []float64{1, 2, math.NaN(), 1}, Lo: []float64{0, 1, math.NaN(), 0}, Hi: []float64{2, 3, math.NaN(), 2}}}, Levels: []Level{{name, 0.5}}}},
		{Title: name, Plot: Scatter{[]Point{{Name: name, Group: name, X: 0.5, Y: 0.6}, {Name: "x", X: 0, Y: 1, Size: 9}}}},
		{Title: name, Plot: Bars{Categories: []string{name, "two"}, Parts: []Values{{name, []float64{1, 2}}, {"rest", []float64{0, 3}}}}},
		{Title: name, Plot: Bars{Grouped: true, Categories: []string{name, "two"}, Parts: []Values{{name, []float64{1, 2}}, {"rest", []float64{0, 3}}}}},
		{Title: "none", Plot: Scatter{}},
	}
}

func write(t testing.TB, r *results.Result, f []Figure) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var svgs = regexp.MustCompile(`(?s)<svg.*?</svg>`)

func TestWrite(t *testing.T) {
	out := write(t, result(), figures("risk"))
	for _, want := range []string{
		"<td>0.9931<small>0.9800 – 0.9990</small></td>", "By category", "Overall", "Of zones", "Of weights, by source, mode", "judge left out", "undefined",
		`<title id="figure-1-t">risk</title>`, "There is nothing to show", "var(--c00)", "currentColor", "prefers-color-scheme: dark",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	all := svgs.FindAllString(out, -1)
	if len(all) != 5 {
		t.Fatalf("%d plots", len(all))
	}
	for _, s := range all {
		wellFormed(t, s)
		if strings.Contains(s, `="#`) || strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
			t.Error("a fixed colour, which would not follow the page into the dark, or no number")
		}
	}
}

func wellFormed(t testing.TB, s string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the plot is not XML: %v", err)
		}
	}
}

// The page loads nothing: no address but the name of a namespace.
func TestSelfContained(t *testing.T) {
	out := write(t, result(), figures("risk"))
	out = strings.ReplaceAll(out, `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"http:", "https:", "<script", "src=", "url(", "@import", "<link"} {
		if strings.Contains(out, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

func TestEscapes(t *testing.T) {
	const evil = `</title></svg><script>alert("1")</script><img src=x onerror='a'>&`
	r := result()
	r.Suite, r.Source, r.Notes, r.Revision = evil, evil, []string{evil}, evil
	r.Rows[0].Defence, r.Rows[0].Slice = evil, evil+"=1"
	r.Rows[1].Metrics[evil] = 1
	out := write(t, r, figures(evil))
	if strings.Contains(out, "<script") || strings.Contains(out, "<img") {
		t.Error("content became markup")
	}
	if n := strings.Count(out, "<svg"); n != 5 || strings.Count(out, "</svg>") != n {
		t.Error("content ended a plot")
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		for _, s := range svgs.FindAllString(write(t, result(), figures(name)), -1) {
			wellFormed(t, s)
		}
	})
}

func TestBadFigures(t *testing.T) {
	for _, p := range []Plot{
		Histogram{Series: []Values{{"a", []float64{1}}}},
		Lines{Series: []Line{{X: []float64{1}, Y: nil}}},
		Lines{Series: []Line{{X: []float64{1}, Y: []float64{1}, Lo: []float64{0, 0}, Hi: []float64{0, 0}}}},
		Scatter{[]Point{{X: math.NaN()}}},
		Bars{Categories: []string{"a"}, Parts: []Values{{"p", nil}}},
		Bars{Categories: []string{"a"}, Parts: []Values{{"p", []float64{-1}}}},
	} {
		var b strings.Builder
		if err := Write(&b, result(), []Figure{{Title: "t", Plot: p}}); err == nil || b.Len() > 0 {
			t.Errorf("%T: error %v, %d bytes written", p, err, b.Len())
		}
	}
}

func TestHistogramCountsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOf(rapid.Float64()).Draw(t, "values")
		h := Histogram{Bins: rapid.IntRange(1, 50).Draw(t, "bins"), Min: -1, Max: 1}
		sum := 0.0
		for _, n := range h.counts(Values{Values: v}) {
			sum += n
		}
		want := 0
		for _, x := range v {
			if !math.IsNaN(x) {
				want++
			}
		}
		if int(sum) != want {
			t.Fatalf("%v of %d values counted", sum, want)
		}
	})
}

func TestDeltas(t *testing.T) {
	before, after := result(), result()
	after.Rows[1].Metrics["recall"] = 0.5
	after.Rows[1].CI["recall"] = [2]float64{0.46, 0.53}
	after.Rows = after.Rows[:3]
	d := Deltas(before, after)
	if len(d) != 5 { // two of none, two of the monitor, one of a category
		t.Fatalf("%d changes: %+v", len(d), d)
	}
	for _, one := range d {
		if one.Metric == "recall" && one.Slice == "all" && one.Defence == "monitor" {
			if lo, hi := one.Change-math.Hypot(0.04, 0.0059), one.Change+math.Hypot(0.03, 0.0131); math.Abs(one.CI[0]-lo) > 1e-9 || math.Abs(one.CI[1]-hi) > 1e-9 {
				t.Errorf("interval %v, want %v to %v", one.CI, lo, hi)
			}
			if !one.Clear() {
				t.Error("a clear change is not clear")
			}
		} else if one.Clear() {
			t.Errorf("%+v is clear without an interval", one)
		}
	}
	var b strings.Builder
	if err := Compare(&b, before, after); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "-0.4931 ●") {
		t.Error("the change is not on the page")
	}
}

func TestTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := axis{lo: rapid.Float64Range(-1e6, 1e6).Draw(t, "lo")}
		a.hi = a.lo + rapid.Float64Range(1e-3, 1e6).Draw(t, "width")
		ticks := a.ticks(8)
		if len(ticks) < 2 || len(ticks) > 10 {
			t.Fatalf("%d ticks in [%v, %v]", len(ticks), a.lo, a.hi)
		}
		for i, v := range ticks {
			if slack := (a.hi - a.lo) * 1e-6; v < a.lo-slack || v > a.hi+slack || i > 0 && v <= ticks[i-1] {
				t.Fatalf("tick %v outside [%v, %v] or out of order", v, a.lo, a.hi)
			}
		}
	})
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 0.9931: "0.9931", 12.3456: "12.346", 1234.5678: "1234.6", 0.00001234: "1.234e-05", -0.5: "-0.5000", 2e9: "2e+09"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
}
