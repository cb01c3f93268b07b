package mcpproxy

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire/mcp"
)

// forward sends a request to the server and passes on what it answers.
func (x *exchange) forward(body []byte) {
	defer func() { x.link.drop(x.id) }() // where nothing has answered it
	resp, err := x.h.cfg.Transport.RoundTrip(x.request(x.r.Context(), x.r.Method, body))
	if err != nil {
		if x.r.Context().Err() != nil {
			return // the client went away
		}
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the URL
		}
		x.fail(http.StatusBadGateway, "server-failed", "the server can't be reached: "+err.Error())
		return
	}
	defer resp.Body.Close()
	if x.r.Method == http.MethodDelete && resp.StatusCode < 300 {
		x.h.mu.Lock()
		if el := x.h.sessions[x.sid]; el != nil {
			x.h.used.Remove(el)
			delete(x.h.sessions, x.sid)
		}
		x.h.mu.Unlock()
	}
	switch {
	case resp.StatusCode < 200:
		x.fail(http.StatusBadGateway, "server-failed", "the server switched to a protocol that can't be looked at")
		return
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified:
		x.fail(http.StatusBadGateway, "redirect", "the server redirects, which is not followed: set its final URL")
		return
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		x.fail(http.StatusBadGateway, "content-encoding", "the server compressed its answer, which was not asked for")
		return
	}
	if !x.copyHeaders(resp) {
		return
	}
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if typ == "text/event-stream" && resp.StatusCode < 300 {
		x.w.WriteHeader(resp.StatusCode)
		x.stream(resp.Body)
		return
	}
	most := x.h.p.cfg.MaxMessage
	b, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case err != nil:
		x.fail(http.StatusBadGateway, "server-ended", "the server's answer broke off")
	case len(b) > most:
		x.fail(http.StatusBadGateway, "too-large", "the server's answer is larger than margay decides (limits.body)")
	case len(bytes.TrimSpace(b)) == 0:
		x.w.WriteHeader(resp.StatusCode)
	case typ == "application/json" || strings.HasSuffix(typ, "+json"):
		x.document(resp.StatusCode, b)
	case strings.HasPrefix(typ, "text/"):
		x.text(resp.StatusCode, b, false)
	default:
		x.fail(http.StatusBadGateway, "content-type", "the server answered with a content type that can't be looked at")
	}
}

// fail answers the client with an error of Margay's own.
func (x *exchange) fail(status int, code, detail string) {
	decision := x.link.note(x.r.Context(), server, reason(code, "%s", detail))
	x.w.Header().Del("Content-Length")
	id := x.id
	if id == "" {
		id = mcp.NullID
	}
	refuse(x.w, status, id, code, detail, decision)
}

// copyHeaders passes the server's headers on, without those that hold a
// secret.
func (x *exchange) copyHeaders(resp *http.Response) bool {
	s, err := x.link.open(x.r.Context())
	if err != nil {
		x.fail(http.StatusServiceUnavailable, "store-failed", err.Error())
		return false
	}
	var names []string
	var texts []mediator.Text
	for name, values := range resp.Header {
		switch name {
		case sessionHeader:
			// A state: it may be a signed token.
			seen := s.Observe(x.r.Context(), &mediator.ToolMessage{Arguments: -1, States: values})
			if seen.Denied() {
				x.fail(http.StatusBadGateway, "denied", why(&seen.Decision))
				return false
			}
			x.w.Header()[name] = values
			x.begun(resp.Header.Get(sessionHeader))
			continue
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Trailer", "Content-Length", "Proxy-Authenticate", trajectoryHeader:
			continue
		}
		names = append(names, name)
		texts = append(texts, mediator.Text{ID: len(texts), Text: name + ": " + strings.Join(values, "\n"), Path: func() string { return "header" }})
	}
	res := s.Headers(x.r.Context(), texts)
	if res.Denied() {
		x.fail(http.StatusBadGateway, "denied", why(&res.Decision))
		return false
	}
	for i, name := range names {
		if _, held := res.Edits[i]; !held {
			x.w.Header()[name] = resp.Header[name]
		}
	}
	return true
}

// document passes a JSON body on.
func (x *exchange) document(status int, body []byte) {
	// An error body may be something else than a message, such as OAuth's, or
	// one with an id that nobody asked with.
	if status >= 300 {
		x.text(status, body, true)
		return
	}
	out := x.link.take(x.r.Context(), server, &mcp.Parser{}, body, false)
	for _, reply := range out.replies {
		x.reply(reply)
	}
	if out.forward == nil {
		x.fail(http.StatusBadGateway, "denied", "the server's answer was not passed on; margay log tells why")
		return
	}
	x.w.WriteHeader(status)
	_, _ = x.w.Write(out.forward)
}

