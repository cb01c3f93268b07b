package openairesponses

import (
	"bytes"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// template is an event that was parsed. The next events of a stream mostly
// repeat it byte for byte around another number, text and padding, and what is
// the same as in an event that was parsed needs no parsing. A hole is the
// event's number, or the content of a string whose meaning does not depend on
// it; it ends at the first quote that is not escaped, so that the event around
// it reads as the template does.
//
// Names outside holes are not told again: they are those of the template.
type template struct {
	used  bool
	data  []byte
	holes [3]hole
	n     int // holes
	chunk wire.Chunk
	name  [1][]byte // where Chunk.Names begins
	kind  []byte
	item  int
	part  int
	whole bool
}

// hole is a part of a template that changes.
type hole struct {
	from, to int
	is       byte // what it is
}

// What a hole is.
const (
	number = iota
	text
	padding
)

// reset makes the parser ready for another stream, in the memory that it has.
func (p *eventParser) reset(lim wire.Limits, tokens bool) {
	p.lim, p.told, p.learns, p.latest = lim, tokens, true, 0
	for i := range p.templates {
		p.templates[i].used = false
	}
}

// learn keeps the event that was just parsed as a template, if it is a piece
// of one text and nothing else.
func (p *eventParser) learn(data []byte) {
	c, d := &p.chunk, &p.doc
	if !p.learns || !p.streams || p.probs || len(c.Deltas) != 1 || c.Deltas[0].Copy || p.nodes[0] < 0 || d.Nodes[p.nodes[0]].Kind != strictjson.String {
		return
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
	t.used, t.data, t.n = true, append(t.data[:0], data...), 0
	t.kind, t.item, t.part, t.whole = append(t.kind[:0], p.kind...), p.item, p.part, p.whole
	t.chunk = wire.Chunk{Deltas: append(t.chunk.Deltas[:0], c.Deltas...), Choices: zero[:]}
	t.add(hole{d.Nodes[p.nodes[0]].Start + 1, d.Nodes[p.nodes[0]].End - 1, text})
	if p.number >= 0 {
		t.add(hole{d.Nodes[p.number].Start, d.Nodes[p.number].End, number})
	}
	if p.pad >= 0 {
		t.add(hole{d.Nodes[p.pad].Start + 1, d.Nodes[p.pad].End - 1, padding})
		t.chunk.Names = t.name[:]
	}
}

// add puts a hole in its place.
func (t *template) add(h hole) {
	i := t.n
	for ; i > 0 && t.holes[i-1].from > h.from; i-- {
		t.holes[i] = t.holes[i-1]
	}
	t.holes[i] = h
	t.n++
}

// recall returns the chunk if one of the templates fits.
func (p *eventParser) recall(data []byte) *wire.Chunk {
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
			p.kind, p.item, p.part, p.whole = t.kind, t.item, t.part, t.whole
			return &t.chunk
		}
	}
	return nil
}

// fits reports whether data is the template around other values, and sets its
// chunk to them.
func (p *eventParser) fits(t *template, data []byte) bool {
	last, seq := 0, -1
	for i := range t.n {
		h := &t.holes[i]
		rest, ok := bytes.CutPrefix(data, t.data[last:h.from])
		if !ok {
			return false
		}
		n, content := 0, []byte(nil)
		if h.is == number {
			n, seq = digits(rest)
		} else {
			n, content, p.buf = strictjson.ReadContent(p.buf, rest)
		}
		switch {
		case n < 0:
			return false
		case h.is == text:
			t.chunk.Deltas[0].Text = content
		case h.is == padding:
			t.name[0] = content
		}
		data, last = rest[n:], h.to
	}
	p.seq = seq
	return bytes.Equal(data, t.data[last:])
}

// digits reads a number as the API writes those of events. It returns its
// length, -1 if it is none.
func digits(b []byte) (n, value int) {
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		value = 10*value + int(b[n]-'0')
		n++
	}
	if n == 0 || n > 9 || b[0] == '0' && n > 1 {
		return -1, -1
	}
	return n, value
}
