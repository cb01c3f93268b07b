package population

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// States are the cells of a level, all parts together, as the states of a
// secret that others depend on.
type States struct {
	Labels []string
	pop    *Population
	view   View
	cells  []int // of each part; 1 where the level keeps nothing of it
	mass   []*big.Rat
	peak   []*big.Rat // the share that a state's likeliest value has in it
	even   bool       // all values of a state are equally likely
	size   []*big.Int // members
}

// States returns a level's cells, unless they are more than most.
func (c *Chain) States(level, most int) (*States, error) {
	l := &c.levels[level]
	p := c.pop
	s := &States{pop: p, view: l.view, cells: make([]int, len(p.parts)), even: true}
	n := 1
	for i := range p.parts {
		switch {
		case l.view.whole[i]:
			return nil, errors.New("a level that keeps something as it is has no states")
		case l.view.of[i] == nil:
			s.cells[i] = 1
		default:
			s.cells[i] = l.view.cells[i]
		}
		if n *= s.cells[i]; n > most {
			return nil, fmt.Errorf("the level has more than %d cells", most)
		}
	}
	type stat struct {
		mass, peak *big.Rat
		size       *big.Int
		label      string
	}
	stats := make([][]stat, len(p.parts))
	for i := range p.parts {
		q := &p.parts[i]
		of := s.of(i)
		masses, ranks := q.weights(of, s.cells[i])
		stats[i] = make([]stat, s.cells[i])
		for k := range stats[i] {
			st := &stats[i][k]
			st.mass = new(big.Rat).SetFrac(new(big.Int).SetUint64(masses[k]), new(big.Int).SetUint64(q.total))
			st.peak, st.size = q.share(ranks[k], masses[k]), new(big.Int)
			if l.labels[i] != nil {
				st.label = l.labels[i][k]
			}
		}
		for a := range q.atoms {
			k := of[a]
			stats[i][k].size.Add(stats[i][k].size, q.atoms[a].members)
			if q.atoms[a].rank != ranks[k] {
				s.even = false
			}
		}
	}
	for x := range n {
		mass, peak, size := big.NewRat(1, 1), big.NewRat(1, 1), big.NewInt(1)
		var names []string
		for i, k := range s.split(x) {
			st := &stats[i][k]
			mass.Mul(mass, st.mass)
			peak.Mul(peak, st.peak)
			size.Mul(size, st.size)
			if st.label != "" {
				names = append(names, st.label)
			}
		}
		s.mass, s.peak, s.size = append(s.mass, mass), append(s.peak, peak), append(s.size, size)
		s.Labels = append(s.Labels, strings.Join(names, ", "))
	}
	return s, nil
}

// of is the level's cut of a part, in which a part that is not kept is one
// cell.
func (s *States) of(part int) []int32 {
	if of := s.view.cut(part); of != nil {
		return of
	}
	return make([]int32, len(s.pop.parts[part].atoms))
}

// split returns the cell of each part; the last part changes fastest.
func (s *States) split(x int) []int {
	out := make([]int, len(s.cells))
	for i := len(s.cells) - 1; i >= 0; i-- {
		out[i] = x % s.cells[i]
		x /= s.cells[i]
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
func (s *States) Members() []float64 {
	out := make([]float64, len(s.size))
	for i, n := range s.size {
		out[i], _ = new(big.Float).SetInt(n).Float64()
	}
	return out
}

// Left returns how many values of each state a view of a value leaves, of a
// chain over the same population. It wraps ErrOutside.
func (s *States) Left(c *Chain, level int, value string) ([]float64, error) {
	atoms, err := c.atoms(value)
	if err != nil {
		return nil, err
	}
	v := &c.levels[level].view
	left := make([][]*big.Int, len(s.cells))
	for i := range s.pop.parts {
		q := &s.pop.parts[i]
		of := s.of(i)
		left[i] = make([]*big.Int, s.cells[i])
		for k := range left[i] {
			left[i][k] = new(big.Int)
		}
		for a := range q.atoms {
			n := q.atoms[a].members
			switch {
			case v.whole[i] && a != atoms[i], v.of[i] != nil && atoms[i] >= 0 && v.of[i][a] != v.of[i][atoms[i]]:
				continue
			case v.whole[i]:
				n = big.NewInt(1)
			}
			left[i][of[a]].Add(left[i][of[a]], n)
		}
	}
	out := make([]float64, len(s.mass))
	for x := range out {
		n := big.NewInt(1)
		for i, k := range s.split(x) {
			n.Mul(n, left[i][k])
		}
		out[x], _ = new(big.Float).SetInt(n).Float64()
	}
	return out, nil
}

// maxKinds bounds the kinds of cells that Kinds tells apart.
const maxKinds = 4096

// Kinds returns what a level of a chain over the same population may leave of
// the states: for each kind of cell, how many values of each state are in it.
// Of cells within one state only the smallest is there, since it tells most.
// Where there are too many kinds, single values stand for them, which tell
// more.
func (s *States) Kinds(c *Chain, level int) [][]float64 {
	v := &c.levels[level].view
	parts := make([][][]*big.Int, len(s.cells))
	n := 1
	for i := range parts {
		if parts[i] = s.kinds(i, v); n > maxKinds/len(parts[i]) {
			all := s.pop.All()
			v = &all
			for j := range parts {
				parts[j] = s.kinds(j, v)
			}
			break
		}
		n *= len(parts[i])
	}
	var out [][]float64
	pick := make([]int, len(parts))
	for {
		row := make([]float64, len(s.mass))
		for x := range row {
			m := big.NewInt(1)
			for i, k := range s.split(x) {
				m.Mul(m, parts[i][pick[i]][k])
			}
			row[x], _ = new(big.Float).SetInt(m).Float64()
		}
		out = append(out, row)
		i := len(pick) - 1
		for ; i >= 0; i-- {
			if pick[i]++; pick[i] < len(parts[i]) {
				break
			}
			pick[i] = 0
		}
		if i < 0 {
			return out
		}
	}
}

// kinds of a part's cells.
func (s *States) kinds(part int, v *View) [][]*big.Int {
	q := &s.pop.parts[part]
	of, n := s.of(part), s.cells[part]
	var rows [][]*big.Int
	empty := func() []*big.Int {
		row := make([]*big.Int, n)
		for k := range row {
			row[k] = new(big.Int)
		}
		return row
	}
	switch {
	case v.isWhole(part):
		for k := range n {
			row := empty()
			row[k].SetInt64(1)
			rows = append(rows, row)
		}
		return rows
	case v.cut(part) == nil:
		rows = [][]*big.Int{empty()}
		for a := range q.atoms {
			rows[0][of[a]].Add(rows[0][of[a]], q.atoms[a].members)
		}
		return rows
	}
	rows = make([][]*big.Int, v.count(part))
	for a, c := range v.cut(part) {
		if rows[c] == nil {
			rows[c] = empty()
		}
		rows[c][of[a]].Add(rows[c][of[a]], q.atoms[a].members)
	}
	within := map[int]int{} // by state, the row of the smallest cell in it
	seen := map[string]bool{}
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
		case !seen[key]:
			seen[key] = true
			out = append(out, row)
		}
	}
	return out
}
