package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/lab/traj/world"
)

// Limits of the gates. The source's own values are lost in our copy: these were
// fixed before the first run, from issue 15 where it has them.
const (
	LeastCalibration = .97  // coverage of the calibration pool on held-out tasks
	LeastStress      = .92  // of the stress pool
	FarBits          = 1    // by more than this, the stress pool may exceed a cost …
	MostFar          = .05  // … on at most this share of held-out atoms
	MostEscapes      = .017 // of spread and context
	MostPhrasing     = .10  // of obscure phrasings
	LeastHits        = .9   // of mentions that a pattern could find, by rubric
	LeastAgreement   = .8   // Krippendorff's α
	LeastAnnotators  = 3
	MostExceedance   = .02 // upper bound, of trajectories
)

// Gate is a check of a pre-registration.
type Gate struct {
	Name  string // A1
	What  string
	Value float64 // NaN where it was not measured
	Limit float64
	// Bad says what failed, in a line; empty: it passes.
	Bad string
	// Missing says what could not be measured, and why: the gate neither passes
	// nor fails.
	Missing string
}

// Passes reports whether a gate was measured, and holds.
func (g *Gate) Passes() bool { return g.Bad == "" && g.Missing == "" }

// disjointPools is A1: no adversary is in both pools.
func disjointPools(p *Pools) Gate {
	g := Gate{Name: "A1", What: "adversaries that are in both pools"}
	var bad []string
	for i := range p.Calibration.Proxies {
		a := &p.Calibration.Proxies[i]
		for k := range p.Stress.Proxies {
			if b := &p.Stress.Proxies[k]; a.From == b.From || a.Name == b.Name {
				bad = append(bad, a.Name)
			}
		}
	}
	if len(p.Calibration.Proxies) == 0 || len(p.Stress.Proxies) == 0 {
		bad = append(bad, "a pool is empty")
	}
	g.Value, g.Bad = float64(len(bad)), strings.Join(bad, ", ")
	return g
}

// disjointTasks is A2: nobody is in both halves.
func disjointTasks(calibration, held []*world.Task) Gate {
	g := Gate{Name: "A2", What: "people who are in both halves"}
	in := map[string]bool{}
	for _, t := range calibration {
		in[identity(t)] = true
	}
	for _, t := range held {
		if in[identity(t)] {
			g.Value++
			g.Bad = t.ID + " is in both"
		}
	}
	return g
}

// costs is A3: what was calibrated is within what the rubrics charge, without the
// margin of their audits.
func costs(cs []Cell) Gate {
	g := Gate{Name: "A3", What: fmt.Sprintf("cells whose calibrated cost is above the certified one, of %d", len(cs))}
	var bad []string
	for i := range cs {
		if c := &cs[i]; c.verdict() != Covered {
			bad = append(bad, fmt.Sprintf("%v: %.2f bits above %.2f", c.Key, c.Calibrated(), c.Certified))
		}
	}
	g.Value, g.Bad = float64(len(bad)), strings.Join(bad, "; ")
	if len(cs) == 0 {
		g.Missing = fmt.Sprintf("no cell has %d atoms; take a larger --n", least)
	}
	return g
}

func atLeast(name, what string, t *tally, limit float64) Gate {
	g := Gate{Name: name, What: what, Limit: limit, Value: math.NaN()}
	if t == nil || t.of == 0 {
		g.Missing = "nothing was measured"
		return g
	}
	if g.Value = t.share(); g.Value < limit {
		g.Bad = fmt.Sprintf("%.4f of %d is below %.2f", g.Value, t.of, limit)
	}
	return g
}

// far is A6: the stress pool is rarely far above a cost.
func far(ms []Measured) Gate {
	g := Gate{Name: "A6", What: fmt.Sprintf("share of held-out atoms of which the stress pool learns over %v bit more than they cost", FarBits), Limit: MostFar, Value: math.NaN()}
	if len(ms) == 0 {
		g.Missing = "there are no atoms"
		return g
	}
	n := 0.0
	for _, m := range ms {
		if m.Sum[1] > m.Paid+FarBits+slack {
			n++
		}
	}
	if g.Value = n / float64(len(ms)); g.Value > MostFar {
		g.Bad = fmt.Sprintf("%.4f of %d is above %v", g.Value, len(ms), MostFar)
	}
	return g
}

// stronger is A7: the best guess of the stress pool is right more often.
func stronger(ms []Measured) Gate {
	g := Gate{Name: "A7", What: "probability that the best guess of a field is right, the stress pool's above the calibration pool's, mean of held-out atoms", Value: math.NaN()}
	if len(ms) == 0 {
		g.Missing = "there are no atoms"
		return g
	}
	sum := 0.0
	for _, m := range ms {
		sum += m.Right[1] - m.Right[0]
	}
	if g.Value = sum / float64(len(ms)); g.Value <= 0 {
		g.Bad = fmt.Sprintf("%.4f is not above 0", g.Value)
	}
	return g
}

// weights is A8: what is told to worse recipients is never cheaper.
func weights(lowest int64) Gate {
	g := Gate{Name: "A8", What: "the least multiplier of a rubric", Value: float64(lowest) / 1000, Limit: 1}
	if lowest < 1000 {
		g.Bad = "it is below 1"
	}
	return g
}

