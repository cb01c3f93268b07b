package adversary

import (
	"math"
	"slices"

	"github.com/margaydev/margay/lab/traj/world"
)

// New makes a pool from a belief about the population alone.
func New(p *world.Population) *Pool { return &Pool{bayes: NewBayes(p)} }

// FieldOf is the field that a kind of fact is about.
func FieldOf(k world.Kind) world.Field { return fieldOf(k) }

// Gains are numbers of each field, in the order of world.Fields.
type Gains [len(fields)]float64

// Learnt is what a view tells.
type Learnt struct {
	Bits  Gains   // about each field
	Right Gains   // how probable it is that the best guess of each is right
	Total float64 // bits about all fields together; Together alone finds it
}

// Apart measures a view as an adversary does who takes into account, of each
// field, only what was shown of the fields that are tied to it, and cues if there
// are any. What it knew before is the background. Only, unless it is empty, is the
// one field that is asked about.
func (p *Pool) Apart(x *world.Person, background []world.Fact, seen *Seen, tied func(a, b world.Field) bool, cues *Cues, only world.Field) Learnt {
	var out Learnt
	prior := p.known(truths(x, background))
	bare := prior // of fields that nothing was shown of
	if cues != nil {
		bare = p.bayes.Infer(truths(x, background), cues)
	}
	for i, f := range fields {
		if only != "" && only != f {
			continue
		}
		var own []world.Fact
		for _, fact := range seen.Facts {
			if g := fieldOf(fact.Kind); g == f || tied(f, g) {
				own = append(own, fact)
			}
		}
		post := bare
		if len(own) > 0 {
			post = p.bayes.Infer(truths(x, append(own, background...)), cues)
		}
		belief := post.Of(f, x)
		out.Bits[i], out.Right[i] = belief.Bits(prior.Of(f, x)), belief.Recovered()
	}
	return out
}

// Together measures a view as an adversary does who takes everything into
// account: what each field tells of the others, too, and cues if there are any.
// Only is as Apart's; with it there is no Total.
func (p *Pool) Together(x *world.Person, background []world.Fact, seen *Seen, cues *Cues, only world.Field) Learnt {
	prior := p.known(truths(x, background))
	post := p.bayes.Infer(truths(x, slices.Concat(background, seen.Facts)), cues)
	var out Learnt
	for i, f := range fields {
		if only == "" || only == f {
			belief := post.Of(f, x)
			out.Bits[i], out.Right[i] = belief.Bits(prior.Of(f, x)), belief.Recovered()
		}
	}
	if only == "" {
		out.Total = max(0, post.Person()-prior.Person())
	}
	return out
}

// known is what follows from facts alone. Mostly there are none.
func (p *Pool) known(facts []world.Fact) *Posterior {
	if len(facts) > 0 {
		return p.bayes.Infer(facts, nil)
	}
	p.once.Do(func() { p.nothing = p.bayes.Infer(nil, nil) })
	return p.nothing
}

// Best is log2 of the probability of the best guess of a field of a person when
// nothing is known.
func (p *Pool) Best(f world.Field, x *world.Person) float64 {
	return math.Log2(p.bayes.Infer(nil, nil).Of(f, x).Max)
}
