package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/world"
)

// Seeds that adversaries are made from; no result is reported on them. The stress
// pool's are those of package adversary.
const (
	trainSeed    = 9003
	heldSeed     = 9004
	registerSeed = 9005
	networkSeed  = 9006
	netHeldSeed  = 9007
	scoresSeed   = 9008
)

// scoresTasks are those that a model's likelihoods are calibrated on: few, as each
// is a question to an endpoint.
const scoresTasks = 24

// View is what an adversary sees of a person.
type View struct {
	Person *world.Person
	Public []world.Fact // what is public about the person
	Known  []world.Fact // what the prior knows besides
	Seen   *adversary.Seen
	Only   world.Field // the one field that is asked about; empty for all of them and their total
}

// Proxy is an adversary.
type Proxy struct {
	Name string
	// From says what it is made from: two with the same From are one adversary.
	From string
	// Learn returns what it learns from a view.
	Learn func(ctx context.Context, v *View) (adversary.Learnt, error)
}

// Pool is a set of adversaries.
type Pool struct {
	Name    string // calibration or stress
	Proxies []Proxy
}

// Pools are the two pools.
type Pools struct{ Calibration, Stress Pool }

func (p *Pools) both() [2]*Pool { return [2]*Pool{&p.Calibration, &p.Stress} }

// worst is the most that one of the pool learns, by field and of all together.
func (p *Pool) worst(ctx context.Context, v *View) (adversary.Learnt, error) {
	var out adversary.Learnt
	for i := range p.Proxies {
		one, err := p.Proxies[i].Learn(ctx, v)
		if err != nil {
			return out, fmt.Errorf("%s: %w", p.Proxies[i].Name, err)
		}
		for k := range out.Bits {
			out.Bits[k], out.Right[k] = max(out.Bits[k], one.Bits[k]), max(out.Right[k], one.Right[k])
		}
		out.Total = max(out.Total, one.Total)
	}
	return out, nil
}

// Prior is what adversaries believe before they see anything.
type Prior struct {
	Name       string
	Population *world.Population
	Known      func(x *world.Person) []world.Fact // nil for nothing
}

// Priors are those that coverage is reported under; the first is the population's
// own.
func Priors() []Prior {
	return []Prior{
		{Name: "joint", Population: world.Joint()},
		{Name: "uniform", Population: reweighted(0)},
		{Name: "census", Population: reweighted(1.5)},
		{Name: "region", Population: world.Joint(), Known: func(x *world.Person) []world.Fact {
			return []world.Fact{{Kind: world.KRegion, Value: world.Regions[x.Region]}}
		}},
	}
}

// reweighted is the population with all its tables raised to a power: 0 makes
// equal what is possible, more than 1 makes the common more common.
func reweighted(power float64) *world.Population {
	p := world.Joint()
	bend := func(t []float64) {
		sum := 0.0
		for i, v := range t {
			if v > 0 {
				t[i] = math.Pow(v, power)
			}
			sum += t[i]
		}
		for i := range t {
			t[i] /= sum
		}
	}
	bend(p.Region)
	bend(p.Decade)
	for _, tables := range [][][]float64{p.City, p.Surname, p.Bank, p.Year, p.Given, p.Job, p.Illness} {
		for _, t := range tables {
			bend(t)
		}
	}
	return p
}

// Model is an adversary behind an endpoint.
type Model interface {
	Posterior(ctx context.Context, x *world.Person, shown adversary.View) ([]adversary.Guessed, error)
}

// Scores is an adversary by what a model takes for likely.
type Scores interface {
	// Calibrate decides how far the model is believed; it is called once, first.
	Calibrate(ctx context.Context, s *world.Setting, p *world.Population, seed uint64, n int) error
	Cues(ctx context.Context, v adversary.View) (*adversary.Cues, error)
}

// Extra are adversaries that are not always there.
type Extra struct {
	// Model and Stress are of the two pools; each with a name. They must not be
	// the same model.
	Model, Stress         Model
	ModelName, StressName string
	// Scores is of the stress pool: costs must not depend on an endpoint.
	Scores     Scores
	ScoresName string
}

// readers are the classifiers of texts, which no prior changes.
type readers struct{ words, network, stress *adversary.Lexical }

