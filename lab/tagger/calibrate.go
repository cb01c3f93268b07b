package tagger

import (
	"cmp"
	"math"
	"slices"

	"github.com/margaydev/margay/defend/tagger"
)

// limits of false alarms of one class: of calibration's sentences, and of its files of
// sources.
var limits = map[string]float64{Source: 0.0015, Prose: 0.002, Tables: 0.0005, Benign: 0.005}

// lenient are the fields that may raise more of them: what is private of illnesses and
// troubles differs from what is said of them in general by its context alone.
var lenient = map[string]float64{"diagnosis": 6, tagger.Private: 6}

const leastThreshold = 0.5

// calibrate fits what turns scores into probabilities, on texts that the training
// did not see: a temperature, a rising step function for sentences, and the least
// thresholds at which false alarms stay within the limits.
func calibrate(c *Corpus, n *network, seed uint64, texts int) (*tagger.Calibration, error) {
	f := c.features()
	var p pass
	cal := &tagger.Calibration{}
	var outs [][tagger.Outputs]float32
	var classes []uint8
	var sentences []scored
	if err := each(c, seed, 4*texts, func(t *Text) {
		text := t.tokens(&f)
		if len(text) == 0 {
			return
		}
		n.forward(&p, text, nil)
		for i := range p.pool {
			q := &p.pool[i]
			s := scored{score: q.score}
			for j := q.from; j < q.to; j++ {
				outs, classes = append(outs, q.out[j-q.from]), append(classes, text[j].class)
				s.private = s.private || text[j].class > 0
			}
			sentences = append(sentences, s)
		}
	}); err != nil {
		return nil, err
	}
	cal.Temperature = temperature(outs, classes)
	steps(cal, sentences)
	return cal, thresholds(c, n, cal, seed, texts)
}

func each(c *Corpus, seed uint64, texts int, fn func(*Text)) error {
	for i := range uint64(texts) {
		t, err := c.Draw(Calibrate, seed, i)
		if err != nil {
			return err
		}
		fn(&t)
	}
	return nil
}

// temperature is the one that makes the classes likeliest.
func temperature(outs [][tagger.Outputs]float32, classes []uint8) float32 {
	best, at := math.Inf(1), float32(1)
	for t := float32(0.5); t <= 4; t += 0.05 {
		var loss float64
		for i := range outs {
			out := outs[i]
			for k := range tagger.Classes {
				out[k] /= t
			}
			var d [tagger.Outputs]float32
			loss += crossEntropy(&out, classes[i], &d)
		}
		if loss < best {
			best, at = loss, t
		}
	}
	return at
}

type scored struct {
	score   float32
	private bool
}

// steps fits the rising step function (pool adjacent violators over 512 equal
// shares), merged to as many steps as there is room for.
func steps(cal *tagger.Calibration, s []scored) {
	slices.SortStableFunc(s, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	type step struct {
		from float32
		n, k float64
	}
	share := func(s step) float64 { return (s.k + 1) / (s.n + 2) } // never none, never all
	var all []step
	for i := 0; i < len(s); {
		to := min(len(s), i+max(1, len(s)/512))
		for to < len(s) && s[to].score == s[to-1].score {
			to++
		}
		b := step{from: s[i].score}
		for ; i < to; i++ {
			if b.n++; s[i].private {
				b.k++
			}
		}
		all = append(all, b)
		for len(all) > 1 && share(all[len(all)-2]) >= share(all[len(all)-1]) {
			last := all[len(all)-1]
			all = all[:len(all)-1]
			all[len(all)-1].n += last.n
			all[len(all)-1].k += last.k
		}
	}
	for len(all) > tagger.Steps+1 {
		at := 1
		for i := 2; i < len(all); i++ {
			if share(all[i])-share(all[i-1]) < share(all[at])-share(all[at-1]) {
				at = i
			}
		}
		all[at-1].n += all[at].n
		all[at-1].k += all[at].k
		all = slices.Delete(all, at, at+1)
	}
	cal.Floor = float32(share(all[0]))
	last := cal.Floor
	for i := range cal.Score {
		b := all[min(i+1, len(all)-1)]
		last = max(last, float32(share(b)))
		cal.Score[i], cal.Private[i] = b.from, last
	}
}

// thresholds are, by class, the least probabilities of a token being private at
// which at most the limits have such a token.
func thresholds(c *Corpus, n *network, cal *tagger.Calibration, seed uint64, texts int) error {
	const most = 0.98 // so that each class can be found
	f := c.features()
	var p pass
	for k := range cal.Threshold {
		cal.Threshold[k] = leastThreshold
	}
	for _, slice := range []string{Source, Prose, Tables, Benign} {
		var top [tagger.Classes][]float32
		units := 0
		add := func(best *[tagger.Classes]float32) {
			units++
			for m, x := range best {
				if x > leastThreshold {
					top[m] = append(top[m], x)
				}
			}
		}
		count := 4 * texts
		if slice == Source {
			count = min(len(c.code[Calibrate]), 2*texts)
		}
		for i := range count {
			t, err := c.DrawOf(Calibrate, slice, "", seed, uint64(i))
			if err != nil {
				return err
			}
			var best [tagger.Classes]float32
			if slice == Source {
				t.Text = anonymous(c.code[Calibrate][i])
			}
			text := t.tokens(&f)
			if len(text) == 0 {
				continue
			}
			n.forward(&p, text, nil)
			for k := range p.pool {
				p.pool[k].alarms(cal.Temperature, &best)
				if slice != Source {
					add(&best)
					best = [tagger.Classes]float32{}
				}
			}
			if slice == Source {
				add(&best)
			}
		}
		for m := range top {
			allowed := limits[slice] * float64(units)
			if m > 0 {
				allowed *= max(1, lenient[tagger.Fields()[m-1]])
			}
			slices.Sort(top[m])
			if at := len(top[m]) - 1 - int(allowed); at >= 0 {
				cal.Threshold[m] = max(cal.Threshold[m], min(most, top[m][at]+1e-4))
			}
		}
	}
	return nil
}

// alarms raises, by class, the most that a token of the sentence is private.
func (q *pooled) alarms(temp float32, best *[tagger.Classes]float32) {
	for j := range q.out {
		out := &q.out[j]
		class := 1
		for m := 2; m < tagger.Classes; m++ {
			if out[m] > out[class] {
				class = m
			}
		}
		best[class] = max(best[class], 1-none(out, temp))
	}
}

func none(out *[tagger.Outputs]float32, temp float32) float32 {
	var sum float64
	for k := range tagger.Classes {
		sum += math.Exp(float64((out[k] - out[0]) / temp))
	}
	return float32(1 / sum)
}
