package credal

import (
	"errors"
	"fmt"
	"slices"
)

// ErrInconsistent says that no value fits the view: it has probability zero under
// every distribution of the credal set. The model or the view is wrong, so it is
// not known what the view discloses: refuse the release.
var ErrInconsistent = errors.New("credal: the view is impossible under the declared graph")

// Observation is a release about one variable. For each state s, Low and
// High bound the mean, over the members of s, of the probability that this
// release would have been made for that member; Peak bounds its maximum. A
// released cell gives 0 for a state outside of it, 1 for one within it, and
// k/m for one of whose m members k are in the cell.
//
// Several observations of one variable are combined without any assumption on
// how they depend on one another; for whole states, that is the intersection.
// For cells within states it is a loose bound, so a caller that knows the
// intersection should pass that (in one hierarchy: the finest cell).
// Observations of different variables are independent given the values.
type Observation struct {
	Var       int       // as Tree.Index has it
	Low, High []float64 // nil High: the same as Low
	Peak      []float64 // nil: as great as High admits
}

// Left observes how many members of each state of variable v are still possible.
func (t *Tree) Left(v int, members []float64) (Observation, error) {
	if v < 0 || v >= len(t.vars) {
		return Observation{}, fmt.Errorf("credal: no variable %d", v)
	}
	va := &t.vars[v]
	if len(members) != va.States {
		return Observation{}, fmt.Errorf("credal: variable %q has %d states, not %d", va.Name, va.States, len(members))
	}
	o := Observation{Var: v, Low: make([]float64, va.States), High: make([]float64, va.States), Peak: make([]float64, va.States)}
	for s, k := range members {
		m := weight(va, s)
		switch {
		case k == 0:
		case k == m:
			o.Low[s], o.High[s], o.Peak[s] = 1, 1, 1
		case k > 0 && k < m:
			o.Low[s] = k / m * (1 - 0x1p-52)
			o.High[s] = min(1, k/m*(1+0x1p-52))
			o.Peak[s] = 1
		default:
			return Observation{}, fmt.Errorf("credal: variable %q: %v of %v members of state %d", va.Name, k, m, s)
		}
	}
	return o, nil
}

// Scratch is the memory that bounding needs. It belongs to one caller at a time.
type Scratch struct {
	t        *Tree
	bits     []float64
	seen     []likelihood // by variable
	messages []box        // by edge
	known    []bool       // by edge: whether its message has observations
	table    box
	spans    []span // of one row
	// By state of one variable: the likelihood of observations elsewhere; the
	// least likelihood of all observations; priors; bounds.
	elsewhere     box
	least, coarse []float64
	weights       []entry
}

// likelihood combines the observations of a variable.
type likelihood struct {
	box  // of the mean over a state's members
	peak []float64
	any  bool
}

// NewScratch returns a Scratch for t.
func (t *Tree) NewScratch() *Scratch {
	s := &Scratch{
		t: t, bits: make([]float64, len(t.vars)), seen: make([]likelihood, len(t.vars)),
		messages: make([]box, len(t.edges)), known: make([]bool, len(t.edges)),
		table: makeBox(t.largest), spans: make([]span, t.largest), elsewhere: makeBox(t.widest),
		least: make([]float64, t.widest), coarse: make([]float64, t.widest), weights: make([]entry, t.widest),
	}
	for v := range t.vars {
		s.seen[v] = likelihood{box: makeBox(t.vars[v].States), peak: make([]float64, t.vars[v].States)}
	}
	for e := range t.edges {
		s.messages[e] = makeBox(t.edges[e].states)
	}
	return s
}

// Bound returns, for each variable, an upper bound in bits on what the view
// discloses about its value: log2 max_x P(x|view) − log2 max_x P(x), x over the
// values (the members of states), at its greatest over the credal set. Bounds
// are at least 0. The slice is valid until the next call.
//
// It fails with ErrInconsistent if no value fits, and with another error if the
// view is malformed. After either, nothing may be released.
func (s *Scratch) Bound(view []Observation) ([]float64, error) {
	if err := s.observe(view); err != nil {
		return nil, err
	}
	t := s.t
	for _, e := range t.order {
		s.known[e] = s.send(e)
	}
	for v := range t.targets {
		b, err := s.variable(v)
		if err != nil {
			return nil, err
		}
		s.bits[v] = b
	}
	return s.bits, nil
}

