package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire"
)

// answered gives an answer of the upstream's the body that goes out. That of a
// path in Config.PassPaths is the upstream's own: nobody looks at it.
func (g *Gateway) answered(resp *http.Response) error {
	c := resp.Request.Context().Value(callKey{}).(*call)
	if c.pass {
		return nil
	}
	body, err := g.response(c, resp)
	if err == nil {
		resp.Body = body
	}
	return err
}

// response mediates the upstream's answer, and returns the body that goes out.
func (g *Gateway) response(c *call, resp *http.Response) (*outlet.Body, error) {
	if resp.StatusCode < 200 {
		return nil, unusable("upstream-failed", "the upstream switched to a protocol that can't be looked at")
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return nil, unusable("redirect", "the upstream redirects, which is not followed: set its final URL as the upstream")
	}
	if len(c.owes) > 0 && resp.StatusCode < 300 {
		c.settled()
	}
	resp.Header.Del("Content-Length") // that of what goes out is Margay's own
	for _, h := range []http.Header{resp.Header, resp.Trailer} {
		if err := g.scrub(resp.Request.Context(), c, h); err != nil {
			return nil, err
		}
	}
	ctx := resp.Request.Context()
	if err := c.decode(resp); err != nil {
		return nil, unusable("content-encoding", "the upstream's answer can't be looked at: "+err.Error())
	}
	if httpedge.IsEvents(httpedge.MediaType(resp.Header)) && c.says && resp.StatusCode < 300 {
		return g.events(c, resp, resp.Body), nil // events as they come, and nothing else
	}
	body, err := httpedge.ReadAll(resp.Body, resp.ContentLength, g.cfg.MaxBody)
	_ = resp.Body.Close()
	if err != nil {
		return nil, unusable("upstream-failed", "the upstream's answer broke off or is too large")
	}
	g.trailer(ctx, c, resp)
	out := &cut.Released{}
	form := httpedge.FormOf(body)
	switch {
	case len(body) == 0:
	case form == httpedge.Events && c.says:
		return g.events(c, resp, io.NopCloser(bytes.NewReader(body))), nil
	case form == httpedge.Document, form == httpedge.List && resp.StatusCode >= 300 && listsErrors(body):
		form.Label(resp.Header)
		out, err = g.whole(ctx, c, resp.Request, body)
	case form == httpedge.Prose && resp.StatusCode >= 300: // such as a proxy's error page
		form.Label(resp.Header)
		out, err = g.plain(ctx, c, body)
	default:
		err = unusable("content-type", "the upstream answered with a body that is not of the API that was called")
	}
	if err != nil {
		return nil, err
	}
	resp.ContentLength = int64(out.Len())
	resp.Header.Set("Content-Length", strconv.Itoa(out.Len()))
	return outlet.Whole(c.to, out), nil
}

// decode makes the body of an answer plain.
func (c *call) decode(resp *http.Response) error {
	was := resp.Body
	err := httpedge.Decode(resp)
	if resp.Body != was {
		c.ahead = nil // what has come may be too little to decompress
	}
	return err
}

// listsErrors reports whether a body is a list of errors and nothing else. That is
// how Gemini's API for OpenAI's clients refuses.
func listsErrors(body []byte) bool {
	var d strictjson.Doc
	if d.Parse(body, strictjson.Limits{}) != nil || d.Nodes[0].Kind != strictjson.Array {
		return false
	}
	for e := range d.All(0) {
		if d.Nodes[e].Kind != strictjson.Object {
			return false
		}
		for m := range d.All(e) {
			if !d.KeyIs(m, "error") {
				return false
			}
		}
	}
	return true
}

// events mediates a stream, and labels it as one.
func (g *Gateway) events(c *call, resp *http.Response, body io.ReadCloser) *outlet.Body {
	httpedge.Events.Label(resp.Header)
	resp.ContentLength = -1
	return newEvents(g, c, resp, body)
}

