package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

// random makes a value that no rule knows.
func random(seed uint64, n int) string {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r := rand.New(rand.NewPCG(seed, 11))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

// upstream is a scripted model API: it answers with what the test says and
// keeps what it received.
type upstream struct {
	*httptest.Server
	mu     sync.Mutex
	got    bytes.Buffer
	answer func(w http.ResponseWriter, r *http.Request)
}

func newUpstream(t testing.TB) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.got.Write(body)
		u.got.WriteString(r.URL.RawQuery)
		for _, v := range r.Header {
			u.got.WriteString(strings.Join(v, ","))
		}
		u.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		u.answer(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

func (u *upstream) received() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.got.String()
}

// stream writes events, flushing each.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, "data: "+e+"\n\n")
		w.(http.Flusher).Flush()
	}
}

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

func delta(choice int, field, text string) string {
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":%d,"delta":{%q:%s},"finish_reason":null}]}`, choice, field, quote(text))
}

func callDelta(choice, item int, name, args string) string {
	head := ""
	if name != "" {
		head = fmt.Sprintf(`"id":"call_%d","type":"function",`, item)
		name = fmt.Sprintf(`"name":%q,`, name)
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":%d,"delta":{"tool_calls":[{"index":%d,%s"function":{%s"arguments":%s}}]},"finish_reason":null}]}`,
		choice, item, head, name, quote(args))
}

func finish(choice int, reason string) string {
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":%d,"delta":{},"finish_reason":%q}]}`, choice, reason)
}

type rig struct {
	up    *upstream
	url   string
	srv   *httptest.Server
	store *memory.Store
	log   *bytes.Buffer
}

type failing struct {
	*memory.Store
	err error
}

func (f *failing) AppendDecisions(context.Context, []audit.Entry) error { return f.err }

// records are those of registered secrets.
func records(t testing.TB, values ...string) []secret.Record {
	t.Helper()
	var out []secret.Record
	for i, v := range values {
		rec, _, err := match.Prepare(&keys, fmt.Sprintf("%026d", i), fmt.Sprintf("SECRET_%d", i), secret.KindAPIKey, secret.SourceRegistered, "test", []byte(v), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func newRig(t testing.TB, change func(*mediator.Config, *Config), registered ...string) *rig {
	t.Helper()
	r := &rig{up: newUpstream(t), store: memory.New(), log: &bytes.Buffer{}}
	set, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	mc := mediator.Config{Config: session.Config{Rules: set, Keys: keys, Store: r.store, Ephemeral: records(t, registered...)}}
	base, err := url.Parse(r.up.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	gc := Config{Upstream: base, Log: slog.New(slog.NewTextHandler(r.log, nil))}
	if change != nil {
		change(&mc, &gc)
	}
	e, err := mediator.New(mc)
	if err != nil {
		t.Fatal(err)
	}
	gc.Engine = e
	gc.Ready = e.Ready
	gc.Mask = e.Masker
	g, err := New(gc)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(g)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		srv.Close()
		g.Close()
	})
	r.url, r.srv = srv.URL, srv
	return r
}

func (r *rig) post(t testing.TB, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer caller-key")
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
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

const ask = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}`

// joined joins a stream's texts by choice and field.
func joined(t testing.TB, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, ev := range strings.Split(text, "\n\n") {
		data, ok := strings.CutPrefix(ev, "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var c struct {
			Choices []struct {
				Index  int
				Delta  map[string]any
				Finish *string `json:"finish_reason"`
			}
			Error *struct{ Code string }
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("event is no JSON: %v", err)
		}
		if c.Error != nil {
			out["error"] = c.Error.Code
		}
		for _, ch := range c.Choices {
			for f, v := range ch.Delta {
				switch v := v.(type) {
				case string:
					out[fmt.Sprintf("%d %s", ch.Index, f)] += v
				case []any:
					for _, call := range v {
						m := call.(map[string]any)
						fn := m["function"].(map[string]any)
						for _, k := range []string{"name", "arguments"} {
							if s, ok := fn[k].(string); ok {
								out[fmt.Sprintf("%d call %v %s", ch.Index, m["index"], k)] += s
							}
						}
					}
				}
			}
			if ch.Finish != nil {
				out[fmt.Sprintf("%d finish", ch.Index)] = *ch.Finish
			}
		}
	}
	return out
}

func TestCleanStreamIsIdentical(t *testing.T) {
	r := newRig(t, nil, random(1, 20))
	events := []string{
		`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
	}
	for _, w := range strings.SplitAfter("It was the best of times, it was the worst of times; naïve café ☕ — see https://example.org/a?b=c.", " ") {
		events = append(events, delta(0, "content", w), `{ "id":"c1", "choices":[{"index":0,"delta":{"reasoning_content":"hm "},"logprobs":null,"x_new":{"y":[1,2.50]}}] }`)
	}
	events = append(events, callDelta(0, 0, "get_weather", ""), callDelta(0, 0, "", `{"city":`), callDelta(0, 0, "", `"Berlin"}`), callDelta(0, 1, "get_time", "{}"),
		finish(0, "tool_calls"), `{"id":"c1","choices":[],"usage":{"total_tokens":9}}`, "[DONE]")
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "")
		stream(w, events...)
	}
	want := "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
	if _, got := r.post(t, "/v1/chat/completions", ask); got != want {
		t.Errorf("stream changed:\n%s", got)
	}
}

