package credal

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// A point is one member of a credal set: a table for each factor of the graph,
// in the declared order.
type point [][]float64

// enumerate returns by brute force, over the joint states of all variables, the
// bits that the view tells about each variable, or false if it is impossible.
// The view must be exact: Low alone, with Peak where a state has members.
func enumerate(g *Graph, p point, view []Observation) ([]float64, bool) {
	n := len(g.Variables)
	prior, post, peak := make([][]float64, n), make([][]float64, n), make([][]float64, n)
	for i, v := range g.Variables {
		prior[i], post[i], peak[i] = make([]float64, v.States), make([]float64, v.States), make([]float64, v.States)
		for s := range peak[i] {
			peak[i][s] = 1
		}
	}
	for _, o := range view {
		for s := range o.Low {
			q := o.Low[s]
			if o.Peak != nil {
				q = o.Peak[s]
			}
			peak[o.Var][s] = q
		}
	}
	// Mass of each state of each variable: before, and with what was seen of
	// the others (post) and of all (total).
	var before, total float64
	walk(g, p, func(states []int, w float64) {
		before += w
		seen := w
		for _, o := range view {
			seen *= o.Low[states[o.Var]]
		}
		total += seen
		for i, s := range states {
			prior[i][s] += w
			other := w
			for _, o := range view {
				if o.Var != i {
					other *= o.Low[states[o.Var]]
				}
			}
			post[i][s] += other
		}
	})
	if total <= 0 {
		return nil, false
	}
	bits := make([]float64, n)
	for i, v := range g.Variables {
		var a, b float64
		for s := range v.States {
			a = math.Max(a, post[i][s]*peak[i][s]/weight(&v, s))
			b = math.Max(b, prior[i][s]/weight(&v, s))
		}
		bits[i] = math.Log2(a / total / (b / before))
	}
	return bits, true
}

// walk calls f with each joint state and the product of all factors there.
func walk(g *Graph, p point, f func(states []int, w float64)) {
	vars := make([][]int, len(g.Factors))
	for i, in := range g.Factors {
		for _, name := range in.Vars {
			vars[i] = append(vars[i], slices.IndexFunc(g.Variables, func(v Variable) bool { return v.Name == name }))
		}
	}
	uniform := make([]bool, len(g.Variables))
	for i, v := range g.Variables {
		uniform[i] = implicit(g, v.Name)
	}
	states := make([]int, len(g.Variables))
	for done := false; !done; {
		w := 1.0
		for i, of := range vars {
			e := 0
			for _, v := range of {
				e = e*g.Variables[v].States + states[v]
			}
			w *= p[i][e]
		}
		for i, s := range states {
			if uniform[i] {
				w *= weight(&g.Variables[i], s)
			}
		}
		f(states, w)
		done = true
		for i := len(states) - 1; i >= 0; i-- {
			if states[i]++; states[i] < g.Variables[i].States {
				done = false
				break
			}
			states[i] = 0
		}
	}
}

func implicit(g *Graph, name string) bool {
	for _, f := range g.Factors {
		if f.Of == name || f.Of == "" && slices.Contains(f.Vars, name) {
			return false
		}
	}
	return true
}

// shape says what random graphs are like.
type shape struct {
	vars, states, factors int
	width                 float64 // of intervals, relative; 0: degenerate
	wide                  float64 // share of entries that are intervals
	tables                float64 // share of factors that are conditional
	zeros                 float64 // share of entries whose low is zero
	members               bool
}

// random draws a graph and, with it, a point of its credal set.
func (sh shape) random(r *rand.Rand) (Graph, point) {
	var g Graph
	var p point
	for i := range sh.vars {
		v := Variable{Name: "v" + strconv.Itoa(i), States: 2 + r.IntN(sh.states-1)}
		if sh.members && r.IntN(2) == 0 {
			for range v.States {
				v.Members = append(v.Members, float64(1+r.IntN(20)))
			}
		}
		g.Variables = append(g.Variables, v)
	}
	of := map[string]bool{}
	for range sh.factors {
		k := min(1+r.IntN(3), sh.vars)
		pick := r.Perm(sh.vars)[:k]
		if k > 1 && r.IntN(3) > 0 { // neighbours, so that trees are long
			at := r.IntN(sh.vars - k + 1)
			for j := range pick {
				pick[j] = at + j
			}
			r.Shuffle(k, func(a, b int) { pick[a], pick[b] = pick[b], pick[a] })
		}
		var f Factor
		size := 1
		for _, v := range pick {
			f.Vars = append(f.Vars, g.Variables[v].Name)
			size *= g.Variables[v].States
		}
		last := g.Variables[pick[k-1]]
		table := r.Float64() < sh.tables && !of[last.Name]
		at := make([]float64, size)
		for e := range at {
			at[e] = 0.05 + r.Float64()
			if r.Float64() < sh.zeros {
				at[e] = 0
			}
		}
		for row := 0; row < size; row += last.States {
			sum := 0.0
			for s := range last.States {
				sum += at[row+s]
			}
			if sum == 0 {
				at[row+r.IntN(last.States)], sum = 1, 1
			}
			if table {
				for s := range last.States {
					at[row+s] /= sum
				}
			}
		}
		if table {
			f.Of = last.Name
			of[f.Of] = true
		}
		f.Low, f.High = slices.Clone(at), slices.Clone(at)
		for e, x := range at {
			if sh.width > 0 && r.Float64() < sh.wide {
				f.Low[e] = x * (1 - sh.width*r.Float64())
				f.High[e] = x * (1 + sh.width*r.Float64())
				if r.Float64() < sh.zeros {
					f.Low[e] = 0
				}
			}
		}
		g.Factors = append(g.Factors, f)
		p = append(p, at)
	}
	return g, p
}

