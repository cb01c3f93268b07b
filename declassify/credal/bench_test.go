package credal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

// rubric is a graph as rubrics have them: each variable has a conditional
// table with intervals of ±10 %, given the k before it.
func rubric(n, states, k int, r *rand.Rand) Graph {
	var g Graph
	for i := range n {
		g.Variables = append(g.Variables, Variable{Name: "v" + strconv.Itoa(i), States: states})
		f := Factor{Of: g.Variables[i].Name}
		size := 1
		for j := max(0, i-k); j <= i; j++ {
			f.Vars = append(f.Vars, g.Variables[j].Name)
			size *= states
		}
		for range size / states {
			row := make([]float64, states)
			sum := 0.0
			for s := range row {
				row[s] = 0.05 + r.Float64()
				sum += row[s]
			}
			for _, x := range row {
				f.Low = append(f.Low, 0.9*x/sum)
				f.High = append(f.High, 1.1*x/sum)
			}
		}
		g.Factors = append(g.Factors, f)
	}
	return g
}

// cells observes half of the variables: cells of at least one state.
func cells(t *Tree, r *rand.Rand) []Observation {
	var view []Observation
	for v := range t.vars {
		if r.IntN(2) == 0 {
			continue
		}
		o := Observation{Var: v, Low: make([]float64, t.vars[v].States)}
		for s := range o.Low {
			o.Low[s] = float64(r.IntN(2))
		}
		o.Low[r.IntN(len(o.Low))] = 1
		view = append(view, o)
	}
	return view
}

func BenchmarkBound(b *testing.B) {
	for _, size := range []struct{ n, width, states int }{
		{12, 1, 8},
		{12, 1, 64},
		{12, 2, 6},
		{12, 2, 16},
		{12, 3, 4},
		{12, 3, 8},
		{12, 4, 3},
		{12, 4, 4},
		{12, 4, 5},
	} {
		b.Run(fmt.Sprintf("treewidth=%d/states=%d", size.width, size.states), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			tree, err := Compile(rubric(size.n, size.states, size.width, r))
			if err != nil {
				b.Fatal(err)
			}
			if tree.Treewidth() != size.width {
				b.Fatalf("treewidth %d", tree.Treewidth())
			}
			views := make([][]Observation, 64)
			for i := range views {
				views[i] = cells(tree, r)
			}
			s := tree.NewScratch()
			took := make([]time.Duration, 0, 1<<16)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				start := time.Now()
				if _, err := s.Bound(views[i%len(views)]); err != nil {
					b.Fatal(err)
				}
				if len(took) < cap(took) {
					took = append(took, time.Since(start))
				}
				i++
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	g := rubric(12, 4, 4, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(g); err != nil {
			b.Fatal(err)
		}
	}
}
