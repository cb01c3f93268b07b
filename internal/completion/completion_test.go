package completion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// proxied are the requests that reached the proxy, which the environment of
// all tests here names.
var proxied atomic.Int64

func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		proxied.Add(1)
		fmt.Fprint(w, said("by proxy"))
	}))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		os.Setenv(name, proxy.URL)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		os.Unsetenv(name)
	}
	var logged bytes.Buffer
	log.SetOutput(&logged) // where net/http writes what it can't return
	code := m.Run()
	proxy.Close()
	if strings.Contains(logged.String(), question) || strings.Contains(logged.String(), answer) {
		fmt.Fprintln(os.Stderr, "a question or an answer was logged")
		code = 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// What no error and no log may hold.
const (
	question = "the patient can't breathe"
	answer   = "it is asthma"
)

// said is a response with a text.
func said(text string) string {
	b, _ := json.Marshal(text)
	return `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":` + string(b) + `},"finish_reason":"stop"}],"usage":{}}`
}

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return client(t, Config{BaseURL: srv.URL + "/v1/"})
}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Model, cfg.Key = "m", "k"
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c *Client) (string, error) {
	t.Helper()
	return tell(c.Text(t.Context(), Question{System: "s", User: question, MaxTokens: 7}))
}

// tell fails loudly where an error quotes.
func tell(text string, err error) (string, error) {
	if err != nil && (strings.Contains(err.Error(), "breathe") || strings.Contains(err.Error(), "asthma")) {
		return text, fmt.Errorf("QUOTES: %w", err)
	}
	return text, err
}

func TestRequest(t *testing.T) {
	var got []byte
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("asked %s %s %v", r.Method, r.URL, r.Header)
		}
		got, _ = io.ReadAll(r.Body)
		fmt.Fprint(w, said(answer))
	})
	if text, err := ask(t, c); text != answer || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	want := `{"max_tokens":7,"messages":[{"role":"system","content":"s"},{"role":"user","content":"the patient can't breathe"}],"model":"m","stream":false,"temperature":0}`
	if string(got) != want {
		t.Errorf("asked %s", got)
	}
	if _, err := c.Text(t.Context(), Question{User: "u"}); err != nil || strings.Contains(string(got), "system") {
		t.Errorf("asked %s, %v", got, err)
	}
}

// Only one choice with a message is an answer, and none is quoted.
func TestResponses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string // of the error; empty for none
	}{
		"an answer":         {200, said(answer), ""},
		"a refusal":         {200, `{"choices":[{"message":{"content":null,"refusal":"it is asthma"}}]}`, ""},
		"no choice":         {200, `{"choices":[]}`, "one choice"},
		"two choices":       {200, `{"choices":[{"message":{"content":"it is asthma"}},{"message":{"content":"it is asthma"}}]}`, "one choice"},
		"one choice of two": {200, `{"choices":[{},{"message":{"content":"it is asthma"}}]}`, "one choice"},
		"choices in a map":  {200, `{"choices":{"message":{"content":"it is asthma"}}}`, "one choice"},
		"no message":        {200, `{"choices":[{"text":"it is asthma"}]}`, "one choice"},
		"parts":             {200, `{"choices":[{"message":{"content":[{"text":"it is asthma"}]}}]}`, "one choice"},
		"no object":         {200, `["it is asthma"]`, "one choice"},
		"a key twice":       {200, `{"choices":[{"message":{"content":"it is asthma","content":"x"}}]}`, "duplicate-key"},
		"a key's variant":   {200, `{"choices":[{"message":{"content":"it is asthma","Content":"x"}}]}`, "case-variant"},
		"more behind it":    {200, said(answer) + "{}", "syntax"},
		"no UTF-8":          {200, "{\"choices\":[{\"message\":{\"content\":\"it is asthma \xff\"}}]}", "utf8"},
		"a bomb":            {200, strings.Repeat("[", 10000), "too-deep"},
		"a flood":           {200, strings.Repeat(" ", MaxAnswer) + said(answer), "too-large"},
		"prose":             {200, answer, "syntax"},
		"a failure":         {500, `{"error":"the patient can't breathe"}`, "status 500"},
		"a refusal to ask":  {401, question, "status 401"},
		"nothing":           {204, "", "status 204"},
	} {
		cl := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		text, err := ask(t, cl)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "QUOTES")) {
			t.Errorf("%s: %q, %v; want %q", name, text, err, c.want)
		}
		if err != nil && text != "" {
			t.Errorf("%s: %q with an error", name, text)
		}
	}
}

