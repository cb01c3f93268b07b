package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	gw "github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/lab/cputime"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/sqlite"
)

// PartyCommand is the command of the laboratory that plays a party.
const PartyCommand = "gateway-party"

// role says which party a process is, in its first order.
type role struct {
	Name     string // upstream, plain, serve or edge
	Seed     uint64
	Upstream string // base URL
	Unkept   bool   // serve: keep no events, and serve no console
	Judged   bool   // serve: the risk model judges, and reports
	Timed    bool   // plain: measure how long bytes stay
}

// order is each further one.
type order struct {
	Lags    bool   // tell and forget how long bytes stayed
	Profile string // write profiles there, at the next order
}

// told is the answer to an order.
type told struct {
	CPU      time.Duration
	Resident float64 // MiB
	Lags     []time.Duration
}

// Play is one party of the benchmark, in a process of its own, until in ends.
func Play(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	var r role
	if err := orders.Decode(&r); err != nil {
		return err
	}
	p := &playing{}
	defer func() { err = errors.Join(err, p.stop()) }()
	var base string
	switch r.Name {
	case "upstream":
		base, err = p.listen(newUpstream(r.Seed))
	case "plain":
		base, err = p.plain(&r)
	case "serve":
		base, err = p.serve(ctx, &r)
	case "edge":
		base, err = p.edge(ctx, &r)
	default:
		err = fmt.Errorf("unknown party %q", r.Name)
	}
	if err != nil {
		return err
	}
	if err := answers.Encode(base); err != nil {
		return err
	}
	profiled := func() error { return nil }
	for {
		var o order
		if orders.Decode(&o) != nil {
			return nil // nobody asks any more
		}
		if err := profiled(); err != nil {
			return err
		}
		profiled = func() error { return nil }
		t := told{CPU: cputime.Used(), Resident: resident()}
		if o.Lags {
			t.Lags = p.lags.take()
		}
		if o.Profile != "" {
			if profiled, err = profile(o.Profile); err != nil {
				return err
			}
		}
		if err := answers.Encode(&t); err != nil {
			return err
		}
	}
}

// profile begins a profile of the processor's time, and returns what ends it and
// writes one of what was allocated since the start, too.
func profile(name string) (func() error, error) {
	f, err := os.Create(name + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		a, err := os.Create(name + ".allocs")
		if err != nil {
			return errors.Join(err, f.Close())
		}
		return errors.Join(pprof.Lookup("allocs").WriteTo(a, 0), a.Close(), f.Close())
	}, nil
}

// playing is what a party has open.
type playing struct {
	lags  lags
	close []func() error
}

func (p *playing) stop() (err error) {
	for _, f := range slices.Backward(p.close) {
		err = errors.Join(err, f())
	}
	return err
}

// listen returns the base URL of a handler.
func (p *playing) listen(h http.Handler) (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }() // ends with Close
	p.close = append(p.close, s.Close)
	return "http://" + ln.Addr().String() + "/v1", nil
}

// plain is a reverse proxy that looks at nothing.
func (p *playing) plain(r *role) (string, error) {
	target, err := url.Parse(r.Upstream)
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 2048, DisableCompression: true},
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.Host = target.Scheme, target.Host, target.Host
		},
	}
	// Without this, the server closes a request's body when the answer begins,
	// and a proxy that has not yet seen its end breaks off.
	duplex := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
	if r.Timed {
		proxy.Transport = p.lags.transport()
		return p.listen(p.lags.handler(duplex))
	}
	return p.listen(duplex)
}

// folder is one for state.
func (p *playing) folder() (string, error) {
	dir, err := os.MkdirTemp("", "margay-bench-")
	if err == nil {
		p.close = append(p.close, func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// serve is margay serve, with its defaults and ten registered secrets.
func (p *playing) serve(ctx context.Context, r *role) (string, error) {
	dir, err := p.folder()
	if err != nil {
		return "", err
	}
	c := config.Default()
	c.StateDir, c.KeyDir, c.Console.Enabled = dir, filepath.Join(dir, "keys"), !r.Unkept
	c.Upstream, c.Upstreams = "model", map[string]config.Upstream{"model": {URL: r.Upstream, API: "openai"}}
	c.Anthropic = r.Upstream
	c.MCP.Servers = map[string]config.MCPServer{"tools": {URL: r.Upstream + tools}}
	if r.Judged {
		c.Monitor.Mode = "report"
	}
	st, err := state.Open(ctx, c)
	if err != nil {
		return "", err
	}
	p.close = append(p.close, func() error { st.Close(); return nil })
	recs, err := records(&st.Keys, r.Seed)
	if err != nil {
		return "", err
	}
	ln, err := serve.Listen(c, "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s, err := serve.New(c, st, serve.Options{Listener: ln, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: time.Second, Ephemeral: recs, Console: true})
	if err != nil {
		return "", err
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- s.Serve(serving) }() // ends when it is stopped
	p.close = append(p.close, func() error { end(); return <-done })
	return s.Base() + "/v1", nil
}

// edge is the gateway alone, with both its sides timed.
func (p *playing) edge(ctx context.Context, r *role) (string, error) {
	target, err := url.Parse(r.Upstream)
	if err != nil {
		return "", err
	}
	dir, err := p.folder()
	if err != nil {
		return "", err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "margay.db"), sqlite.Options{})
	if err != nil {
		return "", err
	}
	p.close = append(p.close, store.Close)
	rules, err := recognise.Default()
	if err != nil {
		return "", err
	}
	keys := secret.NewKeys()
	recs, err := records(&keys, r.Seed)
	if err != nil {
		return "", err
	}
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store, Ephemeral: recs}})
	if err != nil {
		return "", err
	}
	h, err := gw.New(gw.Config{Engine: e, Upstream: target, Log: slog.New(slog.DiscardHandler), Transport: p.lags.transport()})
	if err != nil {
		return "", err
	}
	return p.listen(p.lags.handler(h))
}

