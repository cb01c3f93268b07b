package credal

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// pairs is a graph of n variables with a potential for each edge.
func pairs(n, states int, edges [][2]int) Graph {
	var g Graph
	for i := range n {
		g.Variables = append(g.Variables, Variable{Name: "v" + strconv.Itoa(i), States: states})
	}
	for _, e := range edges {
		f := Factor{Vars: []string{g.Variables[e[0]].Name, g.Variables[e[1]].Name}, Low: make([]float64, states*states)}
		for i := range f.Low {
			f.Low[i] = float64(1 + i%3)
		}
		g.Factors = append(g.Factors, f)
	}
	return g
}

func path(n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{i - 1, i})
	}
	return edges
}

func grid(w, h int) (edges [][2]int) {
	for y := range h {
		for x := range w {
			if x > 0 {
				edges = append(edges, [2]int{y*w + x - 1, y*w + x})
			}
			if y > 0 {
				edges = append(edges, [2]int{y*w + x - w, y*w + x})
			}
		}
	}
	return edges
}

// ktree joins each variable past the first k to k that are joined to one
// another already.
func ktree(n, k int) (edges [][2]int) {
	for i := range n {
		for j := max(0, i-k); j < i; j++ {
			edges = append(edges, [2]int{j, i})
		}
	}
	return edges
}

func TestTreewidth(t *testing.T) {
	for _, tt := range []struct {
		name  string
		n     int
		edges [][2]int
		want  int
	}{
		{"alone", 3, nil, 0},
		{"path", 12, path(12), 1},
		{"star", 20, [][2]int{{0, 1}, {0, 2}, {0, 3}, {4, 0}, {5, 0}}, 1},
		{"cycle", 12, append(path(12), [2]int{11, 0}), 2},
		{"two cycles", 6, [][2]int{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}}, 2},
		{"grid 3x3", 9, grid(3, 3), 3},
		{"grid 3x6", 18, grid(3, 6), 3},
		{"grid 4x4", 16, grid(4, 4), 4},
		{"2-tree", 14, ktree(14, 2), 2},
		{"3-tree", 14, ktree(14, 3), 3},
		{"4-tree", 14, ktree(14, 4), 4},
		{"K5", 5, ktree(5, 4), 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := Compile(pairs(tt.n, 2, tt.edges))
			if err != nil {
				t.Fatal(err)
			}
			if tree.Treewidth() != tt.want {
				t.Errorf("treewidth %d, want %d", tree.Treewidth(), tt.want)
			}
			running(t, tree)
		})
	}
}

// running checks that the cliques with a variable are connected, and that each
// component is a tree.
func running(t *testing.T, tree *Tree) {
	t.Helper()
	for v := range tree.vars {
		nodes, links := 0, 0
		for _, c := range tree.cliques {
			if c.set&(1<<v) != 0 {
				nodes++
			}
		}
		for _, e := range tree.edges {
			if tree.cliques[e.from].set&tree.cliques[e.to].set&(1<<v) != 0 {
				links++
			}
		}
		if links != 2*(nodes-1) {
			t.Errorf("variable %d is in %d cliques with %d links", v, nodes, links/2)
		}
	}
}

func TestComponents(t *testing.T) {
	tree, err := Compile(pairs(6, 2, [][2]int{{0, 4}, {4, 2}, {5, 1}}))
	if err != nil {
		t.Fatal(err)
	}
	got := tree.Components()
	if len(got) != 3 || len(got[0]) != 3 || got[0][1] != 2 || got[0][2] != 4 || got[1][1] != 5 || got[2][0] != 3 {
		t.Errorf("components %v", got)
	}
	if i, ok := tree.Index("v4"); i != 4 || !ok {
		t.Errorf("index %d %v", i, ok)
	}
	if _, ok := tree.Index("v6"); ok {
		t.Error("found a variable that is not there")
	}
}

