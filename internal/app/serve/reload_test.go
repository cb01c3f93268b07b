package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/store/memory"
)

// TestReload: requests under way end on the configuration that they began on,
// later ones go by the new one, and a bad one changes nothing.
func TestReload(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	next := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			listModels(w, "first")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(s string) {
			fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", s)
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n")
		say("before. ")
		select {
		case <-next:
		case <-r.Context().Done():
		}
		say("after.")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer slow.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { listModels(w, "second") }))
	defer other.Close()
	c := config.Default()
	c.Upstream, c.Store = slow.URL+"/v1", "memory"
	ln, err := Listen(c, "127.0.0.1:0")
	must(t, err)
	st := &state.State{Keys: crowdKeys, Store: memory.New()}
	s, err := New(c, st, Options{Listener: ln, Log: slog.New(slog.DiscardHandler), Grace: time.Second, Console: true})
	must(t, err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	defer func() {
		end()
		must(t, <-done)
	}()
	models := func() string {
		t.Helper()
		resp, err := http.Get(s.Base() + "/v1/models") //nolint:noctx // a test's
		must(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		must(t, err)
		return string(b)
	}
	resp, err := http.Post(s.Base()+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}`)) //nolint:noctx // a test's
	must(t, err)
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
		t.Fatalf("%q, %v", line, err)
	}
	if got := models(); !strings.Contains(got, `"first"`) {
		t.Fatalf("before: %q", got)
	}
	// What would not start is refused with the words of a start.
	for what, change := range map[string]func(*config.Config){
		"this gateway itself": func(n *config.Config) { n.Upstream = s.Base() + "/v1"; n.Listen = ln.Addr().String() },
		"packs":               func(n *config.Config) { n.Taint.Mode, n.Taint.Packs = "on", []string{"nothing"} },
		"log": func(n *config.Config) {
			n.MCP.Servers = map[string]config.MCPServer{"a": {URL: "https://a.example", CAFile: "no/such.pem"}}
		},
	} {
		bad := config.Default()
		bad.Upstream, bad.Store = other.URL+"/v1", "memory"
		change(bad)
		was := *c
		if what == "this gateway itself" {
			was.Listen = bad.Listen
		}
		var p *problem.Error
		if _, err := s.Reload(t.Context(), &was, bad, st); !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
		if got := models(); !strings.Contains(got, `"first"`) {
			t.Errorf("%s: a bad configuration counts: %q", what, got)
		}
	}
	was, lost := *c, config.Default()
	was.File, lost.Upstream, lost.Store = "config.yaml", other.URL+"/v1", "memory"
	var p *problem.Error
	if _, err := s.Reload(t.Context(), &was, lost, st); !errors.As(err, &p) || !strings.Contains(err.Error(), "config.yaml is gone") {
		t.Errorf("without its file: %v", err)
	}
	if got := models(); !strings.Contains(got, `"first"`) {
		t.Errorf("without its file the defaults count: %q", got)
	}
	good := config.Default()
	good.Upstream, good.Listen, good.StateDir, good.Log.Level = other.URL+"/v1", "127.0.0.1:1", t.TempDir(), "debug"
	fixed, err := s.Reload(t.Context(), c, good, st)
	must(t, err)
	if want := []string{"listen", "state_dir", "store", "key_dir", "log"}; !slices.Equal(fixed, want) {
		t.Errorf("fixed: %v, want %v", fixed, want)
	}
	if good.Listen != c.Listen || good.StorePath() != "memory" {
		t.Error("what can't change has changed")
	}
	if got := models(); !strings.Contains(got, `"second"`) {
		t.Errorf("after: %q", got)
	}
	close(next)
	rest, err := io.ReadAll(in)
	if err != nil || !strings.Contains(string(rest), "after.") || !strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the answer under way broke off: %q, %v", rest, err)
	}
}

// listModels answers with one model.
func listModels(w http.ResponseWriter, id string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model","created":1,"owned_by":"x"}]}`, id)
}

// TestReloadBeyondLoopback: a listener that needs the access token does not lose
// it.
func TestReloadBeyondLoopback(t *testing.T) {
	c := config.Default()
	c.Access.Token, c.Store, c.Listen = "sesame", "memory", "0.0.0.0:0"
	ln, err := Listen(c, c.Listen)
	must(t, err)
	defer ln.Close()
	st := &state.State{Keys: crowdKeys, Store: memory.New()}
	s, err := New(c, st, Options{Listener: ln, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer s.release()
	open := config.Default()
	open.Store = "memory"
	if _, err := s.Reload(t.Context(), c, open, st); err == nil || !strings.Contains(err.Error(), "access.token") {
		t.Errorf("reloaded: %v", err)
	}
}
