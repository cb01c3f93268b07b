package traj

import (
	"bytes"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

func small(t *testing.T) (*results.Result, *Report) {
	t.Helper()
	base, err := defence.Baselines()
	if err != nil {
		t.Fatal(err)
	}
	res, rep, err := Run(t.Context(), Options{Seed: 120, Seeds: 1, N: 36, Defences: base, Compare: "capability"})
	if err != nil {
		t.Fatal(err)
	}
	return res, rep
}

// untimed is a result without what is not the same on every run.
func untimed(t *testing.T, r *results.Result) string {
	t.Helper()
	c := *r
	c.Rows = slices.Clone(r.Rows)
	for k := range c.Rows {
		c.Rows[k].Metrics = maps.Clone(c.Rows[k].Metrics)
		maps.DeleteFunc(c.Rows[k].Metrics, func(name string, _ float64) bool { return strings.HasPrefix(name, "latency") })
	}
	var b bytes.Buffer
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRun(t *testing.T) {
	res, rep := small(t)
	again, _ := small(t)
	if a, b := untimed(t, res), untimed(t, again); a != b {
		t.Error("the same seed gave other numbers")
	}
	at := func(d, metric string) float64 {
		row := res.Row(d, "all")
		if row == nil {
			t.Fatalf("no row of %s", d)
		}
		v, ok := row.Metrics[metric]
		if !ok {
			t.Fatalf("%s has no %s", d, metric)
		}
		return v
	}
	// The reference finishes every task and leaks least of all who do.
	if at("oracle", "task_success") != 1 || at("oracle", "excess_bits") != 0 || at("oracle", "unneeded_bits") > 1e-9 || at("oracle", "escape_rate") != 0 {
		t.Errorf("the oracle: %v", res.Row("oracle", "all").Metrics)
	}
	if at("undefended", "task_success") != 1 || at("undefended", "escape_rate") != 1 || at("undefended", "leak_bits") < 50 || at("undefended", "unneeded_bits") <= 0 {
		t.Errorf("undefended: %v", res.Row("undefended", "all").Metrics)
	}
	// Denying all that is private leaks nothing to others, and starves tasks.
	if at("capability", "leak_bits") > 1e-9 || at("capability", "task_success") > .6 || at("capability", "fallback_rate") < .2 {
		t.Errorf("capability: %v", res.Row("capability", "all").Metrics)
	}
	for _, d := range []string{"filter", "monitoronly", "threshold", "monitorledger", "taint"} {
		if l := at(d, "leak_bits"); l <= at("capability", "leak_bits") || l >= at("undefended", "leak_bits") {
			t.Errorf("%s leaks %v bits", d, l)
		}
		if _, ok := res.Row(d, "all").Metrics["exceedance"]; ok {
			t.Errorf("%s has no ledger, and an exceedance", d)
		}
	}
	for i := range res.Rows {
		for name, v := range res.Rows[i].Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s, %s: %s is %v", res.Rows[i].Defence, res.Rows[i].Slice, name, v)
			}
			if ci, ok := res.Rows[i].CI[name]; ok && (ci[0] > v+1e-6 || ci[1] < v-1e-6) {
				t.Errorf("%s, %s: %s is %v, outside of %v", res.Rows[i].Defence, res.Rows[i].Slice, name, v, ci)
			}
		}
	}
	if row := res.Row("capability", "against=undefended"); row == nil || row.Metrics["leak_bits_p"] > .05 || row.Metrics["leak_bits_difference"] > -50 {
		t.Errorf("the comparison: %+v", row)
	}
	for _, c := range rep.Curves {
		if len(c.Bits) != 0 && (len(c.Bits) != world.Longest || c.Defence == "undefended" && c.Bits[world.Longest-1] < c.Bits[0]) {
			t.Errorf("the curve of %s has %d points", c.Defence, len(c.Bits))
		}
	}
}

// Causes account for every failed task and for all bits, and hold no value.
func TestCauses(t *testing.T) {
	base, err := defence.Baselines()
	if err != nil {
		t.Fatal(err)
	}
	base = slices.DeleteFunc(base, func(d defence.Defence) bool { return d.Name() != "capability" && d.Name() != "filter" })
	res, rep, err := Run(t.Context(), Options{Seed: 122, Seeds: 1, N: 24, Defences: base, Causes: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range base {
		m := res.Row(d.Name(), "all").Metrics
		bits := 0.0
		for _, c := range rep.Leaked[d.Name()] {
			bits += c.Bits
		}
		if math.Abs(bits-24*m["leak_bits"]) > 1e-3 {
			t.Errorf("%s: causes are of %v bits, %v went", d.Name(), bits, 24*m["leak_bits"])
		}
		if (len(rep.Failed[d.Name()]) == 0) != (m["task_success"] == 1) {
			t.Errorf("%s: %d causes, success %v", d.Name(), len(rep.Failed[d.Name()]), m["task_success"])
		}
	}
	var b bytes.Buffer
	if err := rep.WriteCauses(&b); err != nil {
		t.Fatal(err)
	}
	for _, task := range world.Generate(122, 24).Tasks {
		for _, r := range task.Records {
			if strings.Contains(b.String(), r.Value) {
				t.Errorf("causes have a value of %s", r.Field)
			}
		}
	}
}

// A step that is missing is seen.
func TestFailure(t *testing.T) {
	task := world.Generate(121, 1).Tasks[0]
	if len(inPlay(task)) != len(world.Fields) || !slices.Contains(inPlay(task), true) {
		t.Fatal("nothing is in play")
	}
	p, err := Play(context.Background(), defence.Oracle{}, task)
	if err != nil || !p.Success() {
		t.Fatal(err, p.Success())
	}
	for i := range task.Steps {
		if task.Steps[i].Essential {
			p.Released[i] = nil
			break
		}
	}
	if p.Success() {
		t.Error("a task succeeds without an essential step")
	}
}
