package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire"
)

// response mediates the upstream's answer.
func (g *Gateway) response(resp *http.Response) error {
	c := resp.Request.Context().Value(callKey{}).(*call)
	if c.pass {
		return nil
	}
	if resp.StatusCode < 200 {
		return &denied{status: http.StatusBadGateway, code: "upstream-failed", detail: "the upstream switched to a protocol that can't be looked at"}
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return &denied{status: http.StatusBadGateway, code: "redirect", detail: "the upstream redirects, which is not followed: set its final URL as the upstream"}
	}
	if len(c.owes) > 0 && resp.StatusCode < 300 {
		g.owed.settled(c.caller, c.goesOn)
	}
	for _, h := range []http.Header{resp.Header, resp.Trailer} {
		if err := g.scrub(resp.Request.Context(), c, h); err != nil {
			return err
		}
	}
	switch enc := strings.ToLower(resp.Header.Get("Content-Encoding")); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			return &denied{status: http.StatusBadGateway, code: "content-encoding", detail: "the upstream's answer is not the gzip that it says it is"}
		}
		resp.Body = &unzipped{z, resp.Body}
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
	default:
		return &denied{status: http.StatusBadGateway, code: "content-encoding", detail: "the upstream compressed its answer in a way that can't be looked at"}
	}
	typ, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if typ == "text/event-stream" {
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Body = newEvents(g, c, resp)
		return nil
	}
	body, err := readAll(resp.Body, g.cfg.MaxBody)
	_ = resp.Body.Close()
	if err != nil {
		return &denied{status: http.StatusBadGateway, code: "upstream-failed", detail: "the upstream's answer broke off or is too large"}
	}
	g.trailer(resp.Request.Context(), c, resp)
	switch {
	case len(body) == 0:
	case typ == "application/json" || strings.HasSuffix(typ, "+json"):
		body, err = g.whole(resp.Request.Context(), c, resp.Request, body)
	case strings.HasPrefix(typ, "text/"):
		body, err = g.plain(resp.Request.Context(), c, body)
	default:
		err = &denied{status: http.StatusBadGateway, code: "content-type", detail: "the upstream answered with a content type that can't be looked at"}
	}
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

type unzipped struct {
	*gzip.Reader
	under io.Closer
}

func (u *unzipped) Close() error { return u.under.Close() }

// whole mediates a whole JSON answer.
func (g *Gateway) whole(ctx context.Context, c *call, sent *http.Request, body []byte) ([]byte, error) {
	a, halted, err := g.look(ctx, c, body)
	if err != nil || halted != nil {
		return halted, err
	}
	if a, err = g.settle(ctx, c, sent, a); err != nil {
		return nil, err
	}
	body = a.body()
	if from, ok := a.resp.(wire.Owing); ok {
		g.owed.note(c.caller, from)
	}
	return body, nil
}

// look decides about the texts of a whole answer. One that may not go on, and
// says so in the API's own terms, is returned as halted.
func (g *Gateway) look(ctx context.Context, c *call, body []byte) (out *answer, halted []byte, err error) {
	resp, err := c.api.ParseResponse(body, wire.Limits{MaxBytes: g.cfg.MaxBody})
	if err != nil {
		return nil, nil, &denied{status: http.StatusBadGateway, code: "strict-json", detail: "the upstream's answer is not strict JSON: " + err.Error()}
	}
	var a mediator.Answer
	parts := resp.Parts()
	for i := range parts {
		p := &parts[i]
		t := mediator.Text{
			ID: p.ID, Text: p.Text, Field: p.Field, Tool: p.Tool, Fixed: p.Fixed, Opaque: p.Opaque, Path: func() string { return resp.Path(p) },
		}
		if c.session.Judges() {
			t.Tokens, t.Telemetry = resp.Tokens(p)
		}
		a.Texts = append(a.Texts, t)
	}
	if c.asked && !resp.Logprobs() {
		g.mute.add(c.model)
	}
	if c.asked {
		resp.DropLogprobs()
	}
	if id := resp.ID(); id != "" {
		c.session.Named(c.caller, id)
		g.owed.forget(c.caller, id)
	}
	for _, tc := range resp.Calls() {
		a.Calls = append(a.Calls, mediator.ToolCallText{Name: tc.Name, Arguments: tc.Arguments})
	}
	a.Names = resp.Names()
	res := c.session.Answer(ctx, &a)
	if res.Denied() {
		d := &denied{status: http.StatusBadGateway, code: "denied", detail: reasons(&res.Decision), decision: res.Decision.ID}
		if h, ok := resp.(wire.Halter); ok && len(res.Findings) > 0 {
			if body, ok := h.Halted(c.model, "margay: "+d.told()); ok {
				return nil, body, nil
			}
		}
		return nil, nil, d
	}
	return &answer{resp: resp, res: res}, nil, nil
}

// scrub takes the headers out that hold a secret.
func (g *Gateway) scrub(ctx context.Context, c *call, h http.Header) error {
	var texts []mediator.Text
	var names []string
	for name, values := range h {
		if len(values) == 1 && usual(name, values[0]) {
			continue
		}
		names = append(names, name)
		texts = append(texts, mediator.Text{ID: len(texts), Text: name + ": " + strings.Join(values, "\n"), Path: func() string { return "header" }})
	}
	if len(texts) == 0 {
		return nil
	}
	res := c.session.Headers(ctx, texts)
	if res.Denied() {
		return &denied{status: http.StatusBadGateway, code: "denied", detail: reasons(&res.Decision), decision: res.Decision.ID}
	}
	for i := range res.Edits {
		h.Del(names[i])
		g.cfg.Log.Warn("a header of the upstream's held a secret and was left out", "upstream", g.cfg.Name)
	}
	return nil
}

// usual reports whether a header has one of the values that nearly every
// response has.
func usual(name, value string) bool {
	switch name {
	case "Date":
		_, err := http.ParseTime(value)
		return err == nil
	case "Content-Type":
		return value == "text/event-stream" || value == "text/event-stream; charset=utf-8" || value == "application/json"
	case "Cache-Control":
		return value == "no-cache"
	}
	return false
}

// trailer takes the trailers out that hold a secret. They are there when the
// upstream's body has been read.
func (g *Gateway) trailer(ctx context.Context, c *call, resp *http.Response) {
	if len(resp.Trailer) > 0 && g.scrub(ctx, c, resp.Trailer) != nil {
		clear(resp.Trailer)
	}
}

// final is the client's side of a mediated response. The upstream's
// informational responses are not passed on: nobody looks at them.
type final struct {
	http.ResponseWriter
	trajectory string
}

// WriteHeader implements http.ResponseWriter.
func (f *final) WriteHeader(status int) {
	if status < http.StatusOK {
		return
	}
	f.Header().Set("Margay-Trajectory", f.trajectory)
	f.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the writer below.
func (f *final) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// plain mediates an answer that is one text, such as a proxy's error page.
func (g *Gateway) plain(ctx context.Context, c *call, body []byte) ([]byte, error) {
	res := c.session.Answer(ctx, &mediator.Answer{Texts: []mediator.Text{{Text: string(body), Path: func() string { return "body" }}}})
	if res.Denied() {
		return nil, &denied{status: http.StatusBadGateway, code: "denied", detail: reasons(&res.Decision), decision: res.Decision.ID}
	}
	if text, ok := res.Edits[0]; ok {
		return []byte(text), nil
	}
	return body, nil
}