// view draws exact observations, at most one of a variable, that some values
// fit.
func (sh shape) view(r *rand.Rand, g *Graph) []Observation {
	var view []Observation
	for i, v := range g.Variables {
		if r.IntN(2) == 0 {
			continue
		}
		o := Observation{Var: i, Low: make([]float64, v.States), Peak: make([]float64, v.States)}
		keep := r.IntN(v.States)
		kind := r.IntN(3)
		for s := range o.Low {
			m := weight(&v, s)
			switch k := float64(r.IntN(int(m) + 1)); {
			case kind == 0: // a noisy release
				o.Low[s] = r.Float64()
				o.Peak[s] = o.Low[s]
			case s == keep && k == 0 || r.IntN(3) == 0:
				o.Low[s], o.Peak[s] = 1, 1
			case s == keep || kind == 2 && k > 0:
				o.Low[s], o.Peak[s] = k/m, 1
			}
		}
		view = append(view, o)
	}
	return view
}

// choices lists, factor by factor, the independent parts of its table with
// their extreme points: entries of a potential, rows of a conditional table.
type choice struct {
	factor, at int         // first entry
	ends       [][]float64 // values from there on
}

func choices(g *Graph) []choice {
	var all []choice
	states := map[string]int{}
	for _, v := range g.Variables {
		states[v.Name] = v.States
	}
	for f, in := range g.Factors {
		if in.Of == "" {
			for e := range in.Low {
				if in.Low[e] != in.High[e] {
					all = append(all, choice{f, e, [][]float64{{in.Low[e]}, {in.High[e]}}})
				}
			}
			continue
		}
		n := states[in.Of] // random tables are Of their last variable
		for row := 0; row < len(in.Low); row += n {
			if !slices.Equal(in.Low[row:row+n], in.High[row:row+n]) {
				all = append(all, choice{f, row, extremes(in.Low[row:row+n], in.High[row:row+n])})
			}
		}
	}
	return all
}

// extremes enumerates the vertices of a box cut with the simplex: all entries
// but one at an end.
func extremes(low, high []float64) [][]float64 {
	var all [][]float64
	n := len(low)
	for free := range n {
		for ends := range 1 << n {
			if ends>>free&1 == 1 {
				continue
			}
			x := make([]float64, n)
			sum := 0.0
			for s := range x {
				if s == free {
					continue
				}
				x[s] = low[s]
				if ends>>s&1 == 1 {
					x[s] = high[s]
				}
				sum += x[s]
			}
			x[free] = 1 - sum
			if x[free] < low[free]-1e-12 || x[free] > high[free]+1e-12 {
				continue
			}
			x[free] = math.Max(low[free], math.Min(high[free], x[free]))
			if !slices.ContainsFunc(all, func(y []float64) bool { return slices.Equal(x, y) }) {
				all = append(all, x)
			}
		}
	}
	return all
}

// set puts the i-th end of c into p.
func (p point) set(c choice, i int) { copy(p[c.factor][c.at:], c.ends[i]) }

func (p point) clone() point {
	q := make(point, len(p))
	for i := range p {
		q[i] = slices.Clone(p[i])
	}
	return q
}

// mix sets every part of p to a random mixture of its extreme points.
func (p point) mix(cs []choice, r *rand.Rand) {
	for _, c := range cs {
		w := make([]float64, len(c.ends))
		sum := 0.0
		for i := range w {
			w[i] = r.ExpFloat64()
			sum += w[i]
		}
		for k := range c.ends[0] {
			x := 0.0
			for i, e := range c.ends {
				x += w[i] / sum * e[k]
			}
			p[c.factor][c.at+k] = x
		}
	}
}

// climb searches for a point at which the view tells much about variable v,
// part by part from random vertices, and returns the bits.
func climb(g *Graph, p point, view []Observation, v, starts int, r *rand.Rand) float64 {
	cs := choices(g)
	best := math.Inf(-1)
	for range starts {
		q := p.clone()
		for _, c := range cs {
			q.set(c, r.IntN(len(c.ends)))
		}
		at := math.Inf(-1)
		if bits, ok := enumerate(g, q, view); ok {
			at = bits[v]
		}
		for again := true; again; {
			again = false
			for _, c := range cs {
				n := len(c.ends[0])
				was := slices.Clone(q[c.factor][c.at : c.at+n])
				for i := range c.ends {
					q.set(c, i)
					if bits, ok := enumerate(g, q, view); ok && bits[v] > at+1e-9 {
						at, again = bits[v], true
						was = slices.Clone(c.ends[i])
					}
				}
				copy(q[c.factor][c.at:], was)
			}
		}
		best = math.Max(best, at)
	}
	return best
}
