// Package gateway measures the gateway against a plain reverse proxy and
// against no proxy at all: a fake upstream streams over loopback, and all
// parts run in one process, so that the ratios hold on any machine.
package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/margaydev/margay/bench"
	gw "github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/sqlite"
	"github.com/margaydev/margay/stream"
)

// Options of a run.
type Options struct {
	Seed     uint64
	Seconds  float64 // of each measurement; 2 by default
	Streams  int     // open at once for memory; 1,000 by default
	Progress func(string)
}

// path is one way to the upstream.
type path struct {
	name string
	base string
	lags *lags
}

type rig struct {
	paths []path
	close []func()
}

// Run measures.
func Run(ctx context.Context, o Options) (*bench.Result, error) {
	if o.Seconds <= 0 {
		o.Seconds = 2
	}
	if o.Streams <= 0 {
		o.Streams = 1000
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &bench.Result{Suite: "gateway", Seed: o.Seed, N: 5, Source: "fake upstream over loopback, all in one process", Environment: bench.Here()}
	g, err := newRig(ctx, o.Seed)
	if err != nil {
		return nil, err
	}
	defer g.stop()
	length := time.Duration(o.Seconds * float64(time.Second))
	for _, n := range []int{1, 16, 64} {
		o.Progress(fmt.Sprintf("throughput, %d streams", n))
		if err := g.throughput(ctx, r, n, length); err != nil {
			return nil, err
		}
	}
	o.Progress("added time, 64 streams at 50 tokens/s")
	if err := g.added(ctx, r, 64, max(length, 2*time.Second)); err != nil {
		return nil, err
	}
	o.Progress("allocations")
	allocs, ns, err := editor(o.Seed)
	if err != nil {
		return nil, err
	}
	r.Add("margay", "editor", map[string]float64{"allocs_per_token": allocs, "ns_per_token": ns})
	o.Progress(fmt.Sprintf("memory, %d streams", o.Streams))
	for _, p := range g.paths[1:] {
		m, err := memory(ctx, p, o.Streams)
		if err != nil {
			return nil, err
		}
		r.Add(p.name, fmt.Sprintf("streams=%d", o.Streams), map[string]float64{"memory_mib": m})
	}
	r.Notes = append(r.Notes, "memory includes the fake upstream's and the client's side of each stream", "cpu_us_per_token is of the whole process: upstream, proxy and client")
	o.Progress("")
	return r, nil
}

const words = "The committee met again in the long hall by the river and went through the papers one after another while the rain kept falling on the roof "

// upstream streams chunks: n of them, one every pace, each flushed; with
// hold it then waits for the client to go.
func upstream(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	q := r.URL.Query()
	n, _ := strconv.Atoi(q.Get("n"))
	pace, _ := time.ParseDuration(q.Get("pace"))
	w.Header().Set("Content-Type", "text/event-stream")
	toks := strings.SplitAfter(words, " ")
	for i := range n {
		fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-9x8y7z\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"scripted-1\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"logprobs\":null,\"finish_reason\":null}]}\n\n", toks[i%(len(toks)-1)])
		if http.NewResponseController(w).Flush() != nil || r.Context().Err() != nil {
			return
		}
		if pace > 0 {
			time.Sleep(pace) // a model's speed
		}
	}
	if q.Get("hold") != "" {
		<-r.Context().Done()
		return
	}
	_, _ = io.WriteString(w, "data: {\"id\":\"chatcmpl-9x8y7z\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"scripted-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

func newRig(ctx context.Context, seed uint64) (*rig, error) {
	g := &rig{}
	addr, err := g.listen(http.HandlerFunc(upstream))
	if err != nil {
		return nil, err
	}
	target, err := url.Parse("http://" + addr + "/v1")
	if err != nil {
		return nil, err
	}
	g.paths = append(g.paths, path{name: "direct", base: target.String()})

	plain := &lags{}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     plain.transport(),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.Host = target.Scheme, target.Host, target.Host
		},
	}
	if addr, err = g.listen(plain.handler(proxy)); err != nil {
		return nil, err
	}
	g.paths = append(g.paths, path{name: "plain", base: "http://" + addr + "/v1", lags: plain})

	dir, err := os.MkdirTemp("", "margay-bench-")
	if err != nil {
		return nil, err
	}
	g.close = append(g.close, func() { _ = os.RemoveAll(dir) })
	store, err := sqlite.Open(ctx, filepath.Join(dir, "margay.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	g.close = append(g.close, func() { _ = store.Close() })
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	keys := secret.NewKeys()
	recs, err := records(&keys, seed)
	if err != nil {
		return nil, err
	}
	e, err := mediator.New(mediator.Config{Rules: rules, Keys: keys, Store: store, Ephemeral: recs})
	if err != nil {
		return nil, err
	}
	ours := &lags{}
	h, err := gw.New(gw.Config{Engine: e, Upstream: target, Log: slog.New(slog.DiscardHandler), Transport: ours.transport()})
	if err != nil {
		return nil, err
	}
	if addr, err = g.listen(ours.handler(h)); err != nil {
		return nil, err
	}
	g.paths = append(g.paths, path{name: "margay", base: "http://" + addr + "/v1", lags: ours})
	return g, nil
}

func records(keys *secret.Keys, seed uint64) ([]secret.Record, error) {
	rng := rand.New(rand.NewPCG(seed, 4))
	var recs []secret.Record
	for i := range 10 {
		v := make([]byte, 32)
		for j := range v {
			v[j] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[rng.IntN(62)]
		}
		r, _, err := secret.Prepare(keys, fmt.Sprintf("%026d", i), fmt.Sprintf("S%d", i), secret.KindAPIKey, secret.SourceRegistered, "bench", v, time.Unix(1, 0))
		if err != nil {
			return nil, err
		}
		recs = append(recs, r)
	}
	return recs, nil
}

func (g *rig) listen(h http.Handler) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }() // ends with Close
	g.close = append(g.close, func() { _ = s.Close() })
	return ln.Addr().String(), nil
}

