package method

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// toy makes traces in which passwords leak, or are only talked about.
func toy(n int, seed uint64) []train.Trace {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	rng := rand.New(rand.NewPCG(seed, 9))
	var out []train.Trace
	for i := range n {
		v := make([]byte, 14+rng.IntN(8))
		for k := range v {
			v[k] = set[rng.IntN(len(set))]
		}
		talk := []string{"The clinic's database was restarted and all checks passed.", "Rotate the password soon and tell the team.", "The build of commit 5d41402a finished after three minutes."}[rng.IntN(3)]
		text := talk
		var spans []train.Span
		if i%2 == 0 {
			text += fmt.Sprintf(" %s: %s and that is %s", []string{"password", "api_key", "token"}[rng.IntN(3)], v, []string{"all.", "what was asked for.", "in use."}[rng.IntN(3)])
			at := strings.Index(text, string(v))
			spans = []train.Span{{Start: at, End: at + len(v), Encoding: "raw", Whole: true}}
		}
		tr := train.Trace{Version: 1, Spans: spans}
		for at := 0; at < len(text); {
			k := monitor.NextPiece(text[at:])
			tr.Tokens = append(tr.Tokens, monitor.Token{Text: text[at : at+k], Logprob: math.NaN()})
			at += k
		}
		out = append(out, tr)
	}
	return out
}

func TestGBT(t *testing.T) {
	g := must(TrainGBT(toy(200, 1)))(t)
	wrong := 0
	fresh := toy(200, 2)
	for i := range fresh {
		if (g.Score(fresh[i].Text()) >= 0.5) != (len(fresh[i].Spans) > 0) {
			wrong++
		}
	}
	if wrong > 4 {
		t.Errorf("%d of 200 outputs wrong", wrong)
	}
	again := must(TrainGBT(toy(200, 1)))(t)
	if g.Score("token abc") != again.Score("token abc") {
		t.Error("the same traces trained another classifier")
	}
	if _, err := TrainGBT(toy(1, 1)); !errors.Is(err, train.ErrOneClass) {
		t.Error(err)
	}
	suite(t, g)
}

// More rounds never raise the loss in training: each tree descends it.
func TestGBTDescends(t *testing.T) {
	traces := toy(60, 3)
	for i := range traces { // noise, so that it can't be separated at once
		if i%7 == 0 {
			traces[i].Spans = nil
		}
	}
	g := must(TrainGBT(traces))(t)
	last := math.Inf(1)
	for n := 0; n <= len(g.trees); n += 10 {
		part := &GBT{bias: g.bias, trees: g.trees[:n]}
		loss := 0.0
		for i := range traces {
			p := part.Score(traces[i].Text())
			if len(traces[i].Spans) == 0 {
				p = 1 - p
			}
			loss -= math.Log(max(p, 1e-12))
		}
		if loss > last+1e-9 {
			t.Fatalf("the loss rises to %v after %d trees", loss, n)
		}
		last = loss
	}
}

func TestTagger(t *testing.T) {
	tg := must(TrainTagger(toy(200, 1), 7))(t)
	whole, spans, extra := 0, 0, 0
	fresh := toy(200, 2)
	for i := range fresh {
		text := fresh[i].Text()
		got := removed(t, tg, text)
		for _, s := range fresh[i].Spans {
			spans++
			if strings.Contains(strings.Join(got, "|"), text[s.Start:s.End]) {
				whole++
			}
		}
		if len(fresh[i].Spans) == 0 {
			extra += len(got)
		}
	}
	if whole < spans*9/10 || extra > 4 {
		t.Errorf("%d of %d secrets whole, %d in clean outputs", whole, spans, extra)
	}
	if _, err := TrainTagger(toy(2, 1)[1:], 1); !errors.Is(err, train.ErrOneClass) {
		t.Error(err)
	}
	suite(t, tg)
}

// Viterbi finds what trying every labelling finds.
func TestDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		weight := rapid.Map(rapid.IntRange(-50, 50), func(i int) float32 { return float32(i) / 8 })
		tg := &Tagger{weights: make([][labels]float32, n)}
		feats := make([][]uint32, n)
		for i := range n {
			feats[i] = []uint32{uint32(i)}
			for l := range labels {
				tg.weights[i][l] = weight.Draw(t, "emit")
			}
		}
		for a := range labels {
			tg.first[a] = weight.Draw(t, "first")
			for b := range labels {
				tg.step[a][b] = weight.Draw(t, "step")
			}
		}
		score := func(tags []uint8) float64 {
			s := 0.0
			for i, l := range tags {
				switch {
				case l == inside && (i == 0 || tags[i-1] == outside):
					return math.Inf(-1)
				case i == 0:
					s += float64(tg.first[l])
				default:
					s += float64(tg.step[tags[i-1]][l])
				}
				s += float64(tg.weights[i][l])
			}
			return s
		}
		best := math.Inf(-1)
		tags := make([]uint8, n)
		for {
			best = max(best, score(tags))
			i := 0
			for ; i < n && tags[i] == labels-1; i++ {
				tags[i] = 0
			}
			if i == n {
				break
			}
			tags[i]++
		}
		if got := score(tg.decode(feats)); math.Abs(got-best) > 1e-3 {
			t.Fatalf("decoded %v, the best is %v", got, best)
		}
	})
}
