package mcpproxy

import (
	"bytes"
	"net/http"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/stream/cut"
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
	e := &events{to: x.w, id: h.id, header: http.Header{}, note: func(r flow.Reason) string { return x.link.note(x.r.Context(), server, r) }}
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
	note   func(flow.Reason) string // records a refusal
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

// event sends what was released as an event.
func (e *events) event(message *cut.Released) {
	_ = outlet.Send(e.to, cut.Own(sse.Append(nil, lineEnd, message.Bytes())))
}

// done writes a document as an event. What is not a message becomes an error.
func (e *events) done() {
	if e.stream || e.body.Len() == 0 {
		return
	}
	message := cut.Own(bytes.TrimSpace(e.body.Bytes())) // Write has it from a cut.Released
	var parser mcp.Parser
	if _, err := parser.Parse(message.Bytes()); err != nil || bytes.ContainsAny(message.Bytes(), "\r\n") {
		r := reason("server-failed", "the server's answer is not a message")
		message = failure(e.id, mcp.CodeClosed, r, e.note(r))
	}
	e.event(message)
}
