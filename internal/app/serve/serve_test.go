package serve

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/store/memory"
)

func TestSame(t *testing.T) {
	for _, c := range []struct {
		addr, upstream string
		want           bool
	}{
		{"127.0.0.1:7878", "http://127.0.0.1:7878/v1", true},
		{"127.0.0.1:7878", "http://localhost:7878/v1", true},
		{"127.0.0.1:7878", "http://LocalHost.:7878/v1", true},
		{"127.0.0.1:7878", "http://[::ffff:127.0.0.1]:7878/v1", true},
		{"127.0.0.1:7878", "http://0.0.0.0:7878/v1", true},
		{"127.0.0.1:80", "http://localhost/v1", true},
		{":7878", "http://localhost:7878/v1", true},
		{"[::]:7878", "http://[::1]:7878/v1", true},
		{"0.0.0.0:7878", "http://127.0.0.1:7878/v1", true},
		{"10.0.0.5:7878", "http://10.0.0.5:7878/v1", true},
		{"10.0.0.5:7878", "http://127.0.0.1:7878/v1", false}, // another program may listen there
		{"127.0.0.1:7878", "http://127.0.0.1:11434/v1", false},
		{"127.0.0.1:7878", "https://api.openai.com/v1", false},
		{"127.0.0.1:7878", "http://model.example:7878/v1", false},
		{"0.0.0.0:7878", "http://model.example:7878/v1", false},
	} {
		if got := same(c.addr, c.upstream); got != c.want {
			t.Errorf("%s and %s: %v", c.addr, c.upstream, got)
		}
	}
}

func TestListen(t *testing.T) {
	c := config.Default()
	for addr, want := range map[string]int{"0.0.0.0:0": problem.BadUsage, "nonsense": problem.BadUsage, "127.0.0.1:0": 0} {
		ln, err := Listen(c, addr)
		var p *problem.Error
		if want == 0 && err != nil || want != 0 && (!errors.As(err, &p) || p.Code != want || p.Hint == "") {
			t.Errorf("%s: %v", addr, err)
		}
		if ln == nil {
			continue
		}
		if _, err := Listen(c, ln.Addr().String()); !errors.As(err, &p) || p.Code != problem.Failed {
			t.Errorf("a port in use: %v", err)
		}
		_ = ln.Close()
	}
	c.Access.Token = "t"
	ln, err := Listen(c, "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
}

func TestCheckLoop(t *testing.T) {
	const addr = "127.0.0.1:7878"
	c := config.Default()
	c.Upstreams = map[string]config.Upstream{"a": {URL: "http://model.example/v1"}}
	c.Upstream = "a"
	if err := checkLoop(c, addr); err != nil {
		t.Error(err)
	}
	c.Upstreams["b"] = config.Upstream{URL: "http://localhost:7878/v1"}
	var p *problem.Error
	if err := checkLoop(c, addr); !errors.As(err, &p) || p.Code != problem.BadUsage {
		t.Errorf("a loop through a named upstream: %v", err)
	}
}

func TestMessagesBelongToAnthropic(t *testing.T) {
	for _, c := range []struct {
		token, path, version string
		want                 bool
	}{
		{"", "/v1/messages", "", true},
		{"", "/v1/messages/count_tokens", "", true},
		{"", "/v1/models", "2023-06-01", true},
		{"", "/v1/models", "", false},
		{"", "/v1/messagesx", "", false},
		{"", "/v1/chat/completions", "", false},
		{"abc", "/abc/v1/messages", "", true},
		{"abc", "/abc/v1/responses", "", false},
	} {
		r := httptest.NewRequest(http.MethodPost, c.path, nil)
		if c.version != "" {
			r.Header.Set("Anthropic-Version", c.version)
		}
		if got := (&Server{token: c.token}).messages(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// An upstream's base URL may have a path or none.
func TestMessagesReachTheirUpstream(t *testing.T) {
	for _, path := range []string{"", "/", "/v1", "/v1/", "/anthropic"} {
		got := ""
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.URL.Path
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"data":[]}`))
		}))
		c := config.Default()
		c.Anthropic = up.URL + path
		st := &state.State{Store: memory.New()}
		ln, err := Listen(c, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(c, st, Options{Listener: ln, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodGet, "http://localhost/v1/models", nil)
		r.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		want := "/v1/models"
		if path == "/anthropic" {
			want = "/anthropic/v1/models"
		}
		if w.Code != http.StatusOK || got != want {
			t.Errorf("%s: status %d, the upstream got %s", path, w.Code, got)
		}
		up.Close()
		_ = ln.Close()
	}
}
