package adversary

import (
	"math"
	"testing"

	"github.com/margaydev/margay/lab/traj/world"
)

var (
	people = world.Joint()
	bayes  = NewBayes(people)
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Posteriors that can be had by hand.
func TestKnown(t *testing.T) {
	x := people.Person(100, 3)
	nothing := bayes.Infer(nil, nil)
	largest := 0.0
	for i, c := range people.Cities {
		largest = max(largest, people.Region[c.Region]*people.City[c.Region][i])
	}
	perHome := float64(len(world.Streets) * world.MaxNumber)
	near(t, "address a priori", nothing.Of(world.Address, x).Max, largest/perHome)
	year := 0.0
	for d, w := range people.Decade {
		for _, y := range people.Year[d] {
			year = max(year, w*y)
		}
	}
	near(t, "dob a priori", nothing.Of(world.DOB, x).Max, year/365)
	near(t, "passport a priori", nothing.Of(world.Passport, x).Max, 1/(23*1e8))

	city := bayes.Infer([]world.Fact{{Kind: world.KCity, Value: people.Cities[x.City].Name}}, nil)
	near(t, "address in a known city", city.Of(world.Address, x).Max, 1/perHome)
	near(t, "bits of a city", city.Of(world.Address, x).Bits(nothing.Of(world.Address, x)), math.Log2(1/largest))
	if !(city.Of(world.Phone, x).Max > 5*nothing.Of(world.Phone, x).Max) {
		t.Error("a city says nothing about the telephone")
	}
	own := people.Cities[x.City].Areas
	at := world.ShareHomeArea/float64(len(own)) + (1-world.ShareHomeArea)/float64(len(people.Areas))
	near(t, "phone in a known city", city.Of(world.Phone, x).Max, at/8e6)

	for _, f := range world.Fields {
		p := bayes.Infer(x.Full(f), nil)
		if b := p.Of(f, x); b.Max < 1-1e-9 || b.Truth < 1-1e-9 || b.Recovered() < 1-1e-9 {
			t.Errorf("%s is told, and believed with %v", f, b)
		}
	}
	decade := bayes.Infer([]world.Fact{{Kind: world.KBorn, Value: "1980-01-01..1989-12-31"}}, nil)
	near(t, "dob in a decade", decade.Of(world.DOB, x).Max, 1/3650.0)
	near(t, "nothing about the passport", decade.Of(world.Passport, x).Bits(nothing.Of(world.Passport, x)), 0)
	end := bayes.Infer([]world.Fact{{Kind: world.KCardEnd, Value: x.Card[len(x.Card)-4:]}}, nil)
	if got := end.Of(world.PaymentToken, x).Bits(nothing.Of(world.PaymentToken, x)); math.Abs(got-math.Log2(1e4)) > 1e-6 {
		t.Errorf("the end of a card: %v bits", got)
	}
}

// No truth may come out impossible, whatever is told that is true.
func TestTruthStaysPossible(t *testing.T) {
	for _, task := range world.Generate(100, 120).Tasks {
		var facts []world.Fact
		x := task.Person
		facts = append(facts, task.Background...)
		for i := range task.Steps {
			for k := range task.Steps[i].Parts {
				p := &task.Steps[i].Parts[k]
				facts = append(facts, world.Disclosed(p, p.Text)...)
			}
			post := bayes.Infer(facts, nil)
			for _, f := range world.Fields {
				b := post.Of(f, x)
				if !(b.Truth > 0) && f != world.Email || b.Truth > b.Max*(1+1e-9) || b.Max > 1+1e-9 || b.Ties < 1 || math.IsNaN(b.Max) || math.IsInf(b.Max, 0) {
					t.Fatalf("%s, step %d, %s: %+v after %v", task.ID, i, f, b, facts)
				}
			}
		}
	}
}

// What the adversary believes is what happens: among people of whom the same
// is told, shares are its probabilities.
func TestCalibrated(t *testing.T) {
	told := []world.Kind{world.KState, world.KDomain, world.KChapter, world.KGiven}
	const n = 1500
	fields := []world.Field{world.Diagnosis, world.Salary, world.LegalName, world.Phone, world.NationalID, world.AccountID, world.Email, world.DOB, world.Location}
	for _, k := range told {
		expected, hits, variance := map[world.Field]float64{}, map[world.Field]float64{}, map[world.Field]float64{}
		for i := range n {
			x := people.Person(300, i)
			var facts []world.Fact
			for _, f := range world.Fields {
				for _, fact := range world.Implied(x.Full(f)) {
					if fact.Kind == k {
						facts = append(facts, fact)
					}
				}
			}
			if len(facts) == 0 {
				t.Fatalf("%s is told by no field", k)
			}
			post := bayes.Infer(facts, nil)
			for _, f := range fields {
				b := post.Of(f, x)
				expected[f] += b.Max
				variance[f] += b.Max * (1 - b.Max)
				hits[f] += b.Recovered()
			}
		}
		for _, f := range fields {
			if math.Abs(hits[f]-expected[f]) > 4*math.Sqrt(variance[f])+.5 {
				t.Errorf("knowing %s, %s is guessed %.1f times, where %.1f were expected", k, f, hits[f], expected[f])
			}
		}
	}
}

// A whole address of mail gives its owner away; a made-up one, or the owner's
// year, is taken as far as it goes.
func TestMail(t *testing.T) {
	prior := bayes.Infer(nil, nil)
	for i := range 200 {
		x := people.Person(301, i)
		full := bayes.Infer(x.Full(world.Email), nil)
		if got := full.Of(world.LegalName, x); got.Max < .3 && x.Pattern != 1 {
			t.Fatalf("%v of the name, by pattern %d", got, x.Pattern)
		}
		if full.Of(world.Email, x).Bits(prior.Of(world.Email, x)) < 10 {
			t.Fatal("a whole address tells little")
		}
		name := bayes.Infer(x.Full(world.LegalName), nil)
		if x.Pattern == 0 && name.Of(world.Email, x).Recovered() == 0 && name.Of(world.Email, x).Truth >= name.Of(world.Email, x).Max {
			t.Fatal("the usual pattern is not guessed")
		}
	}
}

func TestBits(t *testing.T) {
	near(t, "one bit", Belief{Max: .5}.Bits(Belief{Max: .25}), 1)
	near(t, "never below nothing", Belief{Max: .1}.Bits(Belief{Max: .25}), 0)
	near(t, "a tie", Belief{Max: .25, Truth: .25, Ties: 4}.Recovered(), .25)
	near(t, "a wrong guess", Belief{Max: .5, Truth: .25, Ties: 1}.Recovered(), 0)
}

func BenchmarkInfer(b *testing.B) {
	task := world.Generate(100, 1).Tasks[0]
	var facts []world.Fact
	for i := range task.Steps {
		for k := range task.Steps[i].Parts {
			facts = append(facts, world.Disclosed(&task.Steps[i].Parts[k], task.Steps[i].Parts[k].Text)...)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		p := bayes.Infer(facts[:8], nil)
		for _, f := range world.Fields {
			p.Of(f, task.Person)
		}
	}
}

// What is told of one person together counts once.
func TestPerson(t *testing.T) {
	x := people.Person(100, 5)
	prior := bayes.Infer(nil, nil).Person()
	var everything []world.Fact
	for _, f := range world.Fields {
		everything = append(everything, x.Full(f)...)
	}
	near(t, "all is known", bayes.Infer(everything, nil).Person(), 0)
	near(t, "an independent secret", bayes.Infer(x.Full(world.Passport), nil).Person()-prior, world.KeyBits[world.Passport])
	// Repeating a fact, or saying what it implies, tells nothing new.
	city := []world.Fact{{Kind: world.KCity, Value: people.Cities[x.City].Name}}
	one := bayes.Infer(city, nil).Person()
	near(t, "an implied fact", bayes.Infer(world.Implied(append(city, city...)), nil).Person(), one)
	for i := range 60 {
		x := people.Person(302, i)
		a := bayes.Infer(x.Full(world.Address), nil).Person() - prior
		b := bayes.Infer(append(x.Full(world.Address), x.Full(world.Phone)...), nil).Person() - prior
		if !(b > a) {
			t.Fatalf("a telephone beside an address: %v, then %v", a, b)
		}
	}
	// The best guess of all is at most as probable as that of each.
	for i := range 60 {
		x := people.Person(303, i)
		post := bayes.Infer(append(x.Full(world.Email), x.Full(world.Location)...), nil)
		for _, f := range world.Fields {
			if b := post.Of(f, x); post.Person() > math.Log2(b.Max)+1e-9 {
				t.Fatalf("the person is guessed with 2^%v, %s with %v", post.Person(), f, b.Max)
			}
		}
	}
}
