package gateway

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
)

// labelled is an answer with any label.
type labelled struct {
	status   int
	types    []string // headers, each by itself
	encoding []string
	body     []byte
}

// labelling is a gateway in front of an upstream that answers with what is set,
// and never lets wipe be called.
type labelling struct {
	*rig
	mu  sync.Mutex
	now labelled
}

func newLabelling(t *testing.T, secret string) *labelling {
	t.Helper()
	l := &labelling{}
	store := memory.New()
	l.rig = newRig(t, func(mc *mediator.Config, _ *Config) {
		mc.Store = store
		mc.Taint = &mediator.Taint{Policy: mailbox(t), Key: taint.Key{1}, Foreign: func(string) bool { return false }}
	}, secret)
	l.store = store
	l.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		a := l.now
		l.mu.Unlock()
		w.Header()["Content-Type"] = a.types
		for _, e := range a.encoding {
			w.Header().Add("Content-Encoding", e)
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
	}
	return l
}

// ask asks, and returns the answer as a client reads it who undoes any encoding.
func (l *labelling) ask(t interface{ Fatal(...any) }, method, path, body string, a labelled) (*http.Response, string) {
	l.mu.Lock()
	l.now = a
	l.mu.Unlock()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, l.url+path, in)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if z, err := gzip.NewReader(bytes.NewReader(out)); err == nil {
		if plain, err := io.ReadAll(z); err == nil {
			out = plain
		}
	}
	return resp, string(out)
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

var (
	saidText = regexp.MustCompile(`"(?:content|text|delta|partial_json|arguments)":"((?:[^"\\]|\\.)*)"`)
	wiped    = regexp.MustCompile(`"name": ?"wipe"`)
)

// said joins all texts of an answer, whatever it is: what a client has that
// puts deltas together.
func said(body string) string {
	var b strings.Builder
	for _, m := range saidText.FindAllStringSubmatch(body, -1) {
		b.WriteString(m[1])
	}
	return b.String()
}

// bodiesOf are answers of each API that hold a secret in two deltas or in one
// text, and a call of wipe, streamed and whole.
func bodiesOf(a, b string) map[string][]string {
	chat := `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + a + b + `","tool_calls":[{"id":"a","type":"function","function":{"name":"wipe","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	chunks := "data: " + strings.Join([]string{delta(0, "content", "it is "+a), delta(0, "content", b+" ok"), callDelta(0, 0, "wipe", "{}"), finish(0, "tool_calls"), "[DONE]"}, "\n\ndata: ") + "\n\n"
	claude := `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + a + b + `"},{"type":"tool_use","id":"a","name":"wipe","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
	text := `{"type":"text","text":""}`
	events := strings.Replace(claudeEvents(text), "event: content_block_stop", fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":%q}}\n\nevent: content_block_stop", a, b), 1)
	resp := `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"` + a + b + `"}]},{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":"{}"}]}`
	item := `{"type":"function_call","id":"fc_1","call_id":"a","name":"wipe","arguments":"{}"}`
	pieces := fmt.Sprintf("data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"content_index\":0,\"delta\":%q}\n\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"content_index\":0,\"delta\":%q}\n\n", a, b)
	return map[string][]string{
		"chat": {chat, chunks}, "messages": {claude, events, claudeEvents(`{"type":"tool_use","id":"a","name":"wipe","input":{}}`)},
		"responses": {resp, respEvents(item), pieces + respEvents(item)},
	}
}

// odd writes a body in another way than the API does.
func odd(how int, body string) string {
	switch how {
	case 1:
		return "\n \t" + body
	case 2:
		return "\xef\xbb\xbf" + body
	case 3:
		return ": wait\n\n" + body
	case 4: // a line of JSON each
		return strings.NewReplacer("data: ", "", "\n\n", "\n").Replace(body)
	case 5:
		return "[" + body + "]"
	case 6:
		return "an error\n\n" + body
	case 7: // JSON among events
		return ": wait\n" + body + "\n\n"
	case 8:
		return "retry: 1\n" + strings.ReplaceAll(body, "data: ", "data:")
	case 9:
		return strings.ReplaceAll(body, "\n", "\r\n")
	case 10: // UTF-16
		var b strings.Builder
		b.WriteString("\xff\xfe")
		for _, r := range body {
			b.WriteString(string(r) + "\x00")
		}
		return b.String()
	}
	return body
}

