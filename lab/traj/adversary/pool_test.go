package adversary

import (
	"slices"
	"testing"

	"github.com/margaydev/margay/lab/traj/world"
)

func TestLexical(t *testing.T) {
	l := Train(world.Dev(), people, 200, 201, 1000)
	for k, temperature := range l.Temperature {
		// The decade shows in the trade alone, which is too little.
		if k != 1 && temperature <= .3 || temperature > 1 {
			t.Errorf("classifier %d has learnt nothing: temperature %v", k, temperature)
		}
	}
	c := l.Cues(View{"Bright lights are hard for me.", "The wind comes straight off the lake."})
	if got := slices.Index(c.Region, slices.Max(c.Region)); got != 1 {
		t.Errorf("the lake is in region %d: %v", got, c.Region)
	}
	if got := slices.Index(c.Chapter, slices.Max(c.Chapter)); got != 2 {
		t.Errorf("bright lights are chapter %d: %v", got, c.Chapter)
	}
	if l.Cues(View{"[REDACTED]"}) != nil && len(l.words) == 0 {
		t.Error("a marker says something")
	}
	for w := range l.words {
		if readable(people)[w] {
			t.Errorf("%q counts twice", w)
		}
	}
}

func TestPool(t *testing.T) {
	pool := &Pool{bayes: NewBayes(people), lexical: Train(world.Dev(), people, 200, 201, 1000)}
	for _, task := range world.Generate(100, 36).Tasks {
		prior := pool.Prior(task)
		var seen Seen
		nothing := pool.Measure(task, &prior, &seen)
		if nothing.Total != 0 || nothing.Sum() != 0 {
			t.Fatalf("nothing shown leaks %v", nothing.Bits)
		}
		last := 0.0
		for i := range task.Steps {
			for k := range task.Steps[i].Parts {
				seen.Add(&task.Steps[i].Parts[k], task.Steps[i].Parts[k].Text)
			}
			m := pool.Measure(task, &prior, &seen)
			if got := pool.Total(task, &prior, &seen); got != m.Total {
				t.Fatalf("%s: a total of %v alone, of %v with the rest", task.ID, got, m.Total)
			}
			last = max(last, m.Total)
		}
		if last < 20 {
			t.Errorf("%s: all shown leaks %v bits", task.ID, last)
		}
		// What one field tells by itself is no more than what all tell of it.
		all, own := pool.Measure(task, &prior, &seen), pool.Declared(task, &seen)
		for i := range own {
			if len(task.Background) == 0 && own[i] > all.Bits[i]+1e-6 && all.Recovered[i] < 1 && all.Bits[i] > 0 && own[i] > all.Bits[i]+3 {
				t.Errorf("%s: %s tells %v bits alone, %v with the rest", task.ID, world.Fields[i], own[i], all.Bits[i])
			}
		}
	}
}

// Sinks that pool their views learn at least what each knew, up to surprise.
func TestJoin(t *testing.T) {
	var a, b Seen
	a.Facts = []world.Fact{{Kind: world.KCity, Value: "Boston"}}
	b.Facts = []world.Fact{{Kind: world.KCity, Value: "Boston"}, {Kind: world.KGiven, Value: "Ruth"}}
	a.Join(&b)
	if len(a.Facts) != 2 {
		t.Errorf("%v", a.Facts)
	}
	for _, f := range world.Fields {
		for _, fact := range world.Implied(people.Person(1, 1).Full(f)) {
			if fieldOf(fact.Kind) != f {
				t.Errorf("%s is taken to be about %s, not %s", fact.Kind, fieldOf(fact.Kind), f)
			}
		}
	}
}
