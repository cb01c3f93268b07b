package httpedge_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/margaydev/margay/internal/httpedge"
)

// pipes is a listener whose connections are pipes: they work in a bubble, and
// hold nothing back.
type pipes struct {
	conns chan net.Conn
	quit  chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.quit:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.quit); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// serve answers on pipes as margay serve does.
func serve(t *testing.T, h http.HandlerFunc) (dial func() net.Conn) {
	l := &pipes{make(chan net.Conn), make(chan struct{})}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		httpedge.Pace(w, r)
		h(w, r)
	}), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() { _ = s.Serve(httpedge.Steady(l)) }()
	t.Cleanup(func() { _ = s.Close() })
	return func() net.Conn {
		client, server := net.Pipe()
		l.conns <- server
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
}

// TestSlowBodies: a body that stands still or drips does not hold a handler, and
// one that arrives slowly, but steadily, is read.
func TestSlowBodies(t *testing.T) {
	for name, c := range map[string]struct {
		chunk int
		every time.Duration
		ok    bool
	}{
		"nothing":      {0, time.Hour, false},
		"a drip":       {1, 20 * time.Second, false},
		"slow":         {1 << 10, time.Second, false},
		"fast enough":  {40 << 10, 2 * time.Second, true},
		"one late bit": {2 << 20, 50 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const size = 2 << 20
				read := make(chan error, 1)
				dial := serve(t, func(_ http.ResponseWriter, r *http.Request) {
					_, err := io.Copy(io.Discard, r.Body)
					read <- err
				})
				conn, over := dial(), make(chan struct{})
				go func() {
					fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", size)
					for sent := 0; sent < size && c.chunk > 0; sent += c.chunk {
						select {
						case <-time.After(c.every):
						case <-over:
							return
						}
						if _, err := io.WriteString(conn, strings.Repeat("x", min(c.chunk, size-sent))); err != nil {
							return
						}
					}
				}()
				go func() { _, _ = io.Copy(io.Discard, conn) }()
				start := time.Now()
				err := <-read
				if c.ok != (err == nil) || !c.ok && (!errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) > 5*time.Minute) {
					t.Errorf("after %s: %v", time.Since(start), err)
				}
				close(over)
				_ = conn.Close()
				synctest.Wait()
			})
		})
	}
}

// TestSlowReaders: a client that stops reading ends its answer, and its work; one
// that waits for an answer for long does not.
func TestSlowReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan error, 1)
		dial := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				done <- err
				return
			}
			time.Sleep(20 * time.Minute) // a model that thinks
			if r.Context().Err() != nil {
				done <- r.Context().Err()
				return
			}
			for range 1000 {
				if _, err := w.Write(make([]byte, 4<<10)); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		})
		for _, reads := range []bool{true, false} {
			conn := dial()
			go func() {
				fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
				in := bufio.NewReader(conn)
				if _, err := in.ReadString('\n'); reads && err == nil {
					_, _ = io.Copy(io.Discard, in)
				}
			}()
			start := time.Now()
			if err := <-done; reads != (err == nil) || !reads && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.Canceled) {
				t.Errorf("a client that reads (%v): %v after %s", reads, err, time.Since(start))
			}
			_ = conn.Close()
			synctest.Wait()
		}
	})
}
