package measure

import (
	"go/types"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// exactFiles is the number of files in one circle up to which the order with
// the fewest arrows back is found exactly.
const exactFiles = 20

// Arrows are the references between the files of one package. One arrow is one
// use of a package-level name or a method that another file declares.
type Arrows struct {
	Path  string   `json:"path"`
	Total int      `json:"total"`
	Back  int      `json:"back"`  // that run back up
	Order []string `json:"order"` // the files, from the top down, with the fewest arrows back
	Exact bool     `json:"exact"` // else there may be an order with fewer
}

// Share is the part of the arrows that run back up, in percent.
func (a Arrows) Share() float64 {
	if a.Total == 0 {
		return 0
	}
	return 100 * float64(a.Back) / float64(a.Total)
}

// ArrowsOf counts the arrows of a package.
func (l *Loader) ArrowsOf(c *Checked) Arrows {
	var names []string
	index := map[string]int{}
	for _, f := range c.Files {
		name := l.File(f.Package)
		index[name] = len(names)
		names = append(names, name)
	}
	weights := make([][]int, len(names))
	for i := range weights {
		weights[i] = make([]int, len(names))
	}
	for id, obj := range c.Info.Uses {
		if obj.Pkg() != c.Types {
			continue
		}
		if fn, ok := obj.(*types.Func); ok {
			obj = fn.Origin()
		}
		if !atTop(c.Types, obj) {
			continue
		}
		if from, to := index[l.File(id.Pos())], index[l.File(obj.Pos())]; from != to {
			weights[from][to]++
		}
	}
	order, exact := fewestBack(weights)
	a := Arrows{Path: c.Path, Exact: exact}
	place := make([]int, len(order))
	for i, f := range order {
		a.Order = append(a.Order, names[f])
		place[f] = i
	}
	for from, row := range weights {
		for to, n := range row {
			a.Total += n
			if place[to] < place[from] {
				a.Back += n
			}
		}
	}
	return a
}

// atTop: obj is a package-level name or a method.
func atTop(pkg *types.Package, obj types.Object) bool {
	if obj.Parent() == pkg.Scope() {
		return true
	}
	fn, ok := obj.(*types.Func)
	return ok && fn.Signature().Recv() != nil
}

// fewestBack orders the nodes so that the weight of the edges that run from a
// later node to an earlier one is least. Circles are ordered one by one: those
// of up to exactFiles nodes exactly, larger ones by a local search.
func fewestBack(w [][]int) (order []int, exact bool) {
	exact = true
	for _, circle := range circles(w) {
		sub := make([][]int, len(circle))
		for i, from := range circle {
			for _, to := range circle {
				sub[i] = append(sub[i], w[from][to])
			}
		}
		var in []int
		if len(circle) <= exactFiles {
			in = orderExactly(sub)
		} else {
			in, exact = orderBySearch(sub), false
		}
		for _, i := range in {
			order = append(order, circle[i])
		}
	}
	return order, exact
}

// circles are the strongly connected components, those that use others before
// those that they use (Kosaraju).
func circles(w [][]int) [][]int {
	n := len(w)
	var finished []int
	seen := make([]bool, n)
	var down func(int)
	down = func(v int) {
		seen[v] = true
		for u := range n {
			if w[v][u] > 0 && !seen[u] {
				down(u)
			}
		}
		finished = append(finished, v)
	}
	for v := range n {
		if !seen[v] {
			down(v)
		}
	}
	clear(seen)
	var out [][]int
	var up func(int, *[]int)
	up = func(v int, c *[]int) {
		seen[v] = true
		*c = append(*c, v)
		for u := range n {
			if w[u][v] > 0 && !seen[u] {
				up(u, c)
			}
		}
	}
	for _, v := range slices.Backward(finished) {
		if !seen[v] {
			var c []int
			up(v, &c)
			slices.Sort(c)
			out = append(out, c)
		}
	}
	return out
}

// orderExactly is dynamic programming over the sets of nodes that stand first.
func orderExactly(w [][]int) []int {
	n := len(w)
	const half = exactFiles / 2
	// sums[v][h][set] is the weight from v into the set of the lower or upper half.
	sums := make([][2][]int32, n)
	for v := range n {
		for h := range 2 {
			size := min(max(n-h*half, 0), half)
			sums[v][h] = make([]int32, 1<<size)
			for set := 1; set < 1<<size; set++ {
				low := bits.TrailingZeros(uint(set))
				sums[v][h][set] = sums[v][h][set&(set-1)] + int32(w[v][h*half+low])
			}
		}
	}
	into := func(v, set int) int32 { return sums[v][0][set&(1<<half-1)] + sums[v][1][set>>half] }
	const none = 1<<31 - 1
	least, last := make([]int32, 1<<n), make([]int8, 1<<n)
	for set := 1; set < 1<<n; set++ {
		least[set] = none
		for rest := set; rest > 0; rest &= rest - 1 {
			v := bits.TrailingZeros(uint(rest))
			before := set &^ (1 << v)
			if cost := least[before] + into(v, before); cost < least[set] {
				least[set], last[set] = cost, int8(v)
			}
		}
	}
	order := make([]int, n)
	for set, i := 1<<n-1, n-1; i >= 0; i-- {
		order[i] = int(last[set])
		set &^= 1 << last[set]
	}
	return order
}

// orderBySearch moves nodes as long as a move saves something, from several
// starts that a fixed seed draws.
func orderBySearch(w [][]int) []int {
	n := len(w)
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same starts each time
	var best []int
	least := 0
	for range 200 {
		order := r.Perm(n)
		for moved := true; moved; {
			moved = false
			for _, v := range r.Perm(n) {
				moved = reinsert(w, order, v) || moved
			}
		}
		if cost := back(w, order); best == nil || cost < least {
			best, least = order, cost
		}
	}
	return best
}

// reinsert moves v to where it saves most, and says whether it saves anything.
func reinsert(w [][]int, order []int, v int) bool {
	from := slices.Index(order, v)
	best, to := 0, from
	for _, step := range []int{-1, 1} {
		change := 0
		for i := from + step; i >= 0 && i < len(order); i += step {
			u := order[i]
			change += step * (w[v][u] - w[u][v]) // where v comes to stand below u, v's arrow to u runs back
			if change < best {
				best, to = change, i
			}
		}
	}
	if to == from {
		return false
	}
	copy(order[from:], order[from+1:])
	copy(order[to+1:], order[to:len(order)-1])
	order[to] = v
	return true
}

func back(w [][]int, order []int) (cost int) {
	for i, v := range order {
		for _, u := range order[:i] {
			cost += w[v][u]
		}
	}
	return cost
}
