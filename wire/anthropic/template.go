package anthropic

import (
	"bytes"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// template is an event that was parsed. The next events of a stream mostly
// repeat it byte for byte around another text, and what is the same as in an
// event that was parsed needs no parsing. The hole is the content of a string
// whose meaning does not depend on it; it ends at the first quote that is not
// escaped, so that the event around it reads as the template does.
type template struct {
	typ   []byte // sse.Event.Type
	head  []byte // the data before the hole
	tail  []byte // and behind it
	chunk wire.Chunk
	index int
	used  bool
}

// learn keeps the delta that was just parsed as a template, if it is fit: it
// has one text and nothing else.
func (p *parser) learn(ev *sse.Event) {
	c := &p.chunk
	if p.alone || len(c.Deltas) != 1 || len(c.Names) > 0 || p.nodes[0] < 0 {
		return
	}
	k := &c.Deltas[0].Key
	n := &p.doc.Nodes[p.nodes[0]]
	if k.Choice < 0 || k.Field == flow.FieldOther && k.Path != serverInput || n.Kind != strictjson.String {
		return // another text might not be read as one
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
	t.used, t.index = true, p.index
	t.typ = append(t.typ[:0], ev.Type...)
	t.head = append(t.head[:0], ev.Data[:n.Start+1]...)
	t.tail = append(t.tail[:0], ev.Data[n.End-1:]...)
	t.chunk = wire.Chunk{Deltas: append(t.chunk.Deltas[:0], c.Deltas...), Choices: all, Typed: c.Typed}
}

// recall returns the chunk if one of the templates fits.
func (p *parser) recall(ev *sse.Event) *wire.Chunk {
	if p.lim.MaxBytes > 0 && len(ev.Data) > p.lim.MaxBytes {
		return nil
	}
	for i := range p.templates {
		at := (p.latest + i) % len(p.templates)
		if t := &p.templates[at]; t.used && p.fits(t, ev) {
			p.latest = at
			return &t.chunk
		}
	}
	return nil
}

// fits reports whether an event is the template around another text, and sets
// its chunk to it.
func (p *parser) fits(t *template, ev *sse.Event) bool {
	rest, ok := bytes.CutPrefix(ev.Data, t.head)
	if !ok || !bytes.Equal(ev.Type, t.typ) || p.blocks[t.index].ended {
		return false
	}
	var n int
	var text []byte
	n, text, p.buf = strictjson.ReadContent(p.buf[:0], rest)
	if n < 0 || !bytes.Equal(rest[n:], t.tail) {
		return false
	}
	t.chunk.Deltas[0].Text = text
	return true
}
