package tagger

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	cut "github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/flow"
)

// policy is the reading of defend/tagger with choices in place of its thresholds. There is
// a choice of a class, or none, for each run of tokens that may be a span, and of private
// or clear for each sentence. The logits of a choice are the mean of the network's outputs
// over the run, or the sentence's score, less the threshold that is deployed, divided by
// heat: without heat the policy is what is deployed. Each choice has an exact probability,
// and that of a reading is their product. Which runs there are depends on the weights, too,
// but in steps, so it has no gradient.
//
// Two things of the deployed reading are left out: the correction of sentences by the text
// around them, which is near one in short texts, and the rules for disguised text.
type policy struct {
	net, ref *network
	cal      *tagger.Calibration
	features tagger.Features
	clear    float32 // score from which on a sentence is not clear
	unclear  float32 // score from which on all of a sentence without a span is one
}

const (
	heat      = 2.0
	narrower  = 8   // a run's tokens reach the threshold divided by this
	notAtAll  = 0.8 // probability of something private that makes a sentence a span: 1 - unclear of defend/tagger
	wholeSpan = 1   // class of a sentence that is not clear
)

func newPolicy(n, ref *network, cal *tagger.Calibration, senses *tagger.Senses) *policy {
	return &policy{net: n, ref: ref, cal: cal, features: tagger.Features{Senses: senses}, clear: scoreAt(cal, 1-tagger.ClearFrom), unclear: scoreAt(cal, notAtAll)}
}

// scoreAt is the least score whose calibrated probability is above p.
func scoreAt(cal *tagger.Calibration, p float32) float32 {
	for i, x := range cal.Private {
		if x > p {
			return cal.Score[i]
		}
	}
	return float32(math.Inf(1))
}

// choice is one that the policy has in a text.
type choice struct {
	from, to    int // tokens of a run; of a sentence, all of it
	start, end  int // bytes
	inferential bool
	p, q        []float64 // probabilities of classes, by the policy and by the reference
	grad        []float64 // of the loss by the logits
}

// sentence has its choices in order.
type sentence struct {
	start, end     int // bytes, without a line break
	worded         bool
	runs           []choice
	clear, unclear choice
}

// reading is a text with the choices in it.
type reading struct {
	tokens    []token
	sentences []sentence
}

// read finds the choices in a text.
func (y *policy) read(p, ref *pass, text string) *reading {
	t := Text{Text: text}
	r := &reading{tokens: t.tokens(&y.features)}
	if len(r.tokens) == 0 {
		return r
	}
	at := tagger.Tokens(text, nil)
	y.net.forward(p, r.tokens, nil)
	y.ref.forward(ref, r.tokens, nil)
	for i := range p.pool {
		q, qRef := &p.pool[i], &ref.pool[i]
		s := sentence{start: at[q.from].Start, end: at[q.to-1].End}
		if last := q.to - 1; at[last].Kind == tagger.Line && last > q.from {
			s.end = at[last-1].End
		}
		s.worded = worded(text[s.start:s.end])
		for from := q.from; from < q.to; {
			to := y.run(q, at, from)
			if to == from {
				from++
				continue
			}
			c := choice{from: from, to: to, start: at[from].Start, end: at[to-1].End, p: y.classes(q, q, from, to), q: y.classes(qRef, q, from, to)}
			inferred := 0
			for k := from; k < to; k++ {
				if q.out[k-q.from][tagger.Classes] > 0 {
					inferred++
				}
			}
			c.inferential = 2*inferred > to-from
			if worded(text[c.start:c.end]) {
				c.grad = make([]float64, len(c.p))
				s.runs = append(s.runs, c)
			}
			from = to
		}
		whole := func(from float32) choice {
			return choice{from: q.from, to: q.to, start: at[q.from].Start, end: at[q.to-1].End, p: private(q.score, from), q: private(qRef.score, from), grad: make([]float64, 2)}
		}
		s.clear, s.unclear = whole(y.clear), whole(y.unclear)
		r.sentences = append(r.sentences, s)
	}
	return r
}

func worded(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) })
}

func private(score, from float32) []float64 {
	x := 1 / (1 + math.Exp(float64(from-score)/heat))
	return []float64{1 - x, x}
}

