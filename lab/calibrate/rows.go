package calibrate

import (
	"maps"
	"math"
	"slices"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
)

// round keeps what is the same on every machine.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func (r *run) row(res *results.Result, slice string) *results.Row {
	res.Rows = append(res.Rows, results.Row{Defence: r.o.Defence.Name(), Slice: slice, Metrics: map[string]float64{}, CI: map[string][2]float64{}})
	return &res.Rows[len(res.Rows)-1]
}

// put adds a share with its interval; nothing where there are no cases.
func put(row *results.Row, metric string, t tally) {
	if t.of > 0 {
		row.Metrics[metric], row.CI[metric] = round(t.share()), interval(t)
	}
}

var coverageOf = [2]string{"coverage_calibration", "coverage_stress"}

// summary is the row of all trajectories, and that of the register.
func (r *run) summary(res *results.Result, c *coverage, es []Escape) {
	row := r.row(res, "all")
	if of := c.by[""]; of != nil {
		put(row, coverageOf[0], of[0])
		put(row, coverageOf[1], of[1])
		row.Metrics["fields"] = float64(of[0].of)
	}
	leak := stats.Ratio{Num: c.leak, Den: ones(len(c.leak))}
	excess := stats.Ratio{Den: leak.Den}
	for i := range c.leak {
		excess.Num = append(excess.Num, c.leak[i]-c.floor[i])
	}
	ci := stats.Bootstrap{Seed: r.o.Seed, Resamples: resamples}.Intervals(len(c.leak), leak, excess)
	for i, name := range []string{"leak_bits", "excess_bits"} {
		row.Metrics[name] = round([]stats.Ratio{leak, excess}[i].Value())
		row.CI[name] = [2]float64{round(ci[i][0]), round(ci[i][1])}
	}
	put(row, "measured_exceedance", c.measured)
	put(row, "coverage_total", c.totals)
	put(row, "exceedance", c.exceeded)
	var all tally
	for _, e := range es {
		all.in, all.of = all.in+e.in, all.of+e.of
	}
	put(row, "escape_rate", all)
	row.Metrics["n"] = float64(len(c.leak))
	row = r.row(res, "adversary=linkage")
	put(row, coverageOf[1], c.linked)
	row.Metrics["leak_bits"] = round(stats.Mean(c.hidden))
	row.Metrics["n"] = float64(c.linked.of)
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// coverRows are coverage by operator and pool, of trajectories and of atoms.
func (r *run) coverRows(res *results.Result, prefix string, c *coverage, a *atomCoverage) {
	pools := [2]string{"calibration", "stress"}
	name := func(op string) string {
		if op == "" {
			return "operator=all"
		}
		return "operator=" + op
	}
	for _, op := range slices.Sorted(maps.Keys(c.by)) {
		for k, pool := range pools {
			row := r.row(res, prefix+name(op)+",pool="+pool)
			put(row, coverageOf[k], c.by[op][k])
			row.Metrics["n"] = float64(c.by[op][k].of)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(a.certified)) {
		for k, pool := range pools {
			row := r.row(res, prefix+"atoms,"+name(op)+",pool="+pool)
			put(row, coverageOf[k], a.certified[op][k])
			row.Metrics["n"] = float64(a.certified[op][k].of)
			if of := a.calibrated[op]; of != nil {
				put(row, "coverage_calibrated", of[k])
			}
		}
	}
}

func (r *run) cellRows(res *results.Result, cs []Cell) {
	for i := range cs {
		c := &cs[i]
		row := r.row(res, c.String())
		for k, pool := range []string{"calibration", "stress"} {
			row.Metrics["delta_"+pool] = round(c.Mean[k].Value)
			row.Metrics["delta_"+pool+"_upper"] = round(c.Mean[k].Upper)
		}
		row.Metrics["cost_calibrated"], row.Metrics["cost_stress"] = round(c.Quantile[0].Upper), round(c.Quantile[1].Upper)
		row.Metrics["cost_certified"], row.Metrics["margin"], row.Metrics["n"] = round(c.Certified), round(c.Margin), float64(c.N)
		row.Metrics["covered"] = 0
		if c.verdict() == Covered {
			row.Metrics["covered"] = 1
		}
	}
}

// adversaryRows are what each adversary learns of held-out atoms, and how often it
// is the only one of its pool to learn as much.
func (r *run) adversaryRows(res *results.Result, p *Pools, held []Measured) {
	first := 0
	for _, pool := range p.both() {
		for i, proxy := range pool.Proxies {
			var bits float64
			var most tally
			for _, m := range held {
				of := slices.Clone(m.Each[first : first+len(pool.Proxies)])
				mine := of[i]
				of[i] = 0
				bits += mine / float64(len(held))
				most.add(mine > slices.Max(of)+slack)
			}
			row := r.row(res, "adversary="+proxy.Name+",pool="+pool.Name)
			row.Metrics["delta_bits"], row.Metrics["n"] = round(bits), float64(len(held))
			put(row, "most", most)
		}
		first += len(pool.Proxies)
	}
}

func (r *run) pairRows(res *results.Result, ps []Pair) {
	for _, p := range ps {
		row := r.row(res, "pair="+string(p.A)+"+"+string(p.B)+",operator="+p.Op)
		row.Metrics["cost_calibrated"], row.Metrics["cost_stress"] = round(p.Joint[0].Upper), round(p.Joint[1].Upper)
		row.Metrics["cost_certified"], row.Metrics["cost_separate"], row.Metrics["margin"] = round(p.Certified), round(p.Separate), round(p.Margin)
		row.Metrics["n"] = float64(p.N)
	}
}

// foldRows are coverage of costs that were calibrated without a category, on its
// held-out atoms.
func (r *run) foldRows(res *results.Result, ms, held []Measured) {
	for _, category := range r.o.World.Categories() {
		others := slices.DeleteFunc(slices.Clone(ms), func(m Measured) bool { return m.Category == category })
		own := slices.DeleteFunc(slices.Clone(held), func(m Measured) bool { return m.Category != category })
		if len(own) == 0 {
			continue
		}
		of := coverAtoms(cells(r.o.Seed, others), own).calibrated[""]
		if of == nil {
			continue
		}
		row := r.row(res, "loco="+category)
		put(row, coverageOf[0], of[0])
		put(row, coverageOf[1], of[1])
		row.Metrics["n"] = float64(of[0].of)
	}
}

func (r *run) escapeRows(res *results.Result, es []Escape) {
	for _, e := range es {
		row := r.row(res, "attack="+e.Class+",category="+e.Category)
		put(row, "escape_rate", e.tally)
		row.Metrics["n"] = float64(e.of)
	}
}

func gateRows(res *results.Result, gates []Gate) {
	for i := range gates {
		g := &gates[i]
		row := results.Row{Defence: "gates", Slice: "gate=" + g.Name, Metrics: map[string]float64{"limit": g.Limit}}
		if !math.IsNaN(g.Value) {
			row.Metrics["value"] = round(g.Value)
		}
		if g.Missing == "" {
			row.Metrics["passes"] = 0
			if g.Passes() {
				row.Metrics["passes"] = 1
			}
		}
		res.Rows = append(res.Rows, row)
	}
}
