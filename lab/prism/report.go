package prism

import (
	"errors"
	"math"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/stats"
)

// Report is what the paper shows besides the rows of the result.
type Report struct {
	// Outcomes by defence (Table 12, Figure 5): shares of all tasks.
	Outcomes []Outcome `json:"outcomes"`
	// Tests of the reference against each other defence (Table 9).
	Tests []Test `json:"tests"`
	// Risks of the defences that have one (Table 10, Figure 2).
	Risks []Risk `json:"risks"`
	// Entropy of the undefended outputs (Figure 3).
	Entropy Entropy `json:"entropy"`
}

// Outcome of the tasks under a defence. A task that is modified and still
// leaks counts as leaking.
type Outcome struct {
	Defence  string  `json:"defence"`
	Safe     float64 `json:"safe_unmodified"`
	Modified float64 `json:"modified"`
	Residual float64 `json:"residual_leak"`
}

// Test is McNemar's, on whether a task does not leak.
type Test struct {
	Reference string `json:"reference"`
	Defence   string `json:"defence"`
	// Worse are tasks where only the other defence prevents the leak, Better
	// those where only the reference does.
	Worse  int     `json:"worse"`
	Better int     `json:"better"`
	Exact  float64 `json:"p"`
	Log10P float64 `json:"log10_p"`
	CohenH float64 `json:"cohen_h"`
	// Leaking is the share of tasks that leak under the other defence.
	Leaking float64 `json:"leak_rate_other"`
}

// Bins is the number of bins of a risk histogram over [0, 1].
const Bins = 20

// Risk is the distribution of a defence's greatest risk in a task.
type Risk struct {
	Defence string `json:"defence"`
	// Thresholds are 0 where the defence has none; then there are no zones.
	Thresholds [2]float64 `json:"thresholds"`
	Green      float64    `json:"green"` // shares of the tasks
	Yellow     float64    `json:"yellow"`
	Red        float64    `json:"red"`
	Leaking    Spread     `json:"leaking"`
	Clean      Spread     `json:"clean"`
	All        Spread     `json:"all"`
	// AUC is the probability that a leaking task has a greater risk than a
	// clean one; Mann and Whitney's U is AUC·n₁·n₂.
	AUC float64 `json:"auc"`
	// ECE is the calibration error of the outputs' greatest risks.
	ECE float64 `json:"calibration_error"`
}

// Spread describes numbers in [0, 1]; absent where there are none.
type Spread struct {
	N         int       `json:"n"`
	Mean      float64   `json:"mean"`
	Deviation float64   `json:"deviation"`
	P25       float64   `json:"p25"`
	Median    float64   `json:"median"`
	P75       float64   `json:"p75"`
	P90       float64   `json:"p90"`
	Histogram [Bins]int `json:"histogram"`
}

func spread(x []float64) Spread {
	s := Spread{N: len(x)}
	if len(x) == 0 {
		return s
	}
	s.Mean = stats.Mean(x)
	for _, v := range x {
		s.Deviation += (v - s.Mean) * (v - s.Mean) / float64(len(x))
		s.Histogram[max(0, min(Bins-1, int(v*Bins)))]++
	}
	s.Deviation = math.Sqrt(s.Deviation)
	s.P25, s.Median, s.P75, s.P90 = stats.Quantile(x, 0.25), stats.Quantile(x, 0.5), stats.Quantile(x, 0.75), stats.Quantile(x, 0.9)
	return s
}