// run is the end of the run of tokens that starts at a token of a sentence: tokens that may
// be private, also across one mark, as far as no two of them are surely of two fields.
func (y *policy) run(q *pooled, at []tagger.Token, from int) int {
	end, class := from, 0
	for k := from; k < q.to; k++ {
		c, p := y.likeliest(&q.out[k-q.from])
		if at[k].Kind == tagger.Line || p < y.cal.Threshold[c]/narrower {
			if at[k].Kind == tagger.Mark && k == end && k > from {
				continue
			}
			break
		}
		if p >= y.cal.Threshold[c] {
			if class > 0 && class != c {
				break
			}
			class = c
		}
		end = k + 1
	}
	return end
}

// likeliest is a token's likeliest field, and the probability that it is of any.
func (y *policy) likeliest(out *[tagger.Outputs]float32) (class int, p float32) {
	class = 1
	for k := 2; k < tagger.Classes; k++ {
		if out[k] > out[class] {
			class = k
		}
	}
	return class, 1 - none(out, y.cal.Temperature)
}

// classes are the probabilities of the classes of a run. The threshold is that of the field
// which is likeliest by the policy's outputs, also for the reference.
func (y *policy) classes(q, by *pooled, from, to int) []float64 {
	var mean, lead [tagger.Outputs]float32
	for t := from; t < to; t++ {
		for k := range tagger.Classes {
			mean[k] += q.out[t-q.from][k]
			lead[k] += by.out[t-q.from][k]
		}
	}
	class, _ := y.likeliest(&lead)
	threshold := float64(y.cal.Threshold[class])
	z := make([]float64, tagger.Classes)
	for k := range z {
		z[k] = float64(mean[k]) / float64(to-from) / float64(y.cal.Temperature)
	}
	z[0] += math.Log(threshold / (1 - threshold))
	top, sum := slices.Max(z), 0.0
	for k := range z {
		z[k] = math.Exp((z[k] - top) / heat)
		sum += z[k]
	}
	for k := range z {
		z[k] /= sum
	}
	return z
}

// group are samples of one step, with the texts that they have read.
type group struct {
	*policy
	pass, ref pass
	texts     map[string]*reading
	order     []string // so that sums are the same each time
}

func (g *group) read(text string) *reading {
	r := g.texts[text]
	if r == nil {
		r = g.policy.read(&g.pass, &g.ref, text)
		if g.texts == nil {
			g.texts = map[string]*reading{}
		}
		g.texts[text] = r
		g.order = append(g.order, text)
	}
	return r
}

// sample is one draw of all choices. It labels and screens a release by them.
type sample struct {
	g     *group
	r     *rand.Rand
	drawn []drawn
}

type drawn struct {
	of    *choice
	class int
}

func (s *sample) draw(c *choice) int {
	x, class := s.r.Float64(), 0
	for ; class < len(c.p)-1 && x >= c.p[class]; class++ {
		x -= c.p[class]
	}
	s.drawn = append(s.drawn, drawn{c, class})
	return class
}

// logProbability is that of all draws.
func (s *sample) logProbability() (sum float64) {
	for _, d := range s.drawn {
		sum += math.Log(d.of.p[d.class])
	}
	return sum
}

// spans are those of a text, in order.
func (s *sample) spans(text string) (out []tagger.Span) {
	r := s.g.read(text)
	for i := range r.sentences {
		x, some := &r.sentences[i], false
		for k := range x.runs {
			c := &x.runs[k]
			if class := s.draw(c); class > 0 {
				some = true
				out = append(out, tagger.Span{Start: c.start, End: c.end, Field: tagger.Fields()[class-1], Relation: relation(c.inferential)})
			}
		}
		if !some && x.worded && s.draw(&x.unclear) == wholeSpan {
			out = append(out, tagger.Span{Start: x.start, End: x.end, Field: tagger.Private, Relation: relation(true)})
		}
	}
	return out
}

func relation(inferential bool) string {
	if inferential {
		return "inferential"
	}
	return "explicit"
}

// Clear implements declassify.Screener.
func (s *sample) Clear(_ context.Context, text string) (out []cut.Place, _ error) {
	r := s.g.read(text)
	for i := range r.sentences {
		x := &r.sentences[i]
		clear := s.draw(&x.clear) != wholeSpan
		for k := range x.runs {
			clear = s.draw(&x.runs[k]) == 0 && clear
		}
		if clear {
			out = append(out, cut.Place{Start: x.clear.start, End: x.clear.end})
		}
	}
	return out, nil
}