// Whatever label, encoding and status an answer has, and whatever path was asked
// for: no registered secret passes, split over deltas or not, no tool call passes
// that may not, and what passes is labelled as what it is.
func TestAnswersWithAnyLabel(t *testing.T) {
	secret := random(91, 24)
	l := newLabelling(t, secret)
	bodies := bodiesOf(secret[:11], secret[11:])
	asks := []struct{ api, method, path, body string }{
		{"chat", "POST", "/v1/chat/completions", chatAsks},
		{"chat", "POST", "/v1/chat/completions", strings.Replace(chatAsks, `{`, `{"stream":true,`, 1)},
		{"chat", "POST", "/v1/embeddings", `{"model":"m","input":"hi"}`},
		{"chat", "GET", "/v1/models", ""},
		{"messages", "POST", "/v1/messages", claudeAsks},
		{"messages", "POST", "/v1/messages", strings.Replace(claudeAsks, `{`, `{"stream":true,`, 1)},
		{"messages", "POST", "/v1/messages/count_tokens", claudeAsks},
		{"responses", "POST", "/v1/responses", respAsks},
		{"responses", "POST", "/v1/responses", strings.Replace(respAsks, `{`, `{"stream":true,`, 1)},
		{"responses", "GET", "/v1/responses/resp_1", ""},
		{"responses", "POST", "/v1/responses/compact", respAsks},
	}
	types := []string{
		"", "application/json", "text/event-stream", "text/plain", "text/html; charset=utf-8", "Application/JSON", "TEXT/Event-Stream", "application/json; charset=utf-16",
		"application/x-ndjson", "application/octet-stream", "application/problem+json", "text/event-stream; charset=latin1", "application/json, text/event-stream", "image/png", "nonsense", "text/",
	}
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.SampledFrom(asks).Draw(t, "request")
		a := labelled{status: rapid.SampledFrom([]int{200, 200, 201, 400, 500}).Draw(t, "status")}
		a.types = rapid.SliceOfNDistinct(rapid.SampledFrom(types), 0, 2, rapid.ID).Draw(t, "labels")
		plain := odd(rapid.IntRange(0, 10).Draw(t, "how"), rapid.SampledFrom(bodies[q.api]).Draw(t, "body"))
		a.body = []byte(plain)
		switch a.encoding = rapid.SampledFrom([][]string{nil, nil, nil, {"gzip"}, {"GZIP"}, {"br"}, {"deflate"}, {"identity", "gzip"}, {"identity"}, {"gzip, gzip"}}).Draw(t, "encoding"); {
		case len(a.encoding) == 0, a.encoding[0] == "br", a.encoding[0] == "deflate", len(a.encoding) == 1 && a.encoding[0] == "identity":
		default:
			a.body = gzipped(a.body)
		}
		resp, out := l.ask(t, q.method, q.path, q.body, a)
		if strings.Contains(out, secret) || strings.Contains(said(strings.ReplaceAll(out, "\x00", "")), secret) {
			t.Fatalf("the secret passed: %s", strings.ReplaceAll(out, secret, "<secret>"))
		}
		if wiped.MatchString(strings.ReplaceAll(out, "\x00", "")) {
			t.Fatalf("the call passed: %s", out)
		}
		if len(resp.Header["Content-Encoding"]) > 0 && len(out) > 0 {
			t.Fatalf("encoded as %q", resp.Header["Content-Encoding"])
		}
		checkLabel(t, resp, out)
	})
}

func checkLabel(t *rapid.T, resp *http.Response, out string) {
	if strings.TrimSpace(out) == "" {
		return
	}
	if n := len(resp.Header["Content-Type"]); n != 1 {
		t.Fatalf("%d labels", n)
	}
	is := "text/"
	switch begins := strings.TrimLeft(strings.TrimPrefix(out, "\xef\xbb\xbf"), " \t\r\n"); {
	case strings.HasPrefix(begins, "{"), strings.HasPrefix(begins, "["):
		is = "application/"
	case strings.HasPrefix(begins, "data:"), strings.HasPrefix(begins, "event:"), strings.HasPrefix(begins, ":"), strings.HasPrefix(begins, "retry:"):
		is = "text/event-stream"
	}
	typ := resp.Header.Get("Content-Type")
	if strings.Contains(typ, "utf-16") || strings.Contains(typ, "latin1") || !strings.HasPrefix(typ, is) || is == "text/" && strings.HasPrefix(typ, "text/event-stream") {
		t.Fatalf("%.80q is labelled %q", out, typ)
	}
}

// What is refused for its form is in the log.
func TestRefusedFormsAreRecorded(t *testing.T) {
	l := newLabelling(t, random(92, 24))
	for code, a := range map[string]labelled{
		"content-encoding": {status: 200, types: []string{"application/json"}, encoding: []string{"br"}, body: []byte("{}")},
		"content-type":     {status: 200, types: []string{"text/plain"}, body: []byte("hello")},
		"strict-json":      {status: 200, types: []string{"text/plain"}, body: []byte(`{"a":1,"a":2}`)},
		"framing":          {status: 200, types: []string{"text/event-stream"}, body: []byte("{\"choices\":[]}\n\n")},
		"unexpected-call":  {status: 200, body: []byte(`{"choices":[{"message":{"function_call":{"name":"wipe"}}}]}`)},
	} {
		method, path, body := http.MethodPost, "/v1/chat/completions", chatAsks
		if code == "unexpected-call" {
			method, path, body = http.MethodGet, "/v1/models", ""
		}
		before, err := l.store.Decisions(t.Context(), "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		l.ask(t, method, path, body, a)
		after, err := l.store.Decisions(t.Context(), "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(after) != len(before)+1 || !strings.Contains(fmt.Sprintf("%+v", after), code) {
			t.Errorf("%s: %d decisions, before %d", code, len(after), len(before))
		}
	}
	// An error page for people goes on as one, as text.
	resp, out := l.ask(t, http.MethodPost, "/v1/chat/completions", chatAsks, labelled{status: 503, types: []string{"text/html"}, body: []byte("<h1>busy</h1>")})
	if resp.StatusCode != 503 || out != "<h1>busy</h1>" || resp.Header.Get("Content-Type") != "text/html" {
		t.Errorf("an error page: %d %q %q", resp.StatusCode, out, resp.Header.Get("Content-Type"))
	}
}
