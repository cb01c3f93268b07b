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
		n = 60
	}
	got, err := Attacked(t.Context(), m, 1, n)
	if err != nil {
		t.Fatal(err)
	}
	if doubt := float64(defender.NewScreener(m).Doubt()) / 1e6; got.Passed > doubt || got.Passed < got.Plain {
		t.Errorf("%+v, and %.3f is charged", got, doubt)
	}
}
