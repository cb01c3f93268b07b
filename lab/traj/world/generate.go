package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Size is the number of trajectories of the benchmark.
const Size = 500

// Longest is the number of steps of the longest trajectories.
const Longest = 50

// longShare is the share of trajectories with 20 to Longest steps.
const longShare = .15

// World is all trajectories of one seed.
type World struct {
	Seed       uint64      `json:"seed"`
	Tasks      []*Task     `json:"tasks"`
	Population *Population `json:"-"`
}

// Generate makes the first n trajectories of a seed, with the categories in
// turn. Trajectories of different seeds share no random choice.
func Generate(seed uint64, n int) *World {
	w := &World{Seed: seed, Population: Joint()}
	cats := categories()
	for i := range n {
		w.Tasks = append(w.Tasks, w.Population.task(seed, i, &cats[i%len(cats)]))
	}
	return w
}

func (p *Population) task(seed uint64, i int, c *category) *Task {
	d := stream(seed, "task", i)
	x := p.Person(seed, i)
	slots := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.slots)) {
		slots[name] = pick(d, c.slots[name])
	}
	t := &Task{ID: fmt.Sprintf("%d-%03d", seed, i), Category: c.name, Person: x, Long: d.chance(longShare)}
	t.Request = x.write(pick(d, c.request), slots).string
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
	t.Steps = x.steps(d, c, slots, t.Long)
	return t
}

// steps are the core in order, one of the coarse ones or none, and what the agent does
// besides, mixed in.
func (x *Person) steps(d draw, c *category, slots map[string]string, long bool) []Step {
	var out []Step
	add := func(s *spec, essential bool) {
		one := *s
		one.args = slices.Clone(s.args)
		for i, a := range one.args {
			head, template, _ := strings.Cut(a, ": ")
			one.args[i] = head + ": " + pick(d, strings.Split(template, " || "))
		}
		out = append(out, one.step(x, slots, c.name, essential))
	}
	// One coarse field at most: the design's default is that curious sinks
	// learn four bits of a trajectory, and a decade is most of that.
	var coarse []*spec
	if at := d.IntN(5); at < 2*len(c.coarse) {
		coarse = append(coarse, &c.coarse[at/2])
	}
	common := everywhere()
	var unseen []int // a long trajectory meets many sinks
	if long {
		unseen = d.Perm(len(common))
	}
	beside := func() *spec {
		if len(unseen) > 0 && d.chance(.5) {
			at := unseen[0]
			unseen = unseen[1:]
			return &common[at]
		}
		if d.chance(.45) {
			return &c.spare[d.IntN(len(c.spare))]
		}
		return &common[d.IntN(len(common))]
	}
	if d.chance(.5) {
		add(&common[len(common)-1], false) // the profile, shown to the model
	}
	for _, s := range coarse {
		add(s, true)
	}
	for i := range c.core {
		if d.chance(.7) {
			add(beside(), false)
		}
		add(&c.core[i], true)
	}
	n := d.between(0, 2)
	if long {
		n = d.between(20, Longest) - len(out)
		if d.chance(.3) {
			n = Longest - len(out)
		}
	}
	for range n {
		// In long trajectories what was asked before is asked again.
		if len(coarse) > 0 && long && d.chance(.2) {
			add(coarse[d.IntN(len(coarse))], true)
			continue
		}
		add(beside(), false)
	}
	return out
}
