package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/sqlite"
)

// crowdKeys are those of started gateways.
var crowdKeys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

// begin begins a gateway over SQLite in a folder.
func begin(o *gatewayOrder) (base string, stop func() error, err error) {
	c := config.Default()
	c.Upstream, c.Console.Enabled = o.Upstream, o.Record
	if o.Monitor {
		c.Monitor.Mode = "report"
	}
	db, err := sqlite.Open(context.Background(), filepath.Join(o.Dir, "margay.db"), sqlite.Options{})
	if err != nil {
		return "", nil, err
	}
	ln, err := Listen(c, "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s, err := New(c, &state.State{Keys: crowdKeys, Store: db}, Options{Listener: ln, Log: slog.New(slog.DiscardHandler), Grace: time.Second, Console: true})
	if err != nil {
		return "", nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	return s.Base(), func() error {
		end()
		err := <-done
		return errors.Join(err, db.Close())
	}, nil
}

// gatewayOrder says what a gateway is for.
type gatewayOrder struct {
	Upstream string
	Dir      string
	Record   bool // keep events, and serve the console
	Monitor  bool // judge tokens, so that there are plots to watch
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// crowd is a model that answers with tokensEach tokens at once, and agents that
// ask it through a gateway, each in a trajectory of its own.
type crowd struct {
	model  *httptest.Server
	client *http.Client
	agents []string
}

const tokensEach = 300

func newCrowd(tb testing.TB) *crowd {
	var answer strings.Builder
	for i := range tokensEach {
		fmt.Fprintf(&answer, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word%d\"},\"finish_reason\":null}]}\n\n", i%50)
	}
	answer.WriteString("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	l := &crowd{
		model: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answer.String())
		})),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	for range 8 {
		l.agents = append(l.agents, flow.NewID())
	}
	tb.Cleanup(func() { l.client.CloseIdleConnections(); l.model.Close() })
	return l
}

// run has every agent ask n times, and returns what all of it took.
func (l *crowd) run(tb testing.TB, base string, n int) time.Duration {
	tb.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for k, agent := range l.agents {
		all.Go(func() {
			for i := range n {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"%d of %d"}]}`, i, k)))
				if err != nil {
					tb.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Margay-Trajectory", agent)
				resp, err := l.client.Do(req)
				if err != nil {
					tb.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	return time.Since(began)
}
