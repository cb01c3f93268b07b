// Package gatewaytest starts gateways for suites: in this process, with a
// store in memory and the suite's own far side.
package gatewaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// Open is connectortest.Connector.Open for a gateway.
func Open(t testing.TB, registered []string) connectortest.Link {
	return connectortest.HTTP(start)(t, registered)
}

// Engine returns a mediator with these secrets registered, and its store.
func Engine(t testing.TB, registered []string) (*mediator.Engine, *memory.Store) {
	t.Helper()
	set, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	keys := secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}
	cfg := mediator.Config{Config: session.Config{Rules: set, Keys: keys, Store: store}}
	for i, v := range registered {
		rec, _, err := match.Prepare(&keys, fmt.Sprintf("%026d", i), fmt.Sprintf("SECRET_%d", i), secret.KindAPIKey, secret.SourceRegistered, "test", []byte(v), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Ephemeral = append(cfg.Ephemeral, rec)
	}
	e, err := mediator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e, store
}

func start(t testing.TB, registered []string, far http.RoundTripper) (http.Handler, func() []byte) {
	t.Helper()
	e, store := Engine(t, registered)
	var log Log
	g, err := gateway.New(gateway.Config{
		Engine: e, Upstream: &url.URL{Scheme: "http", Host: "far.example", Path: "/v1"}, Transport: far,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g, func() []byte { return append(Decisions(t, store), log.Bytes()...) }
}

// Decisions returns all that a store has recorded, as JSON.
func Decisions(t testing.TB, store *memory.Store) []byte {
	t.Helper()
	en, err := store.Decisions(context.Background(), "", 1<<20)
	if err != nil {
		t.Error(err)
	}
	b, err := json.Marshal(en)
	if err != nil {
		t.Error(err)
	}
	return b
}

// Log is a buffer that several may write to.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// Bytes returns what was written.
func (l *Log) Bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
