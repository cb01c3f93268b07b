package traj

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
)

const resamples = 1000

// round keeps what is the same on every machine: what floating point adds or
// loses in the ninth digit is not.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// rows adds a defence's rows: all, by category, those that need something of a
// curious sink's free text, long ones alone, and coverage by operator and field.
func (r *run) rows(res *results.Result, name string, ms []measured) {
	r.row(res, name, "all", ms)
	pick := func(slice string, keep func(*measured) bool) {
		var some []measured
		for i := range ms {
			if keep(&ms[i]) {
				some = append(some, ms[i])
			}
		}
		if len(some) > 0 {
			r.row(res, name, slice, some)
		}
	}
	for _, c := range r.o.World.Categories() {
		pick("category="+c, func(m *measured) bool { return m.category == c })
	}
	r.row(res, name, "world="+r.o.World.Name, ms)
	oblique := results.Row{Defence: name, Slice: "mention=oblique", Metrics: map[string]float64{}, CI: map[string][2]float64{}}
	addShare(&oblique, "escape_rate", ms, func(m *measured) (float64, float64) { return m.oblique, m.obliqueMentions })
	res.Rows = append(res.Rows, oblique)
	pick("text=needed", func(m *measured) bool { return m.worded })
	pick("length=long", func(m *measured) bool { return m.long })
	pick("length=short", func(m *measured) bool { return !m.long })
	operators(res, name, "", ms)
}

