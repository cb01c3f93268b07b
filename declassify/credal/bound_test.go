package credal

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// source draws from a seed of rapid's.
func source(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}

// TestDegenerateIsExact: with intervals of width zero, the bound is what
// enumeration finds.
func TestDegenerateIsExact(t *testing.T) {
	seen, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		sh := shape{
			vars: 1 + r.IntN(5), states: 2 + r.IntN(3), factors: r.IntN(8), members: true,
			tables: []float64{0, 0.5, 1}[r.IntN(3)], zeros: []float64{0, 0.2}[r.IntN(2)],
		}
		g, p := sh.random(r)
		tree, err := Compile(g)
		if err != nil {
			if sh.zeros > 0 {
				t.Skip("an impossible state")
			}
			t.Fatal(err)
		}
		tried++
		view := sh.view(r, &g)
		want, ok := enumerate(&g, p, view)
		got, err := tree.Bound(view)
		if !ok {
			if !errors.Is(err, ErrInconsistent) {
				t.Fatalf("impossible view: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for v, w := range want {
			w = math.Max(w, 0)
			if got[v] < w-1e-12 || got[v] > w+1e-9 {
				t.Fatalf("variable %d: bound %v, exactly %v", v, got[v], w)
			}
		}
	})
	if 2*seen < tried || tried == 0 {
		t.Errorf("only %d possible views of %d", seen, tried)
	}
}

// TestBoundsVertices: with intervals, the bound is at least what any vertex of
// the credal set gives, and what points within it do.
func TestBoundsVertices(t *testing.T) {
	seen, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := source(t)
		for range 20 {
			if tried++; checkVertices(t, r) {
				seen++
			}
		}
	})
	if seen < tried/4 {
		t.Errorf("only %d of %d graphs were possible", seen, tried)
	}
}

// checkVertices reports whether the graph that it drew has a possible view.
func checkVertices(t *rapid.T, r *rand.Rand) bool {
	sh := shape{
		vars: 2 + r.IntN(3), states: 2 + r.IntN(2), factors: 2 + r.IntN(4), members: true,
		width: []float64{0.1, 0.5, 1}[r.IntN(3)], wide: 0.3, tables: []float64{0, 0.5, 1}[r.IntN(3)], zeros: []float64{0, 0.2}[r.IntN(2)],
	}
	g, p := sh.random(r)
	cs := choices(&g)
	tree, err := Compile(g)
	if err != nil {
		if sh.zeros == 0 {
			t.Fatal(err)
		}
		return false // an impossible state
	}
	view := sh.view(r, &g)
	got, bad := tree.Bound(view)
	if bad != nil && !errors.Is(bad, ErrInconsistent) {
		t.Fatal(bad)
	}
	check := func(q point) {
		bits, ok := enumerate(&g, q, view)
		if !ok {
			return
		}
		if bad != nil {
			t.Fatalf("a view that is possible: %v", bad)
		}
		for v, b := range bits {
			if got[v] < b-1e-12 {
				t.Fatalf("variable %d: bound %v, a point has %v", v, got[v], b)
			}
		}
	}
	total := 1
	for _, c := range cs {
		total = min(total*len(c.ends), 1<<20)
	}
	if total <= 512 {
		for i := range total {
			q := p.clone()
			for _, c := range cs {
				q.set(c, i%len(c.ends))
				i /= len(c.ends)
			}
			check(q)
		}
	}
	for range 20 {
		q := p.clone()
		for _, c := range cs {
			q.set(c, r.IntN(len(c.ends)))
		}
		check(q)
		q.mix(cs, r)
		check(q)
	}
	return bad == nil
}

// TestStructures holds bounds to searches of the credal set on graphs whose
// messages are of a kind: a chain of potentials (known but for a factor), and a
// table behind a separator that holds what it is given (a distribution for each
// state of that).
func TestStructures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		factors [][]string
		tables  bool
	}{
		{"chain", [][]string{{"v0", "v1"}, {"v1", "v2"}, {"v2", "v3"}}, false},
		{"given", [][]string{{"v0"}, {"v0", "v1", "v2"}, {"v3"}, {"v3", "v0", "v1"}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			for range 40 {
				g := Graph{Variables: pairs(4, 2, nil).Variables}
				var p point
				for _, vars := range tt.factors {
					f := Factor{Vars: vars}
					for range 1 << (len(vars) - 1) {
						x, w := 0.1+0.8*r.Float64(), 0.4*r.Float64()
						f.Low = append(f.Low, x*(1-w), (1-x)*(1-w))
						f.High = append(f.High, x*(1+w), (1-x)*(1+w))
					}
					if tt.tables {
						f.Of = vars[len(vars)-1]
					}
					g.Factors = append(g.Factors, f)
					p = append(p, slices.Clone(f.Low))
				}
				tree, err := Compile(g)
				if err != nil {
					t.Fatal(err)
				}
				for seen := range 4 {
					o := Observation{Var: seen, Low: []float64{1, 0}}
					got, err := tree.Bound([]Observation{o})
					if err != nil {
						t.Fatal(err)
					}
					for v := range got {
						if found := climb(&g, p, []Observation{o}, v, 1, r); got[v] < found-1e-12 {
							t.Fatalf("seen %d: variable %d: bound %v, found %v", seen, v, got[v], found)
						}
					}
				}
			}
		})
	}
}
