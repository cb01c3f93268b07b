package mcpproxy

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire/mcp"
)

// forward sends a request to the server and passes on what it answers.
func (x *exchange) forward(message *cut.Released) {
	defer func() { x.link.drop(x.id) }() // where nothing has answered it
	resp, err := x.h.cfg.Transport.RoundTrip(x.request(x.r.Context(), x.r.Method, message))
	if err != nil {
		if x.r.Context().Err() != nil {
			return // the client went away
		}
		x.fail(http.StatusBadGateway, "server-failed", "the server can't be reached: "+httpedge.Reason(err))
		return
	}
	defer resp.Body.Close()
	if x.r.Method == http.MethodDelete && resp.StatusCode < 300 {
		x.h.sessions.Delete(x.sid)
	}
	enc := strings.ToLower(strings.Join(resp.Header["Content-Encoding"], ","))
	switch {
	case resp.StatusCode < 200:
		x.fail(http.StatusBadGateway, "server-failed", "the server switched to a protocol that can't be looked at")
		return
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified:
		x.fail(http.StatusBadGateway, "redirect", "the server redirects, which is not followed: set its final URL")
		return
	case enc != "" && enc != "identity":
		x.fail(http.StatusBadGateway, "content-encoding", "the server compressed its answer, which was not asked for")
		return
	}
	resp.Header.Del("Content-Encoding")
	if !x.copyHeaders(resp) {
		return
	}
	typ := httpedge.MediaType(resp.Header)
	if httpedge.IsEvents(typ) && resp.StatusCode < 300 {
		x.stream(resp.StatusCode, resp.Body) // events as they come, and nothing else
		return
	}
	b, err := httpedge.ReadAll(resp.Body, resp.ContentLength, x.h.p.cfg.MaxMessage)
	switch {
	case errors.Is(err, httpedge.ErrTooLarge):
		x.fail(http.StatusBadGateway, "too-large", "the server's answer is larger than margay decides (limits.body)")
	case err != nil && x.r.Context().Err() != nil: // the client went away
	case err != nil:
		x.fail(http.StatusBadGateway, "server-ended", "the server's answer broke off")
	case len(bytes.TrimSpace(b)) == 0:
		x.w.WriteHeader(resp.StatusCode)
	default:
		x.body(resp.StatusCode, typ, b)
	}
}

// body passes on a body that is there as a whole, as what it is, whatever its
// label says.
func (x *exchange) body(status int, typ string, b []byte) {
	switch form := httpedge.FormOf(b); {
	case form == httpedge.Events && status < 300:
		x.stream(status, bytes.NewReader(b))
	case form == httpedge.Document:
		form.Label(x.w.Header())
		out, decision := x.document(status, b)
		x.pass(status, out, decision)
	case form == httpedge.Prose && (status >= 300 || strings.HasPrefix(typ, "text/")):
		form.Label(x.w.Header())
		out, decision := x.page(b, false)
		x.pass(status, out, decision)
	default:
		x.fail(http.StatusBadGateway, "content-type", "the server answered with a body that can't be looked at")
	}
}

// fail answers the client with an error of Margay's own.
func (x *exchange) fail(status int, code, detail string) {
	x.denied(status, code, detail, x.link.note(x.r.Context(), server, reason(code, "%s", detail)))
}

// denied answers the client with what a decision refuses.
func (x *exchange) denied(status int, code, detail, decision string) {
	x.w.Header().Del("Content-Length")
	refuse(x.w, status, cmp.Or(x.id, mcp.NullID), code, detail, decision)
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
	var texts []flow.Text
	for name, values := range resp.Header {
		switch name {
		case sessionHeader:
			// A state: it may be a signed token.
			if seen := s.Decide(x.r.Context(), flow.Observe, &mediator.Message{Arguments: -1, States: values}); seen.Denied() {
				x.denied(http.StatusBadGateway, "denied", seen.Decision.Why(), seen.Decision.ID)
				return false
			}
			x.w.Header()[name] = values
			x.begun(resp.Header.Get(sessionHeader))
			continue
		case "Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Trailer", "Content-Length", "Proxy-Authenticate", trajectoryHeader:
			continue
		}
		names = append(names, name)
		texts = append(texts, flow.Text{ID: len(texts), Text: name + ": " + strings.Join(values, "\n"), Path: func() string { return "header" }})
	}
	res := s.Decide(x.r.Context(), flow.Generate, &mediator.Message{Headers: texts})
	if res.Denied() {
		x.denied(http.StatusBadGateway, "denied", res.Decision.Why(), res.Decision.ID)
		return false
	}
	for i, name := range names {
		if _, held := res.Edits[i]; !held {
			x.w.Header()[name] = resp.Header[name]
		}
	}
	return true
}

// document decides about a JSON body. It returns nil where nothing of it may go
// on, and the decision.
func (x *exchange) document(status int, body []byte) (*cut.Released, string) {
	// An error body may be something else than a message, such as OAuth's, or
	// one with an id that nobody asked with.
	if status >= 300 {
		return x.page(body, true)
	}
	out := x.link.take(x.r.Context(), server, &mcp.Parser{}, body, false)
	for _, reply := range out.replies {
		x.reply(reply)
	}
	return out.forward, out.decision
}

