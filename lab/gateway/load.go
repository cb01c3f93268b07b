package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is what clients ask for, each as often as it can.
type load struct {
	of    *wire // of streams
	query string
	n     int // clients

	slice, path, body string // of requests without a stream; the body has a number

	c   *http.Client
	url string
}

// numbers tell all requests apart: each is a conversation of its own.
var numbers atomic.Int64

func client(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
}

// on is the load on a party.
func (l *load) on(p *party) *load {
	out := *l
	out.c, out.url = client(l.n), p.base+l.path
	if l.of != nil {
		out.url = p.base + l.of.path + "?" + l.query
	}
	if l.path == tools && p.serves {
		out.url = strings.TrimSuffix(p.base, "/v1") + "/mcp/tools"
	}
	return &out
}

// run asks for a while. It returns the tokens that came, or the answers where
// they come whole, and the time to the first byte of each.
func (l *load) run(ctx context.Context, length time.Duration) (total int, firsts []time.Duration, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for range l.n {
		wg.Go(func() {
			for time.Since(start) < length && ctx.Err() == nil {
				n, first, e := l.ask(ctx)
				mu.Lock()
				total += n
				firsts = append(firsts, first)
				err = errors.Join(err, e)
				mu.Unlock()
				if e != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return total, firsts, err
}

// ask makes one request and returns its tokens, 1 where it has no stream, and the
// time to its first byte, or to its end.
func (l *load) ask(ctx context.Context) (tokens int, first time.Duration, err error) {
	text := l.body
	if l.of != nil {
		text = l.of.body
	}
	body := fmt.Sprintf(text, numbers.Add(1))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	start := time.Now()
	resp, err := l.c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return 0, 0, fmt.Errorf("status %d: %s", resp.StatusCode, said)
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	lines := 0
	for {
		n, err := resp.Body.Read(*buf)
		if n > 0 && first == 0 {
			first = time.Since(start)
		}
		lines += bytes.Count((*buf)[:n], []byte("\n"))
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return 0, first, err
		}
		if l.of == nil {
			return 1, time.Since(start), nil
		}
		return lines / l.of.lines, first, nil
	}
}

// buffers are the clients': what they leave behind is not to be measured.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}
