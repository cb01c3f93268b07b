package events

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// template is an event that was read. The next events of a stream mostly repeat
// it byte for byte around other texts, and bytes that were parsed once need no
// parsing. A hole is the event's number, or the content of a string whose meaning
// does not depend on it. Such a string ends at the first quote that is not
// escaped, so the event around it reads as the template does.
//
// Names outside holes are not reported again: they are the template's.
type template struct {
	used      bool
	typ, data []byte
	holes     []hole
	chunk     wire.Chunk
}

// Templates is how many a Reader keeps.
const Templates = 4

// hole is a part of a template that changes.
type hole struct {
	from, to int
	is       int // the place of a delta, or one of the following
}

// Holes that are not a delta's text.
const (
	padding = -1
	number  = -2
)

// Reset makes the Reader ready for another stream, in the memory that it has.
// With judged, deltas have what the server reports about their tokens.
func (r *Reader) Reset(lim wire.Limits, judged bool) {
	r.Limits, r.Judged, r.latest = lim, judged, 0
	for i := range r.templates {
		r.templates[i].used = false
	}
}

// Drop discards one template.
func (r *Reader) Drop(slot int) { r.templates[slot].used = false }

// Learn keeps the event that was just read as a template, if it has texts and
// nothing else. With others, the meaning of a text without a field of its own
// does not depend on its content. Learn returns the template's place, -1 for
// none.
func (r *Reader) Learn(typ, data []byte, others bool) (slot int) {
	c := &r.Chunk
	if r.Once || len(c.Finished)+len(c.Ended) > 0 || c.Done || c.Error || c.Usage || c.Logprobs || c.Stray || c.Telemetry || c.ID != nil {
		return -1
	}
	for i := range c.Deltas {
		// All but the holes is the same in every event that fits. Another
		// content of these texts might be read differently.
		if r.isHole(i) && (c.Deltas[i].Copy || c.Deltas[i].Key.Field == flow.FieldOther && !others || r.Doc.Nodes[r.nodes[i]].Kind != strictjson.String) {
			return -1
		}
	}
	at := slices.IndexFunc(r.templates[:], func(t template) bool { return !t.used })
	if at < 0 {
		at = (r.latest + 1) % len(r.templates)
	}
	r.latest = at
	t := &r.templates[at]
	t.used, t.typ, t.data, t.holes = true, append(t.typ[:0], typ...), append(t.data[:0], data...), t.holes[:0]
	t.chunk = wire.Chunk{
		Deltas: append(t.chunk.Deltas[:0], c.Deltas...), Choices: append(t.chunk.Choices[:0], c.Choices...), Names: t.chunk.Names[:0], Typed: c.Typed,
	}
	for i := range t.chunk.Deltas {
		if r.isHole(i) {
			t.hole(&r.Doc.Nodes[r.nodes[i]], i)
		} else {
			t.chunk.Deltas[i].Text = bytes.Clone(t.chunk.Deltas[i].Text)
		}
	}
	if r.Pad >= 0 {
		t.hole(&r.Doc.Nodes[r.Pad], padding)
		t.chunk.Names = append(t.chunk.Names, nil)
	}
	if r.Number >= 0 {
		t.hole(&r.Doc.Nodes[r.Number], number)
	}
	slices.SortFunc(t.holes, func(a, b hole) int { return a.from - b.from })
	return at
}

// isHole reports whether a delta's text changes with the events that fit.
func (r *Reader) isHole(delta int) bool {
	return r.Chunk.Deltas[delta].Key.Choice >= 0 && r.nodes[delta] != nowhere
}

func (t *template) hole(n *strictjson.Node, is int) {
	h := hole{n.Start, n.End, is}
	if is != number {
		h.from, h.to = h.from+1, h.to-1 // without its quotes
	}
	t.holes = append(t.holes, h)
}

// Recall returns the chunk of an event if one of the templates fits, and that
// template's place.
func (r *Reader) Recall(typ, data []byte) (c *wire.Chunk, slot int) {
	if r.Limits.MaxBytes > 0 && len(data) > r.Limits.MaxBytes {
		return nil, -1
	}
	for i := range r.templates {
		at := (r.latest + i) % len(r.templates)
		if t := &r.templates[at]; t.used && bytes.Equal(typ, t.typ) && r.fits(t, data) {
			r.latest = at
			return &t.chunk, at
		}
	}
	return nil, -1
}

// fits reports whether data is the template around other texts, and sets its
// chunk to them.
func (r *Reader) fits(t *template, data []byte) bool {
	last, seq := 0, -1
	r.buf = r.buf[:0]
	for i := range t.holes {
		h := &t.holes[i]
		rest, ok := bytes.CutPrefix(data, t.data[last:h.from])
		if !ok {
			return false
		}
		var n int
		var text []byte
		if h.is == number {
			n, seq = digits(rest)
		} else {
			n, text, r.buf = strictjson.ReadContent(r.buf, rest)
		}
		switch {
		case n < 0:
			return false
		case h.is == padding:
			t.chunk.Names[0] = text
		case h.is >= 0:
			t.chunk.Deltas[h.is].Text = text
		}
		data, last = rest[n:], h.to
	}
	r.Seq = seq
	return bytes.Equal(data, t.data[last:])
}

// digits reads a whole number of at most nine digits. It returns its length; -1
// for anything else.
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
