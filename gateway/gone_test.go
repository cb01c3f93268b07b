package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
)

// Whoever stops an answer makes no refusal: the upstream did not fail.
func TestStoppedAnswerIsNoRefusal(t *testing.T) {
	ended := make(chan struct{})
	r := newRig(t, func(_ *mediator.Config, c *Config) { c.Streamed = func(StreamStats) { close(ended) } })
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		stream(w, delta(0, "content", "one two three four five "))
		<-req.Context().Done()
	}
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = resp.Body.Close()
	<-ended
	all, err := r.store.Decisions(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		t.Errorf("the log has %+v", e.Decision)
	}
}

// Some upstreams, such as Gemini's OpenAI-compatible API, answer with a list of
// errors.
func TestListsOfErrorsPass(t *testing.T) {
	value := random(93, 24)
	r := newRig(t, nil, value)
	list := `[{"error":{"code":429,"message":"Resource has been exhausted, ` + value + `","status":"RESOURCE_EXHAUSTED"}}]`
	status := 429
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, list)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"} {
		got, body := r.post(t, path, strings.Replace(ask, "messages", map[bool]string{true: "input", false: "messages"}[path == "/v1/responses"], 1))
		if got != 429 || !strings.Contains(body, "RESOURCE_EXHAUSTED") || strings.Contains(body, value) || !strings.HasPrefix(body, `[{"error"`) {
			t.Errorf("%s: %d %s", path, got, strings.ReplaceAll(body, value, "<secret>"))
		}
	}
	// An answer is no list.
	status = 200
	if got, body := r.post(t, "/v1/chat/completions", ask); got != 502 || strings.Contains(body, value) {
		t.Errorf("%d", got)
	}
}
