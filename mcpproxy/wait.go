package mcpproxy

import (
	"bytes"
	"net/http"

	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/wire/mcp"
)

// begun hands what is known of a client on to the session that its handshake
// began.
func (x *exchange) begun(id string) {
	x.link.mu.Lock()
	elicits := x.link.elicits
	x.link.mu.Unlock()
	if !elicits || id == "" {
		return
	}
	l, _ := x.session(id)
	l.mu.Lock()
	l.elicits = true
	l.mu.Unlock()
}

// wait waits for a person's answer about a call. Where the client shows forms,
// the answer to its request becomes a stream, on which the question comes
// first; done writes what is left for it.
func (x *exchange) wait(h *held) (outcome, func()) {
	if !h.elicits {
		return h.settle(nil), func() {}
	}
	e := &events{to: x.w, id: h.id, header: http.Header{}}
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.Header().Set("Cache-Control", "no-cache")
	x.w.WriteHeader(http.StatusOK)
	x.w = e
	return h.settle(e.event), e.done
}

// events writes an answer on a stream of events that has begun. What is a
// stream itself goes on as it is.
type events struct {
	to     http.ResponseWriter
	id     mcp.ID
	header http.Header
	stream bool
	body   bytes.Buffer
}

func (e *events) Header() http.Header { return e.header }

// Unwrap is for http.ResponseController.
func (e *events) Unwrap() http.ResponseWriter { return e.to }

func (e *events) WriteHeader(status int) {
	e.stream = status < 300 && bytes.HasPrefix([]byte(e.header.Get("Content-Type")), []byte("text/event-stream"))
}

func (e *events) Write(b []byte) (int, error) {
	if e.stream {
		return e.to.Write(b)
	}
	return e.body.Write(b)
}

func (e *events) event(message []byte) {
	if _, err := e.to.Write(sse.Append(nil, lineEnd, message)); err == nil {
		_ = http.NewResponseController(e.to).Flush()
	}
}

// done writes a document as an event. What is no message becomes an error.
func (e *events) done() {
	if e.stream || e.body.Len() == 0 {
		return
	}
	b := bytes.TrimSpace(e.body.Bytes())
	var parser mcp.Parser
	if _, err := parser.Parse(b); err != nil || bytes.ContainsAny(b, "\r\n") {
		b = mcp.NewFailure(e.id, mcp.CodeClosed, "margay: the server's answer is no message", "server-failed", "")
	}
	e.event(b)
}
