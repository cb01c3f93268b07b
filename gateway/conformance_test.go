package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

func TestConformance(t *testing.T) {
	for _, api := range []*connectortest.API{connectortest.Chat(), connectortest.Messages()} {
		t.Run(api.Name, func(t *testing.T) {
			connectortest.Run(t, connectortest.Connector{Open: connectortest.HTTP(startForSuite)}, api)
		})
	}
}

// startForSuite starts a gateway with a store in memory.
func startForSuite(t testing.TB, registered []string, far http.RoundTripper) (http.Handler, func() []byte) {
	t.Helper()
	set, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	e, err := mediator.New(mediator.Config{Rules: set, Keys: keys, Store: store, Ephemeral: records(t, registered...)})
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	base := &url.URL{Scheme: "http", Host: "far.example", Path: "/v1"}
	g, err := New(Config{Engine: e, Upstream: base, Transport: far, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g, func() []byte {
		en, err := store.Decisions(context.Background(), "", 1<<20)
		if err != nil {
			t.Error(err)
		}
		b, err := json.Marshal(en)
		if err != nil {
			t.Error(err)
		}
		return append(b, log.bytes()...)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}
