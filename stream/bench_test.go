package stream

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/secret/match"
)

func BenchmarkEditor(b *testing.B) {
	toks := strings.SplitAfter("The committee met again in the long hall by the river and went through the papers one after another while the rain kept falling on the roof ", " ")
	toks = toks[:len(toks)-1]
	cfg := &Config{Rules: rules(b), Vaults: []*match.Index{vault(b, random(1, 32), random(2, 24))}, HoldURLs: true}
	e := cfg.NewEditor()
	var out []byte
	i := 0
	for range 1000 {
		out = e.Write(out[:0], []byte(toks[i%len(toks)]))
		i++
	}
	b.ReportAllocs()
	for b.Loop() {
		out = e.Write(out[:0], []byte(toks[i%len(toks)]))
		i++
	}
}
