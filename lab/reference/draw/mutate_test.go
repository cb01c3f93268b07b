package draw

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/margaydev/margay/secret/recognise"
)

func source(t *testing.T) *Source {
	t.Helper()
	rules := []recognise.Rule{{ID: "a", Gate: []string{"token"}, Regex: `\bhbr_([a-z0-9]{12})\b`}}
	s, err := NewSource(rules, []string{"q7Zt4mWc9LxB2nVk"}, []func(string) string{func(s string) string { return hex.EncodeToString([]byte(s)) }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMutate: the same seed makes the same changes, nearly all texts change, and they
// are bounded. The text that is changed stays as it was.
func TestMutate(t *testing.T) {
	src := source(t)
	text := []byte("The token is hbr_k4xq9mfp2lwz, she said; nobody else had it.")
	was := bytes.Clone(text)
	same, longest := 0, 0
	for seed := range uint64(2000) {
		one := func() []byte {
			d := src.Drawer(seed)
			return d.Mutate(text, func() []byte { return d.Text() })
		}
		got := one()
		if !bytes.Equal(got, one()) {
			t.Fatalf("seed %d makes two texts", seed)
		}
		if bytes.Equal(got, text) {
			same++
		}
		longest = max(longest, len(got))
	}
	if !bytes.Equal(text, was) {
		t.Error("the text was changed in place")
	}
	if same > 100 || longest > most || longest < 1000 {
		t.Errorf("%d of 2000 are as before; the longest has %d bytes", same, longest)
	}
	if got := src.Drawer(1).Mutate(nil, func() []byte { return nil }); len(got) > most {
		t.Errorf("%d bytes of nothing", len(got))
	}
}
