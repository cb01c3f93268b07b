package prism

import (
	"math"
	"slices"

	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
)

// rows are the report's figures as rows, so that the result has everything.
func (r *Report) rows() []results.Row {
	var out []results.Row
	add := func(defence, slice string, m map[string]float64) {
		out = append(out, results.Row{Defence: defence, Slice: slice, Metrics: m})
	}
	for i := range r.Tests {
		t := &r.Tests[i]
		add(t.Reference, "mcnemar,against="+t.Defence, map[string]float64{
			"worse": float64(t.Worse), "better": float64(t.Better), "p": t.Exact, "log10_p": t.Log10P, "cohen_h": t.CohenH, "leak_rate_other": t.Leaking,
		})
	}
	for i := range r.Risks {
		k := &r.Risks[i]
		m := map[string]float64{}
		if k.Thresholds != [2]float64{} {
			m["tau1"], m["tau2"], m["green"], m["yellow"], m["red"] = k.Thresholds[0], k.Thresholds[1], k.Green, k.Yellow, k.Red
		}
		compared(m, k.AUC, k.Leaking.N, k.Clean.N)
		add(k.Defence, "zones", m)
		add(k.Defence, "zones,of=all", k.All.metrics())
		add(k.Defence, "zones,of=leaking", k.Leaking.metrics())
		add(k.Defence, "zones,of=clean", k.Clean.metrics())
	}
	for _, o := range r.Outcomes {
		add(o.Defence, "outcome", map[string]float64{"safe_unmodified": o.Safe, "modified": o.Modified, "residual_leak": o.Residual})
	}
	e := &r.Entropy
	m := map[string]float64{"vocabulary": float64(e.Vocabulary), "bound_q80": e.Bounds["0.8"], "bound_q90": e.Bounds["0.9"]}
	if e.Emitted.N > 0 {
		m["emitted_below_q80"], m["emitted_below_q90"] = e.Below[0], e.Below[1]
	}
	compared(m, e.AUC, e.Leaking.N, e.Clean.N)
	add("none", "entropy", m)
	add("none", "entropy,of=leaking_outputs", e.Leaking.metrics())
	add("none", "entropy,of=clean_outputs", e.Clean.metrics())
	add("none", "entropy,of=emitted_tokens", e.Emitted.metrics())
	add("none", "entropy,of=other_tokens", e.Other.metrics())
	return slices.DeleteFunc(out, func(r results.Row) bool { return len(r.Metrics) == 0 })
}

// metrics are absent where there are no numbers.
func (s *Spread) metrics() map[string]float64 {
	if s.N == 0 {
		return nil
	}
	return map[string]float64{
		"count": float64(s.N), "mean": s.Mean, "std": s.Deviation, "p25": s.P25, "p50": s.Median, "p75": s.P75, "p90": s.P90,
	}
}

// compared adds an AUC over n and m cases, Mann and Whitney's U and the
// logarithm of the two-sided p-value, by the normal approximation without a
// correction for ties, which is conservative. It takes the cases for
// independent: tasks are, outputs of one task less so.
func compared(into map[string]float64, auc float64, n, m int) {
	if n == 0 || m == 0 {
		return
	}
	a, b := float64(n), float64(m)
	into["auc"], into["mann_whitney_u"] = auc, auc*a*b
	z := math.Abs(auc-0.5) * math.Sqrt(12*a*b/(a+b+1))
	into["log10_p"] = log10Tails(z)
}

// log10Tails is the logarithm of both tails of a standard normal beyond z >= 0.
func log10Tails(z float64) float64 {
	if z < 30 {
		return math.Log10(math.Erfc(z / math.Sqrt2))
	}
	// Erfc is about to underflow; Mills's ratio is within 1/z² of it.
	return (-z*z/2 - math.Log(z) + math.Log(2/math.Pi)/2) / math.Ln10
}

// latency is Table 11: a defence's time for the outputs of a task, in
// milliseconds.
func (g *game) latency(d int) results.Row {
	var tasks []sums
	var took []float64
	for i := range g.results {
		s := g.results[i].sum(d, len(world.Agents), every)
		tasks, took = append(tasks, s), append(took, s.nanoseconds/1e6)
	}
	m := map[string]float64{"std": spread(took).Deviation, "p99": stats.Quantile(took, 0.99)}
	all := map[string]float64{}
	timings(all, tasks)
	for name, as := range map[string]string{
		"latency_ms_mean": "mean", "latency_ms_max": "max", "latency_ms_p50": "p50", "reading_ms_mean": "reading_mean", "ns_per_token": "ns_per_token",
	} {
		if v, ok := all[name]; ok {
			m[as] = v
		}
	}
	return results.Row{Defence: g.defences[d].Method.Name(), Slice: "latency", Metrics: m}
}

// variant is the row of a variant of a method.
func (g *game) variant(d int, o *Options) results.Row {
	row, _ := g.row(d, &slice{g.defences[d].Variant, len(world.Agents), func(*world.Task) bool { return true }, every, true, true}, o)
	if r, ok := g.risk(d); ok && r.Leaking.N > 0 && r.Clean.N > 0 {
		row.Metrics["risk_auc"], row.Metrics["calibration_error"] = r.AUC, r.ECE
	}
	return row
}
