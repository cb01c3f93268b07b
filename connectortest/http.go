package connectortest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
)

// HTTP makes Connector.Open for a handler in this process. start returns the
// handler, which must reach its far side by the transport, and a func that
// returns what it wrote besides.
func HTTP(start func(t testing.TB, registered []string, far http.RoundTripper) (h http.Handler, kept func() []byte)) func(testing.TB, []string) Link {
	return func(t testing.TB, registered []string) Link {
		l := &link{}
		l.handler, l.kept = start(t, registered, l)
		return l
	}
}

// link is the client of a handler and its far side. Which exchange a request
// of the handler's belongs to follows from the caller's credential.
type link struct {
	handler http.Handler
	kept    func() []byte
	open    sync.Map // by caller: *exchange
}

type exchange struct {
	*Exchange
	far   *Arrived
	twice bool
}

// Kept implements Link.
func (l *link) Kept() []byte { return l.kept() }

// Do implements Link.
func (l *link) Do(x *Exchange) (*Result, error) {
	e := &exchange{Exchange: x}
	l.open.Store(x.Caller, e)
	defer l.open.Delete(x.Caller)
	var body io.Reader
	if x.Body != nil {
		body = bytes.NewReader(x.Body)
	}
	req := httptest.NewRequestWithContext(context.Background(), x.Method, "http://localhost"+x.Path, body)
	req.RequestURI = ""
	if x.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+x.Caller)
	for _, h := range x.Header {
		req.Header.Set(h.Name, h.Value)
	}
	rec := httptest.NewRecorder()
	l.handler.ServeHTTP(rec, req)
	if e.twice {
		return nil, errors.New("the far side was asked twice")
	}
	resp := rec.Result()
	defer resp.Body.Close()
	return &Result{Far: e.far, Status: resp.StatusCode, Header: flat(resp.Header, resp.Trailer), Body: rec.Body.Bytes()}, nil
}

func flat(hs ...http.Header) (out []Header) {
	for _, h := range hs {
		for name, values := range h {
			for _, v := range values {
				out = append(out, Header{name, v})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// RoundTrip implements http.RoundTripper: it is the far side.
func (l *link) RoundTrip(req *http.Request) (*http.Response, error) {
	caller, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	v, ok := l.open.Load(caller)
	if !ok {
		return nil, errors.New("a request of nobody's")
	}
	e := v.(*exchange)
	if e.far != nil {
		e.twice = true
		return nil, errors.New("asked twice")
	}
	e.far = &Arrived{Path: req.URL.RequestURI(), Header: flat(req.Header)}
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		e.far.Body = b
	}
	a := &e.Answer
	resp := &http.Response{
		StatusCode: max(a.Status, 200), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {a.Type}},
		Body: &chunks{rest: slices.Clone(a.Chunks)}, ContentLength: -1, Request: req,
	}
	for _, h := range a.Header {
		resp.Header.Add(h.Name, h.Value)
	}
	return resp, nil
}

// chunks is a body of which each Read returns a chunk.
type chunks struct {
	mu     sync.Mutex
	rest   [][]byte
	closed bool
}

func (c *chunks) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, io.ErrClosedPipe
	}
	for len(c.rest) > 0 && len(c.rest[0]) == 0 {
		c.rest = c.rest[1:]
	}
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[0])
	c.rest[0] = c.rest[0][n:]
	return n, nil
}

func (c *chunks) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return nil
}
