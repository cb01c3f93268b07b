package app

import (
	"cmp"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

// paperTable is a table of the paper: which rows it has here, or why it has none.
type paperTable struct {
	title, caption string
	// slices are what the rows' slices are or, with an equals sign, begin with;
	// "all" is the source's own. trained: rows of the model, which no source has.
	slices   []string
	trained  bool
	defences []string // all where empty
	metrics  []string
	missing  string
}

var leaks = []string{"task_leak_rate", "leaks_per_task", "precision", "recall", "f1", "fpr", "utility", "exposure_chars_max"}

// paperTables are Tables 1 to 16 of the paper, in its order.
var paperTables = []paperTable{
	{title: "Table 1: all tasks", caption: "The paper has one source, and no false alarms by its own definition; here a change to a clean task is one.", slices: []string{"all"}, metrics: leaks},
	{
		title: "Table 2: classes of features", caption: "The risk model alone. The paper measures two classes on 200 tasks of their own; here all are measured on all tasks, without being fitted again.",
		slices: []string{"ablation=only:", "ablation=nothing"}, metrics: []string{"f1", "recall", "fpr", "task_leak_rate", "risk_auc"},
	},
	{
		title: "Table 3: the risk model in its training", caption: "Split by task. The paper has 195 outputs.",
		slices: []string{"training,mode="}, trained: true, metrics: []string{"n", "accuracy", "precision", "recall", "f1", "auc", "brier"},
	},
	{title: "Table 4: weights", caption: "Of standardised features; normalised as the paper does, so that the positive ones add up to 1.", slices: []string{"weights,mode="}, trained: true},
	{
		title: "Table 5: without what weighs nothing", caption: "All features, and those with a weight.",
		slices: []string{"ablation=nothing", "ablation=active-only"}, metrics: []string{"task_leak_rate", "precision", "recall", "f1", "risk_auc"},
	},
	{title: "Table 6: what the methods are", missing: "No counterpart: it compares properties in words and has no measurement. The package of the methods says what each is (lab/prism/method)."},
	{title: "Table 7: by category of attack", slices: []string{"category="}, metrics: []string{"task_leak_rate"}},
	{title: "Table 8: by pressure", slices: []string{"pressure="}, metrics: []string{"task_leak_rate"}},
	{title: "Table 9: McNemar's tests", caption: "Worse: tasks that only the other method keeps from leaking.", slices: []string{"mcnemar,against="}, metrics: []string{"worse", "better", "p", "log10_p", "cohen_h", "leak_rate_other"}},
	{title: "Table 10: zones and risks", caption: "By the greatest risk of a task.", slices: []string{"zones", "zones,of="}, metrics: []string{"tau1", "tau2", "green", "yellow", "red", "auc", "count", "mean", "std", "p25", "p50", "p75", "p90"}},
	{title: "Table 11: latency", caption: "Milliseconds of a method for the outputs of a task, on this machine; the paper has seconds on a DGX H200, in Python.", slices: []string{"latency"}},
	{title: "Table 12: outcomes", slices: []string{"outcome"}, metrics: []string{"safe_unmodified", "modified", "residual_leak"}},
	{
		title: "Table 13: white box and black box", caption: "The risk model alone: with log-probabilities and telemetry, without telemetry, with the text alone, and the paper's black box, which is the white one with features set to 0. The paper has 200 tasks.",
		slices: []string{"all", "ablation=blackbox", "ablation=blackbox-paper", "box=gray"}, defences: []string{"monitor-risk", "monitor-blackbox"}, metrics: append(slices.Clone(leaks), "risk_auc", "calibration_error"),
	},
	{
		title: "Table 14: classes of features, by population", caption: "The paper repeats Table 2 and names the tasks of each row. Here all rows are of all tasks; what is left out is shown beside what is left alone.",
		slices: []string{"ablation=only:", "ablation=without:"}, metrics: []string{"f1", "recall", "fpr", "task_leak_rate", "risk_auc"},
	},
	{title: "Table 15: stages of the pipeline", slices: []string{"stage="}},
	{title: "Table 16: transforms", caption: "Share of the emissions that are stopped, by how the secret was written. A recorded model writes what it can: transforms that it never made have no row.", slices: []string{"transform="}, metrics: []string{"instances", "instance_recall"}},
}

// tables are the paper's, of rows of one source.
func tables(r *results.Result, prefix string) []report.Figure {
	overall := cmp.Or(strings.TrimSuffix(prefix, ","), "all")
	var out []report.Figure
	for i := range paperTables {
		t := &paperTables[i]
		list := report.Listing{Prefix: prefix, Metrics: t.metrics}
		for k := range r.Rows {
			row := &r.Rows[k]
			if (len(t.defences) == 0 || slices.Contains(t.defences, row.Defence)) && t.has(row.Slice, prefix, overall) {
				list.Rows = append(list.Rows, row)
			}
		}
		missing := t.missing
		if missing == "" {
			missing = "No row: no method of this run has the values."
		}
		out = append(out, report.Figure{Title: t.title, Caption: t.caption, Plot: list, Missing: missing})
	}
	return append(out, report.Figure{Title: "Figure 1: the architecture", Plot: report.Listing{}, Missing: "No counterpart: it is a drawing. Margay's is in docs/how-it-works.md."})
}

// has reports whether a row of a slice is the table's.
func (t *paperTable) has(slice, prefix, overall string) bool {
	if t.trained {
		prefix = ""
	}
	return slices.ContainsFunc(t.slices, func(want string) bool {
		switch {
		case want == "all":
			return slice == overall
		case strings.HasSuffix(want, "=") || strings.HasSuffix(want, ":"):
			return strings.HasPrefix(slice, prefix+want)
		}
		return slice == prefix+want
	})
}
