package credal

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// one is a graph of one variable with as many values in each state as told.
func one(t *testing.T, members ...float64) *Tree {
	t.Helper()
	tree, err := Compile(Graph{Variables: []Variable{{Name: "dob", States: len(members), Members: members}}})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func near9(a, b float64) bool { return a >= b-1e-12 && a <= b+1e-9 }

// TestMembers: a state that stands for many values has their entropy.
func TestMembers(t *testing.T) {
	tree := one(t, 365, 365, 366, 365)
	for _, tt := range []struct {
		name string
		left []float64
		want float64
	}{
		{"nothing", []float64{365, 365, 366, 365}, 0},
		{"a year", []float64{0, 0, 366, 0}, math.Log2(1461. / 366)},
		{"a month", []float64{31, 0, 0, 0}, math.Log2(1461. / 31)},
		{"a day of any year", []float64{1, 1, 1, 1}, math.Log2(1461. / 4)},
		{"the value", []float64{0, 1, 0, 0}, math.Log2(1461)},
	} {
		o, err := tree.Left(0, tt.left)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tree.Bound([]Observation{o})
		if err != nil || !near9(got[0], tt.want) {
			t.Errorf("%s: %v bits, %v, want %v", tt.name, got, err, tt.want)
		}
	}
	if _, err := tree.Left(0, []float64{366, 0, 0, 0}); err == nil {
		t.Error("more members left than there are")
	}
}

// TestCoarse: a dependent field, too, is told by the members that are left.
func TestCoarse(t *testing.T) {
	fine := Graph{Variables: []Variable{{Name: "a", States: 6}, {Name: "b", States: 2}}}
	coarse := Graph{Variables: []Variable{{Name: "a", States: 2, Members: []float64{4, 2}}, {Name: "b", States: 2}}}
	fine.Factors = []Factor{{Vars: []string{"a", "b"}, Of: "b", Low: []float64{.9, .1, .9, .1, .9, .1, .9, .1, .2, .8, .2, .8}}}
	coarse.Factors = []Factor{{Vars: []string{"a", "b"}, Of: "b", Low: []float64{.9, .1, .2, .8}}}
	ft, err := Compile(fine)
	if err != nil {
		t.Fatal(err)
	}
	ct, err := Compile(coarse)
	if err != nil {
		t.Fatal(err)
	}
	for one := range 5 {
		for two := range 3 {
			if one+two == 0 {
				continue
			}
			var cell []int
			for i := range one {
				cell = append(cell, i)
			}
			for i := range two {
				cell = append(cell, 4+i)
			}
			o, err := ft.Cell(0, cell...)
			if err != nil {
				t.Fatal(err)
			}
			c, err := ct.Left(0, []float64{float64(one), float64(two)})
			if err != nil {
				t.Fatal(err)
			}
			want, err := ft.Bound([]Observation{o})
			if err != nil {
				t.Fatal(err)
			}
			got, err := ct.Bound([]Observation{c})
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got[0]-want[0]) > 1e-9 || math.Abs(got[1]-want[1]) > 1e-9 {
				t.Errorf("%d and %d left: %v, with states for values %v", one, two, got, want)
			}
		}
	}
}

