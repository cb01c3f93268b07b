package mcpproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
)

// Every text-bearing place of the protocol, over both transports.
func TestConformance(t *testing.T) {
	run := func(lines bool, carry func(*Proxy, *connectortest.Exchange) (*connectortest.Result, error)) func(*testing.T) {
		return func(t *testing.T) {
			connectortest.Run(t, connectortest.Connector{Open: func(t testing.TB, registered []string) connectortest.Link {
				p, store := newProxy(t, func(_ *Config, mc *mediator.Config) { mc.Family = "" }, registered...)
				return &carrier{t, p, store, carry}
			}, Valid: readBySDK}, connectortest.MCP(lines))
		}
	}
	t.Run("stdio", run(true, overStdio))
	t.Run("http", run(false, overHTTP))
}

// readBySDK reads what a client got with the official SDK's types.
func readBySDK(_ *connectortest.API, stream, _ bool, raw []byte) error {
	if stream {
		ev, err := sse.NewReader(bytes.NewReader(raw), 1<<20).Next()
		if err != nil {
			return err
		}
		raw = ev.Data
	}
	if len(raw) == 0 {
		return nil
	}
	m, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case *jsonrpc.Request:
		if into := map[string]any{
			"notifications/message": &mcp.LoggingMessageParams{}, "notifications/progress": &mcp.ProgressNotificationParams{},
			"notifications/resources/updated": &mcp.ResourceUpdatedNotificationParams{}, "elicitation/create": &mcp.ElicitParams{},
			"sampling/createMessage": &mcp.CreateMessageWithToolsParams{},
		}[m.Method]; into != nil {
			return json.Unmarshal(m.Params, into)
		}
	case *jsonrpc.Response:
		if m.Error != nil {
			return nil
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(m.Result, &keys); err != nil {
			return err
		}
		for key, into := range map[string]any{
			"content": &mcp.CallToolResult{}, "tools": &mcp.ListToolsResult{}, "prompts": &mcp.ListPromptsResult{}, "messages": &mcp.GetPromptResult{},
			"resources": &mcp.ListResourcesResult{}, "resourceTemplates": &mcp.ListResourceTemplatesResult{}, "contents": &mcp.ReadResourceResult{},
			"completion": &mcp.CompleteResult{}, "serverInfo": &mcp.InitializeResult{},
		} {
			if keys[key] != nil {
				return json.Unmarshal(m.Result, into)
			}
		}
	}
	return nil
}

// carrier brings messages through a proxy, each for a server of its own: the
// tools of one that change are another test's.
type carrier struct {
	t     testing.TB
	p     *Proxy
	store *memory.Store
	carry func(*Proxy, *connectortest.Exchange) (*connectortest.Result, error)
}

func (c *carrier) Do(x *connectortest.Exchange) (*connectortest.Result, error) {
	cfg := c.p.cfg
	cfg.Identity = x.Caller
	p, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return c.carry(p, x)
}

func (c *carrier) Kept() []byte {
	en, err := c.store.Decisions(context.Background(), "", 1<<20)
	if err != nil {
		c.t.Error(err)
	}
	b, err := json.Marshal(en)
	if err != nil {
		c.t.Error(err)
	}
	return b
}

// overStdio plays both sides over pipes. A side that answers waits for the
// question.
func overStdio(p *Proxy, x *connectortest.Exchange) (*connectortest.Result, error) {
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		_ = p.Stdio(context.Background(), Pipes{FromClient: fromClient, ToClient: toClient, FromServer: fromServer, ToServer: toServer})
		_ = toClient.Close()
		_ = fromClient.Close()
	})
	client, server := newListener(clientIn), newListener(serverIn)
	done.Go(client.listen)
	done.Go(server.listen)
	say := func(w io.Writer, chunks ...[]byte) {
		for _, c := range chunks {
			_, _ = w.Write(c) // a side that has gone hears nothing
		}
		_, _ = io.WriteString(w, "\n")
	}
	if x.First != nil {
		say(serverOut, x.First)
		<-client.heard
	}
	asked := client.size()
	if x.Body != nil {
		say(clientOut, x.Body)
	}
	if len(x.Answer.Chunks) > 0 {
		if x.Body != nil {
			<-server.heard
		}
		say(serverOut, x.Answer.Chunks...)
	}
	_ = clientOut.Close() // the server's input ends behind the message
	server.wait()
	_ = serverOut.Close()
	client.wait()
	done.Wait()
	res := &connectortest.Result{Status: http.StatusOK, Body: told(client.b.Bytes()[asked:])}
	if server.b.Len() > 0 || x.Body == nil {
		res.Far = &connectortest.Arrived{Body: bytes.TrimSuffix(server.b.Bytes(), []byte("\n"))}
	}
	return res, nil
}

