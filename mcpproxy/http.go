package mcpproxy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire/mcp"
)

// HTTPConfig is what a Handler needs. Zero limits mean the defaults.
type HTTPConfig struct {
	// URL is the server's endpoint.
	URL *url.URL
	// CAFile adds certificates to those the system trusts.
	CAFile string
	// Hosts are the names, besides loopback ones, that requests may be
	// addressed to. "*" takes any.
	Hosts []string
	// Origins are the web origins that may send requests. None by default.
	Origins []string
	// Auth, where not empty, is asked for in the header Margay-Token.
	Auth        string
	MaxSessions int           // sessions that are remembered; 1,024
	Idle        time.Duration // until an answer begins; 10 min
	// Transport is used for the server; by default one of its own.
	Transport http.RoundTripper
}

// Handler serves the streamable HTTP transport in front of a server. Requests
// that a web page may have sent are refused. Close releases its connections.
type Handler struct {
	p     *Proxy
	cfg   HTTPConfig
	guard httpedge.Guard

	sessions *recent.Map[[32]byte, *link]
	replies  sync.WaitGroup
}

// Handler returns an http.Handler for requests to one path, whatever it is.
func (p *Proxy) Handler(cfg HTTPConfig) (*Handler, error) {
	if cfg.URL == nil || cfg.URL.Scheme != "http" && cfg.URL.Scheme != "https" || cfg.URL.Host == "" {
		return nil, errors.New("mcpproxy: the server's URL is not an http(s) URL")
	}
	cfg.MaxSessions = cmp.Or(max(cfg.MaxSessions, 0), 1024)
	cfg.Idle = cmp.Or(max(cfg.Idle, 0), 10*time.Minute)
	if cfg.Transport == nil {
		t, err := httpedge.Transport(cfg.CAFile, cfg.Idle)
		if err != nil {
			return nil, fmt.Errorf("mcpproxy: %w", err)
		}
		cfg.Transport = t
	}
	return &Handler{p: p, cfg: cfg, guard: httpedge.Guard{Hosts: cfg.Hosts, Origins: cfg.Origins, Auth: cfg.Auth}, sessions: recent.New[[32]byte, *link](cfg.MaxSessions)}, nil
}

// Close waits for what is still sent to the server and releases the idle
// connections.
func (h *Handler) Close() {
	h.replies.Wait()
	(&http.Client{Transport: h.cfg.Transport}).CloseIdleConnections()
}

// exchange is one HTTP request on its way.
type exchange struct {
	h    *Handler
	w    http.ResponseWriter
	r    *http.Request
	link *link
	id   mcp.ID // of the JSON-RPC request in it; empty for none
	// Of the caller: its credentials, and the trajectory that it names.
	caller, trajectory string
	sid                [32]byte // of its session, where it has one
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if code, detail := h.guard.Refuse(r); code != "" {
		(&exchange{h: h, w: w, r: r}).refuse(http.StatusForbidden, code, detail)
		return
	}
	x := &exchange{h: h, w: w, r: r}
	if err := x.find(); err != nil {
		x.refuse(http.StatusBadRequest, "trajectory", "the header Margay-Trajectory is "+err.Error())
		return
	}
	switch r.Method {
	case http.MethodPost:
		x.post()
	case http.MethodGet, http.MethodDelete:
		if x.headers() {
			x.forward(nil)
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		x.refuse(http.StatusMethodNotAllowed, "method", "the endpoint takes GET, POST and DELETE")
	}
}

// refuse records what is refused before its message is read, and answers.
func (x *exchange) refuse(status int, code, detail string) {
	l := x.link
	if l == nil {
		req := mediator.SessionRequest{Sink: x.h.p.sink, Refuses: true}
		l = &link{p: x.h.p, open: func(ctx context.Context) (*mediator.Session, error) { return x.h.p.cfg.Engine.Session(ctx, &req) }}
	}
	refuse(x.w, status, mcp.NullID, code, detail, l.note(x.r.Context(), client, reason(code, "%s", detail)))
}

// refuse answers with an error message.
func refuse(w http.ResponseWriter, status int, id mcp.ID, code, detail, decision string) {
	n := mcp.CodeDenied
	if status == http.StatusBadRequest {
		n = mcp.CodeInvalid
	}
	answer(w, status, cut.Own(mcp.NewFailure(id, n, "margay: "+detail, code, decision)))
}

func answer(w http.ResponseWriter, status int, message *cut.Released) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = message.WriteTo(w)
}

