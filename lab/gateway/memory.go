package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
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
	toks := strings.SplitAfter(words, " ")
	var out []byte
	run := func(n int) {
		for i := range n {
			out = e.Write(out[:0], []byte(toks[i%(len(toks)-1)]))
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

// memory holds n streams open in their middle.
func memory(ctx context.Context, p path, n int) (map[string]float64, error) {
	debug.FreeOSMemory()
	before, beforeRSS := inUse(), resident()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := client(n)
	defer c.CloseIdleConnections()
	var wg sync.WaitGroup
	ready := make(chan error, n)
	for range n {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/chat/completions?n=50&hold=1", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`))
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
			for seen < 45 {
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
	m := map[string]float64{}
	if now := resident(); now > 0 {
		m["rss_mib"] = now - beforeRSS
	}
	m["memory_mib"] = inUse() - before
	cancel()
	wg.Wait()
	return m, failed
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

func inUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
}
