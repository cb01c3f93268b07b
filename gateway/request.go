package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire"
)

// mediate decides about a request and forwards it.
func (g *Gateway) mediate(w http.ResponseWriter, r *http.Request, path string, rt route) {
	api := rt.api
	c := &call{g: g, path: path, api: api}
	refuse := func(status int, code, detail, decision string) { refuse(w, api, status, code, detail, decision) }
	var req wire.Request
	if rt.body {
		body, d := g.read(r)
		if d != nil {
			refuse(d.status, d.code, d.detail, "")
			return
		}
		var err error
		if req, err = api.ParseRequest(body, wire.Limits{MaxBytes: g.cfg.MaxBody}); err != nil {
			code, detail := "strict-json", "the request is not strict JSON: "+err.Error()
			var se *strictjson.Error
			var un *wire.Unsupported
			switch {
			case errors.As(err, &un):
				code, detail = un.Code, un.Detail
			case errors.As(err, &se):
				code = string(se.Code)
			}
			refuse(http.StatusBadRequest, code, detail, "")
			return
		}
	}
	if err := g.open(r, c, req, rt.previous); err != nil {
		if errors.Is(err, flow.ErrTrajectoryID) {
			refuse(http.StatusBadRequest, "trajectory", "the header Margay-Trajectory is "+err.Error(), "")
			return
		}
		g.cfg.Log.Error("request denied", "error", err)
		refuse(http.StatusServiceUnavailable, "store-failed", err.Error()+"; run margay doctor", "")
		return
	}
	res := c.session.Prompt(r.Context(), texts(r, path, req))
	if res.Denied() {
		status := http.StatusForbidden
		if len(res.Findings) == 0 {
			status = http.StatusServiceUnavailable
		}
		detail := reasons(&res.Decision)
		if signed(req, res.Findings) {
			status = http.StatusBadRequest
			detail += "; it is signed and can't be edited: go on with a new message, or leave this turn's thinking out"
		}
		refuse(status, "denied", detail, res.Decision.ID)
		return
	}
	if req != nil {
		c.model = req.Model()
		g.owing(c, req)
		g.plan(r.Context(), c, req, res.Edits)
		c.body = c.paid(c.body)
		if rt.asks {
			g.ask(c, req)
		}
	}
	if req == nil && rt.previous != "" {
		// What the server keeps has calls, too, and they were made from what
		// is not shown here.
		if c.step = c.session.Step(nil, nil, true, nil); c.step != nil {
			c.view, _ = c.step.First(r.Context())
		}
	}
	g.forward(&final{w, string(c.session.Trajectory())}, r, c)
}

// signed reports whether something was found in the thinking of a turn that
// goes on: that is the conversation's state, and no missing permission.
func signed(req wire.Request, found []mediator.FindingRecord) bool {
	thinking := func(f mediator.FindingRecord) bool {
		return f.Field == flow.FieldReasoning.String() && f.Action != flow.ActReport
	}
	return req != nil && slices.ContainsFunc(found, thinking) &&
		slices.ContainsFunc(req.Parts(), func(p wire.Part) bool { return p.Fixed && !p.Key && p.Field == flow.FieldReasoning })
}

func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, c *call) {
	g.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

func reasons(d *flow.Decision) string {
	var out []string
	for _, r := range d.Reasons {
		if r.Action != flow.ActReport && len(out) < 3 {
			out = append(out, r.Detail)
		}
	}
	if len(out) == 0 {
		return "denied"
	}
	return strings.Join(out, "; ")
}

// read reads a request's body within the limit.
func (g *Gateway) read(r *http.Request) ([]byte, *denied) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, &denied{status: http.StatusUnsupportedMediaType, code: "content-type", detail: "the body must be application/json"}
	}
	var in io.Reader = r.Body
	switch enc := strings.ToLower(r.Header.Get("Content-Encoding")); enc {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(io.LimitReader(r.Body, int64(g.cfg.MaxBody)+1))
		if err != nil {
			return nil, &denied{status: http.StatusBadRequest, code: "content-encoding", detail: "the body is not the gzip that it says it is"}
		}
		in = z
	default:
		return nil, &denied{status: http.StatusUnsupportedMediaType, code: "content-encoding", detail: "bodies may be plain or gzip"}
	}
	body, err := readAll(in, g.cfg.MaxBody)
	if errors.Is(err, errTooLarge) {
		return nil, &denied{status: http.StatusRequestEntityTooLarge, code: "too-large", detail: fmt.Sprintf("the body is larger than %d bytes (limits.body)", g.cfg.MaxBody)}
	}
	if err != nil {
		return nil, &denied{status: http.StatusBadRequest, code: "body", detail: "the body could not be read"}
	}
	return body, nil
}

var errTooLarge = errors.New("too large")

func readAll(r io.Reader, limit int) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(b) > limit {
		return nil, errTooLarge
	}
	return b, err
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
func texts(r *http.Request, path string, req wire.Request) []mediator.Text {
	var out []mediator.Text
	if req != nil {
		parts := req.Parts()
		out = make([]mediator.Text, 0, len(parts)+4)
		for i := range parts {
			p := &parts[i]
			out = append(out, mediator.Text{
				ID: p.ID, Text: p.Text, Field: p.Field, Role: p.Role, Tool: p.Tool, Fixed: p.Fixed, Opaque: p.Opaque,
				Path: func() string { return req.Path(p) },
			})
		}
	}
	extra := func(where, value string) {
		out = append(out, mediator.Text{ID: -1 - len(out), Text: value, Fixed: true, Path: func() string { return where }})
	}
	if req == nil {
		extra("path", path)
	}
	if q := r.URL.RawQuery; q != "" {
		extra("query", q)
	}
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		if !plainHeader(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
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
