package mcpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/margaydev/margay/mediator"
	known "github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

// random makes a value that no rule knows.
func random(seed uint64, n int) string {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r := rand.New(rand.NewPCG(seed, 17))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

var rules = sync.OnceValues(recognise.Default)

// newProxy returns a proxy that knows some secrets, and the store of what it
// decides.
func newProxy(t testing.TB, change func(*Config, *mediator.Config), registered ...string) (*Proxy, *memory.Store) {
	t.Helper()
	set, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	mc := mediator.Config{Config: known.Config{Rules: set, Keys: keys, Store: store, Family: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}}
	for i, v := range registered {
		r, _, err := match.Prepare(&keys, fmt.Sprintf("%026d", i), fmt.Sprintf("SECRET_%d", i), secret.KindAPIKey, secret.SourceRegistered, "test", []byte(v), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		mc.Ephemeral = append(mc.Ephemeral, r)
	}
	c := Config{Name: "test", Identity: "test", Pins: store, Key: [32]byte{9}}
	if change != nil {
		change(&c, &mc)
	}
	if c.Engine, err = mediator.New(mc); err != nil {
		t.Fatal(err)
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p, store
}

// decisions returns the codes of all reasons in a store's log.
func decisions(t testing.TB, store *memory.Store) []string {
	t.Helper()
	all, err := store.Decisions(context.Background(), "", 10000)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range all {
		for _, r := range d.Reasons {
			out = append(out, r.Code)
		}
	}
	return out
}

// stdioTransport puts a proxy between a client and a server in this process.
func stdioTransport(t testing.TB, p *Proxy, s *mcp.Server) mcp.Transport {
	t.Helper()
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		_ = s.Run(context.Background(), &mcp.IOTransport{Reader: serverIn, Writer: serverOut})
		_ = serverOut.Close()
	})
	done.Go(func() {
		if err := p.Stdio(context.Background(), Pipes{FromClient: fromClient, ToClient: toClient, FromServer: fromServer, ToServer: toServer}); err != nil && !errors.Is(err, io.ErrClosedPipe) { // a client that went away
			t.Error(err)
		}
		_ = toClient.Close()
	})
	t.Cleanup(func() {
		_ = clientOut.Close()
		done.Wait()
	})
	return &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
}

// Every feature works through the proxy as it does without.
func TestFeaturesStdio(t *testing.T) {
	for _, g := range generations {
		t.Run(g, func(t *testing.T) {
			near, far := mcp.NewInMemoryTransports()
			s := everything(t, g)
			go func() { _ = s.Run(context.Background(), far) }()
			want := drive(context.Background(), t, g, near)
			p, store := newProxy(t, nil, random(1, 32))
			got := drive(context.Background(), t, g, stdioTransport(t, p, everything(t, g)))
			compare(t, got, want)
			for _, code := range decisions(t, store) {
				if code != "not-scanned" {
					t.Errorf("a decision about clean traffic: %s", code)
				}
			}
		})
	}
}

// httpTransport puts a proxy between a client and a server over HTTP. Without
// a proxy it leads to the server itself.
func httpTransport(t testing.TB, p *Proxy, generation string, s *mcp.Server) mcp.Transport {
	t.Helper()
	upstream := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: generation != generations[0]}))
	t.Cleanup(func() {
		upstream.CloseClientConnections()
		upstream.Close()
	})
	at := upstream.URL
	if p != nil {
		u, err := url.Parse(upstream.URL)
		if err != nil {
			t.Fatal(err)
		}
		h, err := p.Handler(HTTPConfig{URL: u})
		if err != nil {
			t.Fatal(err)
		}
		front := httptest.NewServer(h)
		t.Cleanup(func() {
			front.Close()
			h.Close()
		})
		at = front.URL
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: client}
}

func TestFeaturesHTTP(t *testing.T) {
	for _, g := range generations {
		t.Run(g, func(t *testing.T) {
			want := drive(context.Background(), t, g, httpTransport(t, nil, g, everything(t, g)))
			p, store := newProxy(t, nil, random(1, 32))
			got := drive(context.Background(), t, g, httpTransport(t, p, g, everything(t, g)))
			compare(t, got, want)
			for _, code := range decisions(t, store) {
				if code != "not-scanned" {
					t.Errorf("a decision about clean traffic: %s", code)
				}
			}
		})
	}
}

// TestGoneIsNoFailure: a client that goes away makes no decision that the store failed.
func TestGoneIsNoFailure(t *testing.T) {
	p, store := newProxy(t, nil, random(1, 32))
	l := &link{p: p, open: func(ctx context.Context) (*mediator.Session, error) {
		return p.cfg.Engine.Session(ctx, &mediator.SessionRequest{Sink: p.sink})
	}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if id := l.note(gone, server, reason("store-failed", "context canceled")); id != "" {
		t.Errorf("decision %s", id)
	}
	if id := l.note(t.Context(), server, reason("store-failed", "disk full")); id == "" {
		t.Error("a store that fails is no decision")
	}
	if codes := decisions(t, store); len(codes) != 1 {
		t.Errorf("decisions: %v", codes)
	}
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			t.Errorf("only with the proxy:    %s", l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			t.Errorf("only without the proxy: %s", l)
		}
	}
	t.Errorf("%d lines, want %d", len(got), len(want))
}