func TestRefusals(t *testing.T) {
	two := func(f func(g *Graph)) Graph {
		g := pairs(2, 2, [][2]int{{0, 1}})
		f(&g)
		return g
	}
	for _, tt := range []struct {
		name  string
		g     Graph
		error string
	}{
		{"empty", Graph{}, "without variables"},
		{"more than 64", pairs(65, 2, nil), "too many variables: 65"},
		{"no name", two(func(g *Graph) { g.Variables[0].Name = "" }), "no name"},
		{"duplicate", two(func(g *Graph) { g.Variables[1].Name = "v0" }), `"v0" is declared twice`},
		{"no states", two(func(g *Graph) { g.Variables[1].States = 0 }), `"v1" has no states`},
		{"states", two(func(g *Graph) { g.Variables[1].States = 5000 }), `"v1" has 5000 states`},
		{"members", two(func(g *Graph) { g.Variables[1].Members = []float64{1} }), `"v1" has 2 states and members of 1`},
		{"no members", two(func(g *Graph) { g.Variables[1].Members = []float64{1, 0} }), "0 members"},
		{"NaN members", two(func(g *Graph) { g.Variables[1].Members = []float64{1, math.NaN()} }), "NaN members"},
		{"unknown", two(func(g *Graph) { g.Factors[0].Vars[1] = "w" }), `unknown variable "w"`},
		{"twice", two(func(g *Graph) { g.Factors[0].Vars[1] = "v0" }), `variable "v0" twice`},
		{"scope", two(func(g *Graph) { g.Factors[0].Vars = nil }), "no variables"},
		{"size", two(func(g *Graph) { g.Factors[0].Low = g.Factors[0].Low[1:] }), "3 low and 3 high entries, want 4"},
		{"size of high", two(func(g *Graph) { g.Factors[0].High = []float64{1} }), "4 low and 1 high"},
		{"low above high", two(func(g *Graph) { g.Factors[0].High = []float64{9, 1, 9, 9} }), "entry 1: low is greater"},
		{"negative", two(func(g *Graph) { g.Factors[0].Low[2] = -1 }), "entry 2 is negative"},
		{"NaN", two(func(g *Graph) { g.Factors[0].Low[3] = math.NaN() }), "entry 3 is not a number"},
		{"infinite", two(func(g *Graph) { g.Factors[0].Low[3] = math.Inf(1) }), "entry 3: high is out of range"},
		{"zero row", two(func(g *Graph) { g.Factors[0].Low = []float64{1, 0, 1, 0} }), `zero for state 1 of "v1"`},
		{"row sum", two(func(g *Graph) { g.Factors[0].Of, g.Factors[0].Low = "v1", []float64{.5, .5, .5, .6} }), "row 1 can't sum to one"},
		{"of another", two(func(g *Graph) { g.Factors[0].Of = "w" }), `a table of "w"`},
		{"two tables", two(func(g *Graph) {
			f := Factor{Vars: []string{"v0"}, Of: "v0", Low: []float64{.5, .5}}
			g.Factors = append(g.Factors, f, f)
		}), `a second table of variable "v0"`},
		{"impossible state", two(func(g *Graph) {
			g.Factors[0].Low = []float64{1, 0, 0, 1}
			g.Factors = append(g.Factors, Factor{Vars: []string{"v0", "v1"}, Low: []float64{0, 1, 1, 1}})
		}), `state 0 of variable "v0" has probability zero`},
		{"treewidth", pairs(6, 2, ktree(6, 5)), `the clique {"v0", "v1", "v2", "v3", "v4", "v5"} has 6 variables, at most 5`},
		{"clique states", pairs(5, 6, ktree(5, 4)), `the clique {"v0", "v1", "v2", "v3", "v4"} has more than 4096 states`},
		{"factor states", pairs(2, 65, [][2]int{{0, 1}}), "more than 4096 states"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile(tt.g)
			if err == nil || !strings.Contains(err.Error(), tt.error) {
				t.Errorf("error %v, want %q", err, tt.error)
			}
		})
	}
	if _, err := Compile(pairs(5, 5, ktree(5, 4))); err != nil {
		t.Errorf("3125 states: %v", err)
	}
	if _, err := Compile(pairs(2, 64, [][2]int{{0, 1}})); err != nil {
		t.Errorf("4096 states: %v", err)
	}
}