// observe combines the observations of each variable.
func (s *Scratch) observe(view []Observation) error {
	for v := range s.seen {
		s.seen[v].any = false
	}
	for i := range view {
		o := &view[i]
		if o.Var < 0 || o.Var >= len(s.seen) {
			return fmt.Errorf("credal: observation %d: no variable %d", i, o.Var)
		}
		if err := s.meet(o); err != nil {
			return fmt.Errorf("credal: observation %d of %q: %w", i, s.t.vars[o.Var].Name, err)
		}
	}
	for v := range s.seen {
		if l := &s.seen[v]; l.any && !positive(l.up) {
			return ErrInconsistent
		}
	}
	return nil
}

func positive(x []float64) bool {
	return slices.ContainsFunc(x, func(v float64) bool { return v > 0 })
}

// meet adds an observation to those of its variable. Whatever their joint
// distribution, both happen with a probability between max(0, a+b−1) and
// min(a, b) (Fréchet).
func (s *Scratch) meet(o *Observation) error {
	l, va := &s.seen[o.Var], &s.t.vars[o.Var]
	high := o.High
	if high == nil {
		high = o.Low
	}
	n := va.States
	if len(o.Low) != n || len(high) != n || o.Peak != nil && len(o.Peak) != n {
		return fmt.Errorf("%d low and %d high likelihoods and %d peaks, want %d", len(o.Low), len(high), len(o.Peak), n)
	}
	for st := range n {
		lo, hi := o.Low[st], high[st]
		if !(0 <= lo && lo <= hi && hi <= 1) {
			return fmt.Errorf("state %d: likelihood in [%v,%v]", st, lo, hi)
		}
		peak := min(1, hi*weight(va, st)*(1+0x1p-50))
		if o.Peak != nil {
			if p := o.Peak[st]; !(lo <= p && p <= 1) {
				return fmt.Errorf("state %d: greatest likelihood %v", st, p)
			}
			peak = min(peak, o.Peak[st])
			hi = min(hi, peak)
		}
		if l.any {
			switch was := l.low[st]; {
			case was == 1:
			case lo == 1:
				lo = was
			default:
				lo = max(0, was+lo-1-0x1p-50)
			}
			hi = min(hi, l.up[st])
			peak = min(peak, l.peak[st])
		}
		if hi != 0 && hi < tiny {
			hi = tiny
		}
		if lo < tiny {
			lo = 0
		}
		l.low[st], l.up[st], l.peak[st] = lo, hi, max(hi, peak)
	}
	l.any = true
	return nil
}

// product sets the table of clique c to the likelihood of observations elsewhere:
// those homed there except that of variable v, and messages except that of edge
// skip. It returns false if there are none.
func (s *Scratch) product(c, v, skip int) bool {
	cl := &s.t.cliques[c]
	t := box{up: s.table.up[:cl.states], low: s.table.low[:cl.states]}
	found := false
	with := func(o *box, at []int32) {
		if !found {
			found = true
			for x, j := range at {
				t.up[x], t.low[x] = o.up[j], o.low[j]
			}
			return
		}
		t.multiply(o, at)
	}
	for _, h := range cl.home {
		if h != v && s.seen[h].any {
			with(&s.seen[h].box, s.t.targets[h].at)
		}
	}
	for _, in := range cl.in {
		if in != skip && s.known[in] {
			with(&s.messages[in], s.t.edges[in].at)
		}
	}
	return found
}

// send computes the message of edge e: for each state of its separator, the
// likelihood of the observations behind it. It returns false if there are none.
func (s *Scratch) send(e int) bool {
	ed := &s.t.edges[e]
	if !s.product(ed.from, -1, e^1) {
		return false
	}
	m := &s.messages[e]
	s.averages(&ed.out, m)
	m.rescale()
	return true
}

// averages bounds the mean of the table over each row.
func (s *Scratch) averages(r *rows, out *box) {
	e := gamma(len(s.t.vars)) // of the products in the table
	for i := range out.up {
		from, to := r.start[i], r.start[i+1]
		if from == to {
			out.up[i], out.low[i] = 0, 0
			continue
		}
		row := r.entries[from:to]
		hi, lo := average(row, s.spans, s.table.load(row, s.spans), &r.sum[i])
		out.up[i], out.low[i] = float64(hi*(1+e)), float64(lo*(1-e))
	}
}

