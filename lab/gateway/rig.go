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
	"slices"
	"strconv"
	"strings"
	"time"

	gw "github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/sqlite"
)

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
	// Each answer has its own id.
	begin, token, end := wireOf(r.URL.Path).answer(rand.Uint64())
	_, _ = io.WriteString(w, begin)
	for i := range n {
		token(w, i, toks[i%(len(toks)-1)])
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
	_, _ = io.WriteString(w, end)
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
	// Without this, the server closes a request's body when the answer begins,
	// and a proxy that has not yet seen its end breaks off.
	duplex := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		proxy.ServeHTTP(w, r)
	})
	if addr, err = g.listen(plain.handler(duplex)); err != nil {
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
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store, Ephemeral: recs}})
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
		r, _, err := match.Prepare(keys, fmt.Sprintf("%026d", i), fmt.Sprintf("S%d", i), secret.KindAPIKey, secret.SourceRegistered, "bench", v, time.Unix(1, 0))
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
