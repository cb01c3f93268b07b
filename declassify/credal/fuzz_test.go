package credal

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
)

// tape reads a graph and a view from bytes; past its end it gives zeros.
type tape []byte

func (b *tape) next(n int) int {
	if len(*b) == 0 {
		return 0
	}
	x := int((*b)[0]) % n
	*b = (*b)[1:]
	return x
}

// entries are what fuzzed potentials are made of.
var entries = []float64{0, 1, 0.5, 0.25, 3, 1e-3, 1e-9, 1e-40, 1e40, 0.1, 0.7}

func (b *tape) graph() (Graph, point) {
	var g Graph
	var p point
	for i := range 1 + b.next(4) {
		v := Variable{Name: "v" + strconv.Itoa(i), States: 1 + b.next(3)}
		if b.next(3) == 0 {
			for range v.States {
				v.Members = append(v.Members, []float64{1, 2, 7, 1e9}[b.next(4)])
			}
		}
		g.Variables = append(g.Variables, v)
	}
	var of uint64
	for range b.next(5) {
		var f Factor
		size, last := 1, 0
		for range 1 + b.next(3) {
			v := b.next(len(g.Variables))
			name := g.Variables[v].Name
			if slices.Contains(f.Vars, name) {
				continue
			}
			f.Vars = append(f.Vars, name)
			size *= g.Variables[v].States
			last = v
		}
		f.Low, f.High = make([]float64, size), make([]float64, size)
		at := make([]float64, size)
		for e := range at {
			at[e] = entries[b.next(len(entries))]
		}
		n := g.Variables[last].States
		if b.next(2) == 0 && of&(1<<last) == 0 {
			of |= 1 << last
			f.Of = g.Variables[last].Name
			for row := 0; row < size; row += n {
				sum := 0.0
				for _, x := range at[row : row+n] {
					sum += x
				}
				if sum == 0 {
					at[row], sum = 1, 1
				}
				for s := range n {
					at[row+s] /= sum
				}
			}
		}
		for e, x := range at {
			f.Low[e], f.High[e] = x, x
			switch b.next(4) {
			case 1:
				f.Low[e] = 0
			case 2:
				f.Low[e], f.High[e] = x*0.9, x*1.25
			case 3:
				f.High[e] = x + 0.1
			}
		}
		g.Factors = append(g.Factors, f)
		p = append(p, at)
	}
	return g, p
}

// view may observe a variable more than once; exact has what that comes to
// where states are whole or seen once.
func (b *tape) view(g *Graph) (view, exact []Observation) {
	at := map[int]int{}
	for range b.next(6) {
		v := b.next(len(g.Variables))
		n := g.Variables[v].States
		o := Observation{Var: v, Low: make([]float64, n), Peak: make([]float64, n)}
		k, again := at[v]
		for s := range n {
			x := []float64{1, 0, 0.5, 1e-9}[b.next(4)]
			if again && x != 0 {
				x = 1
			}
			o.Low[s], o.Peak[s] = x, x
		}
		view = append(view, o)
		if !again {
			at[v] = len(exact)
			exact = append(exact, Observation{Var: v, Low: slices.Clone(o.Low)})
			continue
		}
		for s := range n {
			exact[k].Low[s] *= o.Low[s]
		}
	}
	return view, exact
}

// FuzzBound: whatever the graph and the view, no panic, no bound that is not a
// number or is negative, and none below what points of the credal set have.
func FuzzBound(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 2, 0, 0, 0, 1, 1, 1, 0, 1, 1, 2, 3, 4, 1, 2, 2, 2, 2, 0, 1, 1, 0, 0, 0, 1})
	f.Add([]byte("\x03\x02\x01\x02\x01\x02\x01\x02\x01\x04\x01\x00\x01\x01\x02\x03\x04\x01\x02\x03\x04\x01\x02\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := tape(data)
		g, p := b.graph()
		view, exact := b.view(&g)
		tree, err := Compile(g)
		if err != nil {
			return
		}
		got, err := tree.Bound(view)
		if err != nil && !errors.Is(err, ErrInconsistent) {
			t.Fatal(err)
		}
		for _, x := range got {
			if !(x >= 0) || math.IsInf(x, 0) {
				t.Fatalf("bounds %v", got)
			}
		}
		points := []point{p}
		low, high := p.clone(), p.clone()
		for i, in := range g.Factors {
			if in.Of == "" {
				copy(low[i], in.Low)
				copy(high[i], in.High)
			}
		}
		for _, q := range append(points, low, high) {
			bits, ok := enumerate(&g, q, exact)
			if !ok {
				continue
			}
			if err != nil {
				t.Fatalf("a view that is possible: %v", err)
			}
			for v, x := range bits {
				if got[v] < x-1e-9 {
					t.Fatalf("variable %d: bound %v, a point has %v", v, got[v], x)
				}
			}
		}
	})
}