// TestSeveral: observations of one variable are intersected, and taken at their
// worst where it is not known how they meet.
func TestSeveral(t *testing.T) {
	tree := one(t, 1, 1, 1, 1)
	cell := func(states ...int) Observation {
		o, err := tree.Cell(0, states...)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	got, err := tree.Bound([]Observation{cell(0, 1, 2), cell(1, 2, 3), cell(1)})
	if err != nil || !near9(got[0], 2) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := tree.Bound([]Observation{cell(0, 1), cell(2, 3)}); !errors.Is(err, ErrInconsistent) {
		t.Errorf("cells that do not meet: %v", err)
	}
	if _, err := tree.Bound([]Observation{cell()}); !errors.Is(err, ErrInconsistent) {
		t.Errorf("no cell: %v", err)
	}
	// Of ten members, six and six: two to six are in both, so there may be as
	// little as two.
	coarse := one(t, 10)
	o, err := coarse.Left(0, []float64{6})
	if err != nil {
		t.Fatal(err)
	}
	got, err = coarse.Bound([]Observation{o, o})
	if err != nil || !near9(got[0], math.Log2(10./2)) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestInconsistent(t *testing.T) {
	g := pairs(3, 2, path(3))
	g.Factors[0].Low = []float64{1, 0, 0, 1}
	g.Factors[1].Low = []float64{0, 0, 1, 1}
	g.Factors[1].High = []float64{1, 0.5, 1, 1}
	tree, err := Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	see := func(v, s int) Observation {
		o, err := tree.Cell(v, s)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if _, err := tree.Bound([]Observation{see(0, 0), see(1, 1)}); !errors.Is(err, ErrInconsistent) {
		t.Errorf("impossible: %v", err)
	}
	// Possible under some distributions only: as great as can be, not an error.
	got, err := tree.Bound([]Observation{see(0, 0), see(2, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if !(got[0] > 0.2) || math.IsInf(got[0], 0) {
		t.Errorf("bounds %v", got)
	}
}

func TestMalformedViews(t *testing.T) {
	tree := one(t, 1, 1)
	for _, tt := range []struct {
		o     Observation
		error string
	}{
		{Observation{Var: 1, Low: []float64{1, 1}}, "no variable 1"},
		{Observation{Var: -1, Low: []float64{1, 1}}, "no variable -1"},
		{Observation{Low: []float64{1}}, "want 2"},
		{Observation{Low: []float64{1, 1}, High: []float64{1}}, "want 2"},
		{Observation{Low: []float64{1, 1}, Peak: []float64{1}}, "want 2"},
		{Observation{Low: []float64{1, math.NaN()}}, "state 1"},
		{Observation{Low: []float64{1, 1}, High: []float64{1, math.NaN()}}, "state 1"},
		{Observation{Low: []float64{-1, 1}}, "state 0"},
		{Observation{Low: []float64{1, 1}, High: []float64{1, 0.5}}, "state 1"},
		{Observation{Low: []float64{1, 1.5}}, "state 1"},
		{Observation{Low: []float64{1, 1}, Peak: []float64{1, 0.5}}, "state 1: greatest"},
		{Observation{Low: []float64{1, 1}, Peak: []float64{1, 2}}, "state 1: greatest"},
	} {
		if _, err := tree.Bound([]Observation{tt.o}); err == nil || !strings.Contains(err.Error(), tt.error) || errors.Is(err, ErrInconsistent) {
			t.Errorf("%+v: %v, want %q", tt.o, err, tt.error)
		}
	}
	if _, err := tree.Cell(0, 2); err == nil {
		t.Error("a cell of a state that is not there")
	}
	if _, err := tree.Cell(3); err == nil {
		t.Error("a cell of a variable that is not there")
	}
	if _, err := tree.Left(3, nil); err == nil {
		t.Error("members of a variable that is not there")
	}
	if _, err := tree.Left(0, nil); err == nil {
		t.Error("members of no states")
	}
}

// TestNothingSeen: an empty view tells nothing, however wide the intervals, and
// what is in no dependency with what was seen is not told about.
func TestNothingSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	sh := shape{vars: 6, states: 3, factors: 7, width: 0.9, wide: 1, zeros: 0.3, tables: 0.3}
	for range 50 {
		g, _ := sh.random(r)
		tree, err := Compile(g)
		if err != nil {
			continue
		}
		got, err := tree.Bound(nil)
		if err != nil {
			t.Fatal(err)
		}
		for v, x := range got {
			if x != 0 {
				t.Fatalf("variable %d: %v bits of an empty view", v, x)
			}
		}
		view := []Observation{{Var: 0, Low: make([]float64, tree.vars[0].States)}}
		view[0].Low[0] = 1
		got, err = tree.Bound(view)
		if err != nil {
			t.Fatal(err)
		}
		for v, x := range got {
			if !slices.Contains(tree.Components()[0], v) && x != 0 {
				t.Fatalf("variable %d: %v bits of a view of another component", v, x)
			}
		}
	}
}

// TestUnderflow: likelihoods that no double can hold are rescaled on the way.
func TestUnderflow(t *testing.T) {
	// Sixty-three fields hang on the first, each seen with a likelihood of about
	// 1e-9: one in 1e-567 in all.
	const n = 64
	for name, edges := range map[string][][2]int{"path": path(n), "star": star(n)} {
		g := Graph{Variables: pairs(n, 2, nil).Variables}
		for _, e := range edges {
			g.Factors = append(g.Factors, Factor{
				Vars: []string{g.Variables[e[0]].Name, g.Variables[e[1]].Name}, Of: g.Variables[e[1]].Name,
				Low: []float64{0.51, 0.49, 0.5, 0.5},
			})
		}
		tree, err := Compile(g)
		if err != nil {
			t.Fatal(err)
		}
		var view []Observation
		for v := 1; v < n; v++ {
			view = append(view, Observation{Var: v, Low: []float64{1.1e-9, 1e-9}})
		}
		got, err := tree.Bound(view)
		if err != nil {
			t.Fatal(err)
		}
		if name != "star" {
			if !(got[0] > 0) || got[0] > 0.1 {
				t.Errorf("%s: %v bits", name, got[0])
			}
			continue
		}
		ratio := math.Pow((0.51*1.1+0.49)/(0.5*1.1+0.5), n-1)
		if want := math.Log2(2 * ratio / (ratio + 1)); !near9(got[0], want) {
			t.Errorf("%s: %v bits, want %v", name, got[0], want)
		}
	}
}

// TestExtremes: what is all but impossible by its likelihood is still possible,
// and evidence that cancels out is not lost.
func TestExtremes(t *testing.T) {
	const n = 64
	g := Graph{Variables: pairs(n, 2, nil).Variables}
	for _, e := range star(n) {
		g.Factors = append(g.Factors, Factor{
			Vars: []string{g.Variables[e[0]].Name, g.Variables[e[1]].Name}, Of: g.Variables[e[1]].Name,
			Low: []float64{1, 0, 0, 1},
		})
	}
	tree, err := Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	view := []Observation{{Var: 0, Low: []float64{0, 1}}}
	for v := 1; v < 9; v++ {
		view = append(view, Observation{Var: v, Low: []float64{1, 1e-100}})
	}
	got, err := tree.Bound(view)
	if err != nil || !near9(got[0], 1) || !near9(got[n-1], 1) {
		t.Errorf("%v, %v, want 1 bit", got, err)
	}
	view = []Observation{{Var: 1, Low: []float64{1, 0.5}}}
	for v := 2; v+1 < n; v += 2 {
		view = append(view, Observation{Var: v, Low: []float64{1, 1e-30}}, Observation{Var: v + 1, Low: []float64{1e-30, 1}})
	}
	got, err = tree.Bound(view)
	if want := math.Log2(4. / 3); err != nil || !near9(got[0], want) || !near9(got[n-1], want) {
		t.Errorf("%v, %v, want %v bits", got, err, want)
	}
}

func star(n int) (edges [][2]int) {
	for i := 1; i < n; i++ {
		edges = append(edges, [2]int{0, i})
	}
	return edges
}

// TestSameBits: the same graph and view give the same bits, on this machine's
// processor as on any other; the order of map iteration, fused operations or
// another logarithm would change some.
func TestSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	h := uint64(14695981039346656037)
	for _, k := range []int{1, 2, 3, 4} {
		g := rubric(8, 3, k, r)
		tree, err := Compile(g)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Compile(g)
		if err != nil {
			t.Fatal(err)
		}
		s := tree.NewScratch()
		for range 20 {
			view := cells(tree, r)
			got, err := s.Bound(view)
			if err != nil {
				t.Fatal(err)
			}
			other, err := again.Bound(view)
			if err != nil || !slices.Equal(got, other) {
				t.Fatalf("%v, then %v, %v", got, other, err)
			}
			for _, x := range got {
				h = (h ^ math.Float64bits(x)) * 1099511628211
			}
		}
	}
	const want = 0xcea972a4c27d620d
	if h != want {
		t.Errorf("bits %#x, want %#x: if the computation was changed on purpose, change this", h, uint64(want))
	}
}

func TestNoAllocations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tree, err := Compile(rubric(8, 3, 3, r))
	if err != nil {
		t.Fatal(err)
	}
	view, s := cells(tree, r), tree.NewScratch()
	if n := testing.AllocsPerRun(20, func() {
		if _, err := s.Bound(view); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLog2 holds the logarithm to the standard library's.
func TestLog2(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100000 {
		x := math.Exp(r.Float64()*1000 - 500)
		if d := math.Abs(log2(x) - math.Log2(x)); d > 0x1p-42 {
			t.Fatalf("log2(%v) is off by %v", x, d)
		}
		x = 1 + r.Float64()*1e-6
		if d := math.Abs(log2(x) - math.Log1p(x-1)/math.Ln2); d > 0x1p-48 {
			t.Fatalf("log2(%v) is off by %v", x, d)
		}
	}
}

// TestAverage: the range of an average over a box of weights, against all its
// vertices.
func TestAverage(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for range 3000 {
		n, tight := 1+r.IntN(8), r.IntN(3) == 0
		up, low, g := make([]float64, n), make([]float64, n), make([]float64, n)
		row := make([]entry, n)
		var sumUp, sumLow float64
		for i := range g {
			g[i] = math.Exp(-20 * r.Float64() * float64(r.IntN(2)))
			if tight {
				g[i] = 1 - 1e-6*r.Float64()
			}
			up[i] = 0.01 + r.Float64()
			low[i] = up[i] * r.Float64() * float64(min(1, r.IntN(4)))
			row[i] = entry{up[i], low[i], i}
			sumUp += up[i]
			sumLow += low[i]
		}
		sum := totals(sumUp, sumLow, n)
		b, spans := box{up: g, low: g}, make([]span, n)
		hi, lo := average(row, spans, b.load(row, spans), &sum)
		top, bottom := 0.0, math.Inf(1)
		for ends := range 1 << n {
			var num, den float64
			for i := range g {
				w := low[i]
				if ends>>i&1 == 1 {
					w = up[i]
				}
				num += w * g[i]
				den += w
			}
			if den > 0 {
				top, bottom = max(top, num/den), min(bottom, num/den)
			}
		}
		if hi < top*(1-1e-15) || lo > bottom*(1+1e-15) {
			t.Fatalf("[%v,%v], but [%v,%v]", lo, hi, bottom, top)
		}
		if sumLow > 0.01*sumUp && (hi > top*1.05 || lo < bottom*0.95-1e-9) {
			t.Fatalf("[%v,%v] is far from [%v,%v] (%v %v %v)", lo, hi, bottom, top, up, low, g)
		}
	}
}