// A response that does not end is cut off at the bound, not read on.
func TestFlood(t *testing.T) {
	const most = 64 * MaxAnswer // the system's buffers take some
	sent := make(chan int, 1)
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk, n := bytes.Repeat([]byte(" "), 64<<10), 0
		for err := error(nil); err == nil && n < most; n += len(chunk) {
			_, err = w.Write(chunk)
		}
		sent <- n
	})
	if _, err := ask(t, c); err == nil || !strings.Contains(err.Error(), "too-large") {
		t.Errorf("a flood: %v", err)
	}
	if n := <-sent; n >= most {
		t.Errorf("%d bytes were taken", n)
	}
}

// What net/http quotes in its errors is not told.
func TestNotHTTP(t *testing.T) {
	for name, raw := range map[string]string{
		"a first line": answer + "\r\n\r\n",
		"a status":     "HTTP/1.1 " + answer + "\r\n\r\n",
		"a field":      "HTTP/1.1 200 OK\r\n" + answer + "\r\n\r\n",
		"a length":     "HTTP/1.1 200 OK\r\nContent-Length: " + answer + "\r\n\r\n",
		"a coding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + answer + "\r\n\r\n",
		"a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + answer + "\r\n",
		"long fields":  "HTTP/1.1 200 OK\r\nX: " + strings.Repeat(answer, 10000) + "\r\n\r\n",
		"a short body": "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + answer,
		"a reason":     "HTTP/1.1 500 " + answer + "\r\nContent-Length: 0\r\n\r\n",
		"a redirect":   "HTTP/1.1 307 " + answer + "\r\nLocation: http://127.0.0.1:1/" + strings.ReplaceAll(answer, " ", "%20") + "\r\nContent-Length: 0\r\n\r\n",
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, raw)
			conn.Close()
		})
		if _, err := ask(t, c); err == nil || strings.Contains(err.Error(), "QUOTES") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	var followed atomic.Int64
	before := proxied.Load()
	for _, status := range []int{301, 302, 303, 304, 307, 308} {
		for _, location := range []string{"/v1/elsewhere", "//127.0.0.1:1/", "https://elsewhere.example/", ""} {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/chat/completions" {
					followed.Add(1)
					return
				}
				w.Header().Set("Location", location)
				w.WriteHeader(status)
			})
			if _, err := ask(t, c); !errors.Is(err, errRedirect) {
				t.Errorf("%d to %q: %v", status, location, err)
			}
		}
	}
	if followed.Load() != 0 || proxied.Load() != before {
		t.Error("a redirect was followed")
	}
}

// A deadline cuts an answer off wherever it is: before it, in it, and where the
// caller's is later than the client's own. No wait here is longer than a
// deadline that has passed already or passes at once.
func TestDeadline(t *testing.T) {
	began := make(chan struct{}, 1)
	handler := func(head bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if head {
				_, _ = io.WriteString(w, `{"choices":[`)
				_ = http.NewResponseController(w).Flush()
			}
			began <- struct{}{}
			<-r.Context().Done() // the client has gone
		}
	}
	for _, head := range []bool{false, true} {
		c := serve(t, handler(head))
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		if _, err := tell(c.Text(ctx, Question{User: question})); !errors.Is(err, context.Canceled) {
			t.Errorf("head %v: %v", head, err)
		}
		c.cfg.Timeout = 1
		if _, err := ask(t, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("head %v: %v", head, err)
		}
	}
}

