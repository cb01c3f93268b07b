package saliency

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/screen/saliency"
)

// Suites of the two benchmarks. Each is held out once.
var (
	dojoSuites    = []string{"banking", "slack", "travel", "workspace"}
	leakageSuites = []string{"flights", "payments", "shopping"}
)

// Suites are all suites.
func Suites() []string { return slices.Concat(dojoSuites, leakageSuites) }

// Without trains a network on all suites but one.
func (r *Record) Without(suite string, o Options) (*saliency.Model, error) {
	return train(without(r.sequences(), suite), o)
}

func without(all []sequence, suite string) []sequence {
	return slices.DeleteFunc(slices.Clone(all), func(s sequence) bool { return s.suite == suite })
}

// generated reports whether a task was made from a written one.
func generated(s *sequence) bool { return strings.Count(s.task, "-") == 2 }

// verdict is a region as a method sees it.
type verdict struct {
	sequence *sequence
	score    float64
	yes      bool
	needed   bool
}

// Measure trains a network without each suite and measures it on the suite; of
// lab/leakage's only on the written tasks. The slice "all" has the four suites of
// AgentDojo together, "leakage" those of lab/leakage.
func Measure(ctx context.Context, r *Record, o Options) (*results.Result, []report.Figure, error) {
	all := r.sequences()
	res := &results.Result{
		Suite: "saliency", Seed: o.Seed, Environment: results.Here(), Models: map[string]string{"local": r.Head.Model},
		Source: "features of " + r.Head.Server + ", SHA-256 " + r.Hash,
		Notes: []string{
			"each suite is measured with a network that was trained on the others",
			"majority: every region counts as the more frequent class; logistic: on the same six features of the region alone; level: one threshold on the 99th percentile",
			"all: the suites of AgentDojo together; leakage: the 37 written tasks, whose suites are held out with the tasks made from them",
		},
	}
	got := map[string][]verdict{}
	for _, suite := range Suites() {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		test := slices.DeleteFunc(slices.Clone(all), func(s sequence) bool { return s.suite != suite || generated(&s) })
		if len(test) == 0 {
			continue
		}
		part := without(all, suite)
		m, err := train(part, o)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", suite, err)
		}
		l, err := fit(part, o)
		if err != nil {
			return nil, nil, err
		}
		level := threshold(units(calls(part), (*sequence).levels))
		for i := range test {
			s := &test[i]
			read := scaled(&l.model, test[i:i+1])
			add := func(method string, scores []float64, from float64) {
				for _, u := range s.units(scores) {
					got[method] = append(got[method], verdict{s, u.p, u.p >= from, u.y == Yes})
				}
			}
			add("lstm", m.Scores(s.x), m.Threshold)
			add("logistic", l.scores(&read[0]), l.threshold)
			add("level", s.levels(), level)
			add("majority", make([]float64, len(s.x)), 1)
		}
	}
	res.N = len(got["lstm"])
	dojo := func(v *verdict) bool { return slices.Contains(dojoSuites, v.sequence.suite) }
	slice := map[string]func(*verdict) bool{
		"all": dojo, "kind=call": func(v *verdict) bool { return dojo(v) && v.sequence.kind == "call" },
		"kind=answer": func(v *verdict) bool { return dojo(v) && v.sequence.kind == "answer" },
		"leakage":     func(v *verdict) bool { return !dojo(v) },
	}
	order := []string{"all", "kind=call", "kind=answer", "leakage"}
	for _, s := range Suites() {
		order = append(order, "suite="+s)
		slice["suite="+s] = func(v *verdict) bool { return v.sequence.suite == s }
	}
	for _, method := range []string{"majority", "level", "logistic", "lstm"} {
		for _, name := range order {
			addRow(res, method, name, got[method], slice[name])
		}
	}
	costs(res, r)
	return res, figures(res, r, all), nil
}

