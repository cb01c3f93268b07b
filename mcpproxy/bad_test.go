package mcpproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/store/memory"
)

// ends are the two sides of a proxy over stdio, in a test's hands.
type ends struct {
	t                *testing.T
	client, server   io.Writer     // what they send
	atClient         <-chan string // what they get
	atServer         <-chan string
	clientW, serverW io.Closer
	done             sync.WaitGroup
}

func newEnds(t *testing.T, p *Proxy) *ends { return newEndsThat(t, p, true) }

// newEndsThat has a server that reads, or does not.
func newEndsThat(t *testing.T, p *Proxy, reads bool) *ends {
	t.Helper()
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	e := &ends{t: t, client: clientOut, server: serverOut, clientW: clientOut, serverW: serverOut}
	e.atClient = e.lines(clientIn)
	if reads {
		e.atServer = e.lines(serverIn)
	}
	e.done.Go(func() {
		if err := p.Stdio(context.Background(), Pipes{FromClient: fromClient, ToClient: toClient, FromServer: fromServer, ToServer: toServer}); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		_ = toClient.Close()
	})
	t.Cleanup(func() {
		_, _ = serverOut.Close(), clientOut.Close()
		_, _ = clientIn.Close(), serverIn.Close()
		e.done.Wait()
	})
	return e
}

// lines reads what comes, so that nobody waits for a test.
func (e *ends) lines(r io.Reader) <-chan string {
	out := make(chan string, 1000)
	e.done.Go(func() {
		defer close(out)
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			out <- line
		}
	})
	return out
}