const (
	sessionHeader    = "Mcp-Session-Id"
	trajectoryHeader = "Margay-Trajectory"
)

// find returns the link of a request: of its session or, where it has none,
// one of its own.
func (x *exchange) find() error {
	head := x.r.Header
	var caller string
	for _, name := range slices.Sorted(maps.Keys(head)) {
		if credential(name) {
			caller += name + ": " + strings.Join(head[name], "\n") + "\n"
		}
	}
	x.caller, x.trajectory = caller, head.Get(trajectoryHeader)
	if x.trajectory != "" {
		if _, err := flow.ParseTrajectoryID(x.trajectory); err != nil {
			return err
		}
	}
	x.link, x.sid = x.session(head.Get(sessionHeader))
	return nil
}

// session returns the link of a session, and its key; without an id, a link of
// its own.
func (x *exchange) session(id string) (*link, [32]byte) {
	p := x.h.p
	req := mediator.SessionRequest{
		Caller: x.caller, Trajectory: x.trajectory, Sink: p.sink,
		// The session is the conversation.
		Messages: [][]byte{[]byte("mcp"), []byte(p.cfg.Name), []byte(id)}, Roles: []flow.Role{flow.RoleTool, flow.RoleTool, flow.RoleTool},
	}
	fresh := &link{p: p, apart: true, shared: id == "", open: func(ctx context.Context) (*mediator.Session, error) { return p.cfg.Engine.Session(ctx, &req) }}
	if id == "" {
		return fresh, [32]byte{}
	}
	sid := p.sessionKey(x.caller, x.trajectory, id)
	return x.h.sessions.Use(sid, fresh), sid
}

// post mediates the message that a request carries.
func (x *exchange) post() {
	if t, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		x.refuse(http.StatusUnsupportedMediaType, "content-type", "the body must be application/json")
		return
	}
	if enc := x.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		x.refuse(http.StatusUnsupportedMediaType, "content-encoding", "the body must be plain")
		return
	}
	ctx, most := x.r.Context(), x.h.p.cfg.MaxMessage
	body, err := io.ReadAll(io.LimitReader(x.r.Body, int64(most)+1))
	if err != nil {
		x.refuse(http.StatusBadRequest, "body", "the body could not be read")
		return
	}
	if !x.headers() {
		return
	}
	var parser mcp.Parser
	var out outcome
	if len(body) > most {
		out = x.link.tooLarge(ctx, client, mcp.Skim(body))
	} else {
		out = x.link.take(ctx, client, &parser, body, false)
	}
	goes := out.forward
	if out.held != nil {
		goes = out.held.raw
	}
	if (!out.refused || out.held != nil) && !bytes.Equal(goes.Bytes(), body) && !x.agree(&parser, goes.Bytes()) {
		x.link.drop(out.id)
		if out.held != nil {
			out.held.cancel()
		}
		r := reason("header-differs", "a header holds a copy of what was edited in the message")
		refuse(x.w, http.StatusForbidden, out.id, r.Code, r.Detail, x.link.note(ctx, client, r))
		return
	}
	if out.held != nil {
		var done func()
		out, done = x.wait(out.held)
		defer done()
	}
	switch {
	case out.taken:
		x.w.WriteHeader(http.StatusAccepted)
	case out.held == nil && out.id != "" && out.forward == nil && len(out.replies) == 0: // cancelled
	case out.forward != nil:
		x.id = out.id
		x.forward(out.forward)
	case len(out.replies) == 0: // a notification or an answer that goes nowhere
		refuse(x.w, http.StatusForbidden, mcp.NullID, "denied", "the message was not passed on; margay log tells why", out.decision)
	case out.unread:
		answer(x.w, http.StatusBadRequest, out.replies[0])
	default:
		answer(x.w, http.StatusOK, out.replies[0])
	}
}

