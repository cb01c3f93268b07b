package adversary

import (
	"slices"
	"sync"

	"github.com/margaydev/margay/lab/traj/world"
)

// Seeds that the lexical adversary is made from; no result is reported on them.
const (
	TrainSeed = 9001
	HeldSeed  = 9002
)

// Pool is all adversaries together. It is safe for concurrent use.
type Pool struct {
	bayes   *Bayes
	lexical *Lexical // nil for none

	once    sync.Once
	nothing *Posterior // where nothing is known
}

// NewPool makes the stress pool of a world: exact inference, and words besides.
func NewPool(s *world.Setting) *Pool {
	p := world.Joint()
	return &Pool{bayes: NewBayes(p), lexical: Train(s, p, TrainSeed, HeldSeed, 3*world.Size)}
}

// Seen is what some sinks were shown of a task, put together.
type Seen struct {
	Facts []world.Fact
	Typed []world.Fact // those of arguments that are no free text
	Texts View
}

// Add adds a released argument.
func (s *Seen) Add(original *world.Part, released string) {
	facts := world.Disclosed(original, released)
	s.Facts = together(s.Facts, facts)
	switch {
	case !original.Free:
		s.Typed = together(s.Typed, facts)
	case released != "":
		s.Texts = append(s.Texts, released)
	}
}

func together(have, more []world.Fact) []world.Fact {
	for _, f := range more {
		if !slices.Contains(have, f) {
			have = append(have, f)
		}
	}
	return have
}

// Join adds what others were shown.
func (s *Seen) Join(other *Seen) {
	s.Facts, s.Typed = together(s.Facts, other.Facts), together(s.Typed, other.Typed)
	s.Texts = append(s.Texts, other.Texts...)
}

// true facts only: the adversary is given to know which clues to trust.
func truths(x *world.Person, facts []world.Fact) []world.Fact {
	out := make([]world.Fact, 0, len(facts))
	for _, f := range facts {
		if x.Holds(f) {
			out = append(out, f)
		}
	}
	return out
}

// Beliefs are about every field, in the order of world.Fields, and about all
// together.
type Beliefs struct {
	Of     [len(fields)]Belief
	Person float64 // log2 of the probability of the best guess
}

var fields = [15]world.Field(world.Fields)

// Prior is what is believed from the background alone.
func (p *Pool) Prior(t *world.Task) Beliefs { return p.believe(t, t.Background, nil) }

func (p *Pool) believe(t *world.Task, facts []world.Fact, cues *Cues) Beliefs {
	post := p.bayes.Infer(truths(t.Person, facts), cues)
	var out Beliefs
	for i, f := range fields {
		out.Of[i] = post.Of(f, t.Person)
	}
	out.Person = post.Person()
	return out
}

// Leak is what a view tells about each field, in bits, by the adversary of the
// pool that learns most; and how probable it is that each is recovered by the
// best guess of the one who believes most. Total is what it tells about all
// secrets together, in bits: what several of them share counts once.
type Leak struct {
	Bits, Recovered [len(fields)]float64
	Total           float64
}

// Sum is the sum over all fields, in which what several share counts for each.
func (l *Leak) Sum() float64 {
	sum := 0.0
	for _, b := range l.Bits {
		sum += b
	}
	return sum
}

// Measure measures a view.
func (p *Pool) Measure(t *world.Task, prior *Beliefs, seen *Seen) Leak {
	facts := slices.Concat(t.Background, seen.Facts)
	plain := p.believe(t, facts, nil)
	worded := plain
	if cues := p.cues(seen); cues != nil {
		worded = p.believe(t, facts, cues)
	}
	var out Leak
	for i := range fields {
		a, b := plain.Of[i].Bits(prior.Of[i]), worded.Of[i].Bits(prior.Of[i])
		out.Bits[i] = max(a, b)
		out.Recovered[i] = plain.Of[i].Recovered()
		if b > a {
			out.Recovered[i] = worded.Of[i].Recovered()
		}
	}
	out.Total = max(0, plain.Person-prior.Person, worded.Person-prior.Person)
	return out
}

// Total is Measure's Total alone, which costs less to find.
func (p *Pool) Total(t *world.Task, prior *Beliefs, seen *Seen) float64 {
	facts := truths(t.Person, slices.Concat(t.Background, seen.Facts))
	best := p.bayes.Infer(facts, nil).Person()
	if cues := p.cues(seen); cues != nil {
		best = max(best, p.bayes.Infer(facts, cues).Person())
	}
	return max(0, best-prior.Person)
}

func (p *Pool) cues(seen *Seen) *Cues { return p.lexical.Cues(seen.Texts) }

// Declared measures a view as the model that sets costs does: every field on
// its own, from what was told about it alone. It has no part in the pool; what
// Measure finds beyond it comes from correlations.
func (p *Pool) Declared(t *world.Task, seen *Seen) [len(fields)]float64 {
	var out [len(fields)]float64
	for i, f := range fields {
		var own, background []world.Fact
		for _, fact := range seen.Facts {
			if fieldOf(fact.Kind) == f {
				own = append(own, fact)
			}
		}
		prior := p.bayes.Infer(background, nil).Of(f, t.Person)
		out[i] = p.bayes.Infer(truths(t.Person, own), nil).Of(f, t.Person).Bits(prior)
	}
	return out
}

// fieldOf is the field that a kind of fact is about.
func fieldOf(k world.Kind) world.Field {
	switch k {
	case world.KGiven, world.KSurname, world.KInitials:
		return world.LegalName
	case world.KBorn, world.KBirthday:
		return world.DOB
	case world.KStreet, world.KNumber, world.KZip, world.KCity, world.KState, world.KRegion, world.KCountry:
		return world.Address
	case world.KVenue, world.KAtCity, world.KAtState, world.KAtRegion, world.KAtCountry:
		return world.Location
	case world.KPhone, world.KArea, world.KPhoneEnd:
		return world.Phone
	case world.KEmail, world.KLocal, world.KDomain:
		return world.Email
	case world.KIllness, world.KChapter, world.KMedicine, world.KSymptom:
		return world.Diagnosis
	case world.KPay, world.KJob:
		return world.Salary
	case world.KCard, world.KCardEnd, world.KBin, world.KBrand:
		return world.PaymentToken
	case world.KAccount, world.KAccEnd, world.KPrefix:
		return world.AccountID
	case world.KNID, world.KNIDEnd, world.KNIDArea:
		return world.NationalID
	}
	return world.Field(k)
}
