// Package outlet carries released bytes out of the connectors. It has the few
// ways out that a [cut.Released] lacks: a flush after it, and the body of an
// HTTP response.
package outlet

import (
	"context"
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

// Client is the client's side of a response. A reverse proxy flushes the header by
// itself, at any time, so that writes and flushes take turns.
type Client struct {
	http.ResponseWriter

	mu sync.Mutex
}

// To is the client's side of a response.
func To(w http.ResponseWriter) *Client { return &Client{ResponseWriter: w} }

// Write implements io.Writer.
func (c *Client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ResponseWriter.Write(p)
}

// FlushError is what http.ResponseController calls.
func (c *Client) FlushError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController find the writer below.
func (c *Client) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Body is the body of a response, of released bytes alone. It writes itself to the
// client when it is first read, and nothing of it is read: a reverse proxy that
// copied it would need a buffer for each stream, and copy every byte twice more.
type Body struct {
	to    http.ResponseWriter
	whole *cut.Released // nil for a stream
	wait  func()
	next  func(out *cut.Released, room int) error
	close func() error
}

// burst is about how many bytes are gathered before they are written.
const burst = 32 << 10

// buffers are the memory that a stream leaves to the next one.
var buffers = sync.Pool{New: func() any { return &cut.Released{} }}

// Stream returns a body that asks next for more until it returns an error: io.EOF
// at the end. Next appends at least one byte, about as many as there is room for.
// What it appends is flushed. Before, wait returns when next has something to do: a
// stream that waits holds no memory for what it writes.
func Stream(to http.ResponseWriter, wait func(), next func(out *cut.Released, room int) error, close func() error) *Body {
	return &Body{to: to, wait: wait, next: next, close: close}
}

// Whole returns a body of what was released.
func Whole(to http.ResponseWriter, out *cut.Released) *Body {
	return &Body{to: to, whole: out, close: func() error { return nil }}
}

// Read implements io.Reader. It returns when all is written, and no bytes. A client
// that has disconnected is no error of the upstream's: it is told as such.
func (b *Body) Read([]byte) (int, error) {
	if b.whole != nil {
		if _, err := b.whole.WriteTo(b.to); err != nil {
			return 0, context.Canceled
		}
		return 0, io.EOF
	}
	for {
		if err := b.send(); err != nil {
			return 0, err
		}
	}
}

// send writes what comes next.
func (b *Body) send() error {
	b.wait()
	out := buffers.Get().(*cut.Released)
	defer buffers.Put(out)
	defer out.Reset()
	if err := b.next(out, burst); err != nil && out.Len() == 0 {
		return err
	}
	if Send(b.to, out) != nil {
		return context.Canceled
	}
	return nil
}

// Close implements io.Closer. Nothing is read after it.
func (b *Body) Close() error { return b.close() }
