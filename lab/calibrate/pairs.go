package calibrate

import (
	"context"

	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// Pair is what two dependent fields disclose together, both at one kind of
// level.
type Pair struct {
	A, B      world.Field
	Op        string // identity or coarsest
	N         int
	Joint     [2]Bound // 97 % quantile of both increments together, by pool
	Certified float64  // the rubrics' joint cost
	Separate  float64  // both costs by themselves
	Margin    float64
}

// pairs measures all pairs of fields that the rubrics of a task declare to depend
// on each other.
func pairs(ctx context.Context, pools *Pools, t ties, rules *rubric.Resolved, tasks []*world.Task, seed uint64) ([]Pair, error) {
	var out []Pair
	for i, a := range world.Fields {
		for _, b := range world.Fields[i+1:] {
			if !t.tied(a, b) {
				continue
			}
			for _, op := range []string{"identity", "coarsest"} {
				p, err := pair(ctx, pools, rules, tasks, seed, Pair{A: a, B: b, Op: op})
				if err != nil {
					return nil, err
				}
				if p.N >= least {
					out = append(out, p)
				}
			}
		}
	}
	return out, nil
}

func pair(ctx context.Context, pools *Pools, rules *rubric.Resolved, tasks []*world.Task, seed uint64, p Pair) (Pair, error) {
	level := func(f world.Field) int {
		if p.Op == "identity" {
			return 0
		}
		return len(rules.LevelNames(string(f)))
	}
	la, lb := level(p.A), level(p.B)
	p.Certified = bits(rules.Joint([]rubric.View{{Field: string(p.A), Level: la}, {Field: string(p.B), Level: lb}}))
	p.Separate = bits(rules.Joint([]rubric.View{{Field: string(p.A), Level: la}})) + bits(rules.Joint([]rubric.View{{Field: string(p.B), Level: lb}}))
	p.Margin = bits(rules.Limits().Margin)
	var of [2][]float64
	for _, t := range tasks {
		a, okA := viewOf(rules, t.Person, p.A, la)
		b, okB := viewOf(rules, t.Person, p.B, lb)
		if !okA || !okB {
			continue
		}
		p.N++
		both := &adversary.Seen{}
		both.Join(a)
		both.Join(b)
		for k, pool := range pools.both() {
			worst := 0.0
			for _, proxy := range pool.Proxies {
				learn := func(seen *adversary.Seen) (adversary.Gains, error) {
					l, err := proxy.Learn(ctx, &View{Person: t.Person, Public: t.Background, Seen: seen})
					return l.Bits, err
				}
				onlyA, err := learn(a)
				if err != nil {
					return p, err
				}
				onlyB, err := learn(b)
				if err != nil {
					return p, err
				}
				all, err := learn(both)
				if err != nil {
					return p, err
				}
				// By the chain rule: the first, and the second given the first.
				i, j := fieldIndex(p.A), fieldIndex(p.B)
				worst = max(worst, onlyA[i]+all[j]-onlyA[j], onlyB[j]+all[i]-onlyB[i])
			}
			of[k] = append(of[k], worst)
		}
	}
	if p.N == 0 {
		return p, nil
	}
	for k, v := range of {
		order := ordered(v)
		p.Joint[k] = bound(seed, v, func(count []int32) float64 { return weightedQuantile(v, order, count) })
	}
	return p, nil
}

// viewOf is a field of a person as a typed argument shows it at a level.
func viewOf(rules *rubric.Resolved, x *world.Person, f world.Field, level int) (*adversary.Seen, bool) {
	part := x.Part("value", f, false, world.FromProfile, "{"+string(f)+"}")
	text, err := rules.Generalize(string(f), level, part.Text)
	if err != nil {
		return nil, false
	}
	if level == 0 {
		text = part.Text
	}
	out := &adversary.Seen{}
	out.Add(&part, text)
	return out, true
}
