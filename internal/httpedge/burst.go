package httpedge

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// A burstConn reads far ahead while the other end sends faster than it is read,
// so that a fast stream costs few system calls and a slow one no memory. What it
// has read ahead lies in memory that all connections share.
//
// As with any connection, one goroutine reads at a time. Ahead may be called
// beside it.
type burstConn struct {
	net.Conn

	ahead *[]byte // nil while nothing is read ahead
	from  int
	left  atomic.Int64 // bytes from there on
	fills bool         // the last read filled what it was given
}

// burst is how far a connection reads ahead.
const burst = 32 << 10

// readBuffer is the buffer of a transport's connection. What a connection has read
// ahead fills it without waiting.
const readBuffer = 4 << 10

var bursts = sync.Pool{New: func() any { b := make([]byte, burst); return &b }}

// Read implements net.Conn.
func (c *burstConn) Read(p []byte) (int, error) {
	if c.left.Load() > 0 {
		return c.take(p), nil
	}
	if !c.fills || len(p) >= burst {
		n, err := c.Conn.Read(p)
		c.fills = n == len(p)
		return n, err
	}
	c.ahead, c.from = bursts.Get().(*[]byte), 0
	n, err := c.Conn.Read(*c.ahead)
	c.fills = n >= readBuffer
	c.left.Store(int64(n))
	if n > 0 {
		err = nil // the next read has it, behind what came
	}
	return c.take(p), err
}

// take returns what was read ahead.
func (c *burstConn) take(p []byte) int {
	left := c.left.Load()
	n := copy(p, (*c.ahead)[c.from:c.from+int(left)])
	c.from += n
	if c.left.Store(left - int64(n)); left == int64(n) {
		bursts.Put(c.ahead)
		c.ahead = nil
	}
	return n
}

// framing is how many bytes of a connection one byte of a body may take, in chunks of
// a few bytes. A read within a chunk that has not come to its end waits for more of
// it, whatever it has already.
const framing = 2

// Ahead returns how many bytes of a response's body can be read without waiting; 0
// where less has come than fills a transport's buffer.
func (c *burstConn) Ahead() int {
	if n := c.left.Load(); n >= readBuffer {
		return int(n) / framing
	}
	return 0
}

// dial makes the connections of a dialer read ahead.
func dial(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &burstConn{Conn: conn}, nil
	}
}
