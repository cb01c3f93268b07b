package httpedge

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// How long a listener waits for its clients.
const (
	// Patience is how long a request's body, or the reading of a response, may
	// stand still.
	Patience = time.Minute
	// LeastRate is how many bytes a second must go either way beyond that.
	LeastRate = 16 << 10
)

// within is how long so many bytes may take.
func within(n int64) time.Duration {
	return Patience + time.Duration(n)*time.Second/LeastRate
}

// Pace bounds how long a request's body may take to arrive: Patience, and what
// has arrived by LeastRate. Reading it later fails, and the connection is closed.
func Pace(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	b := &paced{ReadCloser: r.Body, control: http.NewResponseController(w), start: time.Now()}
	b.until(b.start.Add(within(0)))
	r.Body = b
}

// paced is a body with a deadline that moves while it arrives.
type paced struct {
	io.ReadCloser
	control  *http.ResponseController
	start    time.Time
	got      int64
	deadline time.Time
}

// until sets the deadline. Test recorders have none.
func (b *paced) until(t time.Time) {
	b.deadline = t
	_ = b.control.SetReadDeadline(t)
}

func (b *paced) Read(p []byte) (int, error) {
	if t := b.start.Add(within(b.got)); t.Sub(b.deadline) >= time.Second {
		b.until(t)
	}
	n, err := b.ReadCloser.Read(p)
	b.got += int64(n)
	if errors.Is(err, io.EOF) {
		b.until(time.Time{}) // or the end of the wait would look like a client that has gone
	}
	return n, err
}

// Steady returns a listener whose connections fail if the other end reads
// nothing for Patience, or less than LeastRate.
func Steady(ln net.Listener) net.Listener { return steady{ln} }

type steady struct{ net.Listener }

// Accept implements net.Listener.
func (l steady) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &steadyConn{Conn: conn}, nil
}

type steadyConn struct {
	net.Conn

	mu       sync.Mutex
	deadline time.Time
}

// Write implements net.Conn. A deadline that is less than a second early stays: most
// writes are one token.
func (c *steadyConn) Write(p []byte) (int, error) {
	if err := c.wait(time.Now().Add(within(int64(len(p))))); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *steadyConn) wait(until time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if late := until.Sub(c.deadline); late >= 0 && late < time.Second {
		return nil
	}
	c.deadline = until
	return c.Conn.SetWriteDeadline(until)
}

// SetWriteDeadline implements net.Conn. The next write sets its own.
func (c *steadyConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = time.Time{}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn, in the same way.
func (c *steadyConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
