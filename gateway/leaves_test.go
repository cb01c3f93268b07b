package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
)

// TestWorkForAClientThatHasGoneStops: while an upstream has not answered at all, a
// client that disconnects ends the request to it, of each API.
func TestWorkForAClientThatHasGoneStops(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": ask,
		"/v1/responses":        `{"model":"m","input":"hello"}`,
		"/v1/messages":         `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`,
	} {
		t.Run(path, func(t *testing.T) {
			r := newRig(t, nil)
			asked, gone := make(chan struct{}), make(chan struct{})
			r.up.answer = func(_ http.ResponseWriter, req *http.Request) {
				close(asked)
				<-req.Context().Done()
				close(gone)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := leave(ctx, t, r.url+path, body)
			<-asked
			cancel()
			<-gone
			<-ended
		})
	}
}

// leave posts a request, and closes the channel when that has ended.
func leave(ctx context.Context, t *testing.T, url, body string) <-chan struct{} {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
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

// TestClientGoesWhileItIsExamined: the examination learns of it, and the upstream
// is not asked, though the store then answers.
func TestClientGoesWhileItIsExamined(t *testing.T) {
	store := &slow{Store: memory.New()}
	r := newRig(t, func(mc *mediator.Config, _ *Config) { mc.Store = store })
	r.up.answer = func(http.ResponseWriter, *http.Request) { t.Error("the upstream was asked") }
	store.asked = make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := leave(ctx, t, r.url+"/v1/chat/completions", ask)
	<-store.asked
	cancel()
	<-ended
	r.srv.Close() // waits for what is still at work
}
