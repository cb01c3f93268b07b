//go:build unix

package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/console/access"
)

// roleVariable has this test binary be one of the processes of
// BenchmarkViewers instead of running tests.
const roleVariable = "MARGAY_TEST_ROLE"

func TestMain(m *testing.M) {
	play := map[string]func(*role) error{"gateway": playGateway, "viewers": playViewers}[os.Getenv(roleVariable)]
	if play == nil {
		os.Exit(m.Run())
	}
	r := &role{orders: json.NewDecoder(os.Stdin), answers: json.NewEncoder(os.Stdout)}
	if err := play(r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// role is what a process has of the one that started it: orders on its
// standard input, an answer to each on its standard output.
type role struct {
	orders  *json.Decoder
	answers *json.Encoder
}

// playGateway begins a gateway and tells its address. Each order after that
// asks for the processor time that the process has taken so far.
func playGateway(r *role) error {
	var o gatewayOrder
	if err := r.orders.Decode(&o); err != nil {
		return err
	}
	base, stop, err := begin(&o)
	if err != nil {
		return err
	}
	for err = r.answers.Encode(base); err == nil; {
		var used syscall.Rusage
		if r.orders.Decode(new(struct{})) != nil {
			break // nobody asks any more
		}
		if err = syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
			err = r.answers.Encode(time.Duration(used.Utime.Nano() + used.Stime.Nano()))
		}
	}
	return errors.Join(err, stop())
}

// viewersOrder opens a page of the console for each of Queries; none closes
// all that are open. The answer is how many bytes they were sent so far.
type viewersOrder struct {
	Base, Token string // of a session, the first time
	Queries     []string
}

func playViewers(r *role) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var cookie string
	var bytes atomic.Int64
	var all sync.WaitGroup
	end := func() {}
	for {
		var o viewersOrder
		if r.orders.Decode(&o) != nil {
			end()
			return nil // nobody asks any more
		}
		end()
		all.Wait()
		if cookie == "" {
			form := strings.NewReader(url.Values{"token": {o.Token}}.Encode())
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, o.Base+"/console/login", form)
			if err != nil {
				return err
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return err
			}
			_ = resp.Body.Close()
			cookie = resp.Header.Get("Set-Cookie")
		}
		ctx, cancel := context.WithCancel(context.Background())
		end = cancel
		opened := make(chan error, len(o.Queries))
		for _, q := range o.Queries {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.Base+"/api/stream?"+q, http.NoBody)
			if err != nil {
				cancel()
				return err
			}
			req.Header.Set("Cookie", cookie)
			all.Go(func() { watch(transport, req, opened, &bytes) })
		}
		for range o.Queries {
			if err := <-opened; err != nil {
				cancel()
				return err
			}
		}
		if err := r.answers.Encode(bytes.Load()); err != nil {
			cancel()
			return err
		}
	}
}

// watch reads a stream, and again where the server ends it, as a page does.
func watch(transport http.RoundTripper, req *http.Request, opened chan<- error, bytes *atomic.Int64) {
	for first := true; ; first = false {
		resp, err := transport.RoundTrip(req)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("a stream answered %d", resp.StatusCode)
		}
		if first {
			opened <- err
		}
		if err != nil {
			return
		}
		n, _ := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		bytes.Add(n)
		select {
		case <-req.Context().Done():
			return
		case <-time.After(500 * time.Millisecond): // as the page waits
		}
	}
}

// process is one that plays a role.
type process struct {
	in  *json.Encoder
	out *json.Decoder
}

func start(b *testing.B, name string) *process {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), roleVariable+"="+name), os.Stderr
	in, err := cmd.StdinPipe()
	must(b, err)
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("%s: %v", name, err)
		}
	})
	return &process{json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
}

// ask orders something and reads the answer.
func (p *process) ask(b *testing.B, order, answer any) {
	b.Helper()
	must(b, p.in.Encode(order))
	must(b, p.out.Decode(answer))
}

func (p *process) used(b *testing.B) (d time.Duration) {
	p.ask(b, struct{}{}, &d)
	return d
}