// variable bounds the bits about variable v.
func (s *Scratch) variable(v int) (float64, error) {
	tg := &s.t.targets[v]
	own := &s.seen[v]
	g := box{up: s.elsewhere.up[:len(tg.prior.up)], low: s.elsewhere.low[:len(tg.prior.up)]}
	switch {
	case s.product(tg.home, v, -1):
		s.averages(&tg.rows, &g)
		g.rescale()
	case !own.any:
		return 0, nil
	default:
		g.fill()
	}
	if own.any && !overlap(g.up, own.up) || !own.any && !positive(g.up) {
		return 0, ErrInconsistent
	}
	gain := min(s.gain(v, &g), 1/tg.modeLow*(1+0x1p-50))
	if !(gain > 1) {
		return 0, nil
	}
	return log2(gain) + 0x1p-40, nil
}

func overlap(a, b []float64) bool {
	for i, x := range a {
		if x > 0 && b[i] > 0 {
			return true
		}
	}
	return false
}

// closely bounds the states that gain bounds closely, times states; the others get
// a coarser bound. It keeps the time of large domains linear.
const closely = 1024

// gain bounds max_x P(x|view) / max_x P(x) over the values x of variable v,
// where g bounds the likelihood of all observations elsewhere, by state. For a
// value of state s with m members,
//
//	P(x|view) = π(s)/m · peak(s)·g(s) / (π(s)·mean(s)·g(s) + Σ_{s'≠s} π(s')·mean(s')·g(s')).
//
// The sum is at least 1−π(s) times the least average over the other states. In
// π(s), the quotient grows as long as π(s)/m is less than the least possible
// mode, and is monotone from there on: both ends are tried.
func (s *Scratch) gain(v int, g *box) float64 {
	tg, own := &s.t.targets[v], &s.seen[v]
	prior := &tg.prior
	n := len(prior.up)
	// Least likelihood of the whole view, by state, and the prior as weights.
	h := box{up: s.least[:n], low: s.least[:n]}
	weights := s.weights[:n]
	for st := range n {
		h.low[st] = g.low[st]
		if own.any {
			h.low[st] = float64(h.low[st] * own.low[st])
		}
		weights[st] = entry{prior.up[st], prior.low[st], st}
	}
	all := s.leastAverage(weights, &h)
	peak := func(st int) float64 {
		if own.any {
			return own.peak[st]
		}
		return 1
	}
	// of is the quotient for the prior p of state st and the likelihood rest
	// of the others.
	of := func(st int, p, rest float64) float64 {
		m := weight(&s.t.vars[v], st)
		num := min(1, p/m/tg.modeLow) * peak(st) * g.up[st]
		mean := g.up[st]
		if own.any {
			mean = float64(mean * own.low[st])
		}
		den := float64(p*mean) + float64(max(0, 1-p)*rest)
		if num == 0 {
			return 0
		}
		return num / den * (1 + 0x1p-48)
	}
	// The coarse bound of each state, until it is bounded closely.
	coarse := s.coarse[:n]
	for st := range coarse {
		coarse[st] = 0
		if num := min(1, prior.up[st]/weight(&s.t.vars[v], st)/tg.modeLow) * peak(st) * g.up[st]; num > 0 {
			coarse[st] = num / all * (1 + 0x1p-48)
		}
	}
	best := 0.0
	for range max(8, closely/n) {
		st := 0
		for i, c := range coarse {
			if c > coarse[st] {
				st = i
			}
		}
		if coarse[st] <= best {
			return best
		}
		// The state goes to the end, and comes back.
		weights[st], weights[n-1] = weights[n-1], weights[st]
		rest := s.leastAverage(weights[:n-1], &h)
		weights[st], weights[n-1] = weights[n-1], weights[st]
		at := min(prior.up[st], max(prior.low[st], weight(&s.t.vars[v], st)*tg.modeLow))
		fine := max(of(st, at, rest), of(st, prior.up[st], rest))
		best = max(best, min(fine, coarse[st]))
		coarse[st] = 0
	}
	for _, c := range coarse {
		best = max(best, c)
	}
	return best
}

// leastAverage bounds the average of h with the given weights from below. Without
// weights it is 0.
func (s *Scratch) leastAverage(weights []entry, h *box) float64 {
	if len(weights) == 0 {
		return 0
	}
	var up, low float64
	for i := range weights {
		up += weights[i].up
		low += weights[i].low
	}
	sum := totals(up, low, len(weights))
	_, least := average(weights, s.spans, h.load(weights, s.spans), &sum)
	return least
}
