package tagger

import (
	"slices"
	"testing"
)

// A disclosure in prose extends to the end of its clause; a value does not.
func TestSpans(t *testing.T) {
	m := &Model{}
	for i := range m.cal.Threshold {
		m.cal.Threshold[i] = 0.5
	}
	diagnosis, card := slices.Index(fields[:], "diagnosis")+1, slices.Index(fields[:], "payment-token")+1
	for _, c := range []struct {
		text    string
		class   int
		private []float32 // by token
		want    []string
	}{
		{"she has been low since spring, the order is ready", diagnosis, []float32{0.01, 0.06, 0.06, 0.9, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06}, []string{"has been low since spring"}},
		{"low, as ever, and tired", diagnosis, []float32{0.9, 0.01, 0.3, 0.3, 0.01, 0.01, 0.9}, []string{"low, as ever", "tired"}},
		{"order 12 by card 4111 today", card, []float32{0.1, 0.2, 0.1, 0.1, 0.9, 0.1}, []string{"4111"}},
		{"ends 41 11 today", card, []float32{0.3, 0.9, 0.3, 0.2}, []string{"ends 41 11"}},
		{"nothing at all", diagnosis, []float32{0.4, 0.3, 0.2}, nil},
	} {
		tokens := Tokens(c.text, nil)
		if len(tokens) != len(c.private) {
			t.Fatalf("%q has %d tokens", c.text, len(tokens))
		}
		said := make([]guess, len(tokens))
		for i := range said {
			said[i] = guess{class: c.class, private: c.private[i]}
		}
		var got []string
		for _, s := range m.spans(c.text, tokens, said, nil) {
			got = append(got, c.text[s.Start:s.End])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
