package answer

import (
	"crypto/sha256"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/stream"
)

// copied takes an event that repeats a whole text, which ends it. What repeats
// another text than was streamed is looked at as one of its own.
func (g *Stream) copied(h *held, t *text, d *flow.Delta) error {
	if t.len == 0 && !t.done {
		first := *d
		first.Copy = false
		err := g.delta(h, &first)
		g.end(t)
		return err
	}
	g.end(t)
	own := append([]byte(nil), d.Text...)
	c := &text{key: d.Key, done: true, win: own, len: int64(len(own)), cut: int64(len(own)), fixed: t.fixed || d.Fixed}
	sum := sha256.Sum256(own)
	call := ofCall(&d.Key)
	switch {
	case c.len == t.len && string(sum[:]) == string(t.sum.Sum(nil)):
		c.edits = t.all
	case call && (g.opt.Gate != nil || g.hold > 0 || g.opt.Calls.Rubrics()):
		// What was decided is the call as it was streamed.
		return g.deny("copies-differ", "the stream repeats a tool call, and not as it was")
	case d.Key.Field == flow.FieldToolArguments:
		edits, found, _, refusal := g.opt.Calls.Arguments(g.ctx, g.cfg, "", own)
		g.note(c, found)
		if c.edits = edits; refusal != "" && !g.callOf(d.Key.Choice, d.Key.Item).dropped {
			return g.deny("copies-differ", "the stream repeats the arguments of a tool call, and not as they were")
		}
	default:
		edits, found := g.cfg.Scan(own)
		c.edits = edits
		g.note(c, found)
	}
	g.seal(c)
	h.pieces = append(h.pieces, piece{t: c, to: c.len})
	h.calls = h.calls || call
	c.pieces++
	return nil
}

// whole decides a string outside the choices at once. A stream mostly repeats
// the same few.
func (g *Stream) whole(h *held, d *flow.Delta) {
	if g.isPlain(d.Text) {
		h.pieces = append(h.pieces, piece{t: &g.settled})
		g.settled.pieces++
		return
	}
	own := append([]byte(nil), d.Text...)
	out, found := g.cfg.Text(own)
	t := &text{key: d.Key, done: true, win: own, len: int64(len(own)), cut: int64(len(own))}
	if string(out) != string(d.Text) {
		t.edits = []stream.Edit{{End: t.len, Text: out}}
	}
	g.note(t, found)
	const many = 4096
	if len(found) == 0 && t.edits == nil && len(g.plain) < many {
		if g.plain == nil {
			g.plain = map[string]struct{}{}
		}
		var sum [sha256.Size + 1]byte
		g.plain[string(plainKey(own, &sum))] = struct{}{}
	}
	h.pieces = append(h.pieces, piece{t: t, to: t.len})
	t.pieces++
}

// longPlain is the length from which clean strings are remembered by their
// hash: some wires echo all of a request several times.
const longPlain = 256

// plainKey is what a string outside the choices is remembered by: itself, or its
// hash, behind which a byte that is no UTF-8 tells it from a string.
func plainKey(b []byte, sum *[sha256.Size + 1]byte) []byte {
	if len(b) < longPlain {
		return b
	}
	hash := sha256.Sum256(b)
	copy(sum[:], hash[:])
	sum[sha256.Size] = 0xff
	return sum[:]
}

// isPlain reports whether a string outside the choices is known to be clean.
func (g *Stream) isPlain(b []byte) bool {
	var sum [sha256.Size + 1]byte
	_, ok := g.plain[string(plainKey(b, &sum))]
	return ok || len(b) == 0
}
