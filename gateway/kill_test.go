package gateway

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

// onDisk is a rig whose engine keeps its state in a file.
func onDisk(t *testing.T, value string) (r *rig, s *sqlite.Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "margay.db")
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{Busy: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var looks atomic.Int64
	r = newRig(t, func(m *mediator.Config, _ *Config) {
		m.Store = s
		m.Now = func() time.Time { return time.Now().Add(time.Duration(looks.Add(1)) * time.Second) } // nothing is remembered for a second
	}, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "it is "+value+" indeed, and more"), finish(0, "stop"), "[DONE]")
	}
	return r, s, path
}

// refuses checks that secrets pass in neither direction without a record.
func refuses(t *testing.T, r *rig, value string) {
	t.Helper()
	status, body := r.post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+value+`"}]}`)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "margay doctor") {
		t.Errorf("prompt: status %d", status)
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	for what, s := range map[string]string{"upstream": r.up.received(), "refusal": body, "answer": got, "log": r.log.String()} {
		if strings.Contains(s, value) {
			t.Errorf("the secret is in the %s", what)
		}
	}
	if !strings.Contains(got, `"error"`) {
		t.Error("the answer went on without a record")
	}
}

func TestDatabaseIsLocked(t *testing.T) {
	value := random(40, 24)
	r, _, path := onDisk(t, value)
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	refuses(t, r, value)
	if status, _ := r.do(t, http.MethodGet, "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("readyz: status %d while nothing can be written", status)
	}
	if _, err := conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, got := r.post(t, "/v1/chat/completions", ask); joined(t, got)["0 content"] != "it is [REDACTED:api-key] indeed, and more" {
		t.Error("it does not go on when the lock is gone")
	}
}

func TestDatabaseIsGone(t *testing.T) {
	value := random(41, 24)
	r, s, _ := onDisk(t, value)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refuses(t, r, value)
	if status, _ := r.do(t, http.MethodGet, "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("readyz: status %d", status)
	}
}

// A file that is overwritten under a running gateway may be noticed late; no
// secret passes all the same.
func TestDatabaseIsCorrupt(t *testing.T) {
	value := random(42, 24)
	r, _, path := onDisk(t, value)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		st, err := os.Stat(name)
		if err != nil {
			continue
		}
		if err := os.WriteFile(name, []byte(strings.Repeat("garbage!", int(st.Size())/8)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, body := r.post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+value+`"}]}`)
	_, got := r.post(t, "/v1/chat/completions", ask)
	if strings.Contains(body+got+r.up.received()+r.log.String(), value) {
		t.Error("the secret passed")
	}
}

// Nothing that Margay writes to its disk holds a secret.
func TestNothingOnDiskHoldsASecret(t *testing.T) {
	value, unknown := random(43, 24), "gh"+"p_"+random(44, 36)
	r, s, path := onDisk(t, value)
	r.post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+value+` `+unknown+`"}],"metadata":{"`+unknown+`":{"`+value+`":"`+value+`"}}}`)
	r.post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+value+` `+unknown+`"}]}`)
	r.post(t, "/v1/chat/completions", ask)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []string{value, unknown, value[:12], unknown[:16], "caller-key"} {
			if strings.Contains(string(b), v) {
				t.Errorf("a secret is in %s", filepath.Base(f))
			}
		}
	}
}

// Upstreams that die at any byte of a stream let nothing undecided out.
func TestUpstreamDiesAnywhere(t *testing.T) {
	value := random(45, 24)
	r := newRig(t, nil, value)
	var all strings.Builder
	for _, e := range []string{delta(0, "content", "so it is "+value[:9]), delta(0, "content", value[9:]+" and"), callDelta(0, 0, "f", `{"k":"`+value), callDelta(0, 0, "", `"}`), finish(0, "tool_calls"), "[DONE]"} {
		all.WriteString("data: " + e + "\n\n")
	}
	raw := all.String()
	for at := 0; at < len(raw); at += 7 {
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, raw[:at])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		_, got := r.post(t, "/v1/chat/completions", ask)
		if n := longest(got, value); n > 3 {
			t.Fatalf("dead at %d: %d characters of the secret in a row came out", at, n)
		}
		if joined(t, got)["error"] != "upstream-failed" {
			t.Fatalf("dead at %d: no error event", at)
		}
	}
}

// An upstream's own error in mid-stream reaches the client, and what was held
// before it does not.
func TestUpstreamFailsInItsOwnTerms(t *testing.T) {
	value := random(46, 24)
	r := newRig(t, nil, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "so far "+value[:12]), `{"error":{"message":"overloaded, key `+value+`","type":"server_error","code":"overloaded"}}`)
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	if longest(got, value) > 3 || joined(t, got)["error"] != "overloaded" || !strings.Contains(got, "overloaded, key [REDACTED:") {
		t.Errorf("error %q", joined(t, got)["error"])
	}
}

func TestManyStreamsAtOnce(t *testing.T) {
	value := random(47, 24)
	r := newRig(t, nil, value)
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		n := req.Header.Get("X-N")
		for i := range 8 {
			stream(w, delta(0, "content", "word "), delta(1, "content", value[:i]), delta(1, "content", value[i:]+" "+n+" "))
		}
		stream(w, finish(0, "stop"), finish(1, "stop"), "[DONE]")
	}
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(ask))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-N", fmt.Sprint(i))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Error(err)
				return
			}
			out := joined(t, string(b))
			if out["1 content"] != strings.Repeat(fmt.Sprintf("[REDACTED:api-key] %d ", i), 8) || out["0 content"] != strings.Repeat("word ", 8) {
				t.Errorf("stream %d has another's text, or a secret", i)
			}
		})
	}
	wg.Wait()
}

// unreachable is a transport that reaches nobody.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route to host")
}

func TestTransportErrorIsToldWithoutItsURL(t *testing.T) {
	u, err := url.Parse("http://user:pass-word-77@up.example/v1")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(m *mediator.Config, g *Config) {
		m.Store = memory.New()
		g.Upstream, g.Transport = u, unreachable{}
	})
	status, body := r.post(t, "/v1/chat/completions", ask)
	if status != http.StatusBadGateway || strings.Contains(body+r.log.String(), "pass-word-77") {
		t.Errorf("status %d", status)
	}
}
