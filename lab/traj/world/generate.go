package world

import (
	"fmt"
	"maps"
	"slices"
)

// Size is the number of trajectories of the benchmark.
const Size = 500

// Longest is the number of steps of the longest trajectories.
const Longest = 50

// coarseShare is the share of trajectories with a coarse tool.
const coarseShare = .8

// longShare is the share of trajectories with 20 to Longest steps.
const longShare = .15

// World is all trajectories of one seed.
type World struct {
	Setting    *Setting    `json:"-"`
	Seed       uint64      `json:"seed"`
	Tasks      []*Task     `json:"tasks"`
	Population *Population `json:"-"`
}

// Generate makes the first n trajectories of a seed in the world dev.
func Generate(seed uint64, n int) *World { return Dev().Generate(seed, n) }

// Generate makes the first n trajectories of a seed, with the categories in
// turn. Trajectories of different seeds share no random choice.
func (s *Setting) Generate(seed uint64, n int) *World { return s.generate(seed, n, "names") }

// Redrawn makes the same trajectories as Generate, but for the names of
// arguments, which are drawn anew.
func (s *Setting) Redrawn(seed uint64, n int) *World { return s.generate(seed, n, "other names") }

func (s *Setting) generate(seed uint64, n int, names string) *World {
	w := &World{Setting: s, Seed: seed, Population: Joint()}
	for i := range n {
		w.Tasks = append(w.Tasks, s.task(w.Population, seed, i, names))
	}
	return w
}

func drawn(d draw, slots map[string][]string) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(slots)) {
		out[name] = pick(d, slots[name])
	}
	return out
}

func (s *Setting) task(p *Population, seed uint64, i int, names string) *Task {
	c := s.categories[i%len(s.categories)]
	d := stream(seed, "task", i)
	x := p.Person(seed, i)
	slots, common := drawn(d, c.slots), drawn(d, s.slots)
	t := &Task{ID: fmt.Sprintf("%d-%03d", seed, i), Category: c.name, Person: x, Long: d.chance(longShare)}
	t.Request = x.write(pick(d, c.requests), slots).string
	for _, f := range Fields {
		s, _, _ := x.render(f, "")
		t.Records = append(t.Records, Record{f, s})
	}
	// What the public knows: nothing of half of the people; of others the
	// region and the given name, or the name.
	switch at := d.Float64(); {
	case at < .2:
		t.Background = []Fact{{KGiven, x.given()}, {KRegion, Regions[x.city().Region]}}
	case at < .4:
		t.Background = []Fact{{KGiven, x.given()}, {KSurname, x.surname()}}
	case at < .5:
		t.Background = []Fact{{KJob, x.job().Title}}
	}
	// A tool has the same names all through a task.
	name := func(of *tool, k int) string {
		return pick(stream(seed, names, i, of.name, k), of.args[k].names)
	}
	t.Steps = s.steps(d, c, t, func(of *tool, own bool) Step {
		if own {
			return of.step(x, d, slots, c.name, name)
		}
		return of.step(x, d, common, c.name, name)
	})
	return t
}

// steps are the core in order, one of the coarse ones or none, and what the
// agent does besides, mixed in.
func (s *Setting) steps(d draw, c *category, t *Task, step func(of *tool, own bool) Step) []Step {
	var out []Step
	add := func(of *tool, own bool) { out = append(out, step(of, own)) }
	// One coarse field at most: the design's default is that curious sinks
	// learn four bits of a trajectory, and a decade is most of that.
	var coarse *tool
	if len(c.coarse) > 0 && d.chance(coarseShare) {
		coarse = pick(d, c.coarse)
	}
	var unseen []int // a long trajectory meets many sinks
	if t.Long {
		unseen = d.Perm(len(s.everywhere))
	}
	beside := func() {
		if len(unseen) > 0 && d.chance(.5) {
			at := unseen[0]
			unseen = unseen[1:]
			add(s.everywhere[at], false)
			return
		}
		if d.chance(.45) {
			add(pick(d, c.spare), true)
			return
		}
		add(pick(d, s.everywhere), false)
	}
	if len(s.opening) > 0 && d.chance(.5) {
		add(pick(d, s.opening), false)
	}
	if coarse != nil {
		add(coarse, true)
	}
	for _, of := range c.core {
		if d.chance(.7) {
			beside()
		}
		add(of, true)
	}
	n := d.between(0, 2)
	if t.Long {
		n = d.between(20, Longest) - len(out)
		if d.chance(.3) {
			n = Longest - len(out)
		}
	}
	for range n {
		// In long trajectories what was asked before is asked again.
		if coarse != nil && t.Long && d.chance(.2) {
			add(coarse, true)
			continue
		}
		beside()
	}
	return out
}
