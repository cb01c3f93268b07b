package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
)

// raw sends a request target as it is written, which clients would clean.
func raw(t *testing.T, r *rig, method, target, header string) (*http.Response, string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n%s\r\n{}", method, target, header)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestPaths: a path that servers read differently is not forwarded, whatever it
// starts with and whatever passes.
func TestPaths(t *testing.T) {
	r := newRig(t, func(_ *mediator.Config, c *Config) {
		c.PassPaths = []string{"/audio/speech", "/models/../files", "/models//x"}
	})
	r.up.answer = func(_ http.ResponseWriter, q *http.Request) { t.Errorf("forwarded: %s", q.RequestURI) }
	for _, base := range []string{"/v1/models", "/v1/responses/r", "/v1/audio/speech", "/v1"} {
		for _, odd := range []string{
			"/../files", "/%2e%2e/files", "/%2E./files", "/..%2ffiles", "/a%2Fb", "/./x", "//x", "/x//", "/x/..", "/x/.", "/..;/files", "/..\\files", "/a%5cb", "/a%5C..%5Cb", "/%252e%252e/x", "/a%00b", "/a%0ab",
		} {
			resp, body := raw(t, r, http.MethodGet, base+odd, "")
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"code":"path"`) && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
				t.Errorf("%s: status %d: %s", base+odd, resp.StatusCode, body)
			}
		}
	}
	r.up.answer = func(w http.ResponseWriter, q *http.Request) { fmt.Fprintf(w, `{"path":%q}`, q.RequestURI) }
	for target, want := range map[string]string{
		"/v1/models/": "/v1/models", "/v1/models/ft:gpt-x:org::id": "/v1/models/ft:gpt-x:org::id", "/v1/models/a%20b": "/v1/models/a%20b", "/v1/models/a..b": "/v1/models/a..b", "/v1/audio/speech": "/v1/audio/speech",
	} {
		if _, got := raw(t, r, http.MethodGet, target, ""); got != fmt.Sprintf(`{"path":%q}`, want) {
			t.Errorf("%s is forwarded as %s", target, got)
		}
	}
}

// TestUncovered: a path that is not covered is answered so that a person finds
// the setting, clients do not repeat it, and nothing in it reaches the log as it
// is.
func TestUncovered(t *testing.T) {
	value := random(77, 24)
	r := newRig(t, nil, value)
	r.up.answer = func(http.ResponseWriter, *http.Request) { t.Error("reached the upstream") }
	for _, c := range []struct {
		method, target, header, code, shows, hint string
	}{
		{"POST", "/v1/audio/speech", "", "not-covered", "/v1/audio/speech", "pass_paths"},
		{"POST", "/v1/audio/speech", "Anthropic-Version: 2023-06-01\r\n", "", "/v1/audio/speech", "pass_paths"},
		{"GET", "/v1/chat/completions", "", "not-covered", "/v1/chat/completions", "pass_paths"},
		{"PUT", "/v1/responses/x/y", "", "not-covered", "/v1/responses/x/y", "pass_paths"},
		{"POST", "/api/chat", "", "not-found", "/api/chat", "/v1"},
		{"POST", "/v1beta/models/m:generateContent", "", "not-found", "/v1beta/models/m:generateContent", "/v1"},
		{"GET", "/v1/a%1b%5b31mb%e2%80%ae", "", "path", `\\x1b`, "without"},
		{"GET", "/v1/x%e2%80%aey", "", "not-covered", `\\u202e`, "pass_paths"},
		{"GET", "/v1/files/" + value, "", "not-covered", "/v1/files/", "pass_paths"},
		{"GET", "/" + strings.Repeat("long", 100), "", "not-found", "long", "/v1"},
	} {
		r.log.Reset()
		resp, body := raw(t, r, c.method, c.target, c.header)
		status := http.StatusNotFound
		if c.code == "path" {
			status = http.StatusBadRequest
			c.shows = "%1b"
		}
		if resp.StatusCode != status || !strings.Contains(body, c.code) || !strings.Contains(body, c.shows) || !strings.Contains(body, c.hint) {
			t.Errorf("%s: status %d: %s", c.target, resp.StatusCode, body)
		}
		log := r.log.String()
		if status == http.StatusNotFound && (resp.Header.Get("X-Should-Retry") != "false" || !strings.Contains(log, "a path is not served")) {
			t.Errorf("%s: %v, log %q", c.target, resp.Header, log)
		}
		if strings.ContainsAny(log+body, "\x1b\u202e") || strings.Contains(log+body, value) || len(log) > 600 {
			t.Errorf("%s: the log or the answer repeats what is in the path: %q %q", c.target, log, body)
		}
	}
}
