package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
)

// do sends a request with a method of its own.
func (r *rig) do(t testing.TB, method, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
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

// kept is all that the rig's store holds, as text.
func (r *rig) kept(t testing.TB) string {
	t.Helper()
	en, err := r.store.Decisions(context.Background(), "", 100000)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(en)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A secret anywhere in a request stays here, and so it does in what Margay
// writes about it.
func TestNoPartOfARequestLeaks(t *testing.T) {
	value := random(30, 24)
	type request struct {
		method, path, body string
		header             []string
	}
	chat := func(body string) request {
		return request{http.MethodPost, "/v1/chat/completions", body, nil}
	}
	with := func(name, v string) request {
		return request{http.MethodPost, "/v1/chat/completions", ask, []string{name, v}}
	}
	for name, q := range map[string]request{
		"model's path":      {http.MethodGet, "/v1/models/" + value, "", nil},
		"query of GET":      {http.MethodGet, "/v1/models?after=" + value, "", nil},
		"body of GET":       {http.MethodGet, "/v1/models", `{"a":"` + value + `"}`, nil},
		"user agent":        with("User-Agent", "agent/"+value),
		"sdk header":        with("X-Stainless-Lang", value),
		"accept":            with("Accept-Language", value),
		"cookie":            with("X-Custom", "a; b="+value),
		"model":             chat(`{"model":"` + value + `","messages":[]}`),
		"role":              chat(`{"model":"m","messages":[{"role":"` + value + `","content":"x"}]}`),
		"message name":      chat(`{"model":"m","messages":[{"role":"user","name":"` + value + `","content":"x"}]}`),
		"id in metadata":    chat(`{"model":"m","metadata":{"id":"` + value + `"},"messages":[]}`),
		"type in metadata":  chat(`{"model":"m","metadata":{"type":"` + value + `"},"messages":[]}`),
		"user":              chat(`{"model":"m","user":"` + value + `","messages":[]}`),
		"call id":           chat(`{"model":"m","messages":[{"role":"tool","tool_call_id":"` + value + `","content":"x"}]}`),
		"key":               chat(`{"model":"m","metadata":{"` + value + `":{"x":"` + value + `"}},"messages":[]}`),
		"tool description":  chat(`{"model":"m","tools":[{"type":"function","function":{"name":"f","description":"` + value + `"}}],"messages":[]}`),
		"schema default":    chat(`{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"k":{"default":"` + value + `"}}}}}],"messages":[]}`),
		"call arguments":    chat(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"k\":\"` + value + `\"}"}}]}]}`),
		"image's URL":       chat(`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/?k=` + value + `"}}]}]}`),
		"stop":              chat(`{"model":"m","stop":["` + value + `"],"messages":[]}`),
		"completions":       {http.MethodPost, "/v1/completions", `{"prompt":["` + value + `"]}`, nil},
		"embeddings":        {http.MethodPost, "/v1/embeddings", `{"input":"` + value + `"}`, nil},
		"escaped":           chat(`{"model":"m","messages":[{"role":"user","content":"` + escaped(value) + `"}]}`),
		"escaped twice":     chat(`{"model":"m","messages":[{"role":"user","content":` + quote(escaped(value)) + `}]}`),
		"escaped as key":    chat(`{"model":"m","metadata":{"` + escaped(value) + `":1},"messages":[]}`),
		"percent in query":  {http.MethodPost, "/v1/chat/completions?k=" + percent(value), ask, nil},
		"percent in models": {http.MethodGet, "/v1/models/" + percent(value), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil, value)
			r.up.answer = func(w http.ResponseWriter, req *http.Request) {
				r.up.mu.Lock()
				r.up.got.WriteString(req.URL.String())
				r.up.mu.Unlock()
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"id":"x"}`)
			}
			header := q.header
			if q.method == http.MethodPost {
				header = append([]string{"Content-Type", "application/json"}, header...)
			}
			status, body := r.do(t, q.method, q.path, q.body, header...)
			got := r.up.received()
			for _, form := range []string{value, escaped(value), percent(value)} {
				if strings.Contains(got, form) {
					t.Errorf("the secret reached the upstream (status %d)", status)
				}
				for what, s := range map[string]string{"answer": body, "log": r.log.String(), "store": r.kept(t)} {
					if strings.Contains(s, form) {
						t.Errorf("the secret is in the %s", what)
					}
				}
			}
			if status != http.StatusOK && status != http.StatusForbidden {
				t.Errorf("status %d", status)
			}
		})
	}
}

func escaped(s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// Ordinary headers of clients and of tracing do not look like secrets.
func TestOrdinaryHeadersPass(t *testing.T) {
	r := newRig(t, nil)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x"}`)
	}
	status, body := r.post(t, "/v1/chat/completions?api-version=2024-10-21", ask,
		"User-Agent", "AsyncOpenAI/Python 1.109.1", "X-Stainless-Lang", "python", "X-Stainless-Runtime-Version", "3.12.4",
		"Idempotency-Key", "stainless-node-retry-0b8a5d3e-6f0c-4d0e-9c54-8f5b7f6c2a11", "X-Request-Id", "8d3e0b8a-6f0c-4d0e-9c54-8f5b7f6c2a11",
		"Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "OpenAI-Organization", "org-abc123", "HTTP-Referer", "https://example.org",
		"X-Title", "my agent", "Cookie", "__cf_bm=QkFTRTY0LWxvb2tpbmctdGhpbmctMTIzNDU2Nzg5MA; session=abcdefghijkl")
	if status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
}

