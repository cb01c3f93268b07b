package train

import (
	"math"
	"testing"

	"github.com/margaydev/margay/monitor"
)

// TestPaperBlackBox: the variant judges as the white box does a sample whose
// unavailable features are 0.
func TestPaperBlackBox(t *testing.T) {
	paper, err := PaperBlackBox(monitor.Default(), false)
	if err != nil {
		t.Fatal(err)
	}
	if paper.Hash() == monitor.Default().Hash() {
		t.Error("the same hash")
	}
	gray := monitor.Default().Spec().Gray
	b := paper.New(monitor.Options{BlackBox: true})
	for text := "the password is x9Kq2mmWdL for mode=fast"; text != ""; {
		n := monitor.NextPiece(text)
		v := b.Next(&monitor.Token{Text: text[:n], Logprob: math.NaN()})
		z := gray.Bias
		for i, f := range b.Features() {
			if gray.Scale[i] > 0 {
				z += gray.Weights[i] * (f - gray.Mean[i]) / gray.Scale[i] // f is 0 where unavailable
			}
		}
		if want := gray.Floor + (1-gray.Floor)/(1+math.Exp(-z)); math.Abs(v.Risk-want) > 1e-9 {
			t.Fatalf("%q: %g, not %g", text[:n], v.Risk, want)
		}
		text = text[n:]
	}
	if _, err := Without(monitor.Default(), false, "no_such"); err == nil {
		t.Error("a feature that is none was dropped")
	}
}
