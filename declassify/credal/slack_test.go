package credal

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ends is the bound of OCELOT's Lemma 2: upper potentials for the state, lower
// ones for all others.
func ends(g *Graph, view []Observation, v int) float64 {
	var low, high point
	for _, f := range g.Factors {
		low, high = append(low, f.Low), append(high, f.High)
	}
	before, after := masses(g, low, nil, v), masses(g, high, nil, v)
	lowSeen, highSeen := masses(g, low, view, v), masses(g, high, view, v)
	var post, prior float64
	for s := range before {
		var rest, all float64
		for o := range before {
			if o != s {
				rest += lowSeen[o]
				all += after[o]
			}
		}
		post = max(post, highSeen[s]/(highSeen[s]+rest))
		prior = max(prior, before[s]/(before[s]+all))
	}
	return math.Log2(post / prior)
}

// masses sums the product of all factors and likelihoods by the state of v.
func masses(g *Graph, p point, view []Observation, v int) []float64 {
	sum := make([]float64, g.Variables[v].States)
	walk(g, p, func(states []int, w float64) {
		for _, o := range view {
			w *= o.Low[states[o.Var]]
		}
		sum[states[v]] += w
	})
	return sum
}

// sample is what the slack is measured on.
type sample struct {
	name       string
	draw       func(r *rand.Rand) (Graph, point, []Observation)
	mean, most float64 // generous limits in bits
}

func drawn(sh shape) func(r *rand.Rand) (Graph, point, []Observation) {
	return func(r *rand.Rand) (Graph, point, []Observation) {
		g, p := sh.random(r)
		return g, p, sh.view(r, &g)
	}
}

// line is a rubric graph, each field after k others, every entry ±10 %.
func line(k int) func(r *rand.Rand) (Graph, point, []Observation) {
	return func(r *rand.Rand) (Graph, point, []Observation) {
		g := rubric(5, 3, k, r)
		var p point
		for _, f := range g.Factors {
			x := make([]float64, len(f.Low))
			for e := range x {
				x[e] = f.Low[e] / 0.9
			}
			p = append(p, x)
		}
		return g, p, shape{}.view(r, &g)
	}
}

var samples = []sample{
	{"graph=line/treewidth=1/width=10%", line(1), 0.4, 1.2},
	{"graph=line/treewidth=2/width=10%", line(2), 0.4, 1.5},
	{"graph=tables/width=5%", drawn(shape{vars: 5, states: 3, factors: 7, width: 0.05, wide: 1, tables: 1}), 0.15, 1},
	{"graph=tables/width=20%", drawn(shape{vars: 5, states: 3, factors: 7, width: 0.2, wide: 1, tables: 1}), 0.4, 1.5},
	{"graph=potentials/width=5%", drawn(shape{vars: 5, states: 3, factors: 7, width: 0.05, wide: 1}), 0.2, 1},
	{"graph=potentials/width=20%", drawn(shape{vars: 5, states: 3, factors: 7, width: 0.2, wide: 1}), 0.5, 1.8},
}

// slack draws a graph, a view and a variable, and returns what a search of the
// credal set finds, how far the bound is above that, and how far the bound of
// ends is.
func (sm *sample) slack(t testing.TB, r *rand.Rand) (bits, ours, theirs float64) {
	g, p, view := sm.draw(r)
	tree, err := Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tree.Bound(view)
	if err != nil {
		t.Fatal(err)
	}
	v := r.IntN(len(g.Variables))
	bits = math.Max(0, climb(&g, p, view, v, 2, r))
	if got[v] < bits-1e-9 {
		t.Fatalf("bound %v below %v", got[v], bits)
	}
	return bits, got[v] - bits, ends(&g, view, v) - bits
}

// TestSlack: the bound is not vacuous, and tighter than the paper's.
func TestSlack(t *testing.T) {
	for _, sm := range samples {
		t.Run(sm.name, func(t *testing.T) {
			const n = 15
			r := rand.New(rand.NewPCG(5, 6))
			var found, sum, paper, most float64
			for range n {
				bits, ours, theirs := sm.slack(t, r)
				found += bits / n
				sum += ours / n
				paper += theirs / n
				most = math.Max(most, ours)
			}
			t.Logf("slack: mean %.3f, most %.3f bits (product of ends: mean %.3f) above %.3f", sum, most, paper, found)
			if sum > sm.mean || most > sm.most || sum > paper/2 {
				t.Errorf("slack: mean %.3f, most %.3f bits, product of ends %.3f", sum, most, paper)
			}
		})
	}
}

// BenchmarkSlack reports the same as metrics.
func BenchmarkSlack(b *testing.B) {
	for _, sm := range samples {
		b.Run(sm.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(7, 8))
			var found, sum, paper, most float64
			n := 0.0
			for b.Loop() {
				bits, ours, theirs := sm.slack(b, r)
				found += bits
				sum += ours
				paper += theirs
				most = math.Max(most, ours)
				n++
			}
			b.ReportMetric(found/n, "found-bits")
			b.ReportMetric(sum/n, "slack-bits")
			b.ReportMetric(most, "most-slack-bits")
			b.ReportMetric(paper/n, "ends-slack-bits")
		})
	}
}