func records(keys *secret.Keys, seed uint64) ([]secret.Record, error) {
	rng := rand.New(rand.NewPCG(seed, 4))
	var recs []secret.Record
	for i := range 10 {
		v := make([]byte, 32)
		for j := range v {
			v[j] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[rng.IntN(62)]
		}
		r, _, err := match.Prepare(keys, fmt.Sprintf("%026d", i), fmt.Sprintf("S%d", i), secret.KindAPIKey, secret.SourceRegistered, "bench", v, time.Unix(1, 0))
		if err != nil {
			return nil, err
		}
		recs = append(recs, r)
	}
	return recs, nil
}

// upstream is a model, and an MCP server below /mcp.
type upstream struct {
	tokens [][]byte
	prose  string
	asked  atomic.Int64
}

func newUpstream(seed uint64) *upstream {
	return &upstream{tokens: tokens(seed, 1<<16), prose: prose(rand.New(rand.NewPCG(seed, 6)), 4<<20)}
}

// ServeHTTP streams n tokens, one every pace, each flushed, or in bulk; with
// hold it then waits for the client to go. A request for no stream has a
// sentence.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.URL.Path == "/v1"+tools {
		u.tool(w, asked)
		return
	}
	at := rand.IntN(len(u.tokens)) // where the text begins: no two answers are alike
	next := func() []byte {
		at = (at + 1) % len(u.tokens)
		return u.tokens[at]
	}
	// Each answer has its own id.
	id := rand.Uint64()
	if !bytes.Contains(asked, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		text := []byte(`"`)
		for range 9 {
			t := next()
			text = append(text, t[1:len(t)-1]...)
		}
		_, _ = w.Write(whole(id, append(text, '"')))
		return
	}
	q := r.URL.Query()
	n, _ := strconv.Atoi(q.Get("n"))
	pace, _ := time.ParseDuration(q.Get("pace"))
	bulk := q.Get("bulk") != ""
	w.Header().Set("Content-Type", "text/event-stream")
	begin, token, end := wireOf(r.URL.Path).answer(id)
	flush := http.NewResponseController(w).Flush
	out := []byte(begin)
	for i := range n {
		out = token(out, i, next())
		if bulk && len(out) < 16<<10 {
			continue
		}
		if _, err := w.Write(out); err != nil || flush() != nil || r.Context().Err() != nil {
			return
		}
		out = out[:0]
		if pace > 0 {
			time.Sleep(pace) // a model's speed
		}
	}
	if q.Get("hold") != "" {
		_, _ = w.Write(out)
		_ = flush()
		<-r.Context().Done()
		return
	}
	_, _ = w.Write(append(out, end...))
}

// tool answers a call with as much text as it asks for, each time another.
func (u *upstream) tool(w http.ResponseWriter, asked []byte) {
	var call struct {
		ID     json.RawMessage
		Params struct{ Arguments struct{ Size int } }
	}
	if json.Unmarshal(asked, &call) != nil {
		return
	}
	size := call.Params.Arguments.Size
	at := rand.IntN(len(u.prose) - size)
	text, err := json.Marshal(fmt.Sprint(u.asked.Add(1), " ", u.prose[at:at+size]))
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}],"isError":false}}`, call.ID, text)
}

// party is a process that plays a role.
type party struct {
	name, base string
	serves     bool // it is margay serve
	in         *json.Encoder
	out        *json.Decoder
	end        func() error
}

// start starts one.
func start(ctx context.Context, name string, r *role) (*party, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) //nolint:gosec // itself
	cmd.Args = []string{os.Args[0], PartyCommand}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &party{name: name, serves: r.Name == "serve", in: json.NewEncoder(in), out: json.NewDecoder(out), end: func() error {
		_ = in.Close()
		return cmd.Wait()
	}}
	if err = p.in.Encode(r); err == nil {
		err = p.out.Decode(&p.base)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(err, p.end()))
	}
	return p, nil
}

// tell gives an order.
func (p *party) tell(o order) (t told, err error) {
	if p.in == nil { // there is no process in between
		return told{}, nil
	}
	if err = p.in.Encode(&o); err == nil {
		err = p.out.Decode(&t)
	}
	return t, err
}
