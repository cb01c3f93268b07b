package tagger

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/defend/tagger"
)

var whole = sync.OnceValues(func() (*Corpus, error) { return NewCorpus("") })

func corpus(t *testing.T) *Corpus {
	t.Helper()
	c, err := whole()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// No template and no word of a long list is in two parts, and what the test alone has
// stays there.
func TestParts(t *testing.T) {
	c := corpus(t)
	at := map[string]Part{}
	for _, x := range c.templates {
		if p, ok := at[x.Category+x.Text]; ok && p != x.Part {
			t.Errorf("%q is in two parts", x.Text)
		}
		at[x.Category+x.Text] = x.Part
		if (x.Category == testCategory) && x.Part != Test || x.Category == calibrationCategory && x.Part != Calibrate {
			t.Errorf("%s: %q is in part %d", x.Category, x.Text, x.Part)
		}
	}
	split := 0
	for name, s := range c.split {
		if len(c.lists[name]) < splitFrom || slices.Contains(unsplit, name) {
			continue
		}
		split++
		for _, e := range s[Test] {
			if slices.Contains(s[Train], e) || slices.Contains(s[Calibrate], e) {
				t.Errorf("%s: %q is in two parts", name, e)
			}
		}
	}
	if split < 20 {
		t.Errorf("%d lists are split", split)
	}
	if _, err := NewCorpus("no-such"); err == nil {
		t.Error("a category that there is not can be left out")
	}
	g, err := NewGrammar("payments")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range g.templates {
		if x.Category == "payments" && x.Part != Test {
			t.Errorf("%q of the fold is in part %d", x.Text, x.Part)
		}
	}
}

// Every template can be written, its spans are of the text, and a private slice has some.
func TestTemplates(t *testing.T) {
	c := corpus(t)
	private := 0
	for i, x := range c.templates {
		w := &writer{Grammar: c.Grammar, r: rand.New(rand.NewPCG(1, uint64(i))), part: x.Part}
		w.write(x.Text)
		if w.err != nil {
			t.Errorf("%q: %v", x.Text, w.err)
		}
		text := w.b.String()
		if strings.Contains(text, `\`) && !strings.Contains(x.Text, `\\`) || strings.Contains(text, "CUE") {
			t.Errorf("%q is written as %q", x.Text, text)
		}
		if (len(w.spans) > 0) == (x.Slice == Benign) {
			t.Errorf("%q of slice %s has %d spans", x.Text, x.Slice, len(w.spans))
		}
		if x.Slice != Benign {
			private++
		}
		at := 0
		for _, s := range w.spans {
			if s.start < at || s.end <= s.start || s.end > len(text) {
				t.Errorf("%q: %+v", text, s)
			}
			at = s.end
		}
	}
	if private < 400 {
		t.Errorf("%d private templates", private)
	}
	for i := range uint64(300) {
		a, err := c.Draw(Train, 3, i)
		b, _ := c.Draw(Train, 3, i)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("text %d is drawn differently: %v", i, err)
		}
	}
}

// The gradient is that of the loss.
func TestGradient(t *testing.T) {
	c := corpus(t)
	n := newNetwork(rand.New(rand.NewPCG(1, 1)))
	x, err := c.DrawOf(Train, Nominal, "", 1, 6)
	if err != nil {
		t.Fatal(err)
	}
	f := c.features()
	text := x.tokens(&f)
	loss := func() float64 {
		p := new(pass)
		n.forward(p, text, nil)
		var sum float64
		for i := range p.pool {
			q := &p.pool[i]
			private := false
			for j := q.from; j < q.to; j++ {
				var d [tagger.Outputs]float32
				ce := crossEntropy(&q.out[j-q.from], text[j].class, &d)
				for k := range tagger.Classes { // the smoothing, which the loss that is shown leaves out
					ce += float64(smooth) * (float64(q.out[j-q.from][text[j].class]) - float64(q.out[j-q.from][k])) / float64(tagger.Classes)
				}
				sum += ce
				if text[j].class > 0 {
					private = true
					sum += 0.3 * logistic(float64(q.out[j-q.from][tagger.Classes]), text[j].inferred)
				}
			}
			sum += 2 * logistic(float64(q.score), private)
		}
		return sum
	}
	p, g := new(pass), newGradient()
	n.forward(p, text, nil)
	n.backward(p, text, g)
	check := func(what string, w *float32, got float32) {
		const h = 1e-3
		old := *w
		*w = old + h
		up := loss()
		*w = old - h
		down := loss()
		*w = old
		want := (up - down) / (2 * h)
		if math.Abs(want-float64(got)) > 0.05*math.Abs(want)+0.02 {
			t.Errorf("%s: the gradient is %g, by differences %g", what, got, want)
		}
	}
	d, e := &n.Dense, &g.dense
	for j := range 5 {
		check("first", &d.First[7*j+3][j], e.First[7*j+3][j])
		check("conv", &d.Conv[0][11*j][3*j], e.Conv[0][11*j][3*j])
		check("top", &d.Conv[1][17*j][2*j], e.Conv[1][17*j][2*j])
		check("bias", &d.Bias[1][j], e.Bias[1][j])
		check("token", &d.Token[j][2*j], e.Token[j][2*j])
		check("pool", &d.Pool[j][2*j], e.Pool[j][2*j])
		check("max", &d.Max[j], e.Max[j])
		check("mean", &d.Mean[j], e.Mean[j])
		row := int(text[j].rows[0]) * tagger.Dim
		check("row", &n.Rows[row+j], g.rows[row+j])
	}
	check("sentence", &d.Sentence[0], e.Sentence[0])
	check("relation", &d.Out[tagger.Classes], e.Out[tagger.Classes])
}

func logistic(x float64, y bool) float64 {
	if y {
		x = -x
	}
	return math.Log1p(math.Exp(x))
}

// A training that was cut off and goes on ends as one that was not, and what
// the laboratory computes is what the product reads.
func TestResume(t *testing.T) {
	c := corpus(t)
	path := filepath.Join(t.TempDir(), "checkpoint")
	quiet := func(string) {}
	want, err := fit(t.Context(), c, &Options{Seed: 1, Steps: 3, Progress: quiet})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	saved := 0
	o := &Options{Seed: 1, Steps: 3, Checkpoint: path, every: 1, Progress: func(string) {
		if saved++; saved == 2 {
			cancel()
		}
	}}
	if _, err := fit(ctx, c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("it was not cut off: %v", err)
	}
	o.Resume, o.Progress = true, quiet
	got, err := fit(t.Context(), c, o)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it ends with other weights: %v", err)
	}
	for _, other := range []*Options{{Seed: 2, Steps: 3}, {Seed: 1, Steps: 4}, {Seed: 1, Steps: 3, Fold: "payments"}} {
		other.Checkpoint, other.Resume, other.Progress = path, true, quiet
		if _, err := fit(t.Context(), c, other); !errors.Is(err, ErrCheckpoint) {
			t.Errorf("%+v goes on from it: %v", other, err)
		}
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fit(t.Context(), c, o); !errors.Is(err, ErrCheckpoint) {
		t.Errorf("a damaged checkpoint: %v", err)
	}

	rows, scale := got.cut()
	cal := &tagger.Calibration{Temperature: 1}
	for i := range cal.Threshold {
		cal.Threshold[i] = 0.5
	}
	for i := range cal.Score {
		cal.Score[i], cal.Private[i] = float32(i-tagger.Steps/2)/8, float32(i+1)/tagger.Steps
	}
	file, err := tagger.Encode(rows, scale, c.senses, &got.Dense, cal)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tagger.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var p pass
	f := c.features()
	sentences, other := 0, 0
	for i := range uint64(30) {
		x, err := c.Draw(Test, 1, i)
		if err != nil {
			t.Fatal(err)
		}
		got.forward(&p, x.tokens(&f), nil)
		r, err := m.Read(t.Context(), x.Text)
		if err != nil || len(r.Sentences) != len(p.pool) {
			t.Fatalf("%d sentences, in the laboratory %d, %v", len(r.Sentences), len(p.pool), err)
		}
		for k := range p.pool {
			at := 0
			for at < tagger.Steps && p.pool[k].score >= cal.Score[at] {
				at++
			}
			if sentences++; math.Abs(1-r.Sentences[k].Clear-float64(at)/tagger.Steps) > 1e-6 {
				other++ // at the edge of a step, by another order of additions
			}
		}
	}
	if sentences < 50 || other > sentences/50 {
		t.Errorf("%d of %d sentences have other scores in the product", other, sentences)
	}
}

func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads all of Go's sources")
	}
	file, card, err := Run(t.Context(), Options{Seed: 1, Steps: 2, Texts: 3, Progress: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := tagger.Load(file)
	if err != nil || card.Weights != m.Hash() || len(card.Rows) < 20 {
		t.Errorf("%+v %v", card, err)
	}
}
