package mcpproxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
)

// fronted serves a proxy of a server over HTTP. wait waits for all its requests.
func fronted(t *testing.T, change func(*Config, *mediator.Config), server http.HandlerFunc) (at string, wait func()) {
	t.Helper()
	upstream := httptest.NewServer(server)
	t.Cleanup(upstream.Close)
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := newProxy(t, change)
	h, err := p.Handler(HTTPConfig{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(h)
	t.Cleanup(func() {
		front.Close()
		h.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return front.URL, front.Close
}

// leave sends a request, and closes the channel when that has ended.
func leave(ctx context.Context, t *testing.T, method, at string) <-chan struct{} {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodGet {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header.Set("Content-Type", "application/json")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	return ended
}

// TestWorkForAClientThatHasGoneStops: a client that disconnects ends the request
// to the server, before its answer and in the midst of it.
func TestWorkForAClientThatHasGoneStops(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		for _, begins := range []bool{false, true} {
			asked, gone := make(chan struct{}), make(chan struct{})
			at, _ := fronted(t, nil, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if begins {
					w.Header().Set("Content-Type", "text/event-stream")
					w.WriteHeader(http.StatusOK)
					_ = http.NewResponseController(w).Flush()
				}
				close(asked)
				<-r.Context().Done()
				close(gone)
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := leave(ctx, t, method, at)
			<-asked
			cancel()
			<-gone
			<-ended
		}
	}
}

// slow is a store that an examination waits for until its request has ended.
type slow struct {
	*memory.Store
	asked chan struct{} // nil: it answers
}

func (s *slow) Epoch(ctx context.Context) (uint64, error) {
	if s.asked != nil {
		s.asked <- struct{}{}
		<-ctx.Done()
	}
	return s.Store.Epoch(context.WithoutCancel(ctx))
}

// TestClientGoesWhileItIsExamined: the examination learns of it, and the server
// is not asked, though the store then answers.
func TestClientGoesWhileItIsExamined(t *testing.T) {
	store := &slow{Store: memory.New()}
	at, wait := fronted(t, func(_ *Config, mc *mediator.Config) { mc.Store = store }, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	store.asked = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := leave(ctx, t, http.MethodPost, at)
	<-store.asked
	cancel()
	<-ended
	wait()
}