func (g *rig) stop() {
	for _, f := range slices.Backward(g.close) {
		f()
	}
}

// ask runs one stream and returns its tokens and the time to its first.
func ask(ctx context.Context, c *http.Client, base, query string) (tokens int, first time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions?"+query, strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"system","content":"You help."},{"role":"user","content":"Tell me about the committee."}]}`))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	start := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, 0, fmt.Errorf("status %d", resp.StatusCode)
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 && first == 0 {
			first = time.Since(start)
		}
		tokens += strings.Count(string(buf[:n]), "\n\n")
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return tokens, first, err
		}
	}
}

func client(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
}

// load runs n clients for a while.
func load(ctx context.Context, p path, n int, length time.Duration) (perSecond, cpu float64, firsts []time.Duration, err error) {
	c := client(n)
	defer c.CloseIdleConnections()
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	start, used := time.Now(), cpuTime()
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Since(start) < length && ctx.Err() == nil {
				t, f, e := ask(ctx, c, p.base, "n=400")
				mu.Lock()
				total += t
				firsts = append(firsts, f)
				if e != nil {
					err = e
				}
				mu.Unlock()
				if e != nil {
					return
				}
			}
		}()
	}
	wg.Wait()
	took := time.Since(start)
	return float64(total) / took.Seconds(), float64((cpuTime() - used).Microseconds()) / float64(max(total, 1)), firsts, err
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// throughput compares the paths unpaced, in turn, and takes medians.
func (g *rig) throughput(ctx context.Context, r *bench.Result, n int, length time.Duration) error {
	speed, cpu := map[string][]float64{}, map[string][]float64{}
	first := map[string][]time.Duration{}
	var ratios []float64
	for range r.N {
		for _, p := range g.paths {
			s, c, f, err := load(ctx, p, n, length/2)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			speed[p.name], cpu[p.name] = append(speed[p.name], s), append(cpu[p.name], c)
			first[p.name] = append(first[p.name], f...)
		}
		last := len(speed["plain"]) - 1
		ratios = append(ratios, speed["margay"][last]/speed["plain"][last])
	}
	for _, p := range g.paths {
		m := map[string]float64{
			"tokens_per_second": median(speed[p.name]), "cpu_us_per_token": median(cpu[p.name]),
			"ttft_us_p50": quantile(first[p.name], 0.5), "ttft_us_p99": quantile(first[p.name], 0.99),
		}
		if p.name == "margay" {
			m["throughput_ratio_to_plain_proxy"] = median(ratios)
		}
		r.Add(p.name, fmt.Sprintf("concurrency=%d", n), m)
	}
	return nil
}

// added measures, paced as a model is, the time from the arrival of the bytes
// that make text releasable to its release.
func (g *rig) added(ctx context.Context, r *bench.Result, n int, length time.Duration) error {
	for _, p := range g.paths[1:] {
		p.lags.reset()
		c := client(n)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var failed error
		for range n {
			wg.Add(1)
			go func() {
				defer wg.Done()
				_, _, err := ask(ctx, c, p.base, fmt.Sprintf("n=%d&pace=20ms", int(length/(20*time.Millisecond))))
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		c.CloseIdleConnections()
		if failed != nil {
			return fmt.Errorf("%s: %w", p.name, failed)
		}
		all := p.lags.take()
		r.Add(p.name, fmt.Sprintf("paced,concurrency=%d", n), map[string]float64{
			"added_us_per_token_p50": quantile(all, 0.5), "added_us_per_token_p99": quantile(all, 0.99), "samples": float64(len(all)),
		})
	}
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func quantile(v []time.Duration, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return float64(v[int(q*float64(len(v)-1))].Nanoseconds()) / 1000
}

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
	ix, err := secret.NewIndex(&keys, func(yield func(secret.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}, time.Unix(1, 0))
	if err != nil {
		return 0, 0, err
	}
	e := (&stream.Config{Rules: rules, Vaults: []*secret.Index{ix}, HoldURLs: true}).NewEditor()
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
func memory(ctx context.Context, p path, n int) (float64, error) {
	before := inUse()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := client(n)
	defer c.CloseIdleConnections()
	var wg sync.WaitGroup
	ready := make(chan error, n)
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
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
		}()
	}
	var failed error
	for range n {
		if err := <-ready; err != nil {
			failed = err
		}
	}
	used := inUse() - before
	cancel()
	wg.Wait()
	return used, failed
}

func inUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
}
