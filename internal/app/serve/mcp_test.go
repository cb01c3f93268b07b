package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
)

// MCP servers of the configuration are served by their names, behind the
// checks that the gateways have.
func TestServersOfTheConfiguration(t *testing.T) {
	secret := "gh" + "p_" + strings.Repeat("aB3dE5gH", 4) + "jK7m"
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+secret+` `+r.Header.Get("Authorization")+`"}]}}`)
	}))
	defer upstream.Close()
	c := config.Default()
	c.Store, c.KeyDir = "memory", t.TempDir()
	c.Access.Origins = []string{"http://good.example"}
	c.MCP.Servers = map[string]config.MCPServer{"docs": {URL: upstream.URL}}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	st, err := state.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ln, err := Listen(c, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c, st, Options{Listener: ln, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	client := &http.Client{Transport: &http.Transport{}}
	post := func(path, origin string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base()+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer for-the-server")
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	for _, origin := range []string{"", "http://good.example"} {
		if code, body := post("/mcp/docs", origin); code != http.StatusOK || strings.Contains(body, secret) || !strings.Contains(body, "margay-") || !strings.Contains(body, "Bearer for-the-server") {
			t.Errorf("%d %s", code, strings.ReplaceAll(body, secret, "(the secret)"))
		}
	}
	if code, _ := post("/mcp/docs", "http://evil.example"); code != http.StatusForbidden {
		t.Errorf("a foreign page: %d", code)
	}
	if code, _ := post("/mcp/other", ""); code != http.StatusNotFound {
		t.Errorf("an unknown server: %d", code)
	}
	if got := s.Servers(); got["docs"] != s.Base()+"/mcp/docs" {
		t.Errorf("served at %v", got)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.MCP.Servers["self"] = config.MCPServer{URL: s.Base() + "/mcp/docs"}
	var p *problem.Error
	if _, err := New(c, st, Options{Listener: ln, Log: slog.New(slog.DiscardHandler)}); !errors.As(err, &p) || p.Code != problem.BadUsage {
		t.Errorf("a server that is Margay itself: %v", err)
	}
}
