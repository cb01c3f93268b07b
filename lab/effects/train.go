package effects

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/suggest"
)

// TrainOptions of a classifier of tools.
type TrainOptions struct {
	Paths
	Seed     uint64
	Progress func(string)
}

// Card says where a model is from. The model's file lies beside it.
type Card struct {
	Version int    `json:"version"`
	Command string `json:"command"`
	Seed    uint64 `json:"seed"`
	Labels  string `json:"labels"` // hashes of the files
	Split   string `json:"split"`
	Model   string `json:"model"`
	Train   int    `json:"train"` // tools that the weights are fitted to
	Dev     int    `json:"dev"`   // and tools that the rules are chosen on, besides those
	// Lambda by head: effect, source, open.
	Lambda [3]float64    `json:"lambda"`
	Rules  suggest.Rules `json:"rules"`
	// Held are the figures on tools of servers that the weights were not fitted to:
	// each fold of the train servers, and the dev servers. The rules were chosen
	// on the same tools.
	Held map[string]float64 `json:"held"`
	// OnDev are those of the dev servers alone.
	OnDev map[string]float64 `json:"dev_alone"`
}

const (
	foldCount  = 8
	nameOnly   = 0.2   // weight of the copy of an example that has only its name
	rareness   = 0.4   // classes weigh their number to the power of minus this
	proseLimit = 1     // log-odds that prose may add to reading
	allowed    = 0.005 // share of acting tools that may be taken for observing where the rules are chosen
	leastSure  = 0.5   // below which nothing is taken for observing
	missedCost = 2     // of the world's words taken for less, against the opposite
)

var lambdas = []float64{1e-3, 2e-3, 4e-3}

// example is a tool as the heads see it.
type example struct {
	in        suggest.Input
	all, name []suggest.Feature
	t         *labelledTool
	fold      int
}

// heads are the targets of the three fits.
var heads = [3]struct {
	outputs int
	class   func(*labelledTool) int
	rare    float64
}{
	{suggest.Effects, func(t *labelledTool) int { return int(t.effect) }, rareness},
	{3, func(t *labelledTool) int { return int(t.source) }, 0},
	{1, func(t *labelledTool) int { return int(is(t.open)) }, 0},
}

// TrainTools fits the classifier of tools to the labels of the train servers, and
// chooses everything else on servers that a fit has not seen. The test servers'
// definitions are not read.
func TrainTools(ctx context.Context, o TrainOptions) (*suggest.Model, *Card, error) {
	tools, hashes, err := o.tools(Train, Dev)
	if err != nil {
		return nil, nil, err
	}
	card := &Card{
		Version: 1, Command: fmt.Sprintf("margay-lab train effects --seed %d", o.Seed), Seed: o.Seed, Labels: hashes[0], Split: hashes[1],
		Rules: suggest.Rules{Prose: proseLimit, Temperature: 1},
	}
	all := make([]example, len(tools))
	for i := range tools {
		e := &all[i]
		e.t, e.in = &tools[i], suggest.Read(&tools[i].tool)
		e.all = append(append(e.all, e.in.Names...), e.in.Prose...)
		e.name = suggest.Read(&suggest.Tool{Name: tools[i].label.Tool}).Names
		e.fold = -1 // dev
		if tools[i].part == Train {
			e.fold = foldOf(o.Seed, tools[i].server)
			card.Train++
		} else {
			card.Dev++
		}
	}
	if card.Train == 0 || card.Dev == 0 {
		return nil, nil, errors.New("the split leaves no server to train on, or none to choose on")
	}
	t := &trainer{ctx: ctx, all: all, progress: o.Progress}
	held, final, err := t.run(card)
	if err != nil {
		return nil, nil, err
	}
	chooseRules(card, all, held)
	final.Rules = card.Rules
	sum := sha256.Sum256(final.Bytes())
	card.Model = "sha256:" + hex.EncodeToString(sum[:])
	return final, card, nil
}

// foldOf draws a server's fold by its name.
func foldOf(seed uint64, server string) int {
	h := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, seed), server...))
	return int(binary.BigEndian.Uint64(h[:8]) % foldCount)
}

// trainer fits the heads.
type trainer struct {
	ctx      context.Context
	all      []example
	progress func(string)
}

// samples are the examples of a head that a fit sees: all of the train servers but
// those of a fold. With fold -1 it sees them all.
func (t *trainer) samples(head, fold int) []sample {
	h := heads[head]
	count := map[int]float64{}
	for i := range t.all {
		if e := &t.all[i]; e.fold >= 0 && e.fold != fold {
			count[h.class(e.t)]++
		}
	}
	var out []sample
	for i := range t.all {
		e := &t.all[i]
		if e.fold < 0 || e.fold == fold {
			continue
		}
		y := h.class(e.t)
		w := math.Pow(count[y], -h.rare)
		out = append(out, sample{e.all, y, w}, sample{e.name, y, nameOnly * w})
	}
	return out
}

// run chooses the strength of regularisation of each head, and returns for each
// example the model that has not seen its server, and the final model.
func (t *trainer) run(card *Card) ([]*suggest.Model, *suggest.Model, error) {
	held := make([]*suggest.Model, len(t.all))
	byFold := make([]*suggest.Model, foldCount+1) // the last sees every train server
	for i := range byFold {
		byFold[i] = &suggest.Model{Rules: card.Rules}
	}
	from := [3]int{suggest.EffectHead, suggest.SourceHead, suggest.OpenHead}
	for head := range heads {
		least := math.Inf(1)
		for _, lambda := range lambdas {
			t.progress(fmt.Sprintf("fitting head %d of 3, lambda %g", head+1, lambda))
			fits, err := t.folds(head, lambda)
			if err != nil {
				return nil, nil, err
			}
			if loss := t.loss(head, fits); loss < least {
				least, card.Lambda[head] = loss, lambda
				for i, f := range fits {
					quantise(byFold[i], from[head], f)
				}
			}
		}
	}
	for i := range t.all {
		held[i] = byFold[(t.all[i].fold+foldCount+1)%(foldCount+1)]
	}
	return held, byFold[foldCount], nil
}