// BenchmarkViewers tells what those who look on cost a gateway that has as much
// to do as it can: the processor time of its process for each token, and the
// throughput. The gateway, the 200 who look on, and the agents with their model
// are processes of their own. Rounds without viewers and with them take turns,
// there and back, so that what else the machine does falls on both alike. What
// is told is the median of the rounds' ratios, with its interval of 95 %.
//
//	go test ./internal/serve -run '^$' -bench Viewers -benchtime 21x
func BenchmarkViewers(b *testing.B) {
	b.Run("tokens=plain", func(b *testing.B) { viewers(b, false) })
	b.Run("tokens=judged", func(b *testing.B) { viewers(b, true) })
}

func viewers(b *testing.B, monitor bool) {
	const each = 600 // answers of an agent in a round, so that it lasts for several pulses
	l := newCrowd(b)
	quiet, kept, looking := start(b, "gateway"), start(b, "gateway"), start(b, "viewers")
	var off, on string
	quiet.ask(b, gatewayOrder{l.model.URL + "/v1", b.TempDir(), false, monitor}, &off)
	kept.ask(b, gatewayOrder{l.model.URL + "/v1", b.TempDir(), true, monitor}, &on)
	// Half of those who look on see the overview, a fifth the queue, and the
	// others the trajectories that all of this happens in.
	var queries []string
	for i := range 200 {
		switch {
		case i%10 < 5:
			queries = append(queries, "topic=overview")
		case i%10 < 7:
			queries = append(queries, "topic=questions")
		default:
			queries = append(queries, "topic=trajectory&id="+l.agents[i%len(l.agents)])
		}
	}
	token := access.Token(consoleKey(&crowdKeys), time.Now())
	var sent int64
	look := func(queries []string) { looking.ask(b, viewersOrder{on, token, queries}, &sent) }
	type spent struct{ cpu, wall float64 } // nanoseconds of a token
	measure := func(p *process, base string) spent {
		before := p.used(b)
		wall := l.run(b, base, each)
		n := float64(each * len(l.agents) * tokensEach)
		return spent{float64(p.used(b)-before) / n, float64(wall) / n}
	}
	arms := []func() spent{
		func() spent { return measure(quiet, off) },
		func() spent { return measure(kept, on) },
		func() spent {
			look(queries)
			defer look(nil)
			return measure(kept, on)
		},
	}
	for _, arm := range arms {
		arm() // to warm up
	}
	var cpu, recorded, viewed, recordedWall, viewedWall []float64
	for round := 0; b.Loop(); round++ {
		var got [3]spent
		for i := range arms {
			if round%2 == 1 {
				i = len(arms) - 1 - i
			}
			got[i] = arms[i]()
		}
		cpu = append(cpu, got[1].cpu)
		recorded, viewed = append(recorded, got[1].cpu/got[0].cpu), append(viewed, got[2].cpu/got[1].cpu)
		recordedWall, viewedWall = append(recordedWall, got[0].wall/got[1].wall), append(viewedWall, got[1].wall/got[2].wall)
	}
	tell := func(name string, x []float64) {
		low, mid, high := median(x)
		b.ReportMetric(mid, name)
		b.ReportMetric(low, name+"-low")
		b.ReportMetric(high, name+"-high")
	}
	b.ReportMetric(0, "ns/op")
	_, mid, _ := median(cpu)
	b.ReportMetric(mid, "cpu-ns/token")
	tell("kept/cpu", recorded)
	tell("kept/throughput", recordedWall)
	tell("viewers/cpu", viewed)
	tell("viewers/throughput", viewedWall)
	b.ReportMetric(float64(sent)/float64(len(viewed)+1)/200, "B/viewer/round")
}

// median returns the median, and bounds of its interval of 95 % that hold
// whatever the distribution: the widest where there are too few values.
func median(x []float64) (low, mid, high float64) {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	// Of how many the first k are below the median with at most 2.5 %.
	k, sum := 0, 0.0
	for p := math.Pow(0.5, float64(n)); sum+p <= 0.025 && k < n/2; k++ {
		sum += p
		p *= float64(n-k) / float64(k+1)
	}
	at := max(k-1, 0)
	mid = x[n/2]
	if n%2 == 0 {
		mid = (x[n/2-1] + x[n/2]) / 2
	}
	return x[at], mid, x[n-1-at]
}
