package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/console"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/sqlite"
)

// crowd is a gateway over SQLite in front of a model that answers with 300
// tokens at once, and so many who look on.
type crowd struct {
	base string
	stop func()
}

func newCrowd(tb testing.TB, record bool, viewers int) *crowd {
	tb.Helper()
	var answer strings.Builder
	for i := range 300 {
		fmt.Fprintf(&answer, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word%d\"},\"finish_reason\":null}]}\n\n", i%50)
	}
	answer.WriteString("data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer.String())
	}))
	c := config.Default()
	c.Upstream, c.Console.Enabled = model.URL+"/v1", record
	db, err := sqlite.Open(context.Background(), filepath.Join(tb.TempDir(), "margay.db"), sqlite.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	ln, err := Listen(c, "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	st := &state.State{Keys: secret.NewKeys(), Store: db}
	key := []byte("key")
	s, err := New(c, st, Options{Listener: ln, Log: slog.New(slog.DiscardHandler), Grace: time.Second, Console: &ConsoleOptions{Key: key}})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	out := &crowd{base: s.Base()}
	var all sync.WaitGroup
	if viewers > 0 {
		form := url.Values{"token": {console.Token(key, time.Now())}}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, out.base+"/console/login", strings.NewReader(form.Encode()))
		if err != nil {
			tb.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			tb.Fatal(err)
		}
		_ = resp.Body.Close()
		cookie := resp.Header.Get("Set-Cookie")
		joined := make(chan struct{}, viewers)
		for i := range viewers {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, out.base+"/api/stream?topic=overview", http.NoBody)
			if i%4 == 0 {
				req, err = http.NewRequestWithContext(ctx, http.MethodGet, out.base+"/api/stream?topic=trajectory&id="+flow.NewID(), http.NoBody)
			}
			if err != nil {
				tb.Fatal(err)
			}
			req.Header.Set("Cookie", cookie)
			all.Go(func() {
				resp, err := http.DefaultTransport.RoundTrip(req)
				joined <- struct{}{}
				if err != nil {
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					tb.Errorf("a stream answered %d", resp.StatusCode)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
			})
		}
		for range viewers {
			<-joined
		}
	}
	out.stop = func() {
		end()
		<-done
		all.Wait()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		model.Close()
		_ = db.Close()
	}
	return out
}

// ask sends n requests, some at a time, and returns what one took.
func (c *crowd) ask(tb testing.TB, client *http.Client, n int) time.Duration {
	tb.Helper()
	const body = `{"model":"m","stream":true,"messages":[{"role":"user","content":"%d"}]}`
	began := time.Now()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range n / 8 {
				req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.base+"/v1/chat/completions", strings.NewReader(fmt.Sprintf(body, w*n+i)))
				if err != nil {
					tb.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
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
	return time.Since(began) / time.Duration(n)
}

// BenchmarkLookers compares the throughput of a gateway that keeps nothing for
// the console with one that does, and with one that 200 look at: in turns, so
// that what else the machine does falls on all alike. The ratios are medians.
func BenchmarkLookers(b *testing.B) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	crowds := []*crowd{newCrowd(b, false, 0), newCrowd(b, true, 0), newCrowd(b, true, 200)}
	for _, c := range crowds {
		defer c.stop()
		c.ask(b, client, 200)
	}
	ratios := [][]float64{{}, {}, {}}
	for b.Loop() {
		var took [3]time.Duration
		for i, c := range crowds {
			took[i] = c.ask(b, client, 800)
		}
		for i := range took {
			ratios[i] = append(ratios[i], float64(took[0])/float64(took[i]))
		}
	}
	runtime.GC()
	for i, name := range []string{"", "recorded", "viewers=200"} {
		if slices.Sort(ratios[i]); name != "" {
			b.ReportMetric(ratios[i][len(ratios[i])/2], name+"/throughput")
		}
	}
}