// joint is A9: pairs are within their joint cost.
func joint(ps []Pair) Gate {
	g := Gate{Name: "A9", What: fmt.Sprintf("pairs whose calibrated joint cost is above the certified one, of %d", len(ps))}
	var bad []string
	for _, p := range ps {
		if p.Joint[0].Upper > p.Certified+p.Margin+slack {
			bad = append(bad, fmt.Sprintf("%s and %s, %s: %.2f bits above %.2f", p.A, p.B, p.Op, p.Joint[0].Upper, p.Certified+p.Margin))
		}
	}
	g.Value, g.Bad = float64(len(bad)), strings.Join(bad, "; ")
	if len(ps) == 0 {
		g.Missing = "the rubrics declare no pair"
	}
	return g
}

// escaped are B1 to B3: in no category does a class of attacks escape more often
// than it may.
func escaped(es []Escape) []Gate {
	var out []Gate
	for i, class := range Classes {
		g := Gate{Name: fmt.Sprintf("B%d", i+1), What: "escape rate of the class " + class + ", the worst of all rubrics", Limit: MostEscapes, Value: math.NaN(), Missing: "there are no attacks"}
		if class == Phrasing {
			g.Limit = MostPhrasing
		}
		for _, e := range es {
			if e.Class == class && e.of > 0 && !(e.share() <= g.Value) {
				ci := stats.ClopperPearson(e.in, e.of, .95)
				g.Value, g.Missing, g.Bad = e.share(), "", ""
				if g.Value > g.Limit {
					g.Bad = fmt.Sprintf("%s: %d of %d, 95 %% interval %.3f to %.3f", e.Category, e.in, e.of, ci[0], ci[1])
				}
			}
		}
		out = append(out, g)
	}
	return out
}

// Stage is what Pre-Registration C asks of one rubric.
type Stage struct {
	Rubric string
	hits   tally // mentions that a pattern could find, and that a clause finds
	steps  tally // releases that leave each needed field an operator
	signed bool
}

// construction is C1 to C3: of each rubric.
func construction(all []Stage) []Gate {
	hits := Gate{Name: "C1", What: "coverage obligations: the least hit rate of a rubric", Limit: LeastHits, Value: math.NaN(), Missing: "there are no mentions"}
	ops := Gate{Name: "C2", What: "operators: the least share of a rubric's releases that leave each needed field an operator", Limit: 1, Value: math.NaN(), Missing: "there are no releases"}
	signed := Gate{Name: "C3", What: "rubrics that are not registered with a signature that is verified"}
	for _, s := range all {
		if s.hits.of > 0 && !(s.hits.share() >= hits.Value) {
			hits.Value, hits.Missing, hits.Bad = s.hits.share(), "", ""
			if hits.Value < LeastHits {
				hits.Bad = fmt.Sprintf("%s: %d of %d", s.Rubric, s.hits.in, s.hits.of)
			}
		}
		if s.steps.of > 0 && !(s.steps.share() >= ops.Value) {
			ops.Value, ops.Missing, ops.Bad = s.steps.share(), "", ""
			if ops.Value < 1 {
				ops.Bad = fmt.Sprintf("%s: %d of %d", s.Rubric, s.steps.in, s.steps.of)
			}
		}
		if !s.signed {
			signed.Value++
			signed.Bad = s.Rubric
		}
	}
	return []Gate{hits, ops, signed}
}

// agreement is C4: independent annotators agree on what is needed.
func agreement(all []Annotation) Gate {
	g := Gate{Name: "C4", What: "agreement of annotators on necessity, Krippendorff's α", Limit: LeastAgreement, Value: math.NaN()}
	alpha, n := Alpha(all)
	switch {
	case len(all) == 0:
		g.Missing = "no annotations; --annotations names a file"
	case n < LeastAnnotators:
		g.Missing = fmt.Sprintf("%d annotators, and %d are needed", n, LeastAnnotators)
	case !(alpha >= LeastAgreement):
		g.Value, g.Bad = alpha, fmt.Sprintf("%.3f is below %v", alpha, LeastAgreement)
	default:
		g.Value = alpha
	}
	return g
}

// exceedance is C5: what the stress pool learns of trajectories that met all
// obligations is within the cap.
func exceedance(t tally) Gate {
	g := Gate{Name: "C5", What: "upper bound of the share of trajectories of which the stress pool learns more than their cap", Limit: MostExceedance, Value: math.NaN()}
	if t.of == 0 {
		g.Missing = "there are no trajectories"
		return g
	}
	g.Value = stats.ClopperPearson(t.in, t.of, .95)[1]
	if g.Value > MostExceedance {
		g.Bad = fmt.Sprintf("%d of %d, upper bound %.4f above %v", t.in, t.of, g.Value, MostExceedance)
	}
	return g
}

// Failed are the gates that fail.
func Failed(gates []Gate) []Gate {
	return slices.DeleteFunc(slices.Clone(gates), func(g Gate) bool { return g.Bad == "" })
}
