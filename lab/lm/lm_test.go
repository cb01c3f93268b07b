package lm

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var text = rapid.OneOf(
	rapid.StringMatching(`[a-zA-Z0-9 .,\n_=/+-]{0,80}`),
	rapid.String(),
	rapid.Map(rapid.SliceOfN(rapid.SampledFrom(strings.Fields(operations)), 0, 30), func(w []string) string { return strings.Join(w, " ") }),
)

func TestProbabilitiesSumToOne(t *testing.T) {
	s := Default().NewScorer()
	rapid.Check(t, func(t *rapid.T) {
		s.Reset()
		s.Feed(text.Draw(t, "context"))
		s.Score(text.Draw(t, "scored"))
		s.predict()
		sum, h := 0.0, 0.0
		best := 0.0
		for i := range Default().Vocabulary() {
			p := s.probability(uint16(i))
			if !(p > 0) {
				t.Fatalf("token %d has probability %v", i, p)
			}
			sum += p
			h -= p * math.Log(p)
			best = max(best, p)
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities sum to %v", sum)
		}
		var top [TopK]ranked
		if got := s.entropy(&top); math.Abs(got-h) > 1e-7 {
			t.Fatalf("entropy %v, by its definition %v", got, h)
		}
		if math.Abs(top[0].p-best) > 1e-12 {
			t.Fatalf("the top begins with %v, the likeliest has %v", top[0].p, best)
		}
		lowest, better := top[TopK-1].p, 0
		for i := range Default().Vocabulary() {
			if s.probability(uint16(i)) > lowest*(1+1e-9) {
				better++
			}
		}
		if better >= TopK {
			t.Fatalf("%d tokens are likelier than the last of the top %d", better, TopK)
		}
	})
}

func TestScore(t *testing.T) {
	s := Default().NewScorer()
	rapid.Check(t, func(t *rapid.T) {
		s.Reset()
		s.Feed(text.Draw(t, "context"))
		in := text.Draw(t, "scored")
		tokens, entropies := s.Score(in)
		if len(tokens) != len(entropies) {
			t.Fatalf("%d tokens, %d entropies", len(tokens), len(entropies))
		}
		var b strings.Builder
		for i, tok := range tokens {
			b.WriteString(tok.Text)
			if tok.Logprob > 1e-12 || math.IsNaN(tok.Logprob) || math.IsInf(tok.Logprob, 0) {
				t.Fatalf("logprob %v", tok.Logprob)
			}
			if h := entropies[i]; h < 0 || h > math.Log(float64(Default().Vocabulary()))+1e-9 {
				t.Fatalf("entropy %v", h)
			}
			if len(tok.Top) != TopK {
				t.Fatalf("%d alternatives", len(tok.Top))
			}
			mass := 0.0
			for j, a := range tok.Top {
				mass += math.Exp(a.Logprob)
				if j > 0 && a.Logprob > tok.Top[j-1].Logprob {
					t.Fatal("the top is not sorted")
				}
				// A token that is not a whole character is shown as U+FFFD.
				if a.Text == tok.Text && a.Text != "\ufffd" && a.Logprob != tok.Logprob {
					t.Fatalf("%q has logprob %v, in the top %v", tok.Text, tok.Logprob, a.Logprob)
				}
			}
			if mass > 1+1e-9 {
				t.Fatalf("the top has mass %v", mass)
			}
		}
		if b.String() != in {
			t.Fatalf("tokens join to %q", b.String())
		}
		s.Reset()
	})
}

// mean entropy of what is scored after a context.
func mean(s *Scorer, context, scored string) float64 {
	s.Reset()
	s.Feed(context)
	_, hs := s.Score(scored)
	sum := 0.0
	for _, h := range hs {
		sum += h
	}
	return sum / float64(len(hs))
}

func TestEntropyFallsWhenCopying(t *testing.T) {
	s := Default().NewScorer()
	for _, value := range []string{"q7VmX2bLr9TzKw4NcY", "5f1c0be29ad34471", "quiet lantern river stone", "https://a.example/b/4471"} {
		around := "The note says that it is " + value + " and nothing else.\n"
		known, unknown := mean(s, around, "It is "+value), mean(s, "The note says nothing.\n", "It is "+value)
		if known > unknown/2 {
			t.Errorf("%s: %.2f nats when copied, %.2f when new", value, known, unknown)
		}
	}
}

// A longer agreement makes a copy surer, token by token.
func TestCopyGetsSurer(t *testing.T) {
	s := Default().NewScorer()
	s.Feed("value: zQ8xW2pL5vB9nM3kJ7hG\n")
	tokens, _ := s.Score("value: zQ8xW2pL5vB9nM3kJ7hG")
	if first, last := tokens[3].Logprob, tokens[len(tokens)-1].Logprob; last < first || last < math.Log(0.9) {
		t.Errorf("from %v to %v", first, last)
	}
}

func TestDeterministic(t *testing.T) {
	score := func(m *Model) []float64 {
		s := m.NewScorer()
		s.Feed(operations[:400])
		tokens, hs := s.Score(operations[200:900])
		for _, tok := range tokens {
			hs = append(hs, tok.Logprob, tok.Top[7].Logprob)
		}
		return hs
	}
	a, b := score(New()), score(New())
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("value %d differs: %v, %v", i, a[i], b[i])
		}
	}
	s := Default().NewScorer()
	s.Feed("something else")
	s.Score("altogether")
	s.Reset()
	s.Feed(operations[:400])
	if _, hs := s.Score(operations[200:900]); hs[9] != a[9] {
		t.Error("Reset leaves something behind")
	}
}

func BenchmarkScore(b *testing.B) {
	s := Default().NewScorer()
	context := strings.Repeat(operations, 1)[:6000]
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		s.Reset()
		s.Feed(context)
		tokens, _ := s.Score("The digest that is running now is 5f1c0be29ad34471, and the service is healthy. I will send a short note.")
		n += len(tokens)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/token")
}
