// Package gateway measures the gateway against a plain reverse proxy and
// against no proxy at all. A fake upstream streams over loopback. The upstream,
// each proxy and the client, which is this process, are processes of their own, so
// that what a proxy costs is its own processor time.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/lab/results"
)

// Options of a run.
type Options struct {
	Seed    uint64
	Seconds float64 // of each measurement; 2 by default
	Rounds  int     // in each of which the paths take turns; 15 by default
	Streams int     // open at once for memory; 2,000 by default
	// ThroughputOnly leaves out all that comes after the throughput, so that a
	// run of 0.3 seconds each takes some 15 s: rounds of scripts/ab.
	ThroughputOnly bool
	// Slices are those that are measured; nil for all.
	Slices *regexp.Regexp
	// Profiles is a folder for profiles of Margay's processor time and allocations, for
	// each measurement; empty for none.
	Profiles string
	Progress func(string)
}

// rig is the parties of a run.
type rig struct {
	o      Options
	length time.Duration // of a turn
	out    *results.Result

	direct, plain, margay *party
	all                   []*party
}

// Run measures.
func Run(ctx context.Context, o Options) (_ *results.Result, err error) {
	if o.Seconds <= 0 {
		o.Seconds = 2
	}
	o.Streams, o.Rounds = cmp.Or(max(o.Streams, 0), 2000), cmp.Or(max(o.Rounds, 0), 15)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &results.Result{Suite: "gateway", Seed: o.Seed, N: o.Rounds, Source: "fake upstream over loopback, varied text; client, upstream and proxies in processes of their own", Environment: results.Here()}
	g := &rig{o: o, length: time.Duration(o.Seconds / 6 * float64(time.Second)), out: r}
	defer func() {
		for _, p := range slices.Backward(g.all) {
			err = errors.Join(err, p.end())
		}
	}()
	up, err := g.start(ctx, "upstream", &role{Name: "upstream", Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	g.direct = &party{name: "direct", base: up.base}
	if g.plain, err = g.start(ctx, "plain", &role{Name: "plain"}); err != nil {
		return nil, err
	}
	if g.margay, err = g.start(ctx, "margay", &role{Name: "serve"}); err != nil {
		return nil, err
	}
	steps := []func(context.Context) error{g.throughput}
	if !o.ThroughputOnly {
		steps = append(steps, g.wires, g.requests, g.prompts, g.events, g.added, g.editor, g.memory)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	r.Notes = append(r.Notes,
		"cpu_us_per_token, cpu_us_per_request and rss_mib are the proxy's process alone",
		"margay is margay serve with its defaults: events are kept for the console; in the slices of events=, the ratio is that of the processor time with events kept to that without",
		"a ratio is the median of those of the rounds, in each of which the paths take turns; its interval is one of order statistics")
	o.Progress("")
	return r, nil
}

func (g *rig) start(ctx context.Context, name string, r *role) (*party, error) {
	r.Seed = g.o.Seed
	if g.direct != nil {
		r.Upstream = g.direct.base
	}
	p, err := start(ctx, name, r)
	if err == nil {
		g.all = append(g.all, p)
	}
	return p, err
}

// ways are what is measured of one party under one load, a value a round.
type ways struct {
	speed, cpu []float64 // tokens or requests a second; microseconds of one
	first      []time.Duration
}

// compare puts the same load on parties, which take short turns, there and back,
// so that what else the machine does meets them alike. It returns nil where that
// is not to be measured.
func (g *rig) compare(ctx context.Context, slice string, l *load, parties ...*party) ([]*ways, error) {
	if !g.wants(slice) {
		return nil, nil
	}
	out := make([]*ways, len(parties))
	clients := make([]*load, len(parties))
	for i, p := range parties {
		clients[i] = l.on(p)
		defer clients[i].c.CloseIdleConnections()
		out[i] = &ways{}
		if _, _, err := clients[i].run(ctx, g.length/2); err != nil { // connections open, the automata grow
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for round := range g.o.Rounds {
		for turn := range parties {
			i := turn
			if round%2 == 1 {
				i = len(parties) - 1 - turn
			}
			p, w := parties[i], out[i]
			o := order{}
			if g.o.Profiles != "" && round == 0 && p != g.direct && p != g.plain {
				o.Profile = filepath.Join(g.o.Profiles, fmt.Sprintf("%s-%d", slice, i))
			}
			before, err := p.tell(o)
			if err != nil {
				return nil, err
			}
			start := time.Now()
			n, first, err := clients[i].run(ctx, g.length)
			took := time.Since(start)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			after, err := p.tell(order{})
			if err != nil {
				return nil, err
			}
			w.speed, w.first = append(w.speed, float64(n)/took.Seconds()), append(w.first, first...)
			w.cpu = append(w.cpu, float64((after.CPU-before.CPU).Nanoseconds())/1000/float64(max(n, 1)))
		}
	}
	return out, nil
}

// wants reports whether a slice is to be measured, and shows that it is.
func (g *rig) wants(slice string) bool {
	if g.o.Slices != nil && !g.o.Slices.MatchString(slice) {
		return false
	}
	g.o.Progress(slice)
	return true
}

// of returns the ratios of two values by rounds.
func of(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

// row adds one.
func (g *rig) row(p *party, slice string, metrics map[string]float64) *results.Row {
	g.out.Add(p.name, slice, metrics)
	return &g.out.Rows[len(g.out.Rows)-1]
}

// ratio sets a ratio with its interval.
func ratio(row *results.Row, name string, v []float64) {
	row.Metrics[name] = median(v)
	if row.CI == nil {
		row.CI = map[string][2]float64{}
	}
	row.CI[name] = interval(v)
}

// throughput compares the paths unpaced.
func (g *rig) throughput(ctx context.Context) error {
	for _, n := range []int{1, 16, 64} {
		if err := g.stream(ctx, fmt.Sprintf("concurrency=%d,flush=event", n), &load{of: chat, query: "n=400", n: n}); err != nil {
			return err
		}
	}
	return g.stream(ctx, "concurrency=64,flush=bulk", &load{of: chat, query: "n=400&bulk=1", n: 64})
}

// wires compares what Margay adds on each wire.
func (g *rig) wires(ctx context.Context) error {
	for _, of := range []*wire{chat, messages, responses} {
		for _, bulk := range []string{"flush=event", "flush=bulk"} {
			l := &load{of: of, query: "n=400", n: 16}
			if bulk == "flush=bulk" {
				l.query += "&bulk=1"
			}
			if err := g.stream(ctx, "wire="+of.name+","+bulk, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *rig) stream(ctx context.Context, slice string, l *load) error {
	parties := []*party{g.direct, g.plain, g.margay}
	w, err := g.compare(ctx, slice, l, parties...)
	if err != nil || w == nil {
		return err
	}
	for i, p := range parties {
		row := g.row(p, slice, map[string]float64{
			"tokens_per_second": median(w[i].speed), "ttft_us_p50": quantile(w[i].first, 0.5), "ttft_us_p99": quantile(w[i].first, 0.99),
		})
		if p != g.direct {
			row.Metrics["cpu_us_per_token"] = median(w[i].cpu)
		}
		if p == g.margay {
			ratio(row, "throughput_ratio_to_plain_proxy", of(w[i].speed, w[1].speed))
			ratio(row, "cpu_ratio_to_plain_proxy", of(w[i].cpu, w[1].cpu))
			added := make([]float64, len(w[i].cpu))
			for k := range added {
				added[k] = w[i].cpu[k] - w[1].cpu[k]
			}
			ratio(row, "added_cpu_us_per_token", added)
		}
	}
	return nil
}

// requests compares requests whose answers come whole: of the smallest kind, and
// calls of a tool with a large result.
func (g *rig) requests(ctx context.Context) error {
	for _, l := range []*load{
		{slice: "request=tiny", path: chat.path, body: tiny, n: 8},
		{slice: "mcp,result=65536", path: tools, body: call, n: 1},
	} {
		parties := []*party{g.plain, g.margay}
		w, err := g.compare(ctx, l.slice, l, parties...)
		if err != nil {
			return err
		}
		if w == nil {
			continue
		}
		for i, p := range parties {
			row := g.row(p, l.slice, map[string]float64{
				"requests_per_second": median(w[i].speed), "cpu_us_per_request": median(w[i].cpu),
				"p50_ms": quantile(w[i].first, 0.5) / 1000, "p99_ms": quantile(w[i].first, 0.99) / 1000,
			})
			if p == g.margay {
				ratio(row, "throughput_ratio_to_plain_proxy", of(w[i].speed, w[0].speed))
				ratio(row, "cpu_ratio_to_plain_proxy", of(w[i].cpu, w[0].cpu))
				row.Metrics["added_p50_ms"] = (quantile(w[i].first, 0.5) - quantile(w[0].first, 0.5)) / 1000
			}
		}
	}
	return nil
}

// tools is where the fake upstream has its MCP server; call is a call of a tool,
// with a large result.
const (
	tools = "/mcp"
	call  = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"size":65536}}}`
)

// events compares the processor time with events kept for the console to that
// without, with and without the risk model.
func (g *rig) events(ctx context.Context) error {
	for _, slice := range []string{"events=kept,risk=off", "events=kept,risk=report"} {
		judged := slice == "events=kept,risk=report"
		// Both are new: what they did before would count.
		kept, err := g.start(ctx, "margay", &role{Name: "serve", Judged: judged})
		if err != nil {
			return err
		}
		unkept, err := g.start(ctx, "margay", &role{Name: "serve", Judged: judged, Unkept: true})
		if err != nil {
			return err
		}
		w, err := g.compare(ctx, slice, &load{of: chat, query: "n=300&bulk=1", n: 8}, kept, unkept)
		if err != nil {
			return err
		}
		if w == nil {
			continue
		}
		row := g.row(kept, slice, map[string]float64{"cpu_us_per_token": median(w[0].cpu), "cpu_us_per_token_unkept": median(w[1].cpu)})
		ratio(row, "cpu_ratio_to_unkept", of(w[0].cpu, w[1].cpu))
		ratio(row, "throughput_ratio_to_unkept", of(w[0].speed, w[1].speed))
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
func (g *rig) added(ctx context.Context) error {
	const n, pace = 64, 20 * time.Millisecond
	length := max(6*g.length, 2*time.Second)
	plain, err := g.start(ctx, "plain", &role{Name: "plain", Timed: true})
	if err != nil {
		return err
	}
	edge, err := g.start(ctx, "margay", &role{Name: "edge"})
	if err != nil {
		return err
	}
	for _, of := range []*wire{chat, messages, responses} {
		slice := fmt.Sprintf("paced,concurrency=%d", n)
		if of != chat {
			slice += ",wire=" + of.name
		}
		if !g.wants(slice) {
			continue
		}
		for _, p := range []*party{plain, edge} {
			l := (&load{of: of, query: fmt.Sprintf("n=%d&pace=%s", int(length/pace), pace), n: n}).on(p)
			if _, err := p.tell(order{Lags: true}); err != nil {
				return err
			}
			var wg sync.WaitGroup
			failed := make([]error, n)
			for i := range n {
				wg.Go(func() { _, _, failed[i] = l.ask(ctx) })
			}
			wg.Wait()
			l.c.CloseIdleConnections()
			if err := errors.Join(failed...); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			t, err := p.tell(order{Lags: true})
			if err != nil {
				return err
			}
			g.out.Add(p.name, slice, map[string]float64{
				"added_us_per_token_p50": quantile(t.Lags, 0.5), "added_us_per_token_p99": quantile(t.Lags, 0.99), "samples": float64(len(t.Lags)),
			})
		}
	}
	return nil
}

func (g *rig) editor(context.Context) error {
	if !g.wants("editor") {
		return nil
	}
	allocs, ns, err := editor(g.o.Seed)
	if err == nil {
		g.out.Add("margay", "editor", map[string]float64{"allocs_per_token": allocs, "ns_per_token": ns})
	}
	return err
}

func (g *rig) memory(ctx context.Context) error {
	slice := fmt.Sprintf("streams=%d", g.o.Streams)
	if !g.wants(slice) {
		return nil
	}
	for _, r := range []*role{{Name: "plain"}, {Name: "serve"}} {
		name := "plain"
		if r.Name == "serve" {
			name = "margay"
		}
		p, err := g.start(ctx, name, r) // one that has done nothing yet
		if err != nil {
			return err
		}
		file := ""
		if g.o.Profiles != "" && r.Name == "serve" {
			file = filepath.Join(g.o.Profiles, slice)
		}
		m, err := memory(ctx, p, g.o.Streams, file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		g.out.Add(name, slice, map[string]float64{"rss_mib": m})
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