// Entropy compares normalised entropies, H/ln V, of undefended outputs.
type Entropy struct {
	Vocabulary int `json:"vocabulary"`
	// Bounds are H*(q) of Theorem 1, by q.
	Bounds map[string]float64 `json:"bounds"`
	// Leaking and Clean are outputs' mean entropies; AUC that a clean one has
	// more.
	Leaking Spread  `json:"leaking_outputs"`
	Clean   Spread  `json:"clean_outputs"`
	AUC     float64 `json:"auc"`
	// Emitted and Other are single tokens' entropies, within emissions and
	// elsewhere.
	Emitted Spread `json:"emitted_tokens"`
	Other   Spread `json:"other_tokens"`
	// Below are the shares of emitted tokens below H*(0.8) and below H*(0.9).
	Below [2]float64 `json:"emitted_below"`
	// Examples are a leaking output and a clean one.
	Examples []Trajectory `json:"examples"`
}

// Trajectory is one output's normalised entropy, token by token.
type Trajectory struct {
	Task    string    `json:"task"`
	Agent   string    `json:"agent"`
	Leaks   bool      `json:"leaks"`
	Entropy []float64 `json:"entropy"`
	Emitted []bool    `json:"emitted"` // by token: it is part of an emission
}

// course is an output's entropy.
type course struct {
	normal  []float64
	emitted []bool
	leaks   bool
}

func courseOf(emissions []world.Emission, s scored, vocabulary int) course {
	c := course{normal: make([]float64, len(s.tokens)), emitted: make([]bool, len(s.tokens)), leaks: len(emissions) > 0}
	at := 0
	for i := range s.tokens {
		c.normal[i] = s.entropies[i] / math.Log(float64(vocabulary))
		for _, e := range emissions {
			c.emitted[i] = c.emitted[i] || e.Start <= at && at < e.End
		}
		at += len(s.tokens[i].Text)
	}
	return c
}

func (g *game) report(rep *Report, o *Options) {
	reference := -1
	safe := make([][]bool, len(g.defences))
	for d := range g.defences {
		if g.defences[d].Variant != "" || errors.Is(g.results[0].err[d], method.ErrUnavailable) {
			continue
		}
		if g.defences[d].Method.Name() == o.Reference {
			reference = d
		}
		out := Outcome{Defence: g.defences[d].Method.Name()}
		n := float64(len(g.results))
		for i := range g.results {
			s := g.results[i].sum(d, len(world.Agents), every)
			safe[d] = append(safe[d], s.leaks == 0)
			switch {
			case s.leaks > 0:
				out.Residual += 1 / n
			case s.unmodified > 0:
				out.Safe += 1 / n
			default:
				out.Modified += 1 / n
			}
		}
		rep.Outcomes = append(rep.Outcomes, out)
		if r, ok := g.risk(d); ok {
			rep.Risks = append(rep.Risks, r)
		}
	}
	for d := range g.defences {
		if reference < 0 || d == reference || safe[d] == nil {
			continue
		}
		m := stats.Pair(safe[reference], safe[d])
		rep.Tests = append(rep.Tests, Test{
			Reference: o.Reference, Defence: g.defences[d].Method.Name(), Worse: m.C, Better: m.B, Exact: m.Exact, Log10P: m.Log10,
			CohenH: stats.CohenH(share(safe[reference]), share(safe[d])), Leaking: 1 - share(safe[d]),
		})
	}
	g.entropy(&rep.Entropy)
}

func share(of []bool) float64 {
	n := 0
	for _, v := range of {
		if v {
			n++
		}
	}
	return float64(n) / float64(len(of))
}

