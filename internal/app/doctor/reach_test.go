package doctor

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
)

// raw is a server that answers each connection with some bytes, and its address.
func raw(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// closed is an address where nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestFailedStep: each upstream, of models and of MCP, is told with the step that
// failed.
func TestFailedStep(t *testing.T) {
	base(t)
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	open := httptest.NewServer(http.NotFoundHandler())
	defer open.Close()
	for url, want := range map[string]string{
		"http://nothing.invalid/v1":        "name (DNS)",
		"http://" + closed(t) + "/v1":      "TCP",
		secure.URL:                         "TLS", // nobody vouches for it
		"https://" + raw(t, "SMTP\r\n"):    "TLS",
		"http://" + raw(t, "SMTP\r\n\r\n"): "HTTP",
		"http://" + raw(t, ""):             "HTTP",
		open.URL:                           "", // status 404 is an answer
	} {
		c := config.Default()
		c.Upstream = open.URL
		c.Upstreams = map[string]config.Upstream{"a": {URL: url}, "b": {URL: url, API: "anthropic"}}
		c.MCP.Servers = map[string]config.MCPServer{"c": {URL: url + "/mcp"}}
		var cs checkups
		checkNetwork(t.Context(), c, false, &cs)
		asked := 0
		for _, ch := range cs.all {
			of := strings.Fields(ch.Detail)[0]
			if len(of) > 1 {
				continue // the main one
			}
			asked++
			if failed := want != ""; ch.Step != want || failed != (ch.Status == Fail) || failed != (ch.Hint != "") || failed && !strings.Contains(ch.Detail, want) {
				t.Errorf("%s: %+v, want the step %q", url, ch, want)
			}
		}
		if asked != 3 {
			t.Errorf("%s: %d of 3 upstreams in %+v", url, asked, cs.all)
		}
	}
}

// TestAskedWithoutCredentials: a request has none, and neither does what is
// printed, also where a URL has them.
func TestAskedWithoutCredentials(t *testing.T) {
	base(t)
	var mu sync.Mutex
	var got []string
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.URL.String())
		for name := range r.Header {
			if name != "User-Agent" {
				got = append(got, name)
			}
		}
	}))
	defer up.Close()
	host := strings.TrimPrefix(up.URL, "http://")
	for _, at := range []string{host, closed(t)} {
		for _, key := range []string{"upstream", "mcp server"} {
			path := "/v1"
			if key == "mcp server" {
				path = "/s/" + "pathkey" + "/mcp"
			}
			one := target{key: key, name: "a", url: "http://user:" + "passkey@" + at + path + "?token=" + "querykey"}
			ch := one.reach(t.Context())
			if text := ch.Detail + ch.Hint; strings.Contains(text, "key@") || strings.Contains(text, "passkey") || strings.Contains(text, "querykey") || strings.Contains(text, "pathkey") || strings.Contains(text, "user") {
				t.Errorf("printed: %+v", ch)
			}
		}
	}
	if all := strings.Join(got, " "); all != "/v1/models /" {
		t.Errorf("the server was sent %s", all)
	}
}

// TestAskedAtOnce: no upstream waits for another, and none is asked longer than
// its caller waits.
func TestAskedAtOnce(t *testing.T) {
	c := base(t)
	var both sync.WaitGroup
	both.Add(2)
	c.Upstreams = map[string]config.Upstream{}
	for _, name := range []string{"a", "b"} {
		up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
			both.Done()
			both.Wait()
		}))
		defer up.Close()
		c.Upstreams[name] = config.Upstream{URL: up.URL}
	}
	c.Upstream = "a"
	var cs checkups
	checkNetwork(t.Context(), c, false, &cs)
	for _, ch := range cs.all {
		if ch.Status != OK {
			t.Errorf("%+v", ch)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer silent.Close()
	one := target{key: "upstream", name: "a", url: silent.URL}
	if ch := one.reach(ctx); ch.Status != Fail || ch.Step != "HTTP" {
		t.Errorf("%+v", ch)
	}
}
