package app

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/lab/prism"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/monitor"
)

// prismFigures are those of the paper. The rows are of one source; prefix is
// what their slices begin with.
func prismFigures(r *prism.Report, rows *results.Result, prefix string) []report.Figure {
	overall := cmp.Or(strings.TrimSuffix(prefix, ","), "all")
	var out []report.Figure
	bars := report.Bars{Parts: []report.Values{{Name: "safe, unmodified"}, {Name: "modified"}, {Name: "leaks all the same"}}}
	for _, o := range r.Outcomes {
		bars.Categories = append(bars.Categories, o.Defence)
		for i, v := range []float64{o.Safe, o.Modified, o.Residual} {
			bars.Parts[i].Values = append(bars.Parts[i].Values, v)
		}
	}
	out = append(out,
		report.Figure{
			Title: "What became of the tasks", X: "share of tasks", Plot: bars, Alt: "Stacked bars of the shares of tasks by defence",
			Caption: "By defence: tasks that neither leak nor are changed, tasks that are changed, and tasks that leak all the same (PRISM, Figure 5).",
		},
		tradeOff(rows, overall), depths(rows, prefix, overall),
		leakBars(rows, prefix, overall, "category", "Table 7"), leakBars(rows, prefix, overall, "pressure", "Table 8"), ablations(rows, prefix))
	for _, k := range r.Risks {
		caption := fmt.Sprintf("How the greatest risk of a task spreads (PRISM, Figure 2). AUC %.3f", k.AUC)
		if k.Thresholds != [2]float64{} {
			caption += fmt.Sprintf("; thresholds %.2f and %.2f", k.Thresholds[0], k.Thresholds[1])
		}
		out = append(out, report.Figure{
			Title: "Risk under " + k.Defence, X: "greatest risk in the task", Y: "tasks", Alt: "Two lines over the risk: tasks that leak undefended, and tasks that do not",
			Caption: caption + ".",
			Plot:    report.Lines{Series: []report.Line{histogram("leaking", &k.Leaking), histogram("clean", &k.Clean)}},
		})
	}
	return append(out, entropies(&r.Entropy)...)
}

// entropies are Figure 3.
func entropies(e *prism.Entropy) []report.Figure {
	out := []report.Figure{{
		Title: "Entropy of tokens", X: "normalised entropy H/ln V", Y: "tokens", Alt: "Two lines over the entropy: tokens of secrets, and other tokens",
		Caption: "Normalised entropy of tokens inside emissions and elsewhere, without a defence.",
		Plot:    report.Lines{Series: []report.Line{histogram("in an emission", &e.Emitted), histogram("elsewhere", &e.Other)}},
	}}
	for _, t := range e.Examples {
		what := "a clean output"
		if t.Leaks {
			what = "an output that leaks"
		}
		line := report.Line{Name: t.Task + ", " + t.Agent, Y: t.Entropy}
		for i := range t.Entropy {
			line.X = append(line.X, float64(i))
		}
		plot := report.Lines{Series: []report.Line{line}}
		for _, q := range slices.Sorted(maps.Keys(e.Bounds)) {
			plot.Levels = append(plot.Levels, report.Level{Name: "H*(" + q + ")", At: e.Bounds[q]})
		}
		out = append(out, report.Figure{
			Title: "Entropy along " + what, X: "token", Y: "normalised entropy", Plot: plot, Alt: "A line of the entropy, token by token",
			Caption: "Entropy falls where a value is copied (PRISM, Figure 3); the level lines are the bounds of Theorem 1.",
		})
	}
	return out
}

func histogram(name string, s *prism.Spread) report.Line {
	l := report.Line{Name: name}
	for i, n := range s.Histogram {
		l.X, l.Y = append(l.X, (float64(i)+0.5)/prism.Bins), append(l.Y, float64(n))
	}
	return l
}

// leakBand is the group of a leak rate in Figure 4.
func leakBand(rate float64) string {
	switch {
	case rate <= 0:
		return "no task leaks"
	case rate < 0.2:
		return "under 20 % leak"
	case rate <= 0.5:
		return "20 to 50 % leak"
	}
	return "over 50 % leak"
}

// tradeOff is Figure 4.
func tradeOff(r *results.Result, overall string) report.Figure {
	var plot report.Scatter
	for i := range r.Rows {
		row := &r.Rows[i]
		recall, okR := row.Metrics["recall"]
		utility, okU := row.Metrics["utility"]
		if row.Slice != overall || !okR || !okU {
			continue
		}
		leak := row.Metrics["task_leak_rate"]
		plot.Points = append(plot.Points, report.Point{Name: row.Defence, Group: leakBand(leak), X: recall, Y: utility, Size: 4 + 8*leak})
	}
	return report.Figure{
		Title: "Recall against utility", X: "recall", Y: "utility: share of clean tasks unmodified", Plot: plot,
		Alt:     "Points, one for each defence: recall to the right, utility upwards; colour and size tell the share of tasks that leak",
		Caption: "To the right more leaking tasks are found, upwards more clean tasks stay as they are; the larger a point, the more tasks leak (PRISM, Figure 4).",
	}
}

