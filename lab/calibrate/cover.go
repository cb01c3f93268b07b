package calibrate

import (
	"context"
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
	exceeded tally                // trajectories of whose ledger a sum is above a limit
	leak     []float64            // of all secrets together, by task
	floor    []float64            // the oracle's
	hidden   []float64            // within the register, in bits, by task
}

// cover plays tasks and holds what is learnt to what is certified.
func cover(ctx context.Context, d defence.Defence, pools *Pools, prior *Prior, margin float64, r *register, tasks []*world.Task) (*coverage, error) {
	out := &coverage{by: map[string]*[2]tally{}}
	type one struct {
		ops    []string
		within [][2]bool
		total  float64
		floor  float64
		cap    float64
		over   bool
		linked float64
	}
	all := make([]one, len(tasks))
	err := each(tasks, func(t *world.Task, i int) error {
		p, err := traj.Play(ctx, d, t)
		if err != nil {
			return err
		}
		least, err := traj.Play(ctx, defence.Oracle{}, t)
		if err != nil {
			return err
		}
		v := View{Person: t.Person, Public: t.Background, Seen: traj.Pool(p.Views(len(t.Steps), traj.Others), 0)}
		if prior.Known != nil {
			v.Known = prior.Known(t.Person)
		}
		m := &all[i]
		var gains [2]adversary.Gains
		for k, pool := range pools.both() {
			g, total, err := pool.worst(ctx, &v)
			if err != nil {
				return err
			}
			gains[k] = g
			if k == 1 {
				m.total = total
			}
		}
		m.linked = r.learn(t.Person, v.Seen)
		v.Seen = traj.Pool(least.Views(len(t.Steps), traj.Others), 0)
		if _, m.floor, err = pools.Stress.worst(ctx, &v); err != nil {
			return err
		}
		told := disclosed(p)
		c := p.Certified
		m.cap = c.Total + margin
		m.over = c.Exceeded
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
		out.totals.add(m.total <= m.cap+slack)
		out.linked.add(m.linked <= m.cap+slack)
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
