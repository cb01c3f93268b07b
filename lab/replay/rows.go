package replay

import (
	"cmp"
	"math"
	"slices"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
)

// slice is a way to slice calls. Of returns the name of the slice that a call is
// in; empty for none. Slices of fewer than least calls have no row.
type slice struct {
	least int
	of    func(*call) string
}

// callSlices are those that have rows. A clearance with an effect, a cause or a first use
// gets a line here.
var callSlices = []slice{
	{10, func(c *call) string { return "tool=" + c.Name }},
	{1, func(c *call) string {
		if len(c.clearance.Acts) == 0 {
			return ""
		}
		return "effect=" + c.clearance.Effect.String()
	}},
}

// rows adds the rows of a mode: all, by suite, and by what calls have in common.
func (o *Options) rows(res *results.Result, mode string, out []*outcome) {
	add := func(name string, m *measured) {
		res.Rows = append(res.Rows, results.Row{Defence: mode, Slice: name, Metrics: m.metrics, CI: m.ci})
	}
	add("all", o.sessions(mode, out))
	var suites []string
	for _, s := range out {
		if !slices.Contains(suites, s.session.Suite) {
			suites = append(suites, s.session.Suite)
		}
	}
	for _, name := range suites {
		add("suite="+name, o.sessions(mode, slices.DeleteFunc(slices.Clone(out), func(s *outcome) bool { return s.session.Suite != name })))
	}
	if o.Labels.Tools != nil {
		add("first_use", o.firsts(mode, out))
	}
	for _, by := range callSlices {
		names := map[string]int{}
		for _, s := range out {
			for i := range s.calls {
				if name := by.of(&s.calls[i]); name != "" {
					names[name]++
				}
			}
		}
		var order []string
		for name, n := range names {
			if n >= by.least {
				order = append(order, name)
			}
		}
		slices.SortFunc(order, func(a, b string) int { return cmp.Or(names[b]-names[a], cmp.Compare(a, b)) })
		for _, name := range order {
			add(name, o.calls(mode, out, func(c *call) bool { return by.of(c) == name }))
		}
	}
}

// firsts measures the questions about first uses, which no other row counts.
func (o *Options) firsts(mode string, out []*outcome) *measured {
	m := o.measure(mode)
	tools := map[string]bool{}
	for _, s := range out {
		asked := false
		for i := range s.calls {
			if c := &s.calls[i]; c.first {
				m.metrics["questions"]++
				tools[c.Name], asked = true, true
			}
		}
		if asked {
			m.metrics["sessions"]++
		}
	}
	m.metrics["tools"] = float64(len(tools))
	return m
}

// measured are the metrics of one row.
type measured struct {
	metrics map[string]float64
	ci      map[string][2]float64
	boot    stats.Bootstrap
	mode    string
}

func (o *Options) measure(mode string) *measured {
	return &measured{metrics: map[string]float64{}, ci: map[string][2]float64{}, boot: stats.Bootstrap{Seed: o.Seed}, mode: mode}
}

// ratio measures a ratio of sums over sessions. Sessions are what is drawn: the
// calls of one are not independent.
func (m *measured) ratio(name string, r stats.Ratio) {
	v := r.Value()
	if math.IsNaN(v) {
		return
	}
	m.metrics[name], m.ci[name] = v, m.boot.Intervals(len(r.Num), r)[0]
	// Sessions that all agree have no width, although others might disagree.
	if name == callsAsked && (v == 0 || v == 1) {
		n := len(r.Den) - count(r.Den, 0)
		m.ci[name] = stats.ClopperPearson(int(v)*n, n, 0.95)
	}
}

const callsAsked = "calls_asked"

func count(x []float64, v float64) (n int) {
	for _, e := range x {
		if e == v {
			n++
		}
	}
	return n
}

// calls measures the calls that are kept.
func (o *Options) calls(mode string, out []*outcome, keep func(*call) bool) *measured {
	m := o.measure(mode)
	m.calls(out, keep)
	return m
}

func (m *measured) calls(out []*outcome, keep func(*call) bool) {
	asked := stats.Ratio{Num: make([]float64, len(out)), Den: make([]float64, len(out))}
	attacks, unasked, denied := 0, 0, 0
	for i, s := range out {
		for k := range s.calls {
			c := &s.calls[k]
			switch {
			case !keep(c):
				continue
			case c.attacker:
				attacks++
				if c.made && !c.asked {
					unasked++
				}
				continue
			case c.asked:
				asked.Num[i]++
			case c.first:
			case !c.made:
				denied++
			}
			asked.Den[i]++
			m.metrics["calls"]++
		}
	}
	if m.ratio(callsAsked, asked); m.metrics["calls"] > 0 {
		m.metrics["calls_denied"] = float64(denied)
	}
	if attacks > 0 && m.mode != Best {
		m.metrics["attacker_calls"], m.metrics["attacker_calls_unasked"] = float64(attacks), float64(unasked)
		ci := stats.Wilson(unasked, attacks, 0.95)
		m.ci["attacker_calls_unasked"] = [2]float64{ci[0] * float64(attacks), ci[1] * float64(attacks)}
	}
}

// sessions measures whole sessions.
func (o *Options) sessions(mode string, out []*outcome) *measured {
	m := o.measure(mode)
	m.calls(out, func(*call) bool { return true })
	extra := stats.Ratio{Num: make([]float64, len(out)), Den: make([]float64, len(out))}
	questions := make([]float64, len(out))
	asked, barred := 0, 0
	for i, s := range out {
		barred += s.barred
		extra.Num[i], extra.Den[i], questions[i] = float64(s.extra), float64(s.steps), float64(s.questions)
		m.metrics["steps"] += float64(s.steps)
		m.metrics["questions"] += float64(s.questions)
		if s.questions > 0 {
			asked++
		}
	}
	m.metrics["sessions"] = float64(len(out))
	m.metrics["sessions_asked"], m.ci["sessions_asked"] = float64(asked)/float64(len(out)), stats.Wilson(asked, len(out), 0.95)
	for name, q := range map[string]float64{"questions_per_session_p50": 0.5, "questions_per_session_p90": 0.9} {
		m.metrics[name] = stats.Quantile(questions, q)
		m.ci[name] = m.boot.Statistic(len(out), quantile(questions, q))
	}
	if mode != All {
		m.ratio("extra_calls_per_step", extra)
	}
	if mode == Replay {
		m.metrics["steps_barred"] = float64(barred)
	}
	return m
}

// quantile is stats.Quantile of a sample that has each value as often as it was
// drawn.
func quantile(x []float64, q float64) func(count []int32) float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return func(count []int32) float64 {
		at := q * float64(len(x)-1)
		low := int(at)
		var v [2]float64
		seen, got := 0, 0
		for _, i := range order {
			for seen += int(count[i]); got < 2 && seen > low+got; got++ {
				v[got] = x[i]
			}
			if got == 2 {
				break
			}
		}
		if got < 2 { // at the greatest
			v[1] = v[0]
		}
		return v[0] + (at-float64(low))*(v[1]-v[0])
	}
}
