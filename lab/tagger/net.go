package tagger

import (
	"math"
	"math/rand/v2"

	"github.com/margaydev/margay/defend/tagger"
)

type vector = [tagger.Hidden]float32

// token is a token as the network reads it.
type token struct {
	rows     []uint16
	single   int
	class    uint8
	inferred bool
	ends     bool
}

// network is what is trained: the product's network before its embeddings are
// cut to bytes.
type network struct {
	Rows  []float32 // tagger.Buckets of tagger.Dim
	Dense tagger.Dense
}

func newNetwork(r *rand.Rand) *network {
	n := &network{Rows: make([]float32, tagger.Buckets*tagger.Dim)}
	for i := range n.Rows {
		n.Rows[i] = float32(r.NormFloat64() * 0.1)
	}
	draw := func(rows [][]float32, in int) {
		for _, row := range rows {
			for j := range row {
				row[j] = float32(r.NormFloat64() * math.Sqrt(2/float64(in)) * 0.7)
			}
		}
	}
	d := &n.Dense
	draw(views(d.First[:]), 3*tagger.Dim)
	for l := range d.Conv {
		draw(views(d.Conv[l][:]), 3*tagger.Hidden)
	}
	draw(views(d.Token[:]), 2*tagger.Hidden)
	draw(views(d.Pool[:]), 8*tagger.Hidden)
	return n
}

func views(a []vector) [][]float32 {
	out := make([][]float32, len(a))
	for i := range a {
		out[i] = a[i][:]
	}
	return out
}

// flat are all dense weights, in one order.
func flat(d *tagger.Dense) [][]float32 {
	out := views(d.First[:])
	for l := range d.Conv {
		out = append(out, views(d.Conv[l][:])...)
	}
	out = append(out, views(d.Bias[:])...)
	out = append(out, views(d.Token[:])...)
	out = append(out, views(d.Pool[:])...)
	return append(out, d.Out[:], d.Max[:], d.Mean[:], d.Sentence[:])
}

// gradient is that of one share of a batch.
type gradient struct {
	rows    []float32
	touched []uint16
	seen    []bool
	dense   tagger.Dense
	loss    float64
	tokens  int
}

func newGradient() *gradient {
	return &gradient{rows: make([]float32, tagger.Buckets*tagger.Dim), seen: make([]bool, tagger.Buckets)}
}

func (g *gradient) reset() {
	for _, row := range g.touched {
		clear(g.row(row))
		g.seen[row] = false
	}
	g.touched, g.dense, g.loss, g.tokens = g.touched[:0], tagger.Dense{}, 0, 0
}

func (g *gradient) row(i uint16) []float32 {
	return g.rows[int(i)*tagger.Dim:][:tagger.Dim]
}

// touch returns the gradient of a row that a token has.
func (g *gradient) touch(i uint16) []float32 {
	if !g.seen[i] {
		g.seen[i] = true
		g.touched = append(g.touched, i)
	}
	return g.row(i)
}

// pass is the memory of one text's way through the network and back.
type pass struct {
	in    [][tagger.Dim]float32
	kept  [][]bool // features of a token that are not dropped
	h     [tagger.Layers + 1][]vector
	d     [2][]vector
	pool  []pooled
	flags []bool
}

