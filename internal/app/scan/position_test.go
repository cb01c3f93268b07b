package scan

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestPosition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text []byte
	for range 20000 {
		if r.IntN(30) == 0 {
			text = append(text, '\n')
		} else {
			text = append(text, 'x')
		}
	}
	p := newPosition()
	const window = 300
	for at := 0; at < len(text); {
		n := min(1+r.IntN(2*window), len(text)-at)
		p.write(text[at : at+n])
		at += n
		for range 5 {
			off := max(0, at-r.IntN(window))
			line := 1 + bytes.Count(text[:off], []byte{'\n'})
			col := off - bytes.LastIndexByte(text[:off], '\n')
			if l, c := p.of(int64(off)); l != line || c != col {
				t.Fatalf("offset %d is %d:%d, want %d:%d", off, l, c, line, col)
			}
		}
		p.forget(int64(at - window))
		if len(p.starts) > window+2 {
			t.Fatalf("%d lines are remembered", len(p.starts))
		}
	}
}
