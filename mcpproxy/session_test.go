package mcpproxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A session's requests are known to each other, another session's are not; a
// session that was deleted, or not used for long, is forgotten.
func TestSessions(t *testing.T) {
	came, release := make(chan struct{}, 4), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if !strings.Contains(string(body), `"id"`) || strings.Contains(string(body), `"result"`) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		came <- struct{}{}
		if strings.Contains(string(body), "slow") {
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, store := newProxy(t, nil)
	h, err := p.Handler(HTTPConfig{URL: u, MaxSessions: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	do := func(method, session, body string) (int, string) {
		r := httptest.NewRequest(method, "http://localhost/mcp/test", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	const slow = `{"jsonrpc":"2.0","id":1,"method":"slow"}`
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if code, body := do(http.MethodPost, "a", slow); code != 200 || !strings.Contains(body, `"result"`) {
			t.Errorf("the first: %d %s", code, body)
		}
	})
	<-came
	if _, body := do(http.MethodPost, "a", ping); !strings.Contains(body, `"id":1,"error"`) || !strings.Contains(body, "id-in-use") {
		t.Errorf("the same id in the same session: %s", body)
	}
	for _, other := range []string{"b", ""} {
		if code, body := do(http.MethodPost, other, ping); code != 200 || !strings.Contains(body, `"result"`) {
			t.Errorf("the same id in the session %q: %d %s", other, code, body)
		}
		<-came
	}
	close(release)
	waiting.Wait()
	if code, body := do(http.MethodPost, "a", ping); code != 200 || !strings.Contains(body, `"result"`) {
		t.Errorf("the id afterwards: %d %s", code, body)
	}
	<-came
	// What nobody asked is not answered; without a session nobody knows.
	const answer = `{"jsonrpc":"2.0","id":"q","result":{}}`
	if code, _ := do(http.MethodPost, "a", answer); code != http.StatusForbidden {
		t.Errorf("an answer to nothing: %d", code)
	}
	if code, _ := do(http.MethodPost, "", answer); code != http.StatusAccepted {
		t.Errorf("an answer without a session: %d", code)
	}
	if code, _ := do(http.MethodDelete, "a", ""); code != http.StatusNoContent {
		t.Errorf("deleted: %d", code)
	}
	known := func(ids ...string) {
		t.Helper()
		for _, id := range []string{"a", "b", "s0", "s6", "s7", "s8", "s9"} {
			if _, ok := h.sessions.Get(p.sessionKey("", "", id)); ok != slices.Contains(ids, id) {
				t.Errorf("the session %s is known: %v", id, ok)
			}
		}
	}
	known("b")
	for i := range 10 {
		do(http.MethodPost, fmt.Sprint("s", i), ping)
		<-came
	}
	known("s7", "s8", "s9")
	if got := decisions(t, store); !slices.Equal(got, []string{"id-in-use", "unknown-id"}) {
		t.Errorf("the log has %v", got)
	}
}

// A request of the server's that does not reach the client is answered.
func TestRefusedRequestOverHTTP(t *testing.T) {
	known := random(51, 32)
	got := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			got <- r.Header.Get("Mcp-Session-Id") + " " + r.Header.Get("Authorization") + " " + string(body)
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"`+known+`":1}}`+"\n\n")
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := newProxy(t, nil, known)
	h, err := p.Handler(HTTPConfig{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://localhost/mcp/test", nil)
	r.Header.Set("Mcp-Session-Id", "s")
	r.Header.Set("Authorization", "Bearer x")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if body := w.Body.String(); strings.Contains(body, "elicitation") {
		t.Error("the request came through")
	}
	if reply := <-got; !strings.HasPrefix(reply, `s Bearer x {"jsonrpc":"2.0","id":"q","error":{"code":-32010`) || strings.Contains(reply, known) {
		t.Errorf("the server was told %s", strings.ReplaceAll(reply, known, "(the secret)"))
	}
	h.Close()
}