// folds fits a head without each fold, and once to all.
func (t *trainer) folds(head int, lambda float64) ([]*linear, error) {
	out := make([]*linear, foldCount+1)
	var wg sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range out {
		turn <- struct{}{}
		if err := t.ctx.Err(); err != nil {
			break
		}
		fold := i
		if i == foldCount {
			fold = -1
		}
		wg.Go(func() {
			defer func() { <-turn }()
			out[i] = fitLinear(t.samples(head, fold), heads[head].outputs, lambda)
		})
	}
	wg.Wait()
	return out, t.ctx.Err()
}

// loss is the mean log-loss on servers that the fits have not seen.
func (t *trainer) loss(head int, fits []*linear) float64 {
	p := make([]float64, heads[head].outputs)
	sum := 0.0
	for i := range t.all {
		e := &t.all[i]
		fits[(e.fold+foldCount+1)%(foldCount+1)].scores(e.all, p)
		probabilities(p)
		y := heads[head].class(e.t)
		right := p[min(y, len(p)-1)]
		if len(p) == 1 && y == 0 {
			right = 1 - p[0]
		}
		sum -= math.Log(max(right, 1e-9))
	}
	return sum / float64(len(t.all))
}

// chooseRules chooses the temperature and the thresholds, and notes the figures.
func chooseRules(card *Card, all []example, held []*suggest.Model) {
	r := &card.Rules
	r.Temperature = temperature(all, held)
	for _, m := range held {
		m.Rules = *r
	}
	p := make([][suggest.Effects]float64, len(all))
	worlds, opens := make([]scored, len(all)), make([]scored, len(all))
	for i := range all {
		e := &all[i]
		p[i] = held[i].Probabilities(&e.in)
		if suggest.Denied(&e.t.tool) {
			p[i][effect.Observe] = 0
		}
		worlds[i] = scored{held[i].Sources(&e.in)[suggest.World], e.t.source == suggest.World}
		opens[i] = scored{held[i].Opens(&e.in), e.t.open}
	}
	r.Reads, r.Observe = observing(all, p)
	r.World, r.Open = threshold(worlds, missedCost), threshold(opens, missedCost)
	var every, dev tallyTools
	for i := range all {
		held[i].Rules = *r
		got := held[i].Propose(&all[i].t.tool)
		every.add(all[i].t.classes, got)
		if all[i].fold < 0 {
			dev.add(all[i].t.classes, got)
		}
	}
	card.Held, card.OnDev = every.metrics(), dev.metrics()
}

// temperature is that of the least log-loss, without what signs overrule.
func temperature(all []example, held []*suggest.Model) float64 {
	best, least := 1.0, math.Inf(1)
	for t := 0.5; t <= 2.5; t += 0.05 {
		loss := 0.0
		for i := range all {
			m := held[i]
			m.Temperature = t
			in := all[i].in
			in.Signs = suggest.Signs{}
			loss -= math.Log(max(m.Probabilities(&in)[all[i].t.effect], 1e-9))
		}
		if loss < least {
			best, least = t, loss
		}
	}
	return best
}

// observing chooses the two thresholds of observing: of those that take few enough
// acting tools for observing, the ones that find the most tools that observe.
func observing(all []example, p [][suggest.Effects]float64) (reads, other float64) {
	acting := 0
	for i := range all {
		acting += int(is(all[i].t.effect.Acts()))
	}
	limit := int(allowed * float64(acting))
	type end struct{ wrong, found int }
	count := func(verb bool, least float64) (e end) {
		for i := range all {
			if all[i].in.Reads == verb && p[i][effect.Observe] >= least {
				if all[i].t.effect.Acts() {
					e.wrong++
				} else {
					e.found++
				}
			}
		}
		return e
	}
	best := -1
	reads, other = 1, 1
	for a := leastSure; a < 1; a += 0.01 {
		one := count(true, a)
		for b := a; b < 1; b += 0.01 {
			two := count(false, b)
			if one.wrong+two.wrong <= limit && one.found+two.found > best {
				best, reads, other = one.found+two.found, a, b
			}
		}
	}
	return math.Round(reads*100) / 100, math.Round(other*100) / 100
}

// scored is a probability, and whether the thing is so.
type scored struct {
	p  float64
	is bool
}

// threshold is that of the least cost, if to miss one costs as much as so many
// false alarms.
func threshold(all []scored, cost float64) float64 {
	best, least := 0.5, math.Inf(1)
	for t := 0.02; t < 0.99; t += 0.02 {
		sum := 0.0
		for _, s := range all {
			switch {
			case s.is && s.p < t:
				sum += cost
			case !s.is && s.p >= t:
				sum++
			}
		}
		if sum < least-1e-9 {
			best, least = t, sum
		}
	}
	return math.Round(best*100) / 100
}

// upper is the upper end of the exact interval of a proportion.
func upper(k, n float64) float64 { return stats.ClopperPearson(int(k), int(n), 0.95)[1] }
