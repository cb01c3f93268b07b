package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/store/sqlite"
)

// A tool's name is told without the secret in it, wherever that lies, or not at
// all.
func TestToolName(t *testing.T) {
	const value = "q7Rk2Vn9Xw4Bz8Lm3Tc6Yp1D"
	hide := func(context.Context) (func(string) string, error) {
		return func(s string) string { return strings.ReplaceAll(s, value, "[REDACTED]") }, nil
	}
	for _, name := range []string{"Bash", value, "run_" + value, strings.Repeat("x", 245) + value, strings.Repeat("x", 10_000) + value} {
		if got := toolName(hide, name); strings.Contains(got, value[:11]) || len(got) > 256 || got == "" {
			t.Errorf("%.20q…: %q", name, got)
		}
	}
	if got := toolName(hide, "Bash"); got != "Bash" {
		t.Errorf("an ordinary name: %q", got)
	}
	failing := func(context.Context) (func(string) string, error) { return nil, errors.New("no store") }
	if got := toolName(failing, value) + toolName(nil, value); strings.Contains(got, value) {
		t.Error("what can't be masked is told")
	}
}

// TestOtherAPIs: paths below /api that the console does not serve are those of
// other APIs, and are answered as such.
func TestOtherAPIs(t *testing.T) {
	base, stop, err := begin(&gatewayOrder{Upstream: "http://127.0.0.1:9/v1", Dir: t.TempDir(), Record: true})
	must(t, err)
	defer func() { must(t, stop()) }()
	for _, path := range []string{"/api/chat", "/api/tags", "/api/v1/models", "/api", "/api/generate"} {
		resp, err := http.Get(base + path) //nolint:noctx // a test's
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusNotFound || !strings.Contains(string(body), `"code":"not-found"`) || !strings.Contains(string(body), path) {
			t.Errorf("%s: status %d: %s", path, resp.StatusCode, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// What goes through the gateway is on the console of the same listener, and
// nobody without a session sees it.
func TestConsole(t *testing.T) {
	c := newCrowd(t)
	base, stop, err := begin(&gatewayOrder{Upstream: c.model.URL + "/v1", Dir: t.TempDir(), Record: true})
	must(t, err)
	defer func() { must(t, stop()) }()
	c.run(t, base, 1)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	u := &http.Client{Transport: &http.Transport{}, Jar: jar}
	defer u.CloseIdleConnections()
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := u.Get(base + path) //nolint:noctx // a test's
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, _ := get("/api/overview"); status != http.StatusUnauthorized {
		t.Errorf("a stranger got %d", status)
	}
	resp, err := u.PostForm(base+"/console/login", url.Values{"token": {access.Token(consoleKey(&crowdKeys), time.Now())}}) //nolint:noctx // a test's
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var o console.Overview
	for deadline := time.Now().Add(time.Minute); ; {
		status, body := get("/api/overview")
		if err := json.Unmarshal([]byte(body), &o); err != nil || status != http.StatusOK {
			t.Fatalf("%d %v %s", status, err, body)
		}
		if len(o.Latest) == 8 && o.Latest[7].Answers == 1 || time.Now().After(deadline) {
			break
		}
	}
	if len(o.Latest) != 8 || o.Active != 8 || len(o.Upstreams) == 0 || o.Lost != 0 {
		t.Fatalf("the overview is %+v", o)
	}
	up := o.Upstreams[0]
	if up.Requests != 8 || up.Failing || !strings.HasPrefix(up.URL, "http://127.0.0.1:") {
		t.Errorf("the upstream is %+v", up)
	}
	if status, body := get("/console/trajectories/" + string(o.Latest[0].ID)); status != http.StatusOK || !strings.Contains(body, "<b>generate</b>") || !strings.Contains(body, "<b>prompt</b>") {
		t.Errorf("the trajectory: %d", status)
	}
	if status, body := get("/console/packs"); status != http.StatusOK || !strings.Contains(body, "Lint finds nothing") {
		t.Errorf("packs: %d", status)
	}
}

// Where the console is switched off nothing is kept for it, and no page is
// served, with a token or without one.
func TestConsoleOff(t *testing.T) {
	c := newCrowd(t)
	dir := t.TempDir()
	base, stop, err := begin(&gatewayOrder{Upstream: c.model.URL + "/v1", Dir: dir})
	must(t, err)
	c.run(t, base, 1)
	for _, path := range []string{"/console", "/console/", "/console/login", "/console/assets/console.css", "/api/overview", "/api/session", "/api/openapi.json"} {
		resp, err := http.Get(base + path) //nolint:noctx // a test's
		must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode < 400 || resp.StatusCode == http.StatusUnauthorized {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	resp, err := http.PostForm(base+"/console/login", url.Values{"token": {access.Token(consoleKey(&crowdKeys), time.Now())}}) //nolint:noctx // a test's
	must(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode < 400 || len(resp.Cookies()) > 0 {
		t.Errorf("a login: %d", resp.StatusCode)
	}
	must(t, stop())
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "margay.db"), sqlite.Options{})
	must(t, err)
	defer db.Close()
	if last, err := db.LastEvent(t.Context()); err != nil || last > 0 {
		t.Errorf("%d events are kept, %v", last, err)
	}
}