func TestSecretsNeverReachTheClient(t *testing.T) {
	registered := random(2, 24)
	unknown := "gh" + "p_" + random(3, 36)
	r := newRig(t, nil, registered)
	for _, value := range []string{registered, unknown} {
		for _, field := range []string{"content", "reasoning_content", "refusal", "reasoning_details_text"} {
			for cut := 0; cut <= len(value); cut += 3 {
				r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
					stream(w, delta(0, field, "it is "+value[:cut]), delta(1, field, "other "), delta(0, field, value[cut:]+", yes"), delta(1, field, value+"."),
						finish(0, "stop"), finish(1, "stop"), "[DONE]")
				}
				_, got := r.post(t, "/v1/chat/completions", ask)
				if n := longest(got, value); n > 3 {
					t.Fatalf("%s cut at %d: %d characters in a row came out", field, cut, n)
				}
				out := joined(t, got)
				if !strings.HasPrefix(out["0 "+field], "it is [REDACTED:") || !strings.HasSuffix(out["0 "+field], "], yes") || !strings.HasPrefix(out["1 "+field], "other [REDACTED:") {
					t.Fatalf("%s cut at %d: stream is wrong: %v", field, cut, out)
				}
			}
		}
	}
}

// longest returns how many characters of value stand in a row in s, at most 8.
func longest(s, value string) int {
	for n := 8; n > 0; n-- {
		for i := 0; i+n <= len(value); i++ {
			if strings.Contains(s, value[i:i+n]) {
				return n
			}
		}
	}
	return 0
}