// pass passes a body on; nil for one that may not be, by a decision.
func (x *exchange) pass(status int, out *cut.Released, decision string) {
	const code, detail = "denied", "the server's answer was not passed on; margay log tells why"
	switch {
	case out == nil && decision == "":
		x.fail(http.StatusBadGateway, code, detail)
		return
	case out == nil:
		x.denied(http.StatusBadGateway, code, detail, decision)
		return
	}
	x.w.WriteHeader(status)
	_, _ = out.WriteTo(x.w)
}

// page mediates a body that is no message, such as an error's. A model may read
// it as the result of its call.
func (x *exchange) page(text []byte, json bool) (*cut.Released, string) {
	x.link.mu.Lock()
	a, ok := x.link.calls.open[x.id]
	x.link.mu.Unlock()
	if ok {
		s, err := x.link.open(x.r.Context())
		if err != nil {
			return nil, ""
		}
		x.link.returned(x.r.Context(), s, a, []string{string(text)})
	}
	return x.observe(text, json)
}

// observe mediates a text of the server's. It returns nil where nothing of it
// may go on, and the decision.
func (x *exchange) observe(text []byte, json bool) (*cut.Released, string) {
	s, err := x.link.open(x.r.Context())
	if err != nil {
		return nil, ""
	}
	res := s.Decide(x.r.Context(), flow.Observe, &mediator.Message{Arguments: -1, Texts: []flow.Text{{Text: string(text), JSON: json, Path: func() string { return "body" }}}})
	if edited, ok := res.Edits[0]; ok {
		text = []byte(edited)
	}
	out := &cut.Released{}
	if out.Encode(&res, func(dst []byte) ([]byte, error) { return append(dst, text...), nil }) != nil {
		return nil, res.Decision.ID
	}
	return out, res.Decision.ID
}

// stream passes events on as they come, and each whole.
func (x *exchange) stream(status int, body io.Reader) {
	httpedge.Events.Label(x.w.Header())
	x.w.WriteHeader(status)
	in, parser := sse.NewReader(body, x.h.p.cfg.MaxMessage+1024), &mcp.Parser{}
	replayed := x.r.Header.Get("Last-Event-Id") != ""
	resumable := false
	defer func() {
		if resumable { // the stream can be taken up again, and the answer still come
			x.id = ""
		}
	}()
	_ = outlet.Send(x.w, &cut.Released{}) // the headers
	var out cut.Released
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
		if !sse.FramedAll(ev.Raw) { // clients of another format might read the line
			const unframed = "an event of the server's has a line that is not of the format"
			if x.id == "" {
				x.link.note(x.r.Context(), server, reason("framing", unframed))
			}
			x.end("framing", unframed)
			return
		}
		resumable = resumable || len(ev.ID) > 0
		x.event(&out, ev, parser, replayed)
		if _, err := out.WriteTo(x.w); err != nil {
			return
		}
		if !in.Buffered() {
			_ = outlet.Send(x.w, &out)
		}
	}
}

// event decides about one event and appends what goes on of it: what was
// released, in lines that framing has looked at.
func (x *exchange) event(out *cut.Released, ev *sse.Event, parser *mcp.Parser, replayed bool) {
	blank := len(bytes.TrimSpace(ev.Data)) == 0
	if !x.framing(ev.Raw) {
		if blank {
			return
		}
		// The data goes on alone.
		ev = &sse.Event{Raw: sse.Append(nil, lineEnd, ev.Data), Data: ev.Data, Type: ev.Type}
	}
	if blank {
		out.Own(ev.Raw)
		return
	}
	if len(ev.Type) > 0 && string(ev.Type) != "message" {
		// No client waits for it, so it goes on as it came or not at all.
		if seen, _ := x.observe(ev.Data, false); seen == nil {
			return
		} else if !bytes.Equal(seen.Bytes(), ev.Data) {
			x.link.note(x.r.Context(), server, reason("not-editable", "an event of the server's holds a secret and can't be edited"))
			return
		}
		out.Own(ev.Raw)
		return
	}
	does := x.link.take(x.r.Context(), server, parser, ev.Data, replayed)
	for _, reply := range does.replies {
		x.reply(reply)
	}
	switch {
	case does.forward == nil:
	case does.refused:
		for m := range bytes.SplitSeq(does.forward.Bytes(), lineEnd) {
			out.Own(sse.Append(nil, ev.Raw, m))
		}
	case bytes.Equal(does.forward.Bytes(), ev.Data):
		out.Own(ev.Raw)
	default:
		out.Own(sse.Append(nil, ev.Raw, does.forward.Bytes()))
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
	res := s.Decide(x.r.Context(), flow.Observe, &mediator.Message{Arguments: -1, States: names})
	return !res.Denied()
}

// end tells the client in the stream that its request has no answer.
func (x *exchange) end(code, detail string) {
	if x.id == "" || !x.link.drop(x.id) {
		return
	}
	decision := x.link.note(x.r.Context(), server, reason(code, "%s", detail))
	m := mcp.NewFailure(x.id, mcp.CodeClosed, "margay: "+detail, code, decision)
	_ = outlet.Send(x.w, cut.Own(sse.Append(nil, lineEnd, m)))
}
