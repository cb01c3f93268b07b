package openaichat

import (
	"bytes"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
)

// template is a chunk with one text, which the next chunk of a stream mostly
// repeats byte for byte around another text. What is the same as in a chunk
// that was parsed needs no parsing: the text is a string without escapes, so
// that it ends where it ended in the template.
type template struct {
	data     []byte
	from, to int // the content of the text's literal
	set      bool
}

// learn takes the chunk that was just parsed as the template, if it is fit.
func (p *ChunkParser) learn(data []byte) {
	t, c := &p.tmpl, &p.chunk
	t.set = len(c.Deltas) == 1 && c.Deltas[0].Key.Field != flow.FieldOther && len(c.Finished) == 0 && !c.Error && !c.Done && !p.probs && p.nodes[0] >= 0
	if !t.set {
		return
	}
	n := &p.doc.Nodes[p.nodes[0]]
	t.data, t.from, t.to = append(t.data[:0], data...), n.Start+1, n.End-1
}

// same reports whether data is the template around another text, and sets the
// chunk, which is still the template's, to that text.
func (p *ChunkParser) same(data []byte) bool {
	t := &p.tmpl
	if !t.set || p.Limits.MaxBytes > 0 && len(data) > p.Limits.MaxBytes {
		return false
	}
	tail := t.data[t.to:]
	end := len(data) - len(tail)
	if end < t.from || !bytes.Equal(data[:t.from], t.data[:t.from]) || !bytes.Equal(data[end:], tail) {
		return false
	}
	text := data[t.from:end]
	ascii := true
	for _, b := range text {
		if b < ' ' || b == '"' || b == '\\' {
			return false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(text) {
		return false
	}
	p.chunk.Deltas[0].Text = text
	return true
}