// told is what a client was told but for the end of its server.
func told(b []byte) []byte {
	var out []byte
	for line := range bytes.Lines(b) {
		if !bytes.Contains(line, []byte(`"server-ended"`)) {
			out = append(out, line...)
		}
	}
	return bytes.TrimSuffix(out, []byte("\n"))
}

// listener gathers what a side hears.
type listener struct {
	r     io.Reader
	mu    sync.Mutex
	b     bytes.Buffer
	heard chan struct{} // one for the first line
	ended chan struct{}
}

func newListener(r io.Reader) *listener {
	return &listener{r: r, heard: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (l *listener) listen() {
	defer close(l.ended)
	b := make([]byte, 1<<16)
	first := true
	for {
		n, err := l.r.Read(b)
		l.mu.Lock()
		l.b.Write(b[:n])
		whole := bytes.HasSuffix(l.b.Bytes(), []byte("\n"))
		l.mu.Unlock()
		if first && (whole || err != nil) {
			first = false
			l.heard <- struct{}{}
		}
		if err != nil {
			return
		}
	}
}

func (l *listener) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

func (l *listener) wait() { <-l.ended }

// overHTTP plays a client and a server of streamable HTTP.
func overHTTP(p *Proxy, x *connectortest.Exchange) (*connectortest.Result, error) {
	far := &farSide{x: x}
	h, err := p.Handler(HTTPConfig{URL: &url.URL{Scheme: "http", Host: "far.example", Path: "/mcp"}, Transport: far})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	method := http.MethodPost
	if x.Body == nil {
		method = http.MethodGet
	}
	r := httptest.NewRequest(method, "http://127.0.0.1/mcp/test", bytes.NewReader(x.Body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got, asked := far.seen()
	if asked > 1 {
		return nil, errors.New("the server was asked twice")
	}
	res := &connectortest.Result{Far: got, Status: w.Code, Body: w.Body.Bytes()}
	if x.Body == nil {
		res.Far = &connectortest.Arrived{}
	}
	if len(x.Answer.Chunks) == 0 && w.Code == http.StatusAccepted {
		res.Status = http.StatusOK
	}
	return res, nil
}

// farSide is a server of streamable HTTP. Errors that Margay answers it with come
// beside the exchange, and may come after it.
type farSide struct {
	x *connectortest.Exchange

	mu    sync.Mutex
	asked int
	got   *connectortest.Arrived
}

// seen returns what arrived last, and how often the server was asked.
func (f *farSide) seen() (*connectortest.Arrived, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got, f.asked
}

func (f *farSide) RoundTrip(r *http.Request) (*http.Response, error) {
	got := &connectortest.Arrived{}
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		got.Body = b
	}
	if bytes.Contains(got.Body, []byte(`"error":{"code":`)) && bytes.Contains(got.Body, []byte(`"margay: `)) {
		return &http.Response{StatusCode: http.StatusAccepted, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	f.mu.Lock()
	f.asked++
	f.got = got
	f.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusAccepted, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}
	if a := &f.x.Answer; len(a.Chunks) > 0 {
		var readers []io.Reader
		for _, c := range a.Chunks {
			readers = append(readers, strings.NewReader(string(c)))
		}
		resp.StatusCode, resp.ContentLength = http.StatusOK, -1
		resp.Header.Set("Content-Type", a.Type)
		resp.Body = io.NopCloser(io.MultiReader(readers...))
	}
	return resp, nil
}