// A secret in any place of an upstream's event stays out of the client's
// stream.
func TestNoPartOfAnEventLeaks(t *testing.T) {
	value := random(31, 24)
	chunk := func(choice string) string { return `{"id":"c","choices":[` + choice + `]}` }
	for name, raw := range map[string]string{
		"comment":        ": " + value + "\n\n",
		"id":             "id: " + value + "\ndata: " + delta(0, "content", "x") + "\n\n",
		"id behind data": "data: " + delta(0, "content", "x") + "\nid: " + value + "\n\n",
		"type":           "event: " + value + "\ndata: {}\n\n",
		"short type":     "event:" + value + "\ndata\n\n",
		"unknown field":  "x: " + value + "\ndata: {}\n\n",
		"retry":          "data: {}\nretry: " + value + "\n\n",
		"no data":        "id: " + value + "\n\n",
		"error":          `data: {"error":{"message":"bad key ` + value + `","code":"` + value + `"}}` + "\n\n",
		"finish reason":  "data: " + chunk(`{"index":0,"delta":{},"finish_reason":"`+value+`"}`) + "\n\n",
		"role":           "data: " + chunk(`{"index":0,"delta":{"role":"`+value+`"}}`) + "\n\n",
		"new field":      "data: " + chunk(`{"index":0,"delta":{"x":{"y":["`+value+`"]}}}`) + "\n\n",
		"new top field":  `data: {"id":"c","choices":[],"x":"` + value + `"}` + "\n\n",
		"custom call":    "data: " + chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"input":"`+value+`"}}]}}`) + "\n\n",
		"function call":  "data: " + chunk(`{"index":0,"delta":{"function_call":{"name":"f","arguments":"{\"k\":\"`+value+`\"}"}}}`) + "\n\n",
		"tool name":      "data: " + chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"`+value+`","arguments":"{}"}}]}}`) + "\n\n",
		"escaped":        "data: " + chunk(`{"index":0,"delta":{"content":"`+escaped(value)+`"}}`) + "\n\n",
		"two data lines": "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"" + value + "\"}}]}\n\n",
		"CRLF":           "data: " + delta(0, "content", value) + "\r\n\r\n",
		"no event's end": "data: " + delta(0, "content", value),
		"text":           "data: " + chunk(`{"index":0,"text":"`+value+`"}`) + "\n\n",
		"answer's id":    `data: {"id":"chatcmpl-` + value + `","choices":[]}` + "\n\n",
		"a later id":     "data: " + delta(0, "content", "x") + "\n\ndata: " + strings.Replace(delta(0, "content", "x"), `"id":"`, `"id":"`+value, 1) + "\n\n",
		"model":          `data: {"id":"c","model":"m/` + value + `","choices":[]}` + "\n\n",
		"fingerprint":    `data: {"id":"c","system_fingerprint":"` + value + `","choices":[]}` + "\n\n",
		"padding":        `data: {"id":"c","obfuscation":"` + value + `","choices":[]}` + "\n\n",
		"call's id":      "data: " + chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"`+value+`","function":{"name":"f","arguments":"{}"}}]}}`) + "\n\n",
		"escaped keys":   "data: " + `{"ch\u006fices":[{"index":0,"\u0064elta":{"c\u006fntent":"` + value + `"}}]}` + "\n\n",
		"escaped id":     "data: " + `{"\u0069d":"` + value + `","choices":[]}` + "\n\n",
		"token's bytes":  "data: " + chunk(`{"index":0,"delta":{"content":"ab"},"logprobs":{"content":[{"token":"ab","bytes":`+numbers(value)+`}]}}`) + "\n\n",
		"call's object":  "data: " + chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"`+value+`":["`+value+`"]}}}]}}`) + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil, value)
			r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, raw)
				stream(w, finish(0, "stop"), "[DONE]")
			}
			_, got := r.post(t, "/v1/chat/completions", ask)
			for what, s := range map[string]string{"stream": got, "log": r.log.String(), "store": r.kept(t)} {
				if strings.Contains(s, value) || strings.Contains(s, escaped(value)) || strings.Contains(s, numbers(value)) {
					t.Errorf("the secret is in the %s", what)
				}
			}
		})
	}
}