func TestToolCalls(t *testing.T) {
	value := random(4, 20)
	r := newRig(t, nil, value)
	args := `{"cmd":"echo ` + value + `","n":[1]}`
	for cut := 0; cut <= len(args); cut += 5 {
		r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
			stream(w, callDelta(0, 0, "run", args[:cut]), callDelta(0, 0, "", args[cut:]), finish(0, "tool_calls"), "[DONE]")
		}
		_, got := r.post(t, "/v1/chat/completions", ask)
		out := joined(t, got)
		if a := out["0 call 0 arguments"]; a != `{"cmd":"echo [REDACTED:api-key]","n":[1]}` {
			t.Fatalf("cut at %d: arguments are %d bytes: %v", cut, len(a), json.Valid([]byte(a)))
		}
	}
	// A pseudonym in a call: the call is refused, the one behind it moves up.
	var name string
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "ok"), finish(0, "stop"), "[DONE]")
	}
	r.post(t, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"use `+value+` now"}]}`)
	received := r.up.received()
	if i := strings.Index(received, "margay-api-key-"); i >= 0 {
		name = received[i : i+len("margay-api-key-")+14]
	} else {
		t.Fatal("no pseudonym reached the upstream")
	}
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, callDelta(0, 0, "write", `{"text":"`+name+`"}`), callDelta(0, 1, "look", "{}"), finish(0, "tool_calls"), "[DONE]")
	}
	_, got := r.post(t, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"use `+value+` now"},{"role":"assistant","content":"ok"},{"role":"user","content":"go"}]}`)
	out := joined(t, got)
	if !strings.Contains(out["0 content"], "the call of write was not made") || out["0 call 0 name"] != "look" || out["0 finish"] != "tool_calls" {
		t.Errorf("refused call: %v", out)
	}
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, callDelta(0, 0, "write", `{"text":"`+name+`"}`), finish(0, "tool_calls"), "[DONE]")
	}
	_, got = r.post(t, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"use `+value+` now"},{"role":"assistant","content":"ok"},{"role":"user","content":"go"}]}`)
	if out := joined(t, got); out["0 finish"] != "stop" || out["0 call 0 name"] != "" {
		t.Errorf("only call refused: %v", out)
	}
}

func TestPromptsArePseudonymous(t *testing.T) {
	registered, unknown := random(5, 24), "gh"+"p_"+random(6, 36)
	password := random(7, 9) + "!4"
	r := newRig(t, nil, registered)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "ok"), finish(0, "stop"), "[DONE]")
	}
	first := `{"role":"user","content":"` + registered + ` and ` + unknown + `"}`
	second := `{"role":"tool","tool_call_id":"t1","content":"DB_PASSWORD=` + password + `\nother line"}`
	third := `{"role":"user","content":[{"type":"text","text":"again ` + registered + ` ` + password + `"}]}`
	var bodies []string
	msgs := ""
	for _, m := range []string{first, second, third} {
		if msgs != "" {
			msgs += `,{"role":"assistant","content":"ok"},`
		}
		msgs += m
		before := len(r.up.received())
		if code, _ := r.post(t, "/v1/chat/completions", `{"model":"m","stream":true,"new_field":{"a":"`+registered+`"},"messages":[`+msgs+`]}`); code != 200 {
			t.Fatalf("status %d", code)
		}
		bodies = append(bodies, r.up.received()[before:])
	}
	all := strings.Join(bodies, "")
	for i, v := range []string{registered, unknown, password} {
		if strings.Contains(all, v) {
			t.Errorf("secret %d reached the upstream", i)
		}
	}
	// The same history gives the same bytes in every turn.
	start := strings.Index(bodies[0], `{"role":"user"`)
	end := strings.Index(bodies[0], `]}`)
	if history := bodies[0][start:end]; !strings.Contains(bodies[1], history) || !strings.Contains(bodies[2], history) {
		t.Error("the first message changed between turns")
	}
	if strings.Contains(r.log.String(), registered) {
		t.Error("secret in the log")
	}
}

func TestWholeAnswerEqualsStream(t *testing.T) {
	value := random(8, 24)
	r := newRig(t, nil, value)
	say := "first " + value + " then https://x.example/?q=" + value + " end"
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.Header.Get("X-Mode"), "stream") {
			stream(w, delta(0, "content", say[:11]), delta(0, "content", say[11:]), finish(0, "stop"), "[DONE]")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":%s,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":%s}}]},"logprobs":{"content":[{"token":"a"}]},"finish_reason":"stop"}]}`, quote(say), quote(`{"k":"`+value+`"}`))
	}
	_, streamed := r.post(t, "/v1/chat/completions", ask, "X-Mode", "stream")
	_, whole := r.post(t, "/v1/chat/completions", ask)
	var m struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
			}
			Logprobs any
		}
	}
	if err := json.Unmarshal([]byte(whole), &m); err != nil {
		t.Fatal(err)
	}
	if got := joined(t, streamed)["0 content"]; got != m.Choices[0].Message.Content || strings.Contains(got, value) {
		t.Errorf("streamed and whole answers differ, or leak: %d and %d bytes", len(got), len(m.Choices[0].Message.Content))
	}
	if a := m.Choices[0].Message.ToolCalls[0].Function.Arguments; a != `{"k":"[REDACTED:api-key]"}` {
		t.Errorf("arguments of %d bytes", len(a))
	}
	if m.Choices[0].Logprobs != nil {
		t.Error("logprobs repeat the text and were kept")
	}
}