// agree reports whether what headers repeat of a message is still in it.
func (x *exchange) agree(parser *mcp.Parser, body []byte) bool {
	m, err := parser.Parse(body)
	if err != nil {
		return false
	}
	for name, values := range x.r.Header {
		if name != "Mcp-Name" && !strings.HasPrefix(name, "Mcp-Param-") {
			continue
		}
		for _, v := range values {
			text, ok := mcp.HeaderText(v)
			if !ok || !m.Holds(text) {
				return false
			}
		}
	}
	return true
}

// credential reports whether a header is the caller's for this server. People
// configure such headers under names of the server's own.
func credential(name string) bool {
	if strings.HasPrefix(name, "Mcp-") || name == "Margay-Token" || name == "Proxy-Authorization" {
		return false
	}
	low := strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "auth", "secret", "cookie"}, func(word string) bool { return strings.Contains(low, word) })
}

// ours reports whether a header is for Margay or for the connection alone.
func ours(name string) bool {
	switch name {
	case "Content-Length", "Content-Encoding", "Accept-Encoding", "Connection", "Upgrade", "Keep-Alive", "Te", "Proxy-Authorization",
		"Proxy-Connection", "Trailer", "Transfer-Encoding", trajectoryHeader, "Margay-Token", "Origin", "Referer":
		return true
	}
	return false
}

// headers decides about what a request holds besides its body. They can't be
// edited.
func (x *exchange) headers() bool {
	tm := mediator.Message{Tool: "header", Arguments: -1}
	if q := x.r.URL.RawQuery; q != "" {
		tm.States = append(tm.States, q)
	}
	for name, values := range x.r.Header {
		if ours(name) || credential(name) {
			continue
		}
		tm.States = append(tm.States, name+": "+strings.Join(values, "\n"))
		for _, v := range values {
			if text, ok := mcp.HeaderText(v); ok && text != v {
				tm.States = append(tm.States, text)
			}
		}
	}
	slices.Sort(tm.States)
	s, err := x.link.open(x.r.Context())
	if err != nil {
		x.refuse(http.StatusServiceUnavailable, "store-failed", err.Error()+"; run margay doctor")
		return false
	}
	res := s.Decide(x.r.Context(), flow.Call, &tm)
	x.w.Header().Set(trajectoryHeader, string(res.Decision.Trajectory))
	if res.Denied() {
		refuse(x.w, http.StatusForbidden, mcp.NullID, "denied", "a header can't be passed on: "+res.Decision.Why(), res.Decision.ID)
		return false
	}
	return true
}

// request makes a request to the server with the headers of the client's.
func (x *exchange) request(ctx context.Context, method string, message *cut.Released) *http.Request {
	u := *x.h.cfg.URL
	u.RawQuery, u.User = x.r.URL.RawQuery, nil
	req := (&http.Request{Method: method, URL: &u, Host: u.Host, Header: http.Header{}}).WithContext(ctx)
	for name, values := range x.r.Header {
		if !ours(name) {
			req.Header[name] = values
		}
	}
	req.Header.Set("Accept-Encoding", "identity")
	if message != nil {
		body := message.Bytes()
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	}
	return req
}

// reply sends a message of Margay's own to the server: an error for a request
// of its that does not reach the client.
func (x *exchange) reply(message *cut.Released) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.r.Context()), 10*time.Second)
	req := x.request(ctx, http.MethodPost, message)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for _, name := range []string{"Last-Event-Id", "Mcp-Method", "Mcp-Name"} {
		req.Header.Del(name)
	}
	x.h.replies.Go(func() {
		defer cancel()
		resp, err := x.h.cfg.Transport.RoundTrip(req)
		if err != nil {
			x.h.p.cfg.Log.Warn("mcp server could not be answered", "server", x.h.p.cfg.Name)
			return
		}
		_ = resp.Body.Close()
	})
}

// sessionKey is the keyed hash by which a client's session is found.
func (p *Proxy) sessionKey(of ...string) (out [32]byte) {
	h := hmac.New(sha256.New, p.cfg.Key[:])
	h.Write([]byte("margay mcp session v1\x00" + strings.Join(of, "\x00")))
	h.Sum(out[:0])
	return out
}
