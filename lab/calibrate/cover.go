package calibrate

import (
	"context"
	"fmt"
	"math"

	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// None is the operator of a field that was disclosed and not labelled.
const None = "none"

// coverage is of the trajectories of a defence.
type coverage struct {
	by       map[string]*[2]tally // by operator, "" for all but None
	totals   tally                // trajectories within what is certified of them, by the stress pool
	linked   tally                // the same by a register
	measured tally                // trajectories of which the stress pool learns more than their cap
	exceeded tally                // trajectories of whose ledger a sum is above a limit
	leak     []float64            // of all secrets together, by task
	floor    []float64            // the oracle's
	hidden   []float64            // within the register, in bits, by task
}

// played is a task under the defence and under the oracle.
type played struct{ ours, least *traj.Played }

func play(ctx context.Context, d defence.Defence, tasks []*world.Task) ([]played, error) {
	out := make([]played, len(tasks))
	err := each(tasks, func(t *world.Task, i int) (err error) {
		if out[i].ours, err = traj.Play(ctx, d, t); err != nil {
			return err
		}
		if out[i].ours.Certified == nil {
			return fmt.Errorf("%s certifies nothing", d.Name())
		}
		out[i].least, err = traj.Play(ctx, defence.Oracle{}, t)
		return err
	})
	return out, err
}

// cover holds what is learnt of tasks to what is certified.
func cover(ctx context.Context, pools *Pools, prior *Prior, margin float64, r *register, tasks []played) (*coverage, error) {
	out := &coverage{by: map[string]*[2]tally{}}
	type one struct {
		ops       []string
		within    [][2]bool
		total     float64
		floor     float64
		certified float64
		limit     float64
		over      bool
		linked    float64
	}
	all := make([]one, len(tasks))
	err := each(tasks, func(p played, i int) error {
		t := p.ours.Task
		v := View{Person: t.Person, Public: t.Background, Seen: traj.Pool(p.ours.Views(len(t.Steps), traj.Others), 0)}
		if prior.Known != nil {
			v.Known = prior.Known(t.Person)
		}
		m := &all[i]
		var gains [2]adversary.Gains
		for k, pool := range pools.both() {
			l, err := pool.worst(ctx, &v)
			if err != nil {
				return err
			}
			gains[k] = l.Bits
			if k == 1 {
				m.total = l.Total
			}
		}
		m.linked = r.learn(t.Person, v.Seen)
		v.Seen = traj.Pool(p.least.Views(len(t.Steps), traj.Others), 0)
		floor, err := pools.Stress.worst(ctx, &v)
		if err != nil {
			return err
		}
		m.floor = floor.Total
		told := disclosed(p.ours)
		c := p.ours.Certified
		m.certified, m.limit, m.over = c.Total+margin, c.Cap, c.Exceeded
		for k, f := range world.Fields {
			certified, shown := c.Bits[f]
			op := c.Ops[f]
			if !shown {
				if !told[f] {
					continue
				}
				op, certified = None, margin
			}
			m.ops = append(m.ops, op)
			m.within = append(m.within, [2]bool{gains[0][k] <= certified+slack, gains[1][k] <= certified+slack})
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		m := &all[i]
		for k, op := range m.ops {
			names := []string{"", op}
			if op == None {
				names = names[1:]
			}
			for _, name := range names {
				if out.by[name] == nil {
					out.by[name] = &[2]tally{}
				}
				out.by[name][0].add(m.within[k][0])
				out.by[name][1].add(m.within[k][1])
			}
		}
		out.totals.add(m.total <= m.certified+slack)
		out.linked.add(m.linked <= m.certified+slack)
		out.measured.add(m.total > m.limit+slack)
		out.exceeded.add(m.over)
		out.leak, out.floor, out.hidden = append(out.leak, m.total), append(out.floor, m.floor), append(out.hidden, m.linked)
	}
	return out, nil
}

// disclosed are the fields that something true was told of to sinks other than
// required services.
func disclosed(p *traj.Played) map[world.Field]bool {
	out := map[world.Field]bool{}
	for _, f := range traj.Pool(p.Views(len(p.Released), traj.Others), 0).Facts {
		if p.Task.Person.Holds(f) {
			out[adversary.FieldOf(f.Kind)] = true
		}
	}
	return out
}

// register is a list of people, such as a public register, that an adversary
// looks who it is up in.
type register struct{ people []*world.Person }

const registered = 1000

func newRegister() *register {
	r := &register{}
	p := world.Joint()
	for i := range registered {
		r.people = append(r.people, p.Person(registerSeed, i))
	}
	return r
}

// learn is what a view tells of which of the register's people somebody is, who is
// in it, in bits.
func (r *register) learn(x *world.Person, seen *adversary.Seen) float64 {
	left := 1
	for _, y := range r.people {
		same := true
		for _, f := range seen.Facts {
			if x.Holds(f) && !y.Holds(f) {
				same = false
				break
			}
		}
		if same {
			left++
		}
	}
	return math.Log2(float64(len(r.people)+1) / float64(left))
}