// text passes a body that is no message on.
func (x *exchange) text(status int, body []byte, json bool) {
	out, ok := x.observe(string(body), json)
	if !ok {
		x.fail(http.StatusBadGateway, "denied", "the server's answer was not passed on; margay log tells why")
		return
	}
	x.w.WriteHeader(status)
	_, _ = io.WriteString(x.w, out)
}

// observe mediates a text of the server's.
func (x *exchange) observe(text string, json bool) (string, bool) {
	s, err := x.link.open(x.r.Context())
	if err != nil {
		return "", false
	}
	res := s.Observe(x.r.Context(), &mediator.ToolMessage{Arguments: -1, Texts: []mediator.Text{{Text: text, JSON: json, Path: func() string { return "body" }}}})
	if edited, ok := res.Edits[0]; ok {
		text = edited
	}
	return text, !res.Denied()
}

// stream passes events on as they come, and each whole.
func (x *exchange) stream(body io.Reader) {
	control := http.NewResponseController(x.w)
	in, parser := sse.NewReader(body, x.h.p.cfg.MaxMessage+1024), &mcp.Parser{}
	replayed := x.r.Header.Get("Last-Event-Id") != ""
	resumable := false
	defer func() {
		if resumable { // the stream can be taken up again, and the answer still come
			x.id = ""
		}
	}()
	_ = control.Flush()
	for {
		ev, err := in.Next()
		switch {
		case err == nil:
		case errors.Is(err, sse.ErrTooLarge):
			x.end("too-large", "an event of the server's is larger than margay decides (limits.body)")
			return
		default:
			if !resumable && x.r.Context().Err() == nil {
				x.end("server-ended", "the server ended before it answered")
			}
			return
		}
		if ev.Incomplete {
			continue // a client drops it; so it is no loss
		}
		resumable = resumable || len(ev.ID) > 0
		for _, raw := range x.event(ev, parser, replayed) {
			if _, err := x.w.Write(raw); err != nil {
				return
			}
		}
		if !in.Buffered() {
			_ = control.Flush()
		}
	}
}

// event decides about one event and returns what goes on of it.
func (x *exchange) event(ev *sse.Event, parser *mcp.Parser, replayed bool) [][]byte {
	if !x.framing(ev.Raw) {
		if len(bytes.TrimSpace(ev.Data)) == 0 {
			return nil
		}
		// The data goes on alone.
		ev = &sse.Event{Raw: sse.Append(nil, []byte("\n"), ev.Data), Data: ev.Data, Type: ev.Type}
	}
	if len(bytes.TrimSpace(ev.Data)) == 0 {
		return [][]byte{ev.Raw}
	}
	if len(ev.Type) > 0 && string(ev.Type) != "message" {
		if text, ok := x.observe(string(ev.Data), false); !ok || text != string(ev.Data) {
			return nil // no client waits for it
		}
		return [][]byte{ev.Raw}
	}
	out := x.link.take(x.r.Context(), server, parser, ev.Data, replayed)
	for _, reply := range out.replies {
		x.reply(reply)
	}
	switch {
	case out.forward == nil:
		return nil
	case out.refused:
		var events [][]byte
		for m := range bytes.SplitSeq(out.forward, lineEnd) {
			events = append(events, sse.Append(nil, ev.Raw, m))
		}
		return events
	case bytes.Equal(out.forward, ev.Data):
		return [][]byte{ev.Raw}
	default:
		return [][]byte{sse.Append(nil, ev.Raw, out.forward)}
	}
}

// framing reports whether the lines of an event besides its data may pass.
func (x *exchange) framing(raw []byte) bool {
	var names []string
	for line := range bytes.FieldsFuncSeq(raw, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if !bytes.HasPrefix(line, []byte("data:")) && !bytes.Equal(line, []byte("event: message")) {
			names = append(names, string(line))
		}
	}
	if len(names) == 0 {
		return true
	}
	s, err := x.link.open(x.r.Context())
	if err != nil {
		return false
	}
	res := s.Observe(x.r.Context(), &mediator.ToolMessage{Arguments: -1, States: names})
	return !res.Denied()
}

// end tells the client in the stream that its request has no answer.
func (x *exchange) end(code, detail string) {
	if x.id == "" || !x.link.drop(x.id) {
		return
	}
	decision := x.link.note(x.r.Context(), server, reason(code, "%s", detail))
	m := mcp.NewFailure(x.id, mcp.CodeClosed, "margay: "+detail, code, decision)
	_, _ = x.w.Write(sse.Append(nil, []byte("\n"), m))
	_ = http.NewResponseController(x.w).Flush()
}