// risk is the distribution of a defence's risks; ok is false if it has none.
func (g *game) risk(d int) (r Risk, ok bool) {
	tau := g.defences[d].Thresholds
	r = Risk{Defence: g.defences[d].Method.Name(), Thresholds: tau}
	var all, leaking, clean, outputs []float64
	var truth, leaks []bool
	for i := range g.results {
		most := math.NaN()
		for k, s := range g.results[i].under[d] {
			if !math.IsNaN(s.risk) {
				outputs, leaks = append(outputs, s.risk), append(leaks, len(g.results[i].free[k].emitted) > 0)
			}
			if !math.IsNaN(s.risk) && !(most >= s.risk) {
				most = s.risk
			}
		}
		if math.IsNaN(most) {
			continue
		}
		all = append(all, most)
		truth = append(truth, g.results[i].leaksFree(len(world.Agents)))
		if truth[len(truth)-1] {
			leaking = append(leaking, most)
		} else {
			clean = append(clean, most)
		}
		switch {
		case tau == [2]float64{}:
		case most < tau[0]:
			r.Green++
		case most < tau[1]:
			r.Yellow++
		default:
			r.Red++
		}
	}
	if len(all) == 0 {
		return r, false
	}
	n := float64(len(all))
	r.Green, r.Yellow, r.Red = r.Green/n, r.Yellow/n, r.Red/n
	r.Leaking, r.Clean, r.All = spread(leaking), spread(clean), spread(all)
	if len(leaking) > 0 && len(clean) > 0 {
		r.AUC = stats.AUC(all, truth)
	}
	r.ECE = calibrationError(outputs, leaks)
	return r, true
}

// calibrationError is the mean distance of risk and share that leaks over ten equal
// bins of risk, by how many are in them.
func calibrationError(risks []float64, leaks []bool) float64 {
	var off [10]float64
	for i, p := range risks {
		b := min(int(p*10), 9)
		off[b] += p
		if leaks[i] {
			off[b]--
		}
	}
	sum := 0.0
	for _, x := range off {
		sum += math.Abs(x)
	}
	return sum / float64(max(len(risks), 1))
}

// typical is how many tokens an example has at least, and at most.
var typical = [2]int{50, 160}

// hStar is the bound of Theorem 1: the normalised entropy that a token of
// fidelity q can't exceed, [h(q) + (1-q) ln(V-1)] / ln V for q in [1/V, 1]
// and a vocabulary of V >= 2, where h is the binary entropy in nats. It falls
// from 1 to 0.
func hStar(q float64, vocabulary int) float64 {
	v := float64(max(vocabulary, 2))
	q = math.Min(math.Max(q, 1/v), 1)
	h := 0.0
	if q < 1 {
		h = -q*math.Log(q) - (1-q)*math.Log1p(-q)
	}
	return (h + (1-q)*math.Log(v-1)) / math.Log(v)
}

func (g *game) entropy(e *Entropy) {
	e.Vocabulary = g.vocabulary
	low, lower := hStar(0.8, e.Vocabulary), hStar(0.9, e.Vocabulary)
	e.Bounds = map[string]float64{"0.8": low, "0.9": lower}
	var means, leaking, clean, emitted, other []float64
	var truth []bool
	var have [2]bool
	for i := range g.results {
		for agent, c := range g.results[i].entropy {
			if len(c.normal) == 0 {
				continue
			}
			m := stats.Mean(c.normal)
			means, truth = append(means, -m), append(truth, c.leaks)
			which := 0
			if c.leaks {
				leaking = append(leaking, m)
				which = 1
			} else {
				clean = append(clean, m)
			}
			for k, h := range c.normal {
				if !c.emitted[k] {
					other = append(other, h)
					continue
				}
				emitted = append(emitted, h)
				if h < low {
					e.Below[0]++
				}
				if h < lower {
					e.Below[1]++
				}
			}
			if n := len(c.normal); !have[which] && g.results[i].leaksFree(len(world.Agents)) == c.leaks && n >= typical[0] && n <= typical[1] {
				have[which] = true
				e.Examples = append(e.Examples, Trajectory{Task: g.tasks[i].ID, Agent: world.Agents[agent], Leaks: c.leaks, Entropy: c.normal, Emitted: c.emitted})
			}
		}
	}
	e.Leaking, e.Clean, e.Emitted, e.Other = spread(leaking), spread(clean), spread(emitted), spread(other)
	if len(leaking) > 0 && len(clean) > 0 {
		e.AUC = stats.AUC(means, truth)
	}
	if n := float64(len(emitted)); n > 0 {
		e.Below[0] /= n
		e.Below[1] /= n
	}
}
