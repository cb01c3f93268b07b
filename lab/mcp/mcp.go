// Package mcp measures what the stdio proxy adds to a tool call: a client and
// a server in this process talk over pipes of the operating system, in turns
// directly and through the proxy, so that the difference holds on any
// machine.
package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	known "github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/sqlite"
)

// Options of a run.
type Options struct {
	Seed     uint64
	Calls    int // of each path and size; 2,000 by default
	Progress func(string)
}

// Sizes are the bytes of text that a result holds.
var sizes = []int{200, 4 << 10, 64 << 10}

// Run measures.
func Run(ctx context.Context, o Options) (_ *results.Result, err error) {
	if o.Calls <= 0 {
		o.Calls = 2000
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	r := &results.Result{Suite: "mcp", Seed: o.Seed, N: o.Calls, Source: "client and server over pipes, all in one process", Environment: results.Here()}
	dir, err := os.MkdirTemp("", "margay-bench-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	proxy, closeStore, err := newProxy(ctx, filepath.Join(dir, "margay.db"))
	if err != nil {
		return nil, err
	}
	defer closeStore()
	for _, size := range sizes {
		o.Progress(fmt.Sprintf("results of %d bytes", size))
		direct, err := open(ctx, nil)
		if err != nil {
			return nil, err
		}
		through, err := open(ctx, proxy)
		if err != nil {
			return nil, errors.Join(err, direct.close())
		}
		times, err := inTurns(ctx, []*session{direct, through}, o, size)
		if err = errors.Join(err, direct.close(), through.close()); err != nil {
			return nil, err
		}
		slice := fmt.Sprintf("result=%d", size)
		for i, name := range []string{"direct", "margay"} {
			r.Add(name, slice, map[string]float64{"p50_ms": at(times[i], 0.5), "p99_ms": at(times[i], 0.99)})
		}
		row := r.Row("margay", slice)
		row.Metrics["added_p50_ms"] = at(times[1], 0.5) - at(times[0], 0.5)
		row.Metrics["added_p99_ms"] = at(times[1], 0.99) - at(times[0], 0.99)
	}
	r.Notes = append(r.Notes, "direct and through Margay take turns, call by call; every result is another text; added is the difference of the quantiles")
	o.Progress("")
	return r, nil
}

// at returns a quantile in milliseconds.
func at(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return float64(times[min(len(times)-1, int(q*float64(len(times))))].Nanoseconds()) / 1e6
}

// newProxy returns a proxy over a store on disk, with the default recognisers
// and a thousand registered secrets.
func newProxy(ctx context.Context, path string) (*mcpproxy.Proxy, func(), error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, nil, err
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	keys := secret.NewKeys()
	var recs []secret.Record
	for i := range 1000 {
		rec, _, err := match.Prepare(&keys, fmt.Sprintf("%026d", i), "S", secret.KindAPIKey, secret.SourceRegistered, "bench", fmt.Appendf(nil, "bench-%08d-%016x", i, uint64(i)*0x9e3779b97f4a7c15), time.Unix(1, 0))
		if err != nil {
			return nil, nil, errors.Join(err, store.Close())
		}
		recs = append(recs, rec)
	}
	engine, err := mediator.New(mediator.Config{Config: known.Config{Rules: rules, Keys: keys, Store: store, Values: store, Ephemeral: recs, Family: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	p, err := mcpproxy.New(mcpproxy.Config{Engine: engine, Name: "bench", Pins: store})
	return p, func() { _ = store.Close() }, err
}

// session is a client's end of a connection to a server.
type session struct {
	out   *os.File
	in    *bufio.Reader
	files []*os.File
	done  sync.WaitGroup
	id    int
}

// open starts a server, and a proxy before it if there is one.
func open(ctx context.Context, p *mcpproxy.Proxy) (*session, error) {
	s := &session{}
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			s.files = append(s.files, r, w)
		}
		return r, w, err
	}
	atServer, out, err := pipe()
	if err != nil {
		return nil, err
	}
	in, fromServer, err := pipe()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.out, s.in = out, bufio.NewReaderSize(in, 64<<10)
	if p == nil {
		s.done.Go(func() { serve(atServer, fromServer) })
		return s, nil
	}
	behind, toServer, err := pipe()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	answers, w, err := pipe()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.done.Go(func() {
		serve(behind, w)
		_ = w.Close()
	})
	s.done.Go(func() {
		_ = p.Stdio(ctx, mcpproxy.Pipes{FromClient: atServer, ToClient: fromServer, FromServer: answers, ToServer: toServer})
	})
	return s, nil
}

func (s *session) close() error {
	if s.out != nil {
		_ = s.out.Close()
	}
	s.done.Wait()
	for _, f := range s.files {
		_ = f.Close()
	}
	return nil
}

// serve answers each call with the text that it asks for.
func serve(r io.Reader, w io.Writer) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		// {"jsonrpc":"2.0","id":N,"method":…,"params":{…"arguments":{"size":S,"seed":X}}}
		id, size, seed := number(line, `"id":`), number(line, `"size":`), number(line, `"seed":`)
		b := append(strconv.AppendInt([]byte(`{"result":{"content":[{"type":"text","text":"`), int64(seed), 10), ' ')
		b = append(b, text(uint64(seed), size)...)
		b = append(strconv.AppendInt(append(b, `"}],"isError":false},"jsonrpc":"2.0","id":`...), int64(id), 10), "}\n"...)
		if _, err := w.Write(b); err != nil {
			return
		}
	}
}

func number(line []byte, key string) int {
	_, rest, _ := bytes.Cut(line, []byte(key))
	n := 0
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

var words = strings.Fields("the file was read by a program on this host and 42 lines of its log say that /var/log/app.log rotates daily at 03:15 func main returns nil error status=200 size=1024 user alice path src/index.ts import fmt")

// text makes ordinary output of a tool.
func text(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	out := make([]byte, 0, size+16)
	for len(out) < size {
		out = append(append(out, words[r.IntN(len(words))]...), ' ')
	}
	return out
}

// call makes one call and waits for its answer.
func (s *session) call(size int, seed uint64) (time.Duration, error) {
	s.id++
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"size":%d,"seed":%d,"path":"src/main.go"}}}`+"\n", s.id, size, seed)
	start := time.Now()
	if _, err := s.out.Write(line); err != nil {
		return 0, err
	}
	for {
		got, err := s.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil && bytes.Contains(got, []byte(`"error"`)) {
			err = fmt.Errorf("a call failed: %.200s", got)
		}
		return time.Since(start), err
	}
}

// inTurns makes calls on each session, one after the other.
func inTurns(ctx context.Context, on []*session, o Options, size int) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(on))
	warm := min(50, o.Calls)
	for i := range o.Calls + warm {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for k, s := range on {
			took, err := s.call(size, o.Seed<<32+uint64(i*len(on)+k))
			if err != nil {
				return nil, err
			}
			if i >= warm {
				times[k] = append(times[k], took)
			}
		}
	}
	return times, nil
}
