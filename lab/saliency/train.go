package saliency

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/margaydev/margay/screen/saliency"
)

// Options of a training.
type Options struct {
	Seed     uint64
	Epochs   int          // 60 where 0
	Progress func(string) // nil for none
}

const (
	defaultEpochs = 60
	rate          = 3e-3
	decay         = 1e-2
	batch         = 8 // sequences
	fifth         = 5 // one task of so many is for validation
)

func (o *Options) defaults() {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Epochs = cmp.Or(o.Epochs, defaultEpochs)
}

// sequence is a question as the network reads it.
type sequence struct {
	suite, task, kind string
	x                 [][saliency.Count]float64 // raw, or as the network reads them
	// y is what is learnt: labels, and Yes for the region that most attention is
	// on of those of which one is needed.
	y      []int
	labels []int
	any    [][]int // places of which one is needed
}

// units are what counts of a sequence: its labelled regions, and as one those of
// which one is needed, with the highest score among them.
func (s *sequence) units(scores []float64) []scored {
	var out []scored
	for t, y := range s.labels {
		if y != Open {
			out = append(out, scored{scores[t], y, s.suite})
		}
	}
	for _, any := range s.any {
		p := 0.0
		for _, t := range any {
			p = max(p, scores[t])
		}
		out = append(out, scored{p, Yes, s.suite})
	}
	return out
}

// levels are the 99th percentiles of a sequence as it is recorded.
func (s *sequence) levels() []float64 {
	out := make([]float64, len(s.x))
	for t := range s.x {
		out[t] = s.x[t][saliency.Count-1]
	}
	return out
}

// sequences of a record: labelled questions about a proposed answer.
func (r *Record) sequences() []sequence {
	var out []sequence
	for _, l := range r.Lines {
		s := sequence{suite: l.Suite, task: l.Task, kind: l.Kind}
		at := map[int]int{}
		for i, g := range l.Regions {
			if g != nil && g.Features != nil {
				at[i] = len(s.x)
				s.x, s.labels = append(s.x, *g.Features), append(s.labels, g.Needed)
			}
		}
		s.y = slices.Clone(s.labels)
		for _, any := range l.Any {
			var of []int
			for _, i := range any {
				of = append(of, at[i])
			}
			s.any = append(s.any, of)
			s.y[slices.MaxFunc(of, func(a, b int) int { return cmp.Compare(s.x[a][saliency.Count-1], s.x[b][saliency.Count-1]) })] = Yes
		}
		if l.Suite != "" && (l.Kind == "call" || l.Kind == "answer") && len(s.x) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// calls are the questions about calls, which is what is trained on: what an answer
// in free text draws on is labelled too coarsely.
func calls(all []sequence) []sequence {
	return slices.DeleteFunc(slices.Clone(all), func(s sequence) bool { return s.kind != "call" })
}

// ErrOneClass says that all regions are of one class.
var ErrOneClass = errors.New("the regions to train on are all needed, or none is")

// split parts sequences by their tasks.
func split(all []sequence) (train, held []sequence) {
	for _, s := range all {
		h := fnv.New32a()
		_, _ = h.Write([]byte(s.task))
		if h.Sum32()%fifth == 0 {
			held = append(held, s)
		} else {
			train = append(train, s)
		}
	}
	return train, held
}

// scaling is the mean and the deviation of the logarithms of features.
func scaling(all []sequence) (m saliency.Model) {
	n := 0.0
	var sum, square [saliency.Count]float64
	for _, s := range all {
		for _, x := range s.x {
			n++
			for i, v := range x {
				v = saliency.Log(v)
				sum[i] += v
				square[i] += v * v
			}
		}
	}
	for i := range sum {
		m.Mean[i] = round(sum[i] / n)
		m.Scale[i] = round(math.Sqrt(max(square[i]/n-m.Mean[i]*m.Mean[i], 1e-6)))
	}
	return m
}

// round keeps six digits, as the file does.
func round(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}

func scaled(m *saliency.Model, all []sequence) []sequence {
	out := slices.Clone(all)
	for i := range out {
		out[i].x = make([][saliency.Count]float64, len(all[i].x))
		for t := range all[i].x {
			out[i].x[t] = m.Input(&all[i].x[t])
		}
	}
	return out
}

// balance are weights by which both classes count the same, and a region one
// on average.
func balance(all []sequence) (w [2]float64, err error) {
	var n [2]float64
	for _, s := range all {
		for _, y := range s.y {
			if y != Open {
				n[y]++
			}
		}
	}
	if n[0] == 0 || n[1] == 0 {
		return w, ErrOneClass
	}
	return [2]float64{(n[0] + n[1]) / (2 * n[0]), (n[0] + n[1]) / (2 * n[1])}, nil
}

// Train trains a network. The same sequences and options give the same network
// on one architecture.
func train(all []sequence, o Options) (*saliency.Model, error) {
	o.defaults()
	all = calls(all)
	m := scaling(all)
	part, held := split(scaled(&m, all))
	weight, err := balance(part)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x73616c69))
	w, opt := initial(rng), adam{}
	best, kept := math.Inf(1), slices.Clone(w)
	grad := make([]float64, len(w))
	for epoch := range o.Epochs {
		rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		for from := 0; from < len(part); from += batch {
			clear(grad)
			for i := from; i < min(from+batch, len(part)); i++ {
				one := part[i]
				if rng.IntN(2) == 0 {
					one = shuffled(&one, rng)
				}
				pass(w, &one, weight, grad)
			}
			opt.apply(w, grad, rate*0.5*(1+math.Cos(math.Pi*float64(epoch)/float64(o.Epochs))), decay)
		}
		loss := 0.0
		for i := range held {
			l, _ := pass(w, &held[i], weight, nil)
			loss += l
		}
		o.Progress(fmt.Sprintf("epoch %d: %.1f on the validation part", epoch+1, loss))
		if loss < best {
			best = loss
			copy(kept, w)
		}
	}
	for i := range kept {
		kept[i] = round(kept[i])
	}
	m.Weights = kept
	m.Threshold = threshold(units(held, func(s *sequence) []float64 {
		_, p := pass(kept, s, [2]float64{}, nil)
		return p
	}))
	return &m, nil
}