// mainDefences are no filter, the three baselines that let fewest tasks leak,
// and the monitors: more would not be told apart in a plot.
func mainDefences(r *results.Result, overall string) []string {
	leak := map[string]float64{}
	var baselines, monitors []string
	for i := range r.Rows {
		row := &r.Rows[i]
		rate, ok := row.Metrics["task_leak_rate"]
		switch {
		case row.Slice != overall || !ok:
		case strings.HasPrefix(row.Defence, "monitor"):
			monitors = append(monitors, row.Defence)
		case row.Defence != "none":
			leak[row.Defence] = rate
			baselines = append(baselines, row.Defence)
		}
	}
	slices.SortStableFunc(baselines, func(a, b string) int { return cmp.Compare(leak[a], leak[b]) })
	return slices.Concat([]string{"none"}, baselines[:min(3, len(baselines))], monitors)
}

// depths shows how leaks add up with the agents (equation 1).
func depths(r *results.Result, prefix, overall string) report.Figure {
	var plot report.Lines
	for _, d := range mainDefences(r, overall) {
		l := report.Line{Name: d}
		for depth := 1; ; depth++ {
			row := r.Row(d, prefix+"depth="+strconv.Itoa(depth))
			if row == nil {
				break
			}
			l.X, l.Y = append(l.X, float64(depth)), append(l.Y, row.Metrics["task_leak_rate"])
			if ci, ok := row.CI["task_leak_rate"]; ok && len(l.Lo) == depth-1 {
				l.Lo, l.Hi = append(l.Lo, ci[0]), append(l.Hi, ci[1])
			}
		}
		if len(l.Lo) != len(l.X) {
			l.Lo, l.Hi = nil, nil
		}
		if len(l.X) > 0 {
			plot.Series = append(plot.Series, l)
		}
	}
	return report.Figure{
		Title: "Leaks by depth of the pipeline", X: "agents K", Y: "share of tasks that leak", Plot: plot,
		Alt:     "A line for each defence: the share of tasks that leak with one to four agents",
		Caption: "How leaks add up from agent to agent (PRISM, equation 1), with 95 % intervals: no filter, the three baselines with the fewest leaks, and the monitor.",
	}
}

// leakBars are leak rates by what a slice is named after.
func leakBars(r *results.Result, prefix, overall, by, table string) report.Figure {
	plot := report.Bars{Grouped: true}
	for i := range r.Rows {
		if v, ok := strings.CutPrefix(r.Rows[i].Slice, prefix+by+"="); ok && !slices.Contains(plot.Categories, v) {
			plot.Categories = append(plot.Categories, v)
		}
	}
	for _, d := range mainDefences(r, overall) {
		part := report.Values{Name: d}
		for _, v := range plot.Categories {
			if row := r.Row(d, prefix+by+"="+v); row != nil {
				part.Values = append(part.Values, row.Metrics["task_leak_rate"])
			}
		}
		if len(part.Values) == len(plot.Categories) {
			plot.Parts = append(plot.Parts, part)
		}
	}
	return report.Figure{
		Title: "Leaks by " + by, X: "share of tasks that leak", Plot: plot, Alt: "Groups of bars by " + by + ", one bar for each defence: the share of tasks that leak",
		Caption: "No filter, the three baselines with the fewest leaks, and the monitor (PRISM, " + table + ").",
	}
}

// ablations are Tables 2, 5 and 14.
func ablations(r *results.Result, prefix string) report.Figure {
	plot := report.Bars{Grouped: true, Parts: []report.Values{{Name: "f1"}, {Name: "risk_auc"}}}
	for i := range r.Rows {
		name, ok := strings.CutPrefix(r.Rows[i].Slice, prefix+"ablation=")
		if !ok {
			continue
		}
		plot.Categories = append(plot.Categories, name)
		for k := range plot.Parts {
			plot.Parts[k].Values = append(plot.Parts[k].Values, r.Rows[i].Metrics[plot.Parts[k].Name])
		}
	}
	return report.Figure{
		Title: "What the features give", X: "task-level F1, and AUC of the greatest risk", Plot: plot,
		Alt:     "Two bars for each variant of the risk model: F1 and AUC",
		Caption: "The risk model alone, without a feature or class, and with a class alone; weights and thresholds as they were fitted with all features (PRISM, Tables 2, 5, 13 and 14).",
	}
}

// calibration shows how far a model's risks are probabilities, on the test
// part of its training.
func calibration(m *monitor.Model, name string) report.Figure {
	plot := report.Lines{Series: []report.Line{{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}}}}
	curves := m.Spec().Training.Calibration
	for _, mode := range []string{"white_box", "gray_box", "black_box"} {
		l := report.Line{Name: mode}
		for _, b := range curves[mode+"/test/outputs"] {
			l.X, l.Y = append(l.X, b.Predicted), append(l.Y, b.Observed)
		}
		if len(l.X) > 0 {
			plot.Series = append(plot.Series, l)
		}
	}
	return report.Figure{
		Title: "Calibration of " + name, X: "mean risk of the bin", Y: "share that leaks", Plot: plot,
		Alt:     "A line for each mode over the risk, beside the diagonal of a calibrated one",
		Caption: "Outputs of the test part of the model's own training repository, by their greatest risk, in ten bins.",
	}
}