type pooled struct {
	from, to  int
	top, mean vector
	arg       [tagger.Hidden]int
	score     float32
	out       [][tagger.Outputs]float32
	dOut      [][tagger.Outputs]float32
	dScore    float32
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

func axpy(out []float32, x float32, w []float32) {
	w = w[:len(out)]
	for j := range out {
		out[j] += x * w[j]
	}
}

// add4 adds four scaled rows.
func add4(out *vector, x []float32, w []vector) {
	x, w = x[:4], w[:4]
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	if x0 == 0 && x1 == 0 && x2 == 0 && x3 == 0 {
		return
	}
	w0, w1, w2, w3 := &w[0], &w[1], &w[2], &w[3]
	for j := range out {
		out[j] += x0*w0[j] + x1*w1[j] + x2*w2[j] + x3*w3[j]
	}
}

// back goes back over one weight row: to the row's gradient, and to its input.
func back(g, w, d *vector, x float32) float32 {
	var s0, s1, s2, s3 float32
	if x == 0 {
		for j := 0; j < tagger.Hidden; j += 4 {
			s0 += w[j] * d[j]
			s1 += w[j+1] * d[j+1]
			s2 += w[j+2] * d[j+2]
			s3 += w[j+3] * d[j+3]
		}
		return s0 + s1 + s2 + s3
	}
	for j := 0; j < tagger.Hidden; j += 4 {
		d0, d1, d2, d3 := d[j], d[j+1], d[j+2], d[j+3]
		s0 += w[j] * d0
		s1 += w[j+1] * d1
		s2 += w[j+2] * d2
		s3 += w[j+3] * d3
		g[j] += x * d0
		g[j+1] += x * d1
		g[j+2] += x * d2
		g[j+3] += x * d3
	}
	return s0 + s1 + s2 + s3
}

func inner(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for j := 0; j+3 < len(a); j += 4 {
		s0 += a[j] * b[j]
		s1 += a[j+1] * b[j+1]
		s2 += a[j+2] * b[j+2]
		s3 += a[j+3] * b[j+3]
	}
	return s0 + s1 + s2 + s3
}

// forward computes the outputs of a text. With r, features are dropped.
func (n *network) forward(p *pass, text []token, r *rand.Rand) {
	d := &n.Dense
	p.in = grow(p.in, len(text))
	for l := range p.h {
		p.h[l] = grow(p.h[l], len(text))
	}
	total := 0
	for i := range text {
		total += len(text[i].rows)
	}
	p.flags, p.kept = grow(p.flags, total), grow(p.kept, len(text))
	at := 0
	for t := range text {
		tok := &text[t]
		keep := p.flags[at:][:len(tok.rows)]
		at += len(tok.rows)
		hidden := r != nil && r.IntN(12) == 0
		p.kept[t] = keep
		scale := partScale(tok)
		for i, row := range tok.rows {
			drop := 0.25
			if i == 0 {
				drop = 0.5
			}
			if keep[i] = r == nil || !hidden && r.Float64() >= drop; !keep[i] {
				continue
			}
			s := float32(1)
			if i >= tok.single {
				s = scale
			}
			axpy(p.in[t][:], s, n.Rows[int(row)*tagger.Dim:][:tagger.Dim])
		}
	}
	for t := range text {
		out := &p.h[0][t]
		*out = d.Bias[0]
		for k := range 3 {
			if from := t + k - 1; from >= 0 && from < len(text) {
				for i := 0; i < tagger.Dim; i += 4 {
					add4(out, p.in[from][i:], d.First[k*tagger.Dim+i:])
				}
			}
		}
		relu(out)
	}
	for l := range tagger.Layers - 1 {
		apart := 2 << l
		for t := range text {
			out := &p.h[l+1][t]
			*out = d.Bias[l+1]
			for k := range 3 {
				if from := t + (k-1)*apart; from >= 0 && from < len(text) {
					for i := 0; i < tagger.Hidden; i += 4 {
						add4(out, p.h[l][from][i:], d.Conv[l][k*tagger.Hidden+i:])
					}
				}
			}
			relu(out)
			for j := range out {
				out[j] += p.h[l][t][j]
			}
		}
	}
	n.heads(p, text)
}

func (n *network) heads(p *pass, text []token) {
	d := &n.Dense
	h := p.h[tagger.Layers-1]
	p.pool = p.pool[:0]
	for from := 0; from < len(text); {
		to := from + 1
		for !text[to-1].ends {
			to++
		}
		q := pooled{from: from, to: to, top: h[from], out: make([][tagger.Outputs]float32, to-from), dOut: make([][tagger.Outputs]float32, to-from)}
		for j := range q.arg {
			q.arg[j] = from
		}
		for t := from; t < to; t++ {
			for j, x := range h[t] {
				if x > q.top[j] {
					q.top[j], q.arg[j] = x, t
				}
				q.mean[j] += x
			}
		}
		for j := range q.mean {
			q.mean[j] /= float32(to - from)
		}
		for k := range tagger.Outputs {
			common := d.Out[k] + inner(q.top[:], d.Pool[k][:])
			for t := from; t < to; t++ {
				q.out[t-from][k] = common + inner(h[t][:], d.Token[k][:])
			}
		}
		q.score = d.Sentence[0] + inner(q.top[:], d.Max[:]) + inner(q.mean[:], d.Mean[:])
		p.pool = append(p.pool, q)
		from = to
	}
}

func partScale(t *token) float32 {
	if n := len(t.rows) - t.single; n > 0 {
		return 1 / float32(math.Sqrt(float64(n)))
	}
	return 0
}

func relu(v *vector) {
	for j := range v {
		v[j] = max(v[j], 0)
	}
}

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// backward adds the gradient of a labelled text's loss to g, after forward.
func (n *network) backward(p *pass, text []token, g *gradient) {
	for i := range p.pool {
		p.pool[i].lose(text, g)
	}
	n.backFrom(p, text, g)
}

// backFrom adds a text's gradient to g, after forward, from the gradients at the outputs:
// dOut and dScore of each sentence.
func (n *network) backFrom(p *pass, text []token, g *gradient) {
	top := tagger.Layers - 1
	for i := range p.d {
		p.d[i] = grow(p.d[i], len(text))
	}
	up := p.d[0]
	for i := range p.pool {
		n.backHeads(p, &p.pool[i], g, up)
	}
	h := p.h
	for l := top - 1; l >= 0; l-- { // p.h[l+1] = p.h[l] + relu(conv(p.h[l]))
		down, apart := p.d[1], 2<<l
		clear(down)
		for t := range text {
			var d vector
			some := false
			for j := range d {
				down[t][j] += up[t][j]
				if h[l+1][t][j] > h[l][t][j] {
					d[j], some = up[t][j], some || up[t][j] != 0
				}
			}
			if !some {
				continue
			}
			axpy(g.dense.Bias[l+1][:], 1, d[:])
			for k := range 3 {
				from := t + (k-1)*apart
				if from < 0 || from >= len(text) {
					continue
				}
				for i, x := range h[l][from] {
					down[from][i] += back(&g.dense.Conv[l][k*tagger.Hidden+i], &n.Dense.Conv[l][k*tagger.Hidden+i], &d, x)
				}
			}
		}
		p.d[0], p.d[1] = p.d[1], p.d[0]
		up = p.d[0]
	}
	din := make([][tagger.Dim]float32, len(text))
	for t := range text {
		d := up[t]
		for j := range d {
			if h[0][t][j] <= 0 {
				d[j] = 0
			}
		}
		axpy(g.dense.Bias[0][:], 1, d[:])
		for k := range 3 {
			from := t + k - 1
			if from < 0 || from >= len(text) {
				continue
			}
			for i, x := range p.in[from] {
				din[from][i] += back(&g.dense.First[k*tagger.Dim+i], &n.Dense.First[k*tagger.Dim+i], &d, x)
			}
		}
	}
	for t := range text {
		scale := partScale(&text[t])
		for i, row := range text[t].rows {
			if !p.kept[t][i] {
				continue
			}
			s := float32(1)
			if i >= text[t].single {
				s = scale
			}
			axpy(g.touch(row), s, din[t][:])
		}
	}
	g.tokens += len(text)
}

// lose sets the gradients at a sentence's outputs to those of the losses: the class of
// each token, whether what is private is inferred, and whether anything is private.
func (q *pooled) lose(text []token, g *gradient) {
	var private float32
	for t := q.from; t < q.to; t++ {
		out, dOut := &q.out[t-q.from], &q.dOut[t-q.from]
		g.loss += crossEntropy(out, text[t].class, dOut)
		if text[t].class > 0 {
			private = 1
			var y float32
			if text[t].inferred {
				y = 1
			}
			dOut[tagger.Classes] = 0.3 * (sigmoid(out[tagger.Classes]) - y)
		}
	}
	q.dScore = 2 * (sigmoid(q.score) - private)
}

// backHeads goes back from the outputs of a sentence to what its tokens are.
func (n *network) backHeads(p *pass, q *pooled, g *gradient, up []vector) {
	d, h := &n.Dense, p.h[tagger.Layers-1]
	var common [tagger.Outputs]float32
	for t := q.from; t < q.to; t++ {
		for k, x := range &q.dOut[t-q.from] {
			if x == 0 {
				continue
			}
			common[k] += x
			axpy(g.dense.Token[k][:], x, h[t][:])
			axpy(up[t][:], x, d.Token[k][:])
		}
	}
	e := q.dScore
	g.dense.Sentence[0] += e
	axpy(g.dense.Max[:], e, q.top[:])
	axpy(g.dense.Mean[:], e, q.mean[:])
	var dTop vector
	axpy(dTop[:], e, d.Max[:])
	for k, x := range common {
		g.dense.Out[k] += x
		axpy(g.dense.Pool[k][:], x, q.top[:])
		axpy(dTop[:], x, d.Pool[k][:])
	}
	share := e / float32(q.to-q.from)
	for t := q.from; t < q.to; t++ {
		axpy(up[t][:], share, d.Mean[:])
	}
	for j, x := range dTop {
		up[q.arg[j]][j] += x
	}
}

// smooth is the share of a label that all classes have.
const smooth float32 = 0.02

// crossEntropy is the loss of a token and its gradient.
func crossEntropy(out *[tagger.Outputs]float32, class uint8, d *[tagger.Outputs]float32) float64 {
	top := out[0]
	for k := 1; k < tagger.Classes; k++ {
		top = max(top, out[k])
	}
	var sum float64
	var e [tagger.Classes]float64
	for k := range e {
		e[k] = math.Exp(float64(out[k] - top))
		sum += e[k]
	}
	for k := range e {
		d[k] = float32(e[k]/sum) - smooth/float32(tagger.Classes)
	}
	d[class] -= 1 - smooth
	return math.Log(sum) - float64(out[class]-top)
}
