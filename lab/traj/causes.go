package traj

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// Cause is one way in which a defence failed tasks or let bits go, and how
// often: what work on a defence is led by, on seeds that are not evaluated. It
// has names of tools, fields and rules, and no value of anybody.
type Cause struct {
	Defence, Category, Tool string
	Class                   flow.Class
	Path                    string // of the argument; empty: the whole release
	Field                   string // that was needed, or told; empty: words
	Why                     string // what the defence says of it
	Tasks, Steps            int
	Bits                    float64 // that other sinks learnt by it
	Excess                  bool    // whether the oracle would not have shown it
}

// causes finds, of all tasks under a defence, why steps failed and by which
// arguments bits went.
func (r *run) causes(ctx context.Context, d defence.Defence) (failed, leaked []Cause, err error) {
	steps, bits := map[Cause]*Cause{}, map[Cause]*Cause{}
	var mu sync.Mutex
	err = r.each("", func(t *world.Task, _ int) error {
		p, err := Play(ctx, d, t)
		if err != nil {
			return err
		}
		why, told := p.failures(d.Name()), r.attribute(p, d.Name())
		mu.Lock()
		defer mu.Unlock()
		tally(steps, why)
		tally(bits, told)
		return nil
	})
	return ranked(steps), ranked(bits), err
}

// tally adds up the causes of one task.
func tally(all map[Cause]*Cause, of []Cause) {
	here := map[Cause]bool{}
	for _, c := range of {
		bits := c.Bits
		c.Bits = 0
		sum := all[c]
		if sum == nil {
			one := c
			sum = &one
			all[c] = sum
		}
		sum.Steps++
		sum.Bits += bits
		if !here[c] {
			here[c] = true
			sum.Tasks++
		}
	}
}

func ranked(all map[Cause]*Cause) []Cause {
	var out []Cause
	for _, c := range all {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Bits, a.Bits), cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(b.Steps, a.Steps),
			cmp.Compare(a.Category+a.Tool+a.Path+a.Field+a.Why, b.Category+b.Tool+b.Path+b.Field+b.Why))
	})
	return out
}

// failures are the needs that essential steps were not served, each once.
func (p *Played) failures(name string) []Cause {
	var out []Cause
	for i := range p.Task.Steps {
		s := &p.Task.Steps[i]
		if !s.Essential || p.Task.Served(i, p.Released[i]) {
			continue
		}
		base := Cause{Defence: name, Category: p.Task.Category, Tool: s.Tool, Class: s.Sink.Class}
		if p.Released[i] == nil {
			base.Why = strings.Join(p.Why[i], "; ")
			out = append(out, base)
			continue
		}
		for _, n := range s.Needs {
			at := slices.IndexFunc(s.Parts, func(x world.Part) bool { return x.Path == n.Path })
			if at >= 0 && !p.Task.Person.Meets(n, world.Disclosed(&s.Parts[at], p.Released[i][at])) {
				c := base
				c.Path, c.Field, c.Why = n.Path, fmt.Sprintf("%s %s", n.Field, n.Level), p.why(i, at)
				out = append(out, c)
			}
		}
		for _, k := range s.Keeps {
			at := slices.IndexFunc(s.Parts, func(x world.Part) bool { return x.Path == k.Path })
			if at >= 0 && !strings.Contains(p.Released[i][at], k.Text) {
				c := base
				c.Path, c.Field, c.Why = k.Path, "words of the task", p.why(i, at)
				out = append(out, c)
			}
		}
	}
	return out
}

func (p *Played) why(step, part int) string {
	if part < len(p.Why[step]) {
		return p.Why[step][part]
	}
	return ""
}

// attribute lays what others learnt of all secrets to the arguments by which
// they did, in the order in which they were shown: what two of them tell alike
// is the first's. One that makes the best guess less probable counts against.
func (r *run) attribute(p *Played, name string) []Cause {
	var out []Cause
	prior := r.prior[p.Task]
	seen, before := &adversary.Seen{}, 0.0
	for i := range p.Task.Steps {
		s := &p.Task.Steps[i]
		if !Others(s.Sink.Class) || p.Released[i] == nil {
			continue
		}
		for k := range s.Parts {
			facts := len(seen.Facts)
			seen.Add(&s.Parts[k], p.Released[i][k])
			after := r.pool.Total(p.Task, &prior, seen)
			if math.Abs(after-before) < 1e-9 {
				continue
			}
			c := Cause{Defence: name, Category: p.Task.Category, Tool: s.Tool, Class: s.Sink.Class, Path: s.Parts[k].Path, Bits: after - before, Why: p.why(i, k)}
			var kinds []string
			for _, f := range seen.Facts[facts:] {
				kinds = append(kinds, string(f.Kind))
			}
			slices.Sort(kinds)
			c.Field = strings.Join(slices.Compact(kinds), " ")
			c.Excess = !s.Essential || !slices.ContainsFunc(s.Needs, func(n world.Need) bool { return n.Path == c.Path })
			out = append(out, c)
			before = after
		}
	}
	return out
}

// WriteCauses writes causes as tables: first those of failed steps, then those
// of bits.
func (rep *Report) WriteCauses(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, d := range slices.Sorted(maps.Keys(rep.Failed)) {
		fmt.Fprintf(t, "%s: why essential steps failed\ntasks\tsteps\tcategory\ttool\tclass\targument\tneeded\twhat was done\n", d)
		for _, c := range rep.Failed[d] {
			fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%v\t%s\t%s\t%s\n", c.Tasks, c.Steps, c.Category, c.Tool, c.Class, c.Path, c.Field, c.Why)
		}
		fmt.Fprintf(t, "\n%s: by what other sinks learnt\nbits\ttasks\tcategory\ttool\tclass\targument\ttold\tneeded\twhat was done\n", d)
		for _, c := range rep.Leaked[d] {
			needed := "yes"
			if c.Excess {
				needed = "no"
			}
			fmt.Fprintf(t, "%.1f\t%d\t%s\t%s\t%v\t%s\t%s\t%s\t%s\n", c.Bits, c.Tasks, c.Category, c.Tool, c.Class, c.Path, c.Field, needed, c.Why)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