func TestJSON(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"n":[1,2]}`:         true,
		" {\"n\":[]}\n":       true,
		`{"n":[1],"n":[]}`:    false,
		`{"n":[1],"N":[]}`:    false,
		`{"n":[1],"more":1}`:  false,
		`{"n":["asthma"]}`:    false,
		`{"n":[1]} asthma`:    false,
		`{"asthma":[1]}`:      false,
		`Sure! {"n":[1]}`:     false,
		"```json\n{\"n\":[]}": false,
		``:                    false,
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if !strings.HasSuffix(string(b), `,"response_format":{"json_schema":{"name":"numbers","schema":{"type":"object"},"strict":true},"type":"json_schema"},"stream":false,"temperature":0}`) {
				t.Errorf("asked %s", b)
			}
			fmt.Fprint(w, said(text))
		})
		var v struct {
			N []int `json:"n"`
		}
		_, err := c.JSON(t.Context(), Question{User: question}, "numbers", map[string]any{"type": "object"}, &v)
		_, err = tell("", err)
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), "QUOTES") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// called is a response with a call of a tool.
func called(calls string) string {
	return `{"choices":[{"message":{"content":null,"tool_calls":` + calls + `}}],"usage":{"prompt_tokens":20,"completion_tokens":3}}`
}

func call(tool, arguments string) string {
	b, _ := json.Marshal(arguments)
	return `{"id":"1","type":"function","function":{"name":"` + tool + `","arguments":` + string(b) + `}}`
}

// An endpoint that takes no schemas is asked for a call of a tool, and else without
// either. It keeps being asked so only where it was that which it did not take.
func TestForms(t *testing.T) {
	forms := []string{"response_format", "tool_choice", "plain"}
	for _, status := range []int{400, 422, 404, 500, 501, 429, 503, 401} {
		for takes := range 4 { // the first form that it takes; 3 for none
			asked := 0
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				b, _ := io.ReadAll(r.Body)
				form := 2
				for i := range 2 {
					if strings.Contains(string(b), forms[i]) {
						form = i
					}
				}
				switch {
				case form < takes:
					http.Error(w, answer, status)
				case form == 1:
					fmt.Fprint(w, called("["+call("n", "{}")+"]"))
				default:
					fmt.Fprint(w, said(`{}`))
				}
			})
			from := func(form int) (ok bool, end, n int) { // asked from a form on
				for n = 1; ; n++ {
					switch {
					case form >= takes:
						return true, form, n
					case form == 2 || status != 400 && status != 422 && (form == 0 || status != 404 && status != 500 && status != 501):
						return false, form, n
					}
					form++
				}
			}
			ok, end, first := from(0)
			want := first
			if ok {
				want++ // it is known by then
			} else {
				want += first
			}
			for range 2 {
				_, err := c.JSON(t.Context(), Question{}, "n", nil, &struct{}{})
				if _, err = tell("", err); (err == nil) != ok {
					t.Errorf("%d, %d: %v", status, takes, err)
				}
			}
			if known := c.form.Load(); asked != want || ok && int(known) != end || !ok && known != 0 {
				t.Errorf("%d, %d: asked %d times, not %d; form %d", status, takes, asked, want, known)
			}
		}
	}
}

// Of a forced call the arguments are the answer, where it is the one that was
// asked for, and nothing else.
func TestForced(t *testing.T) {
	for _, c := range []struct {
		body string
		ok   bool
	}{
		{called("[" + call("n", `{"n":[1]}`) + "]"), true},
		{said(`{"n":[1]}`), true}, // the endpoint does without tools
		{called("[" + call("n", `{"n":[1],"n":[2]}`) + "]"), false},
		{called("[" + call("n", `it is asthma`) + "]"), false},
		{called("[" + call("n", ``) + "]"), false},
		{called("[" + call("asthma", `{"n":[1]}`) + "]"), false},
		{called("[" + call("n", `{"n":[1]}`) + "," + call("n", `{"n":[1]}`) + "]"), false},
		{called(`[{"function":{"name":"n","arguments":{"n":[1]}}}]`), false},
		{called(`"asthma"`), false},
		{called(`[]`), false},
		{called(`null`), false},
	} {
		cl := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if !strings.Contains(string(b), `"tool_choice":{"function":{"name":"n"},"type":"function"},"tools":[{"function":{"name":"n","parameters":{"type":"object"}},"type":"function"}]`) {
				t.Errorf("asked %s", b)
			}
			_, _ = io.WriteString(w, c.body)
		})
		cl.form.Store(formTool)
		var v struct {
			N []int `json:"n"`
		}
		_, err := cl.JSON(t.Context(), Question{User: question}, "n", map[string]any{"type": "object"}, &v)
		if _, err = tell("", err); (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "QUOTES") || c.ok && len(v.N) != 1 {
			t.Errorf("%s: %+v, %v", c.body, v, err)
		}
	}
}