// whole mediates a whole JSON answer.
func (g *Gateway) whole(ctx context.Context, c *call, sent *http.Request, body []byte) (*cut.Released, error) {
	seen := map[*answer.Whole]wire.Response{}
	read := func(body []byte) (*answer.Whole, error) {
		resp, err := c.api.ParseResponse(body, wire.Limits{MaxBytes: g.cfg.MaxBody})
		switch {
		case err != nil:
			return nil, unusable("strict-json", "the upstream's answer is not strict JSON: "+err.Error())
		case !c.says && len(resp.Calls()) > 0:
			return nil, unusable("unexpected-call", "the upstream's answer has a tool call, where no model answers")
		}
		w := g.answer(c, resp)
		seen[w] = resp
		return w, nil
	}
	first, err := read(body)
	if err != nil {
		return nil, err
	}
	w, res, err := c.turn.Whole(ctx, first, c, func(ctx context.Context, body []byte) (*answer.Whole, error) {
		resp, err := g.again(ctx, sent, body, "application/json")
		if err != nil {
			return nil, err
		}
		told, err := httpedge.ReadAll(resp.Body, resp.ContentLength, g.cfg.MaxBody)
		_ = resp.Body.Close()
		if err != nil {
			return nil, errReplay
		}
		return read(told)
	})
	if err != nil {
		return nil, deny(http.StatusServiceUnavailable, "store-failed", err.Error()+"; run margay doctor")
	}
	resp := seen[w]
	if res.Denied() {
		d := decided(&res.Decision)
		if len(res.Findings) > 0 {
			if body, ok := resp.Halted(c.model, "margay: "+d.told()); ok {
				return cut.Own(body), nil
			}
		}
		return nil, d
	}
	out := &cut.Released{}
	err = out.Encode(&res, func(dst []byte) ([]byte, error) { return append(dst, resp.Rewrite(res.Edits, res.Refused)...), nil })
	c.owe(resp)
	return out, err
}

// answer is a whole answer as the mediator takes it, without what the client did
// not ask for.
func (g *Gateway) answer(c *call, resp wire.Response) *answer.Whole {
	w := &answer.Whole{ID: resp.ID(), Names: resp.Names()}
	parts := resp.Parts()
	for i := range parts {
		p := &parts[i]
		t := flow.Text{
			ID: p.ID, Text: p.Text, Field: p.Field, Tool: p.Tool, Fixed: p.Fixed, Opaque: p.Opaque, Path: func() string { return resp.Path(p) },
		}
		if c.session.Judges {
			t.Tokens, t.Telemetry = resp.Tokens(p)
		}
		w.Texts = append(w.Texts, t)
		if p.Choice >= 0 && (p.Field == flow.FieldContent || p.Field == flow.FieldRefusal) {
			w.Says = append(w.Says, p.ID)
		}
	}
	for _, tc := range resp.Calls() {
		w.Calls = append(w.Calls, answer.ToolCallText{Name: tc.Name, Arguments: tc.Arguments})
	}
	if c.asked && !resp.Logprobs() {
		g.mute.Put(c.model, struct{}{})
	}
	if c.asked {
		resp.DropLogprobs()
	}
	if w.ID != "" {
		c.named(w.ID)
	}
	return w
}

// scrub takes the headers out that hold a secret.
func (g *Gateway) scrub(ctx context.Context, c *call, h http.Header) error {
	var texts []flow.Text
	var names []string
	for name, values := range h {
		if len(values) == 1 && usual(name, values[0]) {
			continue
		}
		names = append(names, name)
		texts = append(texts, flow.Text{ID: len(texts), Text: name + ": " + strings.Join(values, "\n"), Path: func() string { return "header" }})
	}
	if len(texts) == 0 {
		return nil
	}
	res := c.session.Decide(ctx, flow.Generate, &mediator.Message{Headers: texts})
	if res.Denied() {
		return decided(&res.Decision)
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
	*outlet.Client

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

// plain mediates an answer that is one text, such as a proxy's error page.
func (g *Gateway) plain(ctx context.Context, c *call, body []byte) (*cut.Released, error) {
	res := c.session.Decide(ctx, flow.Generate, &mediator.Message{Texts: []flow.Text{{Text: string(body), Path: func() string { return "body" }}}})
	if res.Denied() {
		return nil, decided(&res.Decision)
	}
	out := &cut.Released{}
	return out, out.Encode(&res, func(dst []byte) ([]byte, error) {
		if text, ok := res.Edits[0]; ok {
			return append(dst, text...), nil
		}
		return append(dst, body...), nil
	})
}
