package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// editor measures the editor alone, token by token.
func editor(seed uint64) (allocs, ns float64, err error) {
	rules, err := recognise.Default()
	if err != nil {
		return 0, 0, err
	}
	keys := secret.NewKeys()
	recs, err := records(&keys, seed)
	if err != nil {
		return 0, 0, err
	}
	ix, err := match.NewIndex(&keys, func(yield func(secret.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}, time.Unix(1, 0))
	if err != nil {
		return 0, 0, err
	}
	e := (&stream.Config{Rules: rules, Vaults: []*match.Index{ix}, HoldURLs: true}).NewEditor()
	toks := tokens(seed, 20000)
	var out []byte
	run := func(n int) {
		for i := range n {
			t := toks[i%len(toks)]
			out = e.Write(out[:0], t[1:len(t)-1])
		}
	}
	run(20000) // the automata grow
	const n = 200000
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	start := time.Now()
	run(n)
	took := time.Since(start)
	runtime.ReadMemStats(&m1)
	return float64(m1.Mallocs-m0.Mallocs) / n, float64(took.Nanoseconds()) / n, nil
}

// memory holds n streams of a party open in their middle, and returns the MiB
// that its process takes then. Profile, unless empty, is where profiles of that go.
func memory(ctx context.Context, p *party, n int, profile string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := client(n)
	defer c.CloseIdleConnections()
	var wg sync.WaitGroup
	ready := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+chat.path+"?n=50&hold=1", strings.NewReader(fmt.Sprintf(chat.body, i)))
			if err != nil {
				ready <- err
				return
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := c.Do(req)
			if err != nil {
				ready <- err
				return
			}
			defer resp.Body.Close()
			buf := make([]byte, 512)
			seen := 0
			for seen < 5 { // the last may wait for what follows
				k, err := resp.Body.Read(buf)
				seen += strings.Count(string(buf[:k]), "\n\n")
				if err != nil {
					ready <- err
					return
				}
			}
			ready <- nil
			_, _ = io.Copy(io.Discard, resp.Body) // until cancelled
		})
	}
	var failed error
	for range n {
		if err := <-ready; err != nil {
			failed = err
		}
	}
	time.Sleep(time.Second) // for the rest
	t, err := p.tell(order{Profile: profile})
	if err == nil {
		_, err = p.tell(order{})
	}
	cancel()
	wg.Wait()
	if failed == nil {
		failed = err
	}
	return t.Resident, failed
}

// resident returns the process's resident memory in MiB, 0 where the system
// does not tell it as Linux does.
func resident() float64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if n, _ := fmt.Sscan(string(b), &size, &pages); n != 2 {
		return 0
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
