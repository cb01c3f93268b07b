package report

import (
	"io"
	"math"

	"github.com/margaydev/margay/lab/results"
)

// Delta is the change of one metric between two results, after minus before.
type Delta struct {
	Defence, Slice, Metric string
	Before, After, Change  float64
	// CI bounds Change where both results have an interval; NaN otherwise.
	// It is made from the two intervals by the method of variance estimates
	// recovery (Zou and Donner 2008), which takes the results for
	// independent: for two runs over the same tasks it is too wide, never
	// too narrow, as long as they do not disagree systematically.
	CI [2]float64
}

// Clear reports whether the interval leaves out zero: the change is more than
// chance.
func (d *Delta) Clear() bool { return d.CI[0] > 0 || d.CI[1] < 0 }

// Deltas compares what two results have in common: rows of one defence and
// slice, metrics that both have. The order is before's.
func Deltas(before, after *results.Result) []Delta {
	type key struct{ defence, slice string }
	rows := map[key]*results.Row{}
	for i := range after.Rows {
		r := &after.Rows[i]
		rows[key{r.Defence, r.Slice}] = r
	}
	var out []Delta
	for i := range before.Rows {
		a := &before.Rows[i]
		b := rows[key{a.Defence, a.Slice}]
		if b == nil {
			continue
		}
		for _, m := range sortedKeys(a.Metrics) {
			x := a.Metrics[m]
			y, ok := b.Metrics[m]
			if !ok {
				continue
			}
			d := Delta{a.Defence, a.Slice, m, x, y, y - x, [2]float64{math.NaN(), math.NaN()}}
			p, okA := a.CI[m]
			q, okB := b.CI[m]
			if okA && okB {
				d.CI[0] = d.Change - math.Hypot(y-q[0], p[1]-x)
				d.CI[1] = d.Change + math.Hypot(q[1]-y, x-p[0])
			}
			out = append(out, d)
		}
	}
	return out
}

// Compare writes the changes between two results.
func Compare(w io.Writer, before, after *results.Result) error {
	d := document{Title: "Benchmark " + after.Suite + ": two results compared"}
	for i, r := range []*results.Result{before, after} {
		name := [...]string{"before: ", "after: "}[i]
		for _, f := range facts(r) {
			d.Facts = append(d.Facts, fact{name + f.Name, f.Value})
		}
	}
	if before.Suite != after.Suite || before.Seed != after.Seed || before.N != after.N || before.Source != after.Source {
		d.Notes = append(d.Notes, "The results differ in suite, seed, n or source: changes are not of the code alone.")
	}
	d.Notes = append(d.Notes, "Intervals of changes take the results for independent; for the same tasks they are too wide. A change is marked ● where its interval leaves out zero.")
	by := map[string]int{}
	for _, one := range Deltas(before, after) {
		f := family(one.Slice)
		at, ok := by[f]
		if !ok {
			at = len(d.Tables)
			by[f] = at
			d.Tables = append(d.Tables, table{Caption: caption(one.Slice), Head: []string{"slice", "defence", "metric", "before", "after", "change"}})
		}
		change := cell{Value: number(one.Change)}
		if one.Change > 0 {
			change.Value = "+" + change.Value
		}
		if !math.IsNaN(one.CI[0]) {
			change.CI = number(one.CI[0]) + " – " + number(one.CI[1])
		}
		if one.Clear() {
			change.Value += " ●"
		}
		t := &d.Tables[at]
		t.Rows = append(t.Rows, row{
			Names: []string{one.Slice, one.Defence, one.Metric},
			Cells: []cell{{Value: number(one.Before)}, {Value: number(one.After)}, change},
		})
	}
	return d.write(w, nil)
}
