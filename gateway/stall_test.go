package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/store/memory"
)

// An upstream that stops in the middle of a chunk, with much of it sent, does not hold
// back the events before it.
func TestStallInAChunk(t *testing.T) {
	const events = 40
	var sent bytes.Buffer
	fmt.Fprint(&sent, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	for i := range events {
		ev := "data: " + delta(0, "content", fmt.Sprintf("word %d ", i)) + "\n\n"
		fmt.Fprintf(&sent, "%x\r\n%s\r\n", len(ev), ev)
	}
	fmt.Fprintf(&sent, "%x\r\n%s", 100_000, "data: "+delta(0, "content", strings.Repeat("more ", 1500)))
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	over := make(chan struct{})
	defer close(over)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = conn.Write(sent.Bytes())
			<-over
		}
	}()
	e, err := mediator.New(mediator.Config{Config: session.Config{Keys: keys, Store: memory.New()}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Engine: e, Upstream: &url.URL{Scheme: "http", Host: ln.Addr().String(), Path: "/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	s := httptest.NewServer(g)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"Go on."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewReader(resp.Body)
	for i := range events {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			if strings.Contains(line, fmt.Sprintf("word %d ", i)) {
				break
			}
		}
	}
	cancel()
	_, _ = io.Copy(io.Discard, in)
}
