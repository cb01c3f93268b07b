// Package outlet carries released bytes out of the connectors. It has the few
// ways out that a [cut.Released] lacks: a flush after it, and the body of an
// HTTP response.
package outlet

import (
	"io"
	"net/http"
	"sync"

	"github.com/margaydev/margay/stream/cut"
)

// Send writes released bytes to a client and flushes them.
func Send(w http.ResponseWriter, out *cut.Released) error {
	if _, err := out.WriteTo(w); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// Body is the body of a response, of released bytes alone.
type Body struct {
	next  func(out *cut.Released, room int) error
	close func() error
	out   *cut.Released
	lent  bool // out goes back to the pool
}

// buffers are the memory that a stream leaves to the next one.
var buffers = sync.Pool{New: func() any { return &cut.Released{} }}

// Stream returns a body that asks next for more each time it was read. Next
// appends at least one byte, about as many as there is room for, or returns an
// error: io.EOF at the end.
func Stream(next func(out *cut.Released, room int) error, close func() error) *Body {
	return &Body{next: next, close: close, out: buffers.Get().(*cut.Released), lent: true}
}

// Whole returns a body of what was released.
func Whole(out *cut.Released) *Body {
	return &Body{next: func(*cut.Released, int) error { return io.EOF }, close: func() error { return nil }, out: out}
}

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	if b.out.Len() == 0 {
		if err := b.next(b.out, len(p)); err != nil && b.out.Len() == 0 {
			return 0, err
		}
	}
	return b.out.Read(p)
}

// Close implements io.Closer. Nothing is read after it.
func (b *Body) Close() error {
	if b.lent {
		b.lent = false
		b.out.Reset()
		buffers.Put(b.out)
		b.out = &cut.Released{}
	}
	return b.close()
}