// Doubt implements declassify.Screener.
func (*sample) Doubt() flow.Bits { return (*tagger.Screener)(nil).Doubt() }

// Evidence implements declassify.Defender, as tagger.Defender does.
func (s *sample) Evidence(_ context.Context, r *declassify.Request) ([]byte, error) {
	var all []evidence.Label
	for i := range r.Parts {
		known := rules.Labels(r, i)
		all = append(all, known...)
		if arg := r.Tool.Arg(r.Parts[i].Path); arg.Field != "" && !arg.Free {
			continue
		}
		k := 0
		for _, x := range s.spans(r.Parts[i].Text) {
			for k < len(known) && known[k].End <= x.Start {
				k++
			}
			at := x.Start
			for j := k; j < len(known) && known[j].Start < x.End; j++ {
				all = label(all, r, i, &x, at, known[j].Start)
				at = known[j].End
			}
			all = label(all, r, i, &x, at, x.End)
		}
	}
	return rules.Planned(r, evidence.Statement{Context: r.Context, Atoms: all})
}

// label appends a label for the words of a span between two offsets, if there are any.
func label(out []evidence.Label, r *declassify.Request, part int, s *tagger.Span, start, end int) []evidence.Label {
	if start >= end || !worded(r.Parts[part].Text[start:end]) {
		return out
	}
	text := r.Parts[part].Text[start:end]
	start += len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	end -= len(text) - len(strings.TrimRightFunc(text, unicode.IsSpace))
	return append(out, evidence.Label{
		Part: part, Start: start, End: end, Role: "text", Field: s.Field, Relation: s.Relation,
		Necessity: r.Rules.Necessity(s.Field, r.Tool.Class).String(), Provenance: "model",
	})
}

// advantages are rewards less their mean, divided by their deviation.
func advantages(rewards []float64) []float64 {
	const least = 0.02 // so that noise in the last digits is no advantage
	n := float64(len(rewards))
	mean, square := 0.0, 0.0
	for _, r := range rewards {
		mean += r / n
	}
	out := make([]float64, len(rewards))
	for i, r := range rewards {
		out[i] = r - mean
		square += out[i] * out[i] / n
	}
	for i := range out {
		out[i] /= math.Sqrt(square) + least
	}
	return out
}

// learn adds to the choices the gradients of
//
//	1/G · Σ (−A · log π + kl · KL(π ‖ π_ref))
//
// over the samples. One step follows each draw, so the ratio to the policy that drew is one
// and there is nothing to clip. The divergence is that of each choice that was made, exactly.
func learn(samples []*sample, rewards []float64, kl float64) (divergence float64) {
	share := 1 / float64(len(samples))
	for i, a := range advantages(rewards) {
		for _, d := range samples[i].drawn {
			p, q := d.of.p, d.of.q
			apart := 0.0
			for k := range p {
				apart += p[k] * logRatio(p[k], q[k])
			}
			for k := range p {
				g := a*p[k] + kl*p[k]*(logRatio(p[k], q[k])-apart)
				if k == d.class {
					g -= a
				}
				d.of.grad[k] += share * g
			}
			divergence += share * apart
		}
	}
	return divergence
}

func logRatio(p, q float64) float64 { return math.Log(max(p, 1e-12)) - math.Log(max(q, 1e-12)) }

// back adds the gradients of all texts' choices to g.
func (g *group) back(to *gradient) {
	for _, text := range g.order {
		r := g.texts[text]
		if len(r.tokens) == 0 {
			continue
		}
		p := &g.pass
		g.net.forward(p, r.tokens, nil)
		for i := range r.sentences {
			x, q := &r.sentences[i], &p.pool[i]
			q.dScore = float32((x.clear.grad[wholeSpan] + x.unclear.grad[wholeSpan]) / heat)
			for k := range x.runs {
				c := &x.runs[k]
				scale := 1 / (heat * float64(g.cal.Temperature) * float64(c.to-c.from))
				for t := c.from; t < c.to; t++ {
					for m, d := range c.grad {
						q.dOut[t-q.from][m] += float32(d * scale)
					}
				}
			}
		}
		g.net.backFrom(p, r.tokens, to)
	}
}