// What an endpoint says of tokens is counted if it can be, and fails nothing.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]Usage{
		`{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23}`: {20, 3},
		`{"prompt_tokens":20}`:                       {20, 0},
		`{"prompt_tokens":-1,"completion_tokens":3}`: {},
		`{"prompt_tokens":"20"}`:                     {},
		`{"prompt_tokens":1.5}`:                      {},
		`{"prompt_tokens":1e99}`:                     {},
		`null`:                                       {},
		`["asthma"]`:                                 {},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"choices":[{"message":{"content":"{}"}}],"usage":`+usage+`}`)
		})
		if got, err := c.JSON(t.Context(), Question{}, "n", nil, &struct{}{}); got != want || err != nil {
			t.Errorf("%s: %v, %v", usage, got, err)
		}
	}
}

// The time limit is that of all forms together.
func TestFormsDeadline(t *testing.T) {
	asked := make(chan struct{}, 2)
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		b, _ := io.ReadAll(r.Body)
		if strings.Contains(string(b), "response_format") {
			http.Error(w, "", http.StatusBadRequest)
			return
		}
		<-r.Context().Done()
	})
	c.cfg.Timeout = 200 * time.Millisecond
	start := time.Now()
	if _, err := c.JSON(t.Context(), Question{}, "n", nil, &struct{}{}); !errors.Is(err, context.DeadlineExceeded) || len(asked) != 2 || time.Since(start) > 10*time.Second {
		t.Errorf("asked %d times: %v", len(asked), err)
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{
		{BaseURL: "http://127.0.0.1:1/v1"},
		{Model: "m"},
		{Model: "m", BaseURL: "127.0.0.1:1/v1"},
		{Model: "m", BaseURL: "file:///v1"},
		{Model: "m", BaseURL: "http:///v1"},
		{Model: "m", BaseURL: "http://:80/v1"},
		{Model: "m", BaseURL: "http://u:breathe@127.0.0.1:1/v1"},
		{Model: "m", BaseURL: "http://u:breathe@127.0.0.1:x/v1"},
		{Model: "m", BaseURL: "http://127.0.0.1:1/v1", Key: "breathe\n"},
	} {
		_, err := New(cfg)
		if _, err = tell("", err); err == nil || strings.Contains(err.Error(), "QUOTES") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	c := client(t, Config{BaseURL: "https://h.example/a/?api-version=1", Remote: true})
	if got := c.url.String(); got != "https://h.example/a/chat/completions?api-version=1" {
		t.Error(got)
	}
}

// Whatever a response is, it is a text or an error; and what is decoded has been
// read strictly.
func FuzzContent(f *testing.F) {
	f.Add([]byte(said(answer)))
	f.Add([]byte(`{"choices":[{"message":{"content":null}}]}`))
	f.Add([]byte(`{"n":[1]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r reply
		if err := r.read(raw); err == nil {
			text := r.text
			var v struct {
				Choices []struct {
					Message struct {
						Content *string `json:"content"`
					} `json:"message"`
				} `json:"choices"`
			}
			if err := json.Unmarshal(raw, &v); err != nil || len(v.Choices) != 1 || text != "" && (v.Choices[0].Message.Content == nil || *v.Choices[0].Message.Content != text) {
				t.Errorf("%q: %q, but %+v, %v", raw, text, v, err)
			}
		}
		var v struct {
			N []int `json:"n"`
		}
		if decode(raw, &v) == nil && !json.Valid(raw) {
			t.Errorf("%q is decoded", raw)
		}
	})
}
