package calibrate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// Measured is an atom with what the worst of each pool learnt by it, in bits.
type Measured struct {
	*Atom

	Of    [2]float64 // calibration, stress: beyond what it learns where the value is dropped
	Sum   [2]float64 // of the whole argument, with what it learnt by earlier atoms of the field
	Right [2]float64 // how probable it is that the best guess of the field is right then
	Each  []float64  // Of by adversary, those of the calibration pool first
}

// measure measures the atoms of a sequence: each by its increment. What stands
// around a value is shown first, as if the value were dropped, and then the value
// by its operator: so that is the increment of drop, and no other operator is taken
// to cost what it does not disclose.
func measure(ctx context.Context, pools *Pools, prior *Prior, s *Sequence) ([]Measured, error) {
	out := make([]Measured, len(s.Atoms))
	for i := range s.Atoms {
		out[i].Atom = &s.Atoms[i]
	}
	v := View{Person: s.Task.Person, Public: s.Task.Background}
	if prior.Known != nil {
		v.Known = prior.Known(v.Person)
	}
	for k, pool := range pools.both() {
		for _, proxy := range pool.Proxies {
			learn := func(seen *adversary.Seen, f world.Field) (bits, right float64, err error) {
				v.Seen, v.Only = seen, f
				l, err := proxy.Learn(ctx, &v)
				return l.Bits[fieldIndex(f)], l.Right[fieldIndex(f)], err
			}
			before := &adversary.Seen{} // nothing was shown before the first argument
			var sums adversary.Gains
			for i := range s.Atoms {
				a := &s.Atoms[i]
				was, _, err := learn(before, a.Field)
				if err != nil {
					return nil, err
				}
				is, right, err := learn(a.Seen, a.Field)
				if err != nil {
					return nil, err
				}
				around := was
				if a.Op.Kind != rubric.Drop {
					if around, _, err = learn(a.Around, a.Field); err != nil {
						return nil, err
					}
				}
				f, by := fieldIndex(a.Field), max(0, is-around)
				sums[f] += max(0, is-was)
				out[i].Of[k], out[i].Sum[k] = max(out[i].Of[k], by), max(out[i].Sum[k], sums[f])
				out[i].Each = append(out[i].Each, by)
				out[i].Right[k] = max(out[i].Right[k], right)
				before = a.Seen
			}
		}
	}
	return out, nil
}

// Bound is an estimate with the upper bound of its one-sided 95 % interval.
type Bound struct{ Value, Upper float64 }

// Cell is what an operator at a level discloses of a field.
type Cell struct {
	Key
	N         int
	Mean      [2]Bound // of Δ, by pool
	Quantile  [2]Bound // 97 %
	Certified float64  // the rubrics' cost: the least, where they differ
	Margin    float64  // the least
}

// Calibrated is the cost that follows from a pool.
func (c *Cell) Calibrated() float64 { return c.Quantile[0].Upper }

// quantile is the share of releases that a calibrated cost is to cover.
const quantile = .97

// resamples of a bootstrap.
const resamples = 1000

// oneSided is the level of a two-sided interval whose upper end is the one-sided
// bound at 95 %.
const oneSided = .9

// least is the fewest atoms that a cell is reported of.
const least = 20

// cells gathers fresh atoms.
func cells(seed uint64, ms []Measured) []Cell {
	by := map[Key][]Measured{}
	for _, m := range ms {
		if m.Fresh {
			by[m.Key()] = append(by[m.Key()], m)
		}
	}
	var out []Cell
	for key, of := range by {
		if len(of) < least {
			continue
		}
		c := Cell{Key: key, N: len(of), Certified: of[0].Cost, Margin: of[0].Margin}
		for _, m := range of {
			c.Certified, c.Margin = min(c.Certified, m.Cost), min(c.Margin, m.Margin)
		}
		for k := range c.Mean {
			v := make([]float64, len(of))
			for i, m := range of {
				v[i] = m.Of[k]
			}
			c.Mean[k] = bound(seed, v, func(count []int32) float64 { return weightedMean(v, count) })
			order := ordered(v)
			c.Quantile[k] = bound(seed, v, func(count []int32) float64 { return weightedQuantile(v, order, count) })
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(fieldIndex(a.Field), fieldIndex(b.Field)), strings.Compare(a.Op, b.Op), cmp.Compare(b.Certified, a.Certified), strings.Compare(a.Level, b.Level))
	})
	return out
}

func bound(seed uint64, v []float64, stat func(count []int32) float64) Bound {
	once := make([]int32, len(v))
	for i := range once {
		once[i] = 1
	}
	ci := stats.Bootstrap{Seed: seed, Resamples: resamples, Level: oneSided}.Statistic(len(v), stat)
	return Bound{stat(once), ci[1]}
}

func weightedMean(v []float64, count []int32) float64 {
	sum, n := 0.0, 0.0
	for i, c := range count {
		sum += v[i] * float64(c)
		n += float64(c)
	}
	return sum / n
}

func ordered(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	return order
}

// weightedQuantile is the least value that a share of all is at most.
func weightedQuantile(v []float64, order []int, count []int32) float64 {
	n := int32(0)
	for _, c := range count {
		n += c
	}
	sum := int32(0)
	for _, i := range order {
		if sum += count[i]; float64(sum) >= quantile*float64(n) {
			return v[i]
		}
	}
	return v[order[len(order)-1]]
}

// find returns a cell, or nil.
func find(cs []Cell, k Key) *Cell {
	for i := range cs {
		if cs[i].Key == k {
			return &cs[i]
		}
	}
	return nil
}

// tally counts what is within its cost.
type tally struct{ in, of int }

func (t *tally) add(in bool) {
	t.of++
	if in {
		t.in++
	}
}

func (t tally) share() float64 { return float64(t.in) / float64(t.of) }

// slack is what arithmetic may be off by, in bits.
const slack = 1e-6

// atomCoverage holds atoms, with earlier ones of their field, to what the rubrics
// charge for them together, and fresh ones to calibrated costs, by operator and
// pool; "" is of all.
type atomCoverage struct{ certified, calibrated map[string]*[2]tally }

func coverAtoms(cs []Cell, ms []Measured) atomCoverage {
	out := atomCoverage{map[string]*[2]tally{}, map[string]*[2]tally{}}
	add := func(to map[string]*[2]tally, op string, k int, in bool) {
		for _, name := range []string{"", op} {
			if to[name] == nil {
				to[name] = &[2]tally{}
			}
			to[name][k].add(in)
		}
	}
	for _, m := range ms {
		op := m.Op.Kind.String()
		for k := range m.Of {
			add(out.certified, op, k, m.Sum[k] <= m.Paid+m.Margin+slack)
			if c := find(cs, m.Key()); c != nil && m.Fresh {
				add(out.calibrated, op, k, m.Of[k] <= c.Calibrated()+slack)
			}
		}
	}
	return out
}
