package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/wire"
)

// mediate decides about a request and forwards it.
func (g *Gateway) mediate(w http.ResponseWriter, r *http.Request, path string, rt *route) error {
	c := &call{g: g, path: path, api: rt.api, says: rt.says}
	var req wire.Request
	if rt.body {
		body, err := g.read(r)
		if err != nil {
			return err
		}
		if req, err = rt.api.ParseRequest(body, wire.Limits{MaxBytes: g.cfg.MaxBody}); err != nil {
			code := "strict-json"
			var se *strictjson.Error
			if errors.As(err, &se) {
				code = string(se.Code)
			}
			return deny(http.StatusBadRequest, code, "the request is not strict JSON: "+err.Error())
		}
	}
	if err := g.open(r, c, req, rt.previous); err != nil {
		if errors.Is(err, flow.ErrTrajectoryID) {
			return deny(http.StatusBadRequest, "trajectory", "the header Margay-Trajectory is "+err.Error())
		}
		g.cfg.Log.Error("request denied", "error", err)
		return deny(http.StatusServiceUnavailable, "store-failed", err.Error()+"; run margay doctor")
	}
	res := g.prompt(r, c, req, rt)
	if res.Denied() {
		d := decided(&res.Decision)
		d.status = http.StatusForbidden
		if len(res.Findings) == 0 {
			d.status = http.StatusServiceUnavailable
		}
		if signed(req, res.Findings) {
			d.status = http.StatusBadRequest
			d.detail += "; it is signed and can't be edited: go on with a new message, or leave this turn's thinking out"
		}
		return d
	}
	if req != nil {
		c.model = req.Model()
		g.owing(c, req)
		c.body = c.paid(c.body)
		if rt.asks {
			g.ask(c, req)
		}
	}
	c.to = &final{outlet.To(w), string(res.Decision.Trajectory)}
	g.forward(c.to, r, c)
	return nil
}

// signed reports whether something was found in the thinking of a turn that
// goes on: that is the conversation's state, and no missing permission.
func signed(req wire.Request, found []audit.Finding) bool {
	thinking := func(f audit.Finding) bool {
		return f.Field == flow.FieldReasoning.String() && f.Action != flow.ActReport
	}
	return req != nil && slices.ContainsFunc(found, thinking) &&
		slices.ContainsFunc(req.Parts(), func(p wire.Part) bool { return p.Fixed && !p.Key && p.Field == flow.FieldReasoning })
}

func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, c *call) {
	ctx := context.WithValue(r.Context(), callKey{}, c)
	if c.says {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: c.reached})
	}
	g.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// read reads a request's body within the limit.
func (g *Gateway) read(r *http.Request) ([]byte, error) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, deny(http.StatusUnsupportedMediaType, "content-type", "the body must be application/json")
	}
	var in io.Reader = r.Body
	switch enc := strings.ToLower(r.Header.Get("Content-Encoding")); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(io.LimitReader(r.Body, int64(g.cfg.MaxBody)+1))
		if err != nil {
			return nil, deny(http.StatusBadRequest, "content-encoding", "the body is not valid gzip")
		}
		in = z
	default:
		return nil, deny(http.StatusUnsupportedMediaType, "content-encoding", "bodies may be plain or gzip")
	}
	body, err := httpedge.ReadAll(in, r.ContentLength, g.cfg.MaxBody)
	switch {
	case errors.Is(err, httpedge.ErrTooLarge):
		return nil, deny(http.StatusRequestEntityTooLarge, "too-large", fmt.Sprintf("the body is larger than %d bytes (limits.body)", g.cfg.MaxBody))
	case err != nil:
		return nil, deny(http.StatusBadRequest, "body", "the body could not be read")
	}
	return body, nil
}

func (g *Gateway) open(r *http.Request, c *call, req wire.Request, previous string) error {
	c.caller = r.Header.Get("Authorization") + "\n" + r.Header.Get("Api-Key") + "\n" + r.Header.Get("X-Api-Key")
	sr := mediator.SessionRequest{
		Caller:     c.caller,
		Trajectory: r.Header.Get("Margay-Trajectory"),
		Sink:       g.sink(),
		Previous:   previous,
	}
	if req != nil {
		sr.Previous = req.Previous()
		for i := range req.NumMessages() {
			sr.Messages = append(sr.Messages, req.MessageRaw(i))
			sr.Roles = append(sr.Roles, req.MessageRole(i))
		}
	}
	s, err := g.cfg.Engine.Session(r.Context(), &sr)
	c.session = s
	return err
}

// texts are all strings that leave with a request: its body's, its path's and
// query's, and those of all headers but the caller's credentials.
func texts(r *http.Request, path string, req wire.Request) []flow.Text {
	var out []flow.Text
	if req != nil {
		parts := req.Parts()
		out = make([]flow.Text, 0, len(parts)+4)
		for i := range parts {
			p := &parts[i]
			out = append(out, flow.Text{
				ID: p.ID, Text: p.Text, Field: p.Field, Role: p.Role, Tool: p.Tool, Fixed: p.Fixed, Opaque: p.Opaque,
				Path: func() string { return req.Path(p) },
			})
		}
	}
	extra := func(where, value string) {
		out = append(out, flow.Text{ID: -1 - len(out), Text: value, Fixed: true, Path: func() string { return where }})
	}
	if req == nil {
		extra("path", path)
	}
	if q := r.URL.RawQuery; q != "" {
		extra("query", q)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if plainHeader(name) {
			continue
		}
		value := strings.Join(r.Header[name], "\n")
		if tags, ok := wire.Tags([]byte(value)); ok {
			for _, tag := range tags {
				extra("header "+name, tag)
			}
			continue
		}
		if !strings.HasSuffix(strings.ToLower(name), "id") {
			// What names a session or a client would be a key's name.
			value = name + ": " + value
		}
		extra("header "+name, value)
	}
	return out
}

// plainHeader reports whether a header is the caller's credential for this
// upstream, or does not reach it as it came.
func plainHeader(name string) bool {
	switch name {
	case "Authorization", "Api-Key", "X-Api-Key", "Openai-Organization", "Openai-Project", "Content-Length", "Content-Encoding",
		"Accept-Encoding", "Connection", "Upgrade", "Margay-Trajectory", "Margay-Token", "Origin", "Referer", "Transfer-Encoding":
		return true
	}
	return false
}

func setBody(r *http.Request, body []byte) {
	if body == nil {
		r.Body, r.GetBody, r.ContentLength, r.TransferEncoding = nil, nil, 0, nil
		r.Header.Del("Content-Length")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	r.TransferEncoding = nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}
