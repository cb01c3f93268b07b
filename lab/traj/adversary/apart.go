package adversary

import (
	"math"
	"slices"

	"github.com/margaydev/margay/lab/traj/world"
)

// New makes a pool from a belief about the population alone.
func New(p *world.Population) *Pool { return &Pool{NewBayes(p), nil} }

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
// are any. What it knew before is the background.
func (p *Pool) Apart(x *world.Person, background []world.Fact, seen *Seen, tied func(a, b world.Field) bool, cues *Cues) Learnt {
	var out Learnt
	prior := p.bayes.Infer(truths(x, background), nil)
	for i, f := range fields {
		var own []world.Fact
		for _, fact := range seen.Facts {
			if g := fieldOf(fact.Kind); g == f || tied(f, g) {
				own = append(own, fact)
			}
		}
		post := prior
		if len(own) > 0 || cues != nil {
			post = p.bayes.Infer(truths(x, append(own, background...)), cues)
		}
		belief := post.Of(f, x)
		out.Bits[i], out.Right[i] = belief.Bits(prior.Of(f, x)), belief.Recovered()
	}
	return out
}

// Together measures a view as an adversary does who takes everything into
// account: what each field tells of the others, too, and cues if there are any.
func (p *Pool) Together(x *world.Person, background []world.Fact, seen *Seen, cues *Cues) Learnt {
	prior := p.bayes.Infer(truths(x, background), nil)
	post := p.bayes.Infer(truths(x, slices.Concat(background, seen.Facts)), cues)
	var out Learnt
	for i, f := range fields {
		belief := post.Of(f, x)
		out.Bits[i], out.Right[i] = belief.Bits(prior.Of(f, x)), belief.Recovered()
	}
	out.Total = max(0, post.Person()-prior.Person())
	return out
}

// Best is log2 of the probability of the best guess of a field of a person when
// nothing is known.
func (p *Pool) Best(f world.Field, x *world.Person) float64 {
	return math.Log2(p.bayes.Infer(nil, nil).Of(f, x).Max)
}