// shuffled is a sequence in another order, so that what is learnt of the order of
// one suite's results has less weight.
func shuffled(s *sequence, rng *rand.Rand) sequence {
	out := sequence{x: slices.Clone(s.x), y: slices.Clone(s.y)}
	rng.Shuffle(len(out.x), func(i, j int) {
		out.x[i], out.x[j] = out.x[j], out.x[i]
		out.y[i], out.y[j] = out.y[j], out.y[i]
	})
	return out
}

// scored is a unit's score and label.
type scored struct {
	p     float64
	y     int
	suite string
}

func units(all []sequence, score func(*sequence) []float64) (out []scored) {
	for i := range all {
		out = append(out, all[i].units(score(&all[i]))...)
	}
	return out
}

// threshold is the score from which a region counts as needed: where the balanced
// accuracy is greatest, each suite counting the same.
func threshold(all []scored) float64 {
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(a.p, b.p) })
	n := map[scored]float64{} // of a suite and a label
	for _, s := range all {
		s.p = 0
		n[s]++
	}
	best, at, got := 0.0, 0.5, 0.0
	for i, s := range all {
		if i > 0 && s.p > all[i-1].p && got > best {
			best, at = got, (s.p+all[i-1].p)/2
		}
		// What is below the threshold is left.
		share := 1 / n[scored{0, s.y, s.suite}]
		if s.y == Yes {
			share = -share
		}
		got += share
	}
	return min(max(round(at), 1e-4), 1-1e-4)
}

// logistic is a logistic regression on one region's features, as the network
// reads them: what the network is compared with.
type logistic struct {
	model     saliency.Model // of which only the scaling is used
	w         [saliency.Count + 1]float64
	threshold float64
}

func (l *logistic) scores(s *sequence) []float64 {
	out := make([]float64, len(s.x))
	for t, x := range s.x {
		z := l.w[saliency.Count]
		for i, v := range x {
			z += l.w[i] * v
		}
		out[t] = sigmoid(z)
	}
	return out
}

func fit(all []sequence, o Options) (*logistic, error) {
	o.defaults()
	all = calls(all)
	l := &logistic{model: scaling(all)}
	part, held := split(scaled(&l.model, all))
	weight, err := balance(part)
	if err != nil {
		return nil, err
	}
	opt := adam{}
	for range 400 {
		var grad [saliency.Count + 1]float64
		n := 0.0
		for i := range part {
			for t, p := range l.scores(&part[i]) {
				y := part[i].y[t]
				if y == Open {
					continue
				}
				n++
				d := weight[y] * (p - float64(y))
				for k, v := range part[i].x[t] {
					grad[k] += d * v
				}
				grad[saliency.Count] += d
			}
		}
		for i := range grad {
			grad[i] /= n
		}
		opt.apply(l.w[:], grad[:], 0.05, 1e-3)
	}
	l.threshold = threshold(units(held, l.scores))
	return l, nil
}
