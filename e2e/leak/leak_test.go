package leak

import (
	"encoding/base64"
	"testing"
)

func TestLongest(t *testing.T) {
	const secret = "abcdefghijklmnop"
	for text, want := range map[string]int{
		"":                              0,
		"thin air? no":                  2, // "hi", "no"
		"xx abcdefgh xx":                8,
		"abc efghijkl":                  8,
		"the end: jklmnop":              7,
		"all: abcdefghijklmnop, and on": 16,
	} {
		if got := Longest(secret, []byte(text)); got != want {
			t.Errorf("longest run in a text of %d bytes: got %d, want %d", len(text), got, want)
		}
	}
}

func TestIn(t *testing.T) {
	const secret = "abcdefghijklmnop"
	for text, want := range map[string]bool{
		"abcdefg hijklmn":  false,
		"x abcdefgh":       true,
		"ponmlkjihgfedcba": true,
		base64.StdEncoding.EncodeToString([]byte(secret + "!")): true,
		"6162636465666768": true,
	} {
		if In([]byte(text), secret) != want {
			t.Errorf("a text of %d bytes: want %v", len(text), want)
		}
	}
	if !In([]byte("pin: k7x!"), "k7x!") {
		t.Error("a short secret is not found whole")
	}
}
