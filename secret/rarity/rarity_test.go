package rarity_test

import (
	"testing"

	"github.com/margaydev/margay/secret/rarity"
)

func TestToGuess(t *testing.T) {
	for value, want := range map[string][2]float64{ // at least, at most
		"":                     {0, 0},
		"aaaaaaaaaaaaaaaa":     {0, 10},
		"password":             {10, 20},
		"velvetharbor":         {20, 28},
		"83920417":             {26, 27},
		"Xk9vQ4tR7wZ1pLm2":     {60, 80},
		"9b1f03c7a2e45d68b7c0": {60, 95},
	} {
		if got := rarity.ToGuess([]byte(value)); got < want[0] || got > want[1] {
			t.Errorf("%q: %.1f bits, want %v", value, got, want)
		}
	}
}

// TestInText: eight characters that were drawn are rare, and what everybody
// writes is not.
func TestInText(t *testing.T) {
	bits := func(s string) float64 { return rarity.InText([]byte(s), make([]bool, len(s))) }
	for _, s := range []string{"Xk9vQ4tR", "q7wn2kfp", "83920417", "9b1f03c7"} {
		if got := bits(s); got < 24 {
			t.Errorf("%q: %.1f bits", s, got)
		}
	}
	for _, s := range []string{"", "password", "localhost", "abcdefgh", "12345678", "aaaaaaaaaaaa", "services", "ervice", "https"} {
		if got := bits(s); got >= 24 {
			t.Errorf("%q: %.1f bits", s, got)
		}
	}
	// More of a text is never more common.
	text := "Xk9vQ4tR7wZ1velvetharborpassword83920417"
	for n := 1; n < len(text); n++ {
		if bits(text[:n+1]) < bits(text[:n])-8 {
			t.Errorf("%q is much more common than %q", text[:n+1], text[:n])
		}
	}
	// What stands between words tells them apart.
	apart := make([]bool, 9)
	apart[5] = true
	if joined, split := bits("othertype"), rarity.InText([]byte("othertype"), apart); split > joined {
		t.Errorf("apart: %.1f bits, joined: %.1f", split, joined)
	}
}