func learnReaders(s *world.Setting, n int) (readers, error) {
	p := world.Joint()
	m, err := tagger.Default()
	if err != nil {
		return readers{}, err
	}
	return readers{
		adversary.Train(s, p, trainSeed, heldSeed, n),
		adversary.TrainTagged(s, p, networkSeed, netHeldSeed, n, m),
		adversary.Train(s, p, adversary.TrainSeed, adversary.HeldSeed, n),
	}, nil
}

// newPools makes the pools of a prior. Tied are the dependencies that the rubrics
// declare: the calibration pool knows these and no others.
func newPools(prior Prior, r readers, tied func(a, b world.Field) bool, extra Extra) Pools {
	mine, theirs := adversary.New(prior.Population), adversary.New(prior.Population)
	alone := func(_, _ world.Field) bool { return false }
	apart := func(tied func(a, b world.Field) bool, words *adversary.Lexical) func(context.Context, *View) (adversary.Learnt, error) {
		return func(_ context.Context, v *View) (adversary.Learnt, error) {
			return mine.Apart(v.Person, v.Known, v.Seen, tied, words.Cues(v.Seen.Texts), v.Only), nil
		}
	}
	together := func(public bool, words *adversary.Lexical) func(context.Context, *View) (adversary.Learnt, error) {
		return func(_ context.Context, v *View) (adversary.Learnt, error) {
			return theirs.Together(v.Person, v.known(public), v.Seen, words.Cues(v.Seen.Texts), v.Only), nil
		}
	}
	out := Pools{
		Pool{"calibration", []Proxy{
			{"independent", "exact Bayes, each field alone", apart(alone, nil)},
			{"declared", "exact Bayes, declared dependencies", apart(tied, nil)},
			{"words", fmt.Sprintf("each field alone, words of seeds %d and %d", trainSeed, heldSeed), apart(alone, r.words)},
			{"network", fmt.Sprintf("each field alone, texts as the network reads them, of seeds %d and %d", networkSeed, netHeldSeed), func(_ context.Context, v *View) (adversary.Learnt, error) {
				read := &adversary.Seen{Facts: v.Seen.Typed}
				return mine.Apart(v.Person, v.Known, read, alone, r.network.Cues(v.Seen.Texts), v.Only), nil
			}},
		}},
		Pool{"stress", []Proxy{
			{"joint", "exact Bayes, joint distribution", together(false, nil)},
			{"linkage", "exact Bayes, joint distribution and public background", together(true, nil)},
			{"linkage+words", fmt.Sprintf("joint distribution and public background, words of seeds %d and %d", adversary.TrainSeed, adversary.HeldSeed), together(true, r.stress)},
		}},
	}
	if extra.Scores != nil {
		name := "likelihoods of " + extra.ScoresName
		out.Stress.Proxies = append(out.Stress.Proxies, Proxy{name, "model " + extra.ScoresName, func(ctx context.Context, v *View) (adversary.Learnt, error) {
			cues, err := extra.Scores.Cues(ctx, v.Seen.Texts)
			return theirs.Together(v.Person, v.known(true), v.Seen, cues, v.Only), err
		}})
	}
	if extra.Model != nil {
		out.Calibration.Proxies = append(out.Calibration.Proxies, modelProxy(extra.Model, extra.ModelName, mine))
	}
	if extra.Stress != nil {
		out.Stress.Proxies = append(out.Stress.Proxies, modelProxy(extra.Stress, extra.StressName, theirs))
	}
	return out
}

// known is what an adversary knew before.
func (v *View) known(public bool) []world.Fact {
	if public {
		return slices.Concat(v.Known, v.Public)
	}
	return v.Known
}

// modelProxy takes what a model says of its guesses as its posterior. Where a
// guess is wrong, the model learnt nothing of the field that it could use.
func modelProxy(m Model, name string, prior *adversary.Pool) Proxy {
	return Proxy{"model " + name, "model " + name, func(ctx context.Context, v *View) (adversary.Learnt, error) {
		var out adversary.Learnt
		if len(v.Seen.Facts) == 0 && len(v.Seen.Texts) == 0 {
			return out, nil
		}
		guesses, err := m.Posterior(ctx, v.Person, v.Seen.Texts)
		if err != nil {
			return out, err
		}
		for _, g := range guesses {
			if g.Right {
				f := fieldIndex(g.Field)
				out.Bits[f], out.Right[f] = max(0, math.Log2(g.Share)-prior.Best(g.Field, v.Person)), 1
			}
		}
		return out, nil
	}}
}
