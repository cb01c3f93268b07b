package tagger

import (
	"testing"

	defender "github.com/margaydev/margay/defend/tagger"
)

// TestAttacked: what rubrics charge for the network's judgement is not below what an
// author who knows its answers comes through with.
func TestAttacked(t *testing.T) {
	m, err := defender.Default()
	if err != nil {
		t.Fatal(err)
	}
	n := 300
	if testing.Short() {
		n = 24
	}
	got, err := Attacked(t.Context(), m, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	if doubt := float64(defender.NewScreener(m).Doubt()) / 1e6; got.Passed > doubt || got.Passed < got.Plain {
		t.Errorf("%+v, and %.3f is charged", got, doubt)
	}
}

// The attack pads texts until the screener's prior is at its bound: a tenth of the odds that
// a quarter of all sentences are private, which twenty sentences stand for.
func TestPaddings(t *testing.T) {
	m, err := defender.Default()
	if err != nil {
		t.Fatal(err)
	}
	c := corpus(t)
	all, err := c.paddings(1)
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	for _, p := range all {
		r, err := m.Read(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		private := 20 * 0.25
		for _, s := range r.Sentences {
			private += 1 - s.Clear
		}
		prior := private / float64(len(r.Sentences)+20)
		if odds := prior / (1 - prior); odds > 0.1/3 {
			t.Errorf("%d sentences, prior odds %.3f", len(r.Sentences), odds)
		}
	}
}