func (e *ends) say(w io.Writer, line string) {
	e.t.Helper()
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

func (e *ends) hear(r <-chan string, want ...string) string {
	e.t.Helper()
	line, ok := <-r
	if !ok {
		e.t.Fatal("nothing came")
	}
	for _, w := range want {
		if !strings.Contains(line, w) {
			e.t.Errorf("got %s, want %s in it", line, w)
		}
	}
	return line
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// What a client sends that is no message is answered in JSON-RPC's own form,
// is in the log, and never reaches the server.
func TestBadFromClient(t *testing.T) {
	for _, c := range []struct{ send, answer, code string }{
		{`{"jsonrpc":"2.0","id":1,"method":`, `"id":1,"error":{"code":-32700`, "syntax"},
		{`not json`, `"id":null,"error":{"code":-32700`, "syntax"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `"id":2,"error":{"code":-32600`, "duplicate-key"},
		{`{"jsonrpc":"2.0","id":3,"method":"a","params":{"x":1,"X":2}}`, `"id":3,"error":{"code":-32600`, "case-variant-key"},
		{`[{"jsonrpc":"2.0","id":4,"method":"ping"}]`, `"id":4,"error":{"code":-32600`, "batch"},
		{`{"id":5,"method":"ping"}`, `"id":5,"error":{"code":-32600`, "envelope"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":null,"error":{"code":-32600`, "id"},
		{"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"a\xff\"}", `"id":6,"error":{"code":-32700`, "invalid-utf8"},
		{`{"jsonrpc":"2.0","id":7,"method":"a","params":{"x":"` + strings.Repeat("y", 5000) + `"}}`, `"id":7,"error":{"code":-32600`, "too-large"},
	} {
		p, store := newProxy(t, func(c *Config, _ *mediator.Config) { c.MaxMessage = 4096 })
		e := newEnds(t, p)
		e.say(e.client, c.send)
		e.hear(e.atClient, c.answer, `"reason":"`+c.code+`"`, `"decision":"`)
		e.say(e.client, ping)
		if got := e.hear(e.atServer); got != ping+"\n" {
			t.Errorf("the server got %s", got)
		}
		if got := decisions(t, store); !slices.Equal(got, []string{c.code}) {
			t.Errorf("%s: the log has %v", c.code, got)
		}
	}
}

// A server's bad messages do not reach the client; whoever waits for one of
// them is told.
func TestBadFromServer(t *testing.T) {
	for _, c := range []struct{ send, answer, code string }{
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[],"content":[]}}`, `"id":1,"error":{"code":-32010`, "duplicate-key"},
		{`{"jsonrpc":"2.0","id":1,"result":{}`, `"id":1,"error":{"code":-32010`, "syntax"},
		{`[{"jsonrpc":"2.0","id":1,"result":{}}]`, `"id":1,"error":{"code":-32010`, "batch"},
		{`{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("y", 5000) + `"}}`, `"id":1,"error":{"code":-32010`, "too-large"},
		{`{"result":{"x":"` + strings.Repeat("y", 5000) + `"},"jsonrpc":"2.0","id":1}`, `"id":1,"error":{"code":-32010`, "too-large"},
		{`Server running on stdio`, "", "syntax"},
		{`{"jsonrpc":"2.0","id":99,"result":{}}`, "", "unknown-id"},
	} {
		p, store := newProxy(t, func(c *Config, _ *mediator.Config) { c.MaxMessage = 4096 })
		e := newEnds(t, p)
		e.say(e.client, ping)
		e.hear(e.atServer)
		e.say(e.server, c.send)
		if c.answer != "" {
			e.hear(e.atClient, c.answer)
		} else {
			e.say(e.server, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			e.hear(e.atClient, `"id":1,"result":{}`)
		}
		if got := decisions(t, store); !slices.Equal(got, []string{c.code}) {
			t.Errorf("%s: the log has %v", c.code, got)
		}
	}
}

// A request of the server's that can't be read is answered to the server.
func TestBadRequestFromServer(t *testing.T) {
	p, _ := newProxy(t, nil)
	e := newEnds(t, p)
	e.say(e.server, `{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{"a":1,"a":2}}`)
	e.hear(e.atServer, `"id":8,"error":{"code":-32600`, "duplicate-key")
}

// An id that is in use is refused without an answer for it; the first request
// gets its own. Afterwards the id is free.
func TestIDInUse(t *testing.T) {
	p, store := newProxy(t, nil)
	e := newEnds(t, p)
	e.say(e.client, ping)
	e.hear(e.atServer)
	e.say(e.client, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	e.hear(e.atClient, `"id":null,"error":{"code":-32600`, "id-in-use")
	e.say(e.server, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	e.hear(e.atClient, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	e.say(e.client, ping)
	e.hear(e.atServer, ping)
	e.say(e.client, `{"jsonrpc":"2.0","id":"1","method":"ping"}`) // another id
	e.hear(e.atServer, `"id":"1"`)
	// The other side's ids are its own.
	e.say(e.server, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	e.hear(e.atClient, "roots/list")
	if got := decisions(t, store); !slices.Equal(got, []string{"id-in-use"}) {
		t.Errorf("the log has %v", got)
	}
}

// The second answer to a request is dropped and reported.
func TestAnsweredTwice(t *testing.T) {
	p, store := newProxy(t, nil)
	e := newEnds(t, p)
	e.say(e.client, ping)
	e.hear(e.atServer)
	e.say(e.server, `{"jsonrpc":"2.0","id":1,"result":{"n":1}}`)
	e.say(e.server, `{"jsonrpc":"2.0","id":1,"result":{"n":2}}`)
	e.say(e.server, `{"jsonrpc":"2.0","method":"notifications/x"}`)
	e.hear(e.atClient, `"n":1`)
	e.hear(e.atClient, "notifications/x")
	if got := decisions(t, store); !slices.Equal(got, []string{"answered-twice"}) {
		t.Errorf("the log has %v", got)
	}
}

// A server that dies leaves nobody waiting.
func TestServerDies(t *testing.T) {
	p, store := newProxy(t, nil)
	e := newEnds(t, p)
	e.say(e.client, ping)
	e.say(e.client, `{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"t"}}`)
	e.hear(e.atServer)
	e.hear(e.atServer)
	e.say(e.server, `{"jsonrpc":"2.0","id":"b","result":{"content":[]}}`)
	e.hear(e.atClient, `"id":"b","result"`)
	if _, err := io.WriteString(e.server, `{"jsonrpc":"2.0","id":1,"resu`); err != nil {
		t.Fatal(err)
	}
	_ = e.serverW.Close()
	e.hear(e.atClient, `"id":1,"error"`)
	if line, ok := <-e.atClient; ok {
		t.Errorf("something came behind: %s", line)
	}
	if got := decisions(t, store); !slices.Equal(got, []string{"cut-off"}) {
		t.Errorf("the log has %v", got)
	}
	p, store = newProxy(t, nil)
	e = newEnds(t, p)
	e.say(e.client, ping)
	e.hear(e.atServer)
	_ = e.serverW.Close()
	e.hear(e.atClient, `"id":1,"error":{"code":-32000`, `"reason":"server-ended"`)
	if got := decisions(t, store); !slices.Equal(got, []string{"server-ended"}) {
		t.Errorf("the log has %v", got)
	}
}

// The server's input ends when the client's output does, and what the server
// still says comes through.
func TestClientEnds(t *testing.T) {
	p, _ := newProxy(t, nil)
	e := newEnds(t, p)
	e.say(e.client, ping)
	_ = e.clientW.Close()
	e.hear(e.atServer)
	if line, ok := <-e.atServer; ok {
		t.Errorf("the server's input goes on: %s", line)
	}
	e.say(e.server, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	e.hear(e.atClient, `"result":{}`)
}

// Requests without answers are bounded; cancelled ones make room.
func TestFloodOfRequests(t *testing.T) {
	p, store := newProxy(t, func(c *Config, _ *mediator.Config) { c.MaxPending = 2 })
	e := newEnds(t, p)
	for _, id := range []string{"1", "2"} {
		e.say(e.client, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`)
		e.hear(e.atServer)
	}
	e.say(e.client, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	e.hear(e.atClient, `"id":3,"error"`, "too-many")
	e.say(e.client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	e.hear(e.atServer, "cancelled")
	e.say(e.client, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	e.hear(e.atServer, `"id":3`)
	if got := decisions(t, store); !slices.Equal(got, []string{"too-many"}) {
		t.Errorf("the log has %v", got)
	}
}

// A server that floods with what is no message fills neither memory nor log.
func TestFloodOfNonsense(t *testing.T) {
	p, store := newProxy(t, nil)
	e := newEnds(t, p)
	go func() {
		for range 5000 {
			if _, err := io.WriteString(e.server, "nonsense\n"); err != nil {
				return
			}
		}
		_, _ = io.WriteString(e.server, `{"jsonrpc":"2.0","method":"notifications/end"}`+"\n")
	}()
	e.hear(e.atClient, "notifications/end")
	if got := decisions(t, store); len(got) > 80 || len(got) < 64 {
		t.Errorf("the log has %d decisions", len(got))
	}
}

// A server that sends requests and reads nothing does not hold up its own
// messages.
func TestServerThatDoesNotRead(t *testing.T) {
	p, _ := newProxy(t, nil)
	e := newEndsThat(t, p, false)
	go func() {
		for range 100 {
			if _, err := io.WriteString(e.server, `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1,"x":1}}`+"\n"); err != nil {
				return
			}
		}
		_, _ = io.WriteString(e.server, `{"jsonrpc":"2.0","method":"notifications/end"}`+"\n")
	}()
	e.hear(e.atClient, "notifications/end")
}

// Messages arrive in the order in which they were sent.
func TestOrder(t *testing.T) {
	p, _ := newProxy(t, nil)
	e := newEnds(t, p)
	go func() {
		for i := range 200 {
			_, _ = io.WriteString(e.server, `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":`+string(rune('0'+i%10))+`}}`+"\n")
		}
	}()
	for i := range 200 {
		e.hear(e.atClient, `"n":`+string(rune('0'+i%10))+`}`)
	}
}

type failing struct{ *memory.Store }

func (failing) AppendDecisions(context.Context, []audit.Entry) error {
	return errors.New("disk full")
}

// Where the store fails, nothing with a finding passes.
func TestStoreFails(t *testing.T) {
	known := random(21, 32)
	p, _ := newProxy(t, func(_ *Config, m *mediator.Config) { m.Store = failing{memory.New()} }, known)
	e := newEnds(t, p)
	e.say(e.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"k":"`+known+`"}}}`)
	e.hear(e.atClient, `"id":1,"result"`, `"isError":true`, "store failed")
	e.say(e.client, ping)
	e.hear(e.atServer, ping)
}

// What a web page may have sent, another method, and another content type are
// refused; so is a server's answer that nobody can look at.
func TestBadHTTP(t *testing.T) {
	known := random(31, 32)
	var answer func(w http.ResponseWriter)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := newProxy(t, func(c *Config, _ *mediator.Config) { c.MaxMessage = 4096 }, known)
	h, err := p.Handler(HTTPConfig{URL: u, Origins: []string{"http://good"}, Auth: "tok"})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	typed := func(typ, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", typ)
			_, _ = io.WriteString(w, body)
		}
	}
	ok := typed("application/json", `{"jsonrpc":"2.0","id":1,"result":{}}`)
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		body   string
		answer func(http.ResponseWriter)
		status int
		want   string
	}{
		{"plain", nil, ping, ok, 200, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{"origin", func(r *http.Request) { r.Header.Set("Origin", "http://evil") }, ping, ok, 403, "foreign-origin"},
		{"good origin", func(r *http.Request) { r.Header.Set("Origin", "http://good") }, ping, ok, 200, "result"},
		{"host", func(r *http.Request) { r.Host = "evil.example" }, ping, ok, 403, "foreign-host"},
		{"token", func(r *http.Request) { r.Header.Del("Margay-Token") }, ping, ok, 403, "unauthorized"},
		{"method", func(r *http.Request) { r.Method = "PUT" }, ping, ok, 405, "method"},
		{"type", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, ping, ok, 415, "content-type"},
		{"encoding", func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }, ping, ok, 415, "content-encoding"},
		{"trajectory", func(r *http.Request) { r.Header.Set("Margay-Trajectory", "x") }, ping, ok, 400, "trajectory"},
		{"secret in header", func(r *http.Request) { r.Header.Set("Mcp-Param-K", known) }, ping, ok, 403, "denied"},
		{"secret in query", func(r *http.Request) { r.URL.RawQuery = "k=" + known }, ping, ok, 403, "denied"},
		{"header of an edited argument", func(r *http.Request) { r.Header.Set("Mcp-Param-P", "Hq7-Vx2mmT9s") }, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"password":"Hq7-Vx2mmT9s","k":"` + known + `"}}}`, ok, 403, "header-differs"},
		{"batch", nil, "[" + ping + "]", ok, 400, "batch"},
		{"malformed", nil, "{", ok, 400, "syntax"},
		{"large", nil, `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5000) + `"}`, ok, 400, "too-large"},
		{"answer malformed", nil, ping, typed("application/json", `{"jsonrpc":"2.0","id":1,"result":{}`), 200, `"id":1,"error"`},
		{"answer of another", nil, ping, typed("application/json", `{"jsonrpc":"2.0","id":2,"result":{}}`), 502, `"id":1,"error"`},
		{"answer large", nil, ping, typed("application/json", `{"jsonrpc":"2.0","id":1,"result":"`+strings.Repeat("x", 5000)+`"}`), 502, "too-large"},
		{"answer binary", nil, ping, typed("application/octet-stream", "x"), 502, "content-type"},
		{"answer of text", nil, ping, typed("text/plain", "the key is "+known), 200, "margay-"},
		{"answer compressed", nil, ping, func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "br"); ok(w) }, 502, "content-encoding"},
		{"redirect", nil, ping, func(w http.ResponseWriter) { w.Header().Set("Location", "http://x"); w.WriteHeader(307) }, 502, "redirect"},
		{"oauth error", nil, ping, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x/y"`)
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":"invalid_token"}`)
		}, 401, `{"error":"invalid_token"}`},
		{"stream ends early", nil, ping, typed("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n"), 200, "server-ended"},
		{"stream twice", nil, ping, typed("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"second\":1}}\n\n"), 200, `"result":{}`},
		{"stream large", nil, ping, typed("text/event-stream", "data: "+strings.Repeat("x", 9000)+"\n\n"), 200, `"id":1,"error"`},
		{"stream comment", nil, ping, typed("text/event-stream", ": "+known+"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), 200, `"result":{}`},
		{"stream other event", nil, ping, typed("text/event-stream", "event: x\ndata: "+known+"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), 200, `"result":{}`},
		{"stream id", nil, ping, typed("text/event-stream", "id: "+known+"\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), 200, `"result":{}`},
		{"header", nil, ping, func(w http.ResponseWriter) { w.Header().Set("X-Debug", known); ok(w) }, 200, "result"},
	} {
		answer = c.answer
		r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp/test", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Margay-Token", "tok")
		if c.change != nil {
			c.change(r)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != c.status || !strings.Contains(body, c.want) || strings.Contains(body, `"second"`) {
			t.Errorf("%s: %d %.300s, want %d %s", c.name, w.Code, body, c.status, c.want)
		}
		for name, values := range w.Header() {
			body += name + strings.Join(values, "")
		}
		if strings.Contains(body, known) {
			t.Errorf("%s: the secret came through", c.name)
		}
	}
}

// A stream with ids that breaks off can be taken up again: what was sent
// before comes again, and the answer to the request that waited.
func TestResumption(t *testing.T) {
	var header http.Header
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, "id: e1\ndata: \n\nid: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n")
			return
		}
		_, _ = io.WriteString(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\nid: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, store := newProxy(t, nil)
	h, err := p.Handler(HTTPConfig{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	do := func(method, body, last string) string {
		r := httptest.NewRequest(method, "http://localhost/mcp/test", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", "s-1")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		if last != "" {
			r.Header.Set("Last-Event-Id", last)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	if got := do(http.MethodPost, ping, ""); !strings.Contains(got, "id: e1\ndata: \n\n") || !strings.Contains(got, "roots/list") || strings.Contains(got, "error") {
		t.Errorf("the stream is %s", got)
	}
	got := do(http.MethodGet, "", "e1")
	if !strings.Contains(got, "roots/list") || !strings.Contains(got, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n") {
		t.Errorf("taken up again it is %s", got)
	}
	if header.Get("Last-Event-Id") != "e1" || header.Get("Mcp-Session-Id") != "s-1" || header.Get("Mcp-Protocol-Version") != "2025-11-25" {
		t.Errorf("the server was asked with %v", header)
	}
	if again := do(http.MethodGet, "", "e1"); again != got {
		t.Errorf("the second time it is %s", again)
	}
	if codes := decisions(t, store); len(codes) > 0 {
		t.Errorf("the log has %v", codes)
	}
}

func TestPipesOfFilesEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	p, _ := newProxy(t, nil)
	if err := p.Stdio(context.Background(), Pipes{FromClient: strings.NewReader(""), ToClient: io.Discard, FromServer: r, ToServer: nopCloser{io.Discard}}); err != nil {
		t.Error(err)
	}
	_ = r.Close()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
