package engine

import (
	"fmt"
	"slices"

	"github.com/margaydev/margay/lab/results"
)

// goal is a figure that our engine is to reach.
type goal struct {
	name  string // in slices
	says  string // for people, with its unit
	bound float64
	least bool // the figure is to be that at least, not at most
	// of returns the figure, and false where the run did not measure it. Of
	// several it is the one that is furthest from the goal.
	of func(*results.Result) (float64, bool)
}

func goals() []goal {
	source := []string{"go", "js", "json"}
	ordinary := append([]string{"prose"}, source...)
	list := []goal{
		{name: "prose", says: "ns a byte of whole prose, ten secrets", bound: 10, of: cells("ns_per_byte", []string{"prose"}, whole, few)},
		{name: "source", says: "ns a byte of whole source, JavaScript and JSON, ten secrets", bound: 15, of: cells("ns_per_byte", source, whole, few)},
		{name: "others", says: "times prose for whole base64, logs and CJK", bound: 5, of: cells("ratio_to_prose", []string{"base64", "logs", "cjk"}, whole, few)},
		{name: "hyperscan", says: "times Hyperscan in block mode", bound: 6, of: cells("ratio_to_hyperscan", ordinary, whole, few)},
		{name: "gitleaks", says: "times as fast as gitleaks", bound: 30, least: true, of: cells("times_gitleaks", ordinary, whole, few)},
		{name: "million", says: "times ten secrets for a million", bound: 2, of: cells("ratio_to_ten", Corpora(), -1, 1_000_000)},
		{name: "million-memory", says: "MiB of the index of a million secrets", bound: 250, of: one("secrets=1000000", "index_mib")},
		{name: "hostile", says: "ns a byte of the worst hostile text", bound: 250, of: one(slice(hostile, whole, few), "ns_per_byte")},
		{name: "hostile-growth", says: "times as long a byte of sixteen times the hostile text", bound: 1.5, of: one(slice(hostile, whole, few), "growth")},
		{name: "scan", says: "s of processor time for margay scan over 20 MB of source", bound: 0.5, of: one("scan=tree", "cpu_seconds_20mb")},
		{name: "scan-start", says: "ms of processor time for margay scan over nothing", bound: 20, of: one("scan=nothing", "cpu_ms")},
		{name: "scan-line", says: "ms of processor time for margay scan over one line", bound: 20, of: one("scan=line", "cpu_ms")},
	}
	for _, w := range Writes {
		if w != whole {
			list = append(list, goal{
				name: fmt.Sprintf("write-%d", w), says: fmt.Sprintf("ns a write of %d bytes of ordinary text: 100, and 10 a byte", w),
				bound: float64(100 + 10*w), of: cells("ns_per_write", ordinary, w, few),
			})
		}
	}
	return list
}

// cells is a metric over kinds of text, the greatest, or of speeds the least. A
// write of -1 stands for all.
func cells(metric string, kinds []string, write, secrets int) func(*results.Result) (float64, bool) {
	return func(r *results.Result) (float64, bool) {
		var all []float64
		for _, k := range kinds {
			for _, w := range Writes {
				row := r.Row(ours, slice(k, w, secrets))
				if row == nil || write >= 0 && w != write {
					continue
				}
				if v, ok := row.Metrics[metric]; ok {
					all = append(all, v)
				}
			}
		}
		switch {
		case len(all) == 0:
			return 0, false
		case metric == "times_gitleaks":
			return slices.Min(all), true
		}
		return slices.Max(all), true
	}
}

func one(slice, metric string) func(*results.Result) (float64, bool) {
	return func(r *results.Result) (float64, bool) {
		row := r.Row(ours, slice)
		if row == nil {
			return 0, false
		}
		v, ok := row.Metrics[metric]
		return v, ok
	}
}

// judge sets the goals beside what was measured. Those that are not reached
// are marked.
func judge(r *results.Result) {
	met, all := 0, 0
	var short []string
	for _, g := range goals() {
		v, ok := g.of(r)
		if !ok {
			continue
		}
		all++
		m, is := map[string]float64{"value": v, "at_most": g.bound, "short": 0}, "at most"
		reached := v <= g.bound
		if g.least {
			delete(m, "at_most")
			m["at_least"], reached, is = g.bound, v >= g.bound, "at least"
		}
		if reached {
			met++
		} else {
			m["short"] = 1
			short = append(short, fmt.Sprintf("SHORT %s: %.4g %s; the goal is %s %g", g.name, v, g.says, is, g.bound))
		}
		r.Add(ours, "goal="+g.name, m)
	}
	if all > 0 {
		r.Notes = append(r.Notes, append(short, fmt.Sprintf("%d of %d goals are reached", met, all))...)
	}
}