func TestRefusals(t *testing.T) {
	value := random(9, 24)
	r := newRig(t, nil, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) { t.Error("reached the upstream") }
	for name, c := range map[string]struct {
		path, body, code string
		status           int
		header           []string
	}{
		"duplicate key":   {"/v1/chat/completions", `{"a":1,"a":2}`, "duplicate-key", 400, nil},
		"case variant":    {"/v1/chat/completions", `{"model":1,"Model":2}`, "case-variant-key", 400, nil},
		"bad utf-8":       {"/v1/chat/completions", "{\"a\":\"\xff\"}", "invalid-utf8", 400, nil},
		"lone surrogate":  {"/v1/chat/completions", `{"a":"\ud800"}`, "invalid-utf8", 400, nil},
		"not json":        {"/v1/chat/completions", `{`, "syntax", 400, nil},
		"unknown path":    {"/v1/audio/speech", `{}`, "not-covered", 404, nil},
		"outside the api": {"/admin", `{}`, "not-found", 404, nil},
		"form":            {"/v1/chat/completions", `a=b`, "content-type", 415, []string{"Content-Type", "text/plain"}},
		"brotli":          {"/v1/chat/completions", `{}`, "content-encoding", 415, []string{"Content-Encoding", "br"}},
		"not gzip":        {"/v1/chat/completions", `{}`, "content-encoding", 400, []string{"Content-Encoding", "gzip"}},
		"web page":        {"/v1/chat/completions", `{}`, "foreign-origin", 403, []string{"Origin", "https://evil.example"}},
		"rebound name":    {"/v1/chat/completions", `{}`, "foreign-host", 403, []string{"Host", "evil.example"}},
		"trajectory":      {"/v1/chat/completions", `{}`, "trajectory", 400, []string{"Margay-Trajectory", "x"}},
		"secret in key":   {"/v1/chat/completions", `{"metadata":{"` + value + `":1}}`, "denied", 403, nil},
		"secret in query": {"/v1/chat/completions?k=" + value, `{}`, "denied", 403, nil},
		"secret header":   {"/v1/chat/completions", `{}`, "denied", 403, []string{"X-Note", value}},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := r.post(t, c.path, c.body, c.header...)
			if status != c.status || !strings.Contains(body, `"code":"`+c.code+`"`) {
				t.Errorf("status %d, want %d, code %q: %s", status, c.status, c.code, body)
			}
			if strings.Contains(body, value) {
				t.Error("the refusal repeats the secret")
			}
		})
	}
	big := newRig(t, func(_ *mediator.Config, g *Config) { g.MaxBody = 100 })
	if status, _ := big.post(t, "/v1/chat/completions", `{"a":"`+strings.Repeat("x", 200)+`"}`); status != 413 {
		t.Errorf("oversized body: status %d", status)
	}
}

func TestUpstreamDiesInMidStream(t *testing.T) {
	value := random(10, 24)
	r := newRig(t, nil, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "so far so good, "+value[:12]))
		panic(http.ErrAbortHandler)
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	if strings.Contains(got, value[:4]) {
		t.Error("the beginning of a secret was released when the upstream died")
	}
	if joined(t, got)["error"] != "upstream-failed" {
		t.Errorf("no error event in %d bytes", len(got))
	}
}

func TestClientGoesAway(t *testing.T) {
	r := newRig(t, nil)
	gone := make(chan struct{})
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		stream(w, delta(0, "content", "one two three four five "))
		<-req.Context().Done()
		close(gone)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(ask))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	resp.Body.Close()
	<-gone // the upstream learns of it
}

func TestStoreFails(t *testing.T) {
	value := random(12, 24)
	bad := &failing{Store: memory.New(), err: errors.New("disk full")}
	r := newRig(t, func(m *mediator.Config, _ *Config) { m.Store = bad }, value)
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "it is "+value+" indeed, and more"), finish(0, "stop"), "[DONE]")
	}
	status, body := r.post(t, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+value+`"}]}`)
	if status != 503 || strings.Contains(r.up.received(), value) || !strings.Contains(body, "disk full") {
		t.Errorf("prompt: status %d", status)
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	if strings.Contains(got, value) || joined(t, got)["error"] == "" {
		t.Error("answer: went on without a record")
	}
}

func TestHalt(t *testing.T) {
	value := random(13, 24)
	r := newRig(t, func(m *mediator.Config, _ *Config) { m.Policy.Halt = true }, value)
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		stream(w, delta(0, "content", "it is "), delta(0, "content", value+" and "), delta(0, "content", "more "))
		<-req.Context().Done()
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	out := joined(t, got)
	if out["0 finish"] != "content_filter" || strings.Contains(got, value[:6]) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("halted stream: %v", out)
	}
}

func TestSilentUpstream(t *testing.T) {
	r := newRig(t, func(_ *mediator.Config, g *Config) { g.Idle = 20 * time.Millisecond })
	release := make(chan struct{})
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		stream(w, delta(0, "content", "one two three "))
		select {
		case <-req.Context().Done():
		case <-release:
		}
	}
	_, got := r.post(t, "/v1/chat/completions", ask)
	close(release)
	if joined(t, got)["error"] != "upstream-failed" {
		t.Errorf("no error event in %d bytes", len(got))
	}
}

func TestErrorsPass(t *testing.T) {
	r := newRig(t, nil)
	want := `{"error":{"message":"Rate limit reached","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(429)
		_, _ = io.WriteString(w, want)
	}
	if status, got := r.post(t, "/v1/chat/completions", ask); status != 429 || got != want {
		t.Errorf("status %d: %s", status, got)
	}
}