func numbers(s string) string {
	var out []string
	for _, b := range []byte(s) {
		out = append(out, fmt.Sprint(b))
	}
	return "[" + strings.Join(out, ",") + "]"
}

// An answer whose end is the connection's end may be cut off in the middle of
// a secret without an error.
func TestUpstreamClosesWithoutAnEnd(t *testing.T) {
	value := random(33, 24)
	r := newRig(t, nil, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "so far so good, "+value[:12])) // and no finish_reason, no [DONE]
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	if strings.Contains(got, value[:4]) || joined(t, got)["error"] != "upstream-failed" {
		t.Error("the beginning of a secret was released at an end that is none")
	}
	// One that says that it has finished needs no [DONE].
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "all of it"), finish(0, "stop"))
	}
	_, got = r.post(t, "/v1/chat/completions", ask)
	if out := joined(t, got); out["error"] != "" || out["0 content"] != "all of it" {
		t.Errorf("finished stream: %v", out)
	}
}

func TestEncodings(t *testing.T) {
	value := random(34, 24)
	r := newRig(t, func(_ *mediator.Config, g *Config) { g.MaxBody = 1 << 16 }, value)
	squeeze := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, s)
		_ = z.Close()
		return b.String()
	}
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("Accept-Encoding %q", req.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Type", "application/json")
		enc := req.Header.Get("X-Enc")
		w.Header().Set("Content-Encoding", enc)
		_, _ = io.WriteString(w, squeeze(`{"choices":[{"index":0,"message":{"content":"`+value+`"}}]}`))
	}
	body := squeeze(`{"messages":[{"role":"user","content":"` + value + `"}]}`)
	status, got := r.post(t, "/v1/chat/completions", body, "Content-Encoding", "gzip", "X-Enc", "gzip")
	if status != 200 || strings.Contains(got, value) || !strings.Contains(got, "REDACTED") || strings.Contains(r.up.received(), value) || !strings.Contains(r.up.received(), "margay-api-key-") {
		t.Errorf("gzip both ways: status %d", status)
	}
	if status, _ = r.post(t, "/v1/chat/completions", ask, "X-Enc", "br"); status != http.StatusBadGateway {
		t.Errorf("an encoding that can't be looked at: status %d", status)
	}
	if status, _ = r.post(t, "/v1/chat/completions", squeeze(`{"a":"`+strings.Repeat("x", 1<<17)+`"}`), "Content-Encoding", "gzip"); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a bomb: status %d", status)
	}
	if status, _ = r.post(t, "/v1/chat/completions", ask, "Content-Encoding", "br"); status != http.StatusUnsupportedMediaType {
		t.Errorf("br: status %d", status)
	}
}

