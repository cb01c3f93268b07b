package openaichat

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// template is a chunk that was parsed. The next chunks of a stream mostly
// repeat it byte for byte around other texts, and what is the same as in a
// chunk that was parsed needs no parsing. A hole is the content of a string
// whose meaning does not depend on it; it ends at the first quote that is not
// escaped, so that the chunk around it reads as the template does.
//
// Names outside holes are not told again: they are those of the template.
type template struct {
	data  []byte
	holes []hole
	chunk wire.Chunk
	used  bool
}

// hole is a string of a template: that of a delta or that of a name.
type hole struct {
	from, to int // its content
	at       int // in Chunk.Deltas; -1 for a name
}

// reset makes the parser ready for another stream, in the memory that it has.
func (p *chunkParser) reset(lim wire.Limits, tokens bool) {
	p.lim, p.told, p.latest = lim, tokens, 0
	for i := range p.templates {
		p.templates[i].used = false
	}
}

// learn keeps the chunk that was just parsed as a template, if it is fit.
func (p *chunkParser) learn(data []byte) {
	c := &p.chunk
	if len(c.Finished) > 0 || c.Error || p.probs || c.Usage {
		return
	}
	for i := range c.Deltas {
		k := &c.Deltas[i].Key
		if k.Choice < 0 || p.nodes[i] == nowhere {
			continue // it is the same in every chunk that fits
		}
		if k.Field == flow.FieldOther || p.doc.Nodes[p.nodes[i]].Kind != strictjson.String {
			return // another text might not be read as one
		}
	}
	at := (p.latest + 1) % len(p.templates)
	for i := range p.templates {
		if !p.templates[i].used {
			at = i
			break
		}
	}
	p.latest = at
	t := &p.templates[at]
	t.used, t.data, t.holes = true, append(t.data[:0], data...), t.holes[:0]
	t.chunk = wire.Chunk{
		Deltas: append(t.chunk.Deltas[:0], c.Deltas...), Choices: append(t.chunk.Choices[:0], c.Choices...), Names: t.chunk.Names[:0],
	}
	for i := range t.chunk.Deltas {
		d := &t.chunk.Deltas[i]
		if d.Key.Choice < 0 || p.nodes[i] == nowhere {
			d.Text = bytes.Clone(d.Text)
			continue
		}
		n := &p.doc.Nodes[p.nodes[i]]
		t.holes = append(t.holes, hole{n.Start + 1, n.End - 1, i})
	}
	if p.pad > 0 {
		n := &p.doc.Nodes[p.pad]
		t.holes = append(t.holes, hole{n.Start + 1, n.End - 1, -1})
		t.chunk.Names = append(t.chunk.Names, nil)
	}
	slices.SortFunc(t.holes, func(a, b hole) int { return a.from - b.from })
}

// recall returns the chunk if one of the templates fits.
func (p *chunkParser) recall(data []byte) *wire.Chunk {
	if p.lim.MaxBytes > 0 && len(data) > p.lim.MaxBytes {
		return nil
	}
	for i := range p.templates {
		at := (p.latest + i) % len(p.templates)
		t := &p.templates[at]
		if !t.used {
			continue
		}
		p.buf = p.buf[:0]
		if p.fits(t, data) {
			p.latest = at
			return &t.chunk
		}
	}
	return nil
}

// fits reports whether data is the template around other texts, and sets its
// chunk to them.
func (p *chunkParser) fits(t *template, data []byte) bool {
	last := 0
	for i := range t.holes {
		h := &t.holes[i]
		rest, ok := bytes.CutPrefix(data, t.data[last:h.from])
		if !ok {
			return false
		}
		var n int
		var text []byte
		if n, text, p.buf = strictjson.ReadContent(p.buf, rest); n < 0 {
			return false
		}
		if h.at < 0 {
			t.chunk.Names[0] = text
		} else {
			t.chunk.Deltas[h.at].Text = text
		}
		data, last = rest[n:], h.to
	}
	return bytes.Equal(data, t.data[last:])
}
