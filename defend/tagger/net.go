package tagger

import (
	"context"
	"math"
	"sync"
)

// Every sum is of float32 in one fixed order, and every product is rounded
// before it is added, so that all machines compute the same.

type vector = [Hidden]float32

const (
	block = 512           // tokens that are read at once, and up to a sentence more
	reach = 1<<Layers - 1 // tokens to each side that a token's result depends on
	room  = 2*reach + block + maxSentence
)

// scratch is the memory of one reading.
type scratch struct {
	features Features
	in       [room][Dim]float32
	a, b     *[room]vector
	score    [Outputs]float32
}

var scratches = sync.Pool{New: func() any { return &scratch{a: new([room]vector), b: new([room]vector)} }}

// add4 adds four scaled rows.
func add4(out *vector, x []float32, w []vector) {
	x, w = x[:4], w[:4]
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	if x0 == 0 && x1 == 0 && x2 == 0 && x3 == 0 {
		return
	}
	w0, w1, w2, w3 := &w[0], &w[1], &w[2], &w[3]
	for j := range out {
		out[j] = out[j] + float32(x0*w0[j]) + float32(x1*w1[j]) + float32(x2*w2[j]) + float32(x3*w3[j])
	}
}

func dot(a, b *vector) float32 {
	var s0, s1, s2, s3 float32
	for j := 0; j < Hidden; j += 4 {
		s0 += float32(a[j] * b[j])
		s1 += float32(a[j+1] * b[j+1])
		s2 += float32(a[j+2] * b[j+2])
		s3 += float32(a[j+3] * b[j+3])
	}
	return (s0 + s1) + (s2 + s3)
}

// embed sums the embeddings of a token.
func (m *Model) embed(f *Features, out *[Dim]float32) {
	*out = [Dim]float32{}
	var parts [Dim]float32
	for i, row := range f.All {
		to := out
		if i >= f.Single {
			to = &parts
		}
		scale, q := m.scale[row], (*[Dim]byte)(m.rows[int(row)*Dim:])
		for j := range to {
			to[j] += float32(float32(int8(q[j])) * scale)
		}
	}
	if n := len(f.All) - f.Single; n > 0 {
		w := 1 / float32(math.Sqrt(float64(n)))
		for j := range out {
			out[j] += float32(parts[j] * w)
		}
	}
}

func relu(v *vector) {
	for j := range v {
		v[j] = max(v[j], 0)
	}
}

// convolve reads n tokens: the result is in s.a.
func (m *Model) convolve(s *scratch, n int) {
	for t := range n {
		out := &s.a[t]
		*out = m.dense.Bias[0]
		for k := range 3 {
			if from := t + k - 1; from >= 0 && from < n {
				for i := 0; i < Dim; i += 4 {
					add4(out, s.in[from][i:], m.dense.First[k*Dim+i:])
				}
			}
		}
		relu(out)
	}
	for l := range Layers - 1 {
		w, apart := &m.dense.Conv[l], 2<<l
		for t := range n {
			out := &s.b[t]
			*out = m.dense.Bias[l+1]
			for k := range 3 {
				if from := t + (k-1)*apart; from >= 0 && from < n {
					for i := 0; i < Hidden; i += 4 {
						add4(out, s.a[from][i:], w[k*Hidden+i:])
					}
				}
			}
			relu(out)
			for j := range out {
				out[j] += s.a[t][j]
			}
		}
		s.a, s.b = s.b, s.a
	}
}

// guess is what the network says of a token.
type guess struct {
	class       int     // the likeliest field's
	private     float32 // probability of any field
	inferential bool
}

// read calls each for every sentence of the text, with its tokens, what the
// network says of them, and the sentence's score.
func (m *Model) read(ctx context.Context, text string, each func([]Token, []guess, float32)) error {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.features.Senses = &m.senses
	all := Tokens(text, nil)
	var said [maxSentence]guess
	for from := 0; from < len(all); {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+block, len(all)) // and on to the end of the sentence
		for to < len(all) && !all[to-1].Ends {
			to++
		}
		low, high := max(0, from-reach), min(len(all), to+reach)
		for t := low; t < high; t++ {
			s.features.Of(text, &all[t])
			m.embed(&s.features, &s.in[t-low])
		}
		m.convolve(s, high-low)
		for at := from; at < to; {
			end := at + 1
			for !all[end-1].Ends {
				end++
			}
			score := m.sentence(s, s.a[at-low:end-low], said[:end-at])
			each(all[at:end], said[:end-at], score)
			at = end
		}
		from = to
	}
	return nil
}

// sentence computes what is said of each token, and the sentence's score.
func (m *Model) sentence(s *scratch, h []vector, out []guess) float32 {
	var mean vector
	top := h[0]
	for t := range h {
		for j := range top {
			top[j] = max(top[j], h[t][j])
			mean[j] += h[t][j]
		}
	}
	d := &m.dense
	var pooled [Outputs]float32
	for k := range pooled {
		pooled[k] = d.Out[k] + dot(&top, &d.Pool[k])
	}
	for t := range h {
		for k := range s.score {
			s.score[k] = pooled[k] + dot(&h[t], &d.Token[k])
		}
		out[t] = m.cal.guess(&s.score)
	}
	for j := range mean {
		mean[j] /= float32(len(h))
	}
	return d.Sentence[0] + dot(&top, &d.Max) + dot(&mean, &d.Mean)
}

func (c *Calibration) guess(score *[Outputs]float32) guess {
	class, top := 1, score[0]
	for k := 1; k < Classes; k++ {
		if top = max(top, score[k]); score[k] > score[class] {
			class = k
		}
	}
	var sum float32
	for k := range Classes {
		sum += exp((score[k] - top) / c.Temperature)
	}
	none := exp((score[0]-top)/c.Temperature) / sum
	return guess{class: class, private: 1 - none, inferential: score[Classes] > 0}
}

// exp is e^x for x <= 0, by operations that every machine rounds alike.
func exp(x float32) float32 {
	if x < -80 {
		return 0
	}
	n := math.Floor(float64(float64(x)*math.Log2E) + 0.5)
	r := float64(x) - float64(n*math.Ln2)
	sum := 1.0
	for k := 12.0; k > 0; k-- {
		sum = 1 + float64(float64(r/k)*sum)
	}
	return float32(math.Ldexp(sum, int(n)))
}

// private is the calibrated probability that a sentence with a score has something
// private in it.
func (c *Calibration) private(score float32) float32 {
	p := c.Floor
	for i := range c.Score {
		if score < c.Score[i] {
			break
		}
		p = c.Private[i]
	}
	return p
}