// The caller's credentials go to the upstream that was configured, and a
// redirect does not carry them off.
func TestRedirectIsNotFollowed(t *testing.T) {
	called := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer other.Close()
	r := newRig(t, nil)
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer caller-key" {
			t.Error("the caller's credential did not reach the upstream")
		}
		http.Redirect(w, req, other.URL, http.StatusTemporaryRedirect)
	}
	if status, _ := r.post(t, "/v1/chat/completions", ask); status != http.StatusBadGateway || called {
		t.Errorf("status %d, followed %v", status, called)
	}
}

// An upgraded connection could not be looked at.
func TestNoUpgrade(t *testing.T) {
	r := newRig(t, nil)
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Upgrade") != "" {
			t.Error("the wish for an upgrade reached the upstream")
		}
		stream(w, finish(0, "stop"), "[DONE]")
	}
	r.post(t, "/v1/chat/completions", ask, "Connection", "Upgrade", "Upgrade", "websocket")
}

// Random clean texts pass byte for byte, however the upstream's bytes are cut.
func TestCleanStreamsUnderRandomCuts(t *testing.T) {
	r := newRig(t, nil, random(35, 20))
	words := strings.Fields("It was the best of times — naïve ☕ \"quoted\" <tag> a_b c-d 12 (see [note] below) `code` x=1; y := 2\tand\n so on 日本語 🙂 return nil, err func main() { } https://example.org/a")
	eols := []string{"\n", "\r\n"}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		choices := 1 + int(seed%2)*2
		eol := eols[rng.IntN(2)]
		var b strings.Builder
		put := func(data string) { b.WriteString("data: " + data + eol + eol) }
		for range 5 + rng.IntN(40) {
			c := rng.IntN(choices)
			switch rng.IntN(8) {
			case 0:
				b.WriteString(": keep-alive" + eol + eol)
			case 1:
				put(delta(c, "reasoning_content", words[rng.IntN(len(words))]+" "))
			default:
				put(delta(c, "content", words[rng.IntN(len(words))]+" "))
			}
		}
		for c := range choices {
			put(callDelta(c, 0, "f", `{"a":`))
			put(callDelta(c, 0, "", `[1,"two"]}`))
			put(finish(c, "tool_calls"))
		}
		put("[DONE]")
		want := b.String()
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for rest := want; rest != ""; {
				n := min(len(rest), 1+rng.IntN(200))
				_, _ = io.WriteString(w, rest[:n])
				w.(http.Flusher).Flush()
				rest = rest[n:]
			}
		}
		_, got := r.post(t, "/v1/chat/completions", ask)
		if choices == 1 && got != want {
			t.Fatalf("seed %d: the stream changed", seed)
		}
		// Choices do not wait for each other; each has its events in order.
		for c := range choices {
			if eventsOf(got, c) != eventsOf(want, c) {
				t.Fatalf("seed %d: choice %d changed", seed, c)
			}
		}
	}
}

// eventsOf returns the events of one choice.
func eventsOf(s string, choice int) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if strings.Contains(line, fmt.Sprintf(`"choices":[{"index":%d,`, choice)) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestUnreachableUpstream(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	u, err := url.Parse(gone.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	r := newRig(t, func(_ *mediator.Config, g *Config) { g.Upstream = u })
	status, body := r.post(t, "/v1/chat/completions?note=private", ask)
	if status != http.StatusBadGateway || !strings.Contains(body, "can't be reached") || strings.Contains(body+r.log.String(), "private") {
		t.Errorf("status %d", status)
	}
}

// TestNothingBesidesTheText: logprobs that say something else than the text,
// and keys, carry no secret to the client.
func TestNothingBesidesTheText(t *testing.T) {
	value := random(77, 24)
	r := newRig(t, nil, value)
	for name, event := range map[string]string{
		"logprobs": `{"choices":[{"index":0,"delta":{"content":"ab"},"logprobs":{"content":[{"token":"` + value + `"}]},"finish_reason":null}]}`,
		"key":      `{"choices":[{"index":0,"delta":{"content":"ab","` + value + `":1},"finish_reason":null}]}`,
	} {
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
			stream(w, delta(0, "content", "so "), event, finish(0, "stop"), "[DONE]")
		}
		if _, got := r.post(t, "/v1/chat/completions", ask); strings.Contains(got, value) {
			t.Errorf("%s: the secret came out", name)
		}
	}
}
