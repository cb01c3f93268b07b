package adversary

import (
	"math"
	"slices"

	"github.com/margaydev/margay/lab/traj/world"
)

// New makes a pool from a belief about the population and, unless it is nil, from
// what words say.
func New(p *world.Population, l *Lexical) *Pool { return &Pool{NewBayes(p), l} }

// FieldOf is the field that a kind of fact is about.
func FieldOf(k world.Kind) world.Field { return fieldOf(k) }

// Gains is what a view tells about each field, in bits, in the order of
// world.Fields.
type Gains [len(fields)]float64

// Apart measures a view as an adversary does who takes into account, of each
// field, only what was shown of the fields that are tied to it, and, if words
// is set, the ordinary words of the texts. What it knew before is the background.
func (p *Pool) Apart(x *world.Person, background []world.Fact, seen *Seen, tied func(a, b world.Field) bool, words bool) Gains {
	var cues *Cues
	if words {
		cues = p.cues(seen)
	}
	var out Gains
	prior := p.bayes.Infer(truths(x, background), nil)
	for i, f := range fields {
		var own []world.Fact
		for _, fact := range seen.Facts {
			if g := fieldOf(fact.Kind); g == f || tied(f, g) {
				own = append(own, fact)
			}
		}
		if len(own) == 0 && cues == nil {
			continue
		}
		own = append(own, background...)
		out[i] = p.bayes.Infer(truths(x, own), cues).Of(f, x).Bits(prior.Of(f, x))
	}
	return out
}

// Together measures a view as an adversary does who takes everything into
// account: what each field tells of the others, too, and the words if words is
// set. The total is of all secrets together.
func (p *Pool) Together(x *world.Person, background []world.Fact, seen *Seen, words bool) (g Gains, total float64) {
	var cues *Cues
	if words {
		cues = p.cues(seen)
	}
	prior := p.bayes.Infer(truths(x, background), nil)
	post := p.bayes.Infer(truths(x, slices.Concat(background, seen.Facts)), cues)
	for i, f := range fields {
		g[i] = post.Of(f, x).Bits(prior.Of(f, x))
	}
	return g, max(0, post.Person()-prior.Person())
}

// Best is log2 of the probability of the best guess of a field of a person when
// nothing is known.
func (p *Pool) Best(f world.Field, x *world.Person) float64 {
	return math.Log2(p.bayes.Infer(nil, nil).Of(f, x).Max)
}