// operators adds coverage and excess by operator and by field.
func operators(res *results.Result, name, prefix string, ms []measured) {
	ops := map[string]within{}
	for i := range ms {
		for op, c := range ms[i].ops {
			ops[op] = ops[op].add(c)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		c := ops[op]
		res.Rows = append(res.Rows, results.Row{
			Defence: name, Slice: prefix + op,
			Metrics: map[string]float64{
				"coverage_stress": round(c.stress / c.of), "coverage_calibration": round(c.calibration / c.of), "excess_bits": round(c.excess / c.of), "n": c.of,
			},
			CI: map[string][2]float64{
				"coverage_stress":      stats.ClopperPearson(int(c.stress), int(c.of), .95),
				"coverage_calibration": stats.ClopperPearson(int(c.calibration), int(c.of), .95),
			},
		})
	}
}

func (r *run) row(res *results.Result, name, slice string, ms []measured) {
	row := results.Row{Defence: name, Slice: slice, Metrics: map[string]float64{}, CI: map[string][2]float64{}}
	var names []string
	var ratios []stats.Ratio
	add := func(metric string, f func(m *measured) (num, den float64)) {
		var one stats.Ratio
		for i := range ms {
			num, den := f(&ms[i])
			one.Num, one.Den = append(one.Num, num), append(one.Den, den)
		}
		if v := one.Value(); !math.IsNaN(v) {
			row.Metrics[metric] = round(v)
			names, ratios = append(names, metric), append(ratios, one)
		}
	}
	mean := func(metric string, f func(m *measured) float64) {
		add(metric, func(m *measured) (float64, float64) { return f(m), 1 })
	}
	mean("leak_bits", func(m *measured) float64 { return m.leak })
	mean("leak_bits_sum", func(m *measured) float64 { return m.sum })
	mean("excess_bits", func(m *measured) float64 { return m.leak - m.least })
	mean("unneeded_bits", func(m *measured) float64 { return m.unneeded })
	add("recovery_top1", func(m *measured) (float64, float64) { return m.recovered, m.inPlay })
	mean("task_success", func(m *measured) float64 { return m.success })
	add("fallback_rate", func(m *measured) (float64, float64) { return m.fallbacks, m.releases })
	mean("measured_exceedance", func(m *measured) float64 { return m.over })
	add("coverage_stress", func(m *measured) (float64, float64) { return m.stress, m.covered })
	add("coverage_calibration", func(m *measured) (float64, float64) { return m.calibration, m.covered })
	for _, k := range []int{1, 2, 4, 8} {
		add(fmt.Sprintf("collusion_%d", k), func(m *measured) (float64, float64) { return m.collusion[k][0], m.collusion[k][1] })
	}
	for i, ci := range (stats.Bootstrap{Seed: r.o.Seed, Resamples: resamples}).Intervals(len(ms), ratios...) {
		row.CI[names[i]] = [2]float64{round(ci[0]), round(ci[1])}
	}
	share := func(metric string, f func(m *measured) (k, n float64)) { addShare(&row, metric, ms, f) }
	share("escape_rate", func(m *measured) (float64, float64) { return m.escaped, m.mentions })
	share("escape_oblique", func(m *measured) (float64, float64) { return m.oblique, m.obliqueMentions })
	share("exceedance", func(m *measured) (float64, float64) {
		if !m.certified {
			return 0, 0
		}
		return m.exceeded, 1
	})
	row.Metrics["leak_bits_p50"] = round(stats.Quantile(column(ms, func(m *measured) []float64 { return []float64{m.leak} }), .5))
	if slice == "all" {
		took := column(ms, func(m *measured) []float64 { return m.took })
		row.Metrics["latency_us_p50"], row.Metrics["latency_us_p99"] = stats.Quantile(took, .5), stats.Quantile(took, .99)
		phases := map[string]bool{}
		for i := range ms {
			for p := range ms[i].phases {
				phases[p] = true
			}
		}
		for p := range phases {
			v := column(ms, func(m *measured) []float64 { return m.phases[p] })
			row.Metrics["latency_us_"+p+"_p50"], row.Metrics["latency_us_"+p+"_p99"] = stats.Quantile(v, .5), stats.Quantile(v, .99)
		}
	}
	res.Rows = append(res.Rows, row)
}

// addShare adds a share of counts over all tasks, with its Clopper-Pearson interval.
func addShare(row *results.Row, metric string, ms []measured, f func(m *measured) (k, n float64)) {
	var k, n float64
	for i := range ms {
		a, b := f(&ms[i])
		k, n = k+a, n+b
	}
	if n > 0 {
		ci := stats.ClopperPearson(int(k), int(n), .95)
		row.Metrics[metric], row.CI[metric] = round(k/n), [2]float64{round(ci[0]), round(ci[1])}
	}
}

func column(ms []measured, f func(m *measured) []float64) []float64 {
	var out []float64
	for i := range ms {
		out = append(out, f(&ms[i])...)
	}
	return out
}

// compare tests whether the defence that is named by Compare differs from each
// other on leakage and success: one family of tests.
func (r *run) compare(res *results.Result, all map[string][]measured) {
	ours, ok := all[r.o.Compare]
	if !ok {
		return
	}
	var names []string
	var p []float64
	leak, success := func(m *measured) float64 { return m.leak }, func(m *measured) float64 { return m.success }
	take := func(ms []measured, f func(*measured) float64) []float64 {
		return column(ms, func(m *measured) []float64 { return []float64{f(m)} })
	}
	for _, d := range r.o.Defences {
		if d.Name() == r.o.Compare || all[d.Name()] == nil {
			continue
		}
		names = append(names, d.Name())
		for _, f := range []func(*measured) float64{leak, success} {
			p = append(p, stats.Permutation(take(ours, f), take(all[d.Name()], f), r.o.Seed, 0))
		}
	}
	adjusted := stats.Holm(p)
	for i, name := range names {
		other := all[name]
		res.Rows = append(res.Rows, results.Row{
			Defence: r.o.Compare, Slice: "against=" + name,
			Metrics: map[string]float64{
				"leak_bits_difference": round(stats.Mean(take(ours, leak)) - stats.Mean(take(other, leak))), "leak_bits_p": adjusted[2*i],
				"task_success_difference": round(stats.Mean(take(ours, success)) - stats.Mean(take(other, success))), "task_success_p": adjusted[2*i+1],
			},
		})
	}
	res.Notes = append(res.Notes, fmt.Sprintf("against=…: differences of %s to the others, paired by task; p-values of permutation tests, 10,000 draws, adjusted together by Holm-Bonferroni over %d tests", r.o.Compare, len(p)))
}
