// Package gateway measures the gateway against a plain reverse proxy and
// against no proxy at all: a fake upstream streams over loopback, and all
// parts run in one process, so that the ratios hold on any machine.
package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/lab/cputime"
	"github.com/margaydev/margay/lab/results"
)

// Options of a run.
type Options struct {
	Seed    uint64
	Seconds float64 // of each measurement; 2 by default
	Streams int     // open at once for memory; 1,000 by default
	// ThroughputOnly leaves out all that comes after the throughput, so that a
	// run of 0.3 seconds each takes some 7 s: rounds of scripts/ab.
	ThroughputOnly bool
	Progress       func(string)
}

// Run measures.
func Run(ctx context.Context, o Options) (*results.Result, error) {
	if o.Seconds <= 0 {
		o.Seconds = 2
	}
	if o.Streams <= 0 {
		o.Streams = 1000
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &results.Result{Suite: "gateway", Seed: o.Seed, N: 15, Source: "fake upstream over loopback, all in one process", Environment: results.Here()}
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
	if o.ThroughputOnly {
		o.Progress("")
		return r, nil
	}
	o.Progress("added time, 64 streams at 50 tokens/s")
	for _, of := range []*wire{chat, messages, responses} {
		if err := g.added(ctx, r, of, 64, max(length, 2*time.Second)); err != nil {
			return nil, err
		}
	}
	o.Progress("the wires, 16 streams")
	if err := g.wires(ctx, r, 16, length); err != nil {
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
		r.Add(p.name, fmt.Sprintf("streams=%d", o.Streams), m)
	}
	r.Notes = append(r.Notes,
		"memory includes the fake upstream's and the client's side of each stream; rss_mib is what the process grew by, garbage included",
		"cpu_us_per_token is of the whole process: upstream, proxy and client",
		"the ratio is the median of those of the rounds, in each of which the paths take turns; its interval is one of order statistics")
	o.Progress("")
	return r, nil
}

// ask runs one stream and returns its tokens and the time to its first.
func ask(ctx context.Context, c *http.Client, of *wire, base, query string) (tokens int, first time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+of.path+"?"+query, strings.NewReader(of.body))
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
	buf := *buffers.Get().(*[]byte)
	defer buffers.Put(&buf)
	lines := 0
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 && first == 0 {
			first = time.Since(start)
		}
		lines += bytes.Count(buf[:n], []byte("\n"))
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return lines / of.lines, first, err
		}
	}
}

// buffers are the clients': what they leave behind is not to be measured.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func client(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
}

// load runs n clients for a while.
func load(ctx context.Context, c *http.Client, of *wire, base string, n int, length time.Duration) (perSecond, cpu float64, firsts []time.Duration, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	start, used := time.Now(), cputime.Used()
	for range n {
		wg.Go(func() {
			for time.Since(start) < length && ctx.Err() == nil {
				t, f, e := ask(ctx, c, of, base, "n=400")
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
		})
	}
	wg.Wait()
	took := time.Since(start)
	return float64(total) / took.Seconds(), float64((cputime.Used() - used).Microseconds()) / float64(max(total, 1)), firsts, err
}

// throughput compares the paths unpaced. They take short turns, forth and back,
// so that what else the machine does meets them alike.
func (g *rig) throughput(ctx context.Context, r *results.Result, n int, length time.Duration) error {
	speed, cpu := make([][]float64, len(g.paths)), make([][]float64, len(g.paths))
	first := make([][]time.Duration, len(g.paths))
	clients := make([]*http.Client, len(g.paths))
	for i := range g.paths {
		clients[i] = client(n)
		defer clients[i].CloseIdleConnections()
	}
	const direct, plain, margay = 0, 1, 2
	var ratios []float64
	for round := range r.N {
		turns := []int{direct, plain, margay}
		if round%2 == 1 {
			turns = []int{margay, plain, direct}
		}
		for _, i := range turns {
			s, c, f, err := load(ctx, clients[i], chat, g.paths[i].base, n, length/6)
			if err != nil {
				return fmt.Errorf("%s: %w", g.paths[i].name, err)
			}
			speed[i], cpu[i], first[i] = append(speed[i], s), append(cpu[i], c), append(first[i], f...)
		}
		ratios = append(ratios, speed[margay][round]/speed[plain][round])
	}
	for i, p := range g.paths {
		m := map[string]float64{
			"tokens_per_second": median(speed[i]), "cpu_us_per_token": median(cpu[i]),
			"ttft_us_p50": quantile(first[i], 0.5), "ttft_us_p99": quantile(first[i], 0.99),
		}
		row := results.Row{Defence: p.name, Slice: fmt.Sprintf("concurrency=%d", n), Metrics: m}
		if i == margay {
			m["throughput_ratio_to_plain_proxy"] = median(ratios)
			row.CI = map[string][2]float64{"throughput_ratio_to_plain_proxy": interval(ratios)}
		}
		r.Rows = append(r.Rows, row)
	}
	return nil
}

// wires compares what Margay adds on each wire: the CPU time of the whole
// process for a token, less that with a plain proxy in its place.
func (g *rig) wires(ctx context.Context, r *results.Result, n int, length time.Duration) error {
	plain, margay := g.paths[1], g.paths[2]
	clients := [2]*http.Client{client(n), client(n)}
	for _, c := range clients {
		defer c.CloseIdleConnections()
	}
	all := []*wire{chat, messages, responses}
	added, ratios := make([][]float64, len(all)), make([][]float64, len(all))
	for range r.N {
		for i, of := range all {
			ps, pc, _, err := load(ctx, clients[0], of, plain.base, n, length/6)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", plain.name, of.name, err)
			}
			ms, mc, _, err := load(ctx, clients[1], of, margay.base, n, length/6)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", margay.name, of.name, err)
			}
			added[i], ratios[i] = append(added[i], mc-pc), append(ratios[i], ms/ps)
		}
	}
	for i, of := range all {
		r.Rows = append(r.Rows, results.Row{
			Defence: margay.name, Slice: "wire=" + of.name,
			Metrics: map[string]float64{"added_cpu_us_per_token": median(added[i]), "throughput_ratio_to_plain_proxy": median(ratios[i])},
			CI:      map[string][2]float64{"added_cpu_us_per_token": interval(added[i]), "throughput_ratio_to_plain_proxy": interval(ratios[i])},
		})
	}
	return nil
}

// interval is the 95 % interval of a median by order statistics, in the normal
// approximation of the binomial distribution.
func interval(v []float64) [2]float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	k := max(int(float64(n)/2-0.98*math.Sqrt(float64(n))), 0)
	return [2]float64{v[k], v[n-1-k]}
}

// added measures, paced as a model is, the time from the arrival of the bytes
// that make text releasable to its release.
func (g *rig) added(ctx context.Context, r *results.Result, of *wire, n int, length time.Duration) error {
	for _, p := range g.paths[1:] {
		p.lags.reset()
		c := client(n)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var failed error
		for range n {
			wg.Go(func() {
				_, _, err := ask(ctx, c, of, p.base, fmt.Sprintf("n=%d&pace=20ms", int(length/(20*time.Millisecond))))
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		c.CloseIdleConnections()
		if failed != nil {
			return fmt.Errorf("%s: %w", p.name, failed)
		}
		all := p.lags.take()
		slice := fmt.Sprintf("paced,concurrency=%d", n)
		if of != chat {
			slice += ",wire=" + of.name
		}
		r.Add(p.name, slice, map[string]float64{
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