func addRow(r *results.Result, method, slice string, all []verdict, keep func(*verdict) bool) {
	var n [2][2]int // by needed and yes
	var score []float64
	var truth []bool
	for i := range all {
		v := &all[i]
		if !keep(v) {
			continue
		}
		n[one(v.needed)][one(v.yes)]++
		score, truth = append(score, v.score), append(truth, v.needed)
	}
	needed, other := n[1][0]+n[1][1], n[0][0]+n[0][1]
	if needed+other == 0 {
		return
	}
	m, ci := map[string]float64{"regions": float64(needed + other), "needed": float64(needed)}, map[string][2]float64{}
	share := func(name string, k, of int) {
		if of > 0 {
			m[name], ci[name] = float64(k)/float64(of), stats.Wilson(k, of, 0.95)
		}
	}
	share("accuracy", n[1][1]+n[0][0], needed+other)
	share("sensitivity", n[1][1], needed)
	share("specificity", n[0][0], other)
	if needed > 0 && other > 0 {
		m["balanced_accuracy"] = (m["sensitivity"] + m["specificity"]) / 2
		if method != "majority" && strings.HasPrefix(slice, "suite=") { // scores of networks of different folds do not compare
			m["auc"] = stats.AUC(score, truth)
		}
	}
	r.Rows = append(r.Rows, results.Row{Defence: method, Slice: slice, Metrics: m, CI: ci})
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// bins are fifths of the greatest score.
const bins = 5

// histogram adds a row with how scores spread.
func histogram(r *results.Result, name, slice string, of []float64) {
	if len(of) == 0 {
		return
	}
	m := map[string]float64{"n": float64(len(of)), "median": stats.Quantile(of, 0.5)}
	for i := range bins {
		k := 0
		for _, v := range of {
			if min(int(v*bins), bins-1) == i {
				k++
			}
		}
		m[fmt.Sprintf("from_%d", 100*i/bins)] = float64(k) / float64(len(of))
	}
	r.Rows = append(r.Rows, results.Row{Defence: name, Slice: slice, Metrics: m})
}

// figures are the paper's figures 2 and 3, and their rows.
func figures(res *results.Result, r *Record, all []sequence) []report.Figure {
	values := map[string][]float64{}
	for i := range all {
		if generated(&all[i]) {
			continue
		}
		for _, u := range all[i].units(all[i].levels()) {
			name := "not needed"
			if u.y == Yes {
				name = "needed"
			}
			values[name] = append(values[name], u.p)
		}
	}
	for _, l := range r.Lines {
		if l.Kind != obeys && l.Kind != ignores {
			continue
		}
		best := 0.0
		for _, g := range l.Regions[:len(l.Regions)-1] {
			if g.Features != nil {
				best = max(best, g.Features[saliency.Count-1])
			}
		}
		values[l.Kind+" results"] = append(values[l.Kind+" results"], best)
		if g := l.Regions[len(l.Regions)-1]; g.Features != nil {
			values[l.Kind+" request"] = append(values[l.Kind+" request"], g.Features[saliency.Count-1])
		}
	}
	series := func(names ...string) report.Histogram {
		h := report.Histogram{Bins: 10, Max: 1}
		for _, n := range names {
			h.Series = append(h.Series, report.Values{Name: n, Values: values[n]})
		}
		return h
	}
	histogram(res, "needed", "figure=2", values["needed"])
	histogram(res, "other", "figure=2", values["not needed"])
	for _, kind := range []string{ignores, obeys} {
		histogram(res, "request", "figure=3,output="+kind, values[kind+" request"])
		histogram(res, "results", "figure=3,output="+kind, values[kind+" results"])
	}
	const x = "99th percentile of a region's scores, in units of the prompt's greatest"
	return []report.Figure{
		{
			Title: "Attention scores of regions", X: x, Y: "regions", Plot: series("needed", "not needed"),
			Caption: "The paper's figure 2: scores of regions that the next action needs, and of others.",
			Alt:     "Two histograms of scores from 0 to 1: regions that are not needed are mostly below 0.2, needed ones spread up to 1.",
		},
		{
			Title: "Where an instruction comes from", X: x, Y: "steps", Plot: series("ignores request", "ignores results", "obeys request", "obeys results"),
			Caption: "The paper's figure 3: scores of the user's request and of the tools' results, for calls that go on with the task and for calls that an injection asks for.",
			Alt:     "Four histograms of scores from 0 to 1.",
		},
	}
}

// costs adds what questions took, by suite.
func costs(res *results.Result, r *Record) {
	type cost struct{ ms, tokens, cut []float64 }
	by := map[string]*cost{}
	for _, l := range r.Lines {
		if l.Suite == "" || l.Kind == "blind" {
			continue
		}
		c := 0.0
		for _, g := range l.Regions {
			if g != nil && g.Cut > 0 {
				c = 1
			}
		}
		if by[l.Suite] == nil {
			by[l.Suite] = &cost{}
		}
		of := by[l.Suite]
		of.ms, of.tokens, of.cut = append(of.ms, float64(l.Millis)), append(of.tokens, float64(l.Prompt)), append(of.cut, c)
	}
	for _, s := range Suites() {
		if c := by[s]; c != nil {
			res.Add("cost", "suite="+s, map[string]float64{
				"questions": float64(len(c.ms)), "ms_median": stats.Quantile(c.ms, 0.5), "tokens_mean": stats.Mean(c.tokens), "cut": stats.Mean(c.cut),
			})
		}
	}
}
