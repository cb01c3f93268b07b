package population

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// States are the cells of a level, all parts together, as the states of a
// secret that others depend on.
type States struct {
	Labels []string
	pop    *Population
	sides  []side // of each part; one cell where the level keeps nothing of it
	cells  []int
	mass   []*big.Rat   // prior of each state
	size   [][]*big.Int // members of each cell, by part
	even   bool         // all values of a state are equally likely
}

// States returns a level's cells, unless they are more than most.
func (c *Chain) States(level, most int) (*States, error) {
	p := c.pop
	s := &States{pop: p, sides: slices.Clone(c.levels[level].view), cells: make([]int, len(p.parts)), even: true}
	n := 1
	for i := range s.sides {
		d := &s.sides[i]
		switch {
		case d.whole:
			return nil, errors.New("a level that keeps something as it is has no states")
		case d.of == nil:
			*d = side{of: make([]int32, len(p.parts[i].Atoms)), cells: 1, labels: []string{""}}
		}
		s.cells[i] = d.cells
		if n *= d.cells; n > most {
			return nil, fmt.Errorf("the level has more than %d cells", most)
		}
	}
	masses := make([][]*big.Rat, len(p.parts))
	for i, d := range s.sides {
		q := part{p.parts[i]}
		weights, ranks := q.weights(d.of, d.cells)
		for _, w := range weights {
			masses[i] = append(masses[i], new(big.Rat).SetFrac(new(big.Int).SetUint64(w), new(big.Int).SetUint64(q.Total)))
		}
		s.size = append(s.size, integers(d.cells))
		for a := range q.Atoms {
			k := d.of[a]
			s.size[i][k].Add(s.size[i][k], q.Atoms[a].Members)
			s.even = s.even && q.Atoms[a].Rank == ranks[k]
		}
	}
	for x := range n {
		mass := big.NewRat(1, 1)
		var names []string
		for i, k := range split(x, s.cells) {
			mass.Mul(mass, masses[i][k])
			if l := s.sides[i].labels[k]; l != "" {
				names = append(names, l)
			}
		}
		s.mass = append(s.mass, mass)
		s.Labels = append(s.Labels, strings.Join(names, ", "))
	}
	return s, nil
}

// integers returns n zeros.
func integers(n int) []*big.Int {
	out := make([]*big.Int, n)
	for i := range out {
		out[i] = new(big.Int)
	}
	return out
}

// split returns the digits of x, of which each has a base of its own; the last
// one changes fastest.
func split(x int, bases []int) []int {
	out := make([]int, len(bases))
	for i := len(bases) - 1; i >= 0; i-- {
		out[i] = x % bases[i]
		x /= bases[i]
	}
	return out
}

// Even reports whether all values of a state are equally likely.
func (s *States) Even() bool { return s.even }

// Masses returns the prior of each state.
func (s *States) Masses() []float64 {
	out := make([]float64, len(s.mass))
	for i, m := range s.mass {
		out[i], _ = m.Float64()
	}
	return out
}

// Members returns how many values each state has.
func (s *States) Members() []float64 { return s.count(s.size) }

// count returns the values of each state where each part has so many in its
// cells.
func (s *States) count(parts [][]*big.Int) []float64 {
	out := make([]float64, len(s.mass))
	for x := range out {
		n := big.NewInt(1)
		for i, k := range split(x, s.cells) {
			n.Mul(n, parts[i][k])
		}
		out[x], _ = new(big.Float).SetInt(n).Float64()
	}
	return out
}

// Left returns how many values of each state a view of a value leaves, of a
// chain over the same population. It wraps ErrOutside.
func (s *States) Left(c *Chain, level int, value string) ([]float64, error) {
	atoms, _, err := c.find(value)
	if err != nil {
		return nil, err
	}
	left := make([][]*big.Int, len(s.cells))
	for i, seen := range c.levels[level].view {
		of, at := s.sides[i].of, atoms[i]
		left[i] = integers(s.cells[i])
		for a := range s.pop.parts[i].Atoms {
			n := s.pop.parts[i].Atoms[a].Members
			switch {
			case seen.whole && a != at, seen.of != nil && at >= 0 && seen.of[a] != seen.of[at]:
				continue
			case seen.whole:
				n = big.NewInt(1)
			}
			left[i][of[a]].Add(left[i][of[a]], n)
		}
	}
	return s.count(left), nil
}

// maxKinds bounds the kinds of cells that Kinds distinguishes.
const maxKinds = 4096

// Kinds returns what a level of a chain over the same population may leave of
// the states: for each kind of cell, how many values of each state are in it.
// Of cells within one state it returns only the smallest, which discloses most.
// Where there are too many kinds, single values stand for them, which disclose
// more.
func (s *States) Kinds(c *Chain, level int) [][]float64 {
	parts, bases, n := s.kinds(c.levels[level].view)
	if n > maxKinds {
		parts, bases, n = s.kinds(s.pop.All())
	}
	out := make([][]float64, n)
	for x := range out {
		cell := make([][]*big.Int, len(parts))
		for i, k := range split(x, bases) {
			cell[i] = parts[i][k]
		}
		out[x] = s.count(cell)
	}
	return out
}

// kinds returns the kinds of cells of each part, how many each has, and how
// many there are together. It stops where they are too many.
func (s *States) kinds(v View) (parts [][][]*big.Int, bases []int, n int) {
	n = 1
	for i := 0; i < len(v) && n <= maxKinds; i++ {
		parts = append(parts, s.partKinds(i, v[i]))
		bases = append(bases, len(parts[i]))
		n *= bases[i]
	}
	return parts, bases, n
}

// partKinds are the kinds of a part's cells.
func (s *States) partKinds(i int, seen side) [][]*big.Int {
	if seen.of == nil && !seen.whole {
		return [][]*big.Int{s.size[i]}
	}
	n := s.cells[i]
	rows := make([][]*big.Int, 0, n)
	if seen.whole {
		for k := range n {
			row := integers(n)
			row[k].SetInt64(1)
			rows = append(rows, row)
		}
		return rows
	}
	rows = make([][]*big.Int, seen.cells)
	for a, c := range seen.of {
		if rows[c] == nil {
			rows[c] = integers(n)
		}
		k := s.sides[i].of[a]
		rows[c][k].Add(rows[c][k], s.pop.parts[i].Atoms[a].Members)
	}
	within := map[int]int{} // by state, the row of the smallest cell in it
	known := map[string]bool{}
	var out [][]*big.Int
	for _, row := range rows {
		if row == nil {
			continue
		}
		at, states := 0, 0
		for k := range row {
			if row[k].Sign() > 0 {
				at, states = k, states+1
			}
		}
		key := fmt.Sprint(row)
		switch i, ok := within[at]; {
		case states == 1 && ok:
			if row[at].Cmp(out[i][at]) < 0 {
				out[i] = row
			}
		case states == 1:
			within[at] = len(out)
			out = append(out, row)
		case !known[key]:
			known[key] = true
			out = append(out, row)
		}
	}
	return out
}
