package strictjson

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A text is the same whether it is read as bytes or as a string.
func TestText(t *testing.T) {
	pieces := []string{"a", "word ", `\n`, `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, "☕", `\/`, `\u0041`, `\\u0041`}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var raw strings.Builder
		for range rng.IntN(12) {
			raw.WriteString(pieces[rng.IntN(len(pieces))])
		}
		var d Doc
		if err := d.Parse([]byte(`["`+raw.String()+`"]`), Limits{}); err != nil {
			t.Fatal(raw.String(), err)
		}
		if text := d.Text(1); text != string(d.Bytes(1)) || text != string(d.AppendBytes(nil, 1)) {
			t.Fatalf("%s is read as %q and %q", raw.String(), text, d.Bytes(1))
		}
	}
}
