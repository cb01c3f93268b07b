package cut

import (
	"bytes"
	"errors"
	"io"
)

// Released is what may go out: bytes that lie before the cut, edited, and what
// was put around them. Connectors write nothing else. Only this package puts
// bytes into one, in four ways: [Text.Release], [Released.Encode], [Released.Own]
// and from another one with [Released.Append].
//
// The zero value is empty. It is not safe for concurrent use, and two copies of
// one that is not empty may not both be appended to.
type Released struct {
	b  []byte
	at int // what lies before it was read
}

// Permit says whether what was decided may go out. The packages of the mediator
// make them, from committed decisions.
type Permit interface{ Releases() bool }

// ErrNotReleased says that a permit does not release.
var ErrNotReleased = errors.New("cut: the decision releases nothing")

// Encode appends what enc appends to dst: a message of an API or a protocol with
// the texts that the permit is about. On an error r is as before. Enc may not
// change or keep what dst has.
func (r *Released) Encode(p Permit, enc func(dst []byte) ([]byte, error)) error {
	if !p.Releases() {
		return ErrNotReleased
	}
	b, err := enc(r.b)
	switch {
	case err != nil:
		return err
	case len(b) < len(r.b): // it took back what is released already
		return ErrNotReleased
	}
	r.b = b
	return nil
}

// Own appends words of Margay's own, such as a refusal. What they may be is in
// internal/arch.
func (r *Released) Own(words []byte) { r.b = append(r.b, words...) }

// Own returns words of Margay's own, as [Released.Own] does.
func Own(words []byte) *Released { return &Released{b: bytes.Clone(words)} }

// Append appends what is left in another one.
func (r *Released) Append(o Released) { r.b = append(r.b, o.Bytes()...) }

// Len returns the number of bytes that were not read or written.
func (r Released) Len() int { return len(r.b) - r.at }

// Bytes returns the bytes that were not read or written. They are valid until
// the next change, and may not be changed.
func (r Released) Bytes() []byte { return r.b[r.at:len(r.b):len(r.b)] }

// Reset empties r. Its memory is used again, unless it is much.
func (r *Released) Reset() {
	if r.b, r.at = r.b[:0], 0; cap(r.b) > maxKept {
		r.b = nil
	}
}

// maxKept bounds the memory that an empty Released keeps.
const maxKept = 1 << 16

// Read implements io.Reader. At the end r is empty.
func (r *Released) Read(p []byte) (int, error) {
	if r.Len() == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b[r.at:])
	r.skip(n)
	return n, nil
}

// WriteTo implements io.WriterTo. What was written is no longer in r.
func (r *Released) WriteTo(w io.Writer) (int64, error) {
	if r.Len() == 0 {
		return 0, nil
	}
	n, err := w.Write(r.Bytes())
	r.skip(n)
	return int64(n), err
}

func (r *Released) skip(n int) {
	if r.at += n; r.at == len(r.b) {
		r.Reset()
	}
}

// Release appends the text up to an offset, but no further than the cut, as it
// goes out. Each byte is released once. The text must have been made to keep
// what is decided.
func (t *Text) Release(r *Released, to int64) {
	to, t.leads = min(to, t.cut), false
	if !t.keep || to <= t.out {
		return
	}
	r.b = Apply(r.b, t.edits, t.out, t.raw[t.out-t.base:to-t.base])
	n := 0
	for n < len(t.edits) && t.edits[n].End <= to {
		n++
	}
	t.edits = t.edits[:copy(t.edits, t.edits[n:])]
	t.out = to
	t.forget()
}

// Edits appends the edits that came before the cut since the last call, in
// order. It is for texts that do not keep what is decided. The Text of an edit
// stays valid.
func (t *Text) Edits(dst []Edit) []Edit {
	dst = append(dst, t.edits...)
	t.edits, t.leads = t.edits[:0], false
	return dst
}

// Apply appends a piece of a text, which begins at the offset from, with the
// edits made in it. The edits are in order. What replaces a span stands where
// the span starts, so that a piece which begins inside one does not repeat it.
func Apply(dst []byte, edits []Edit, from int64, piece []byte) []byte {
	to, at := from+int64(len(piece)), from
	for i := range edits {
		e := &edits[i]
		if e.End <= at || e.Start >= to {
			continue
		}
		dst = append(dst, piece[at-from:max(e.Start, at)-from]...)
		if e.Start >= from {
			dst = append(dst, e.Text...)
		}
		at = min(e.End, to)
	}
	return append(dst, piece[at-from:]...)
}
