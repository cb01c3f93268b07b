package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/problem"
)

// patience bounds how long one upstream is asked.
const patience = 5 * time.Second

// target is an upstream to ask.
type target struct{ key, name, url, caFile string }

// shown is where the target is, without what may be a credential.
func (t *target) shown() string {
	u, err := url.Parse(t.url)
	if err != nil || u.Host == "" {
		return "(no valid URL)"
	}
	out := url.URL{Scheme: u.Scheme, Host: u.Host}
	if t.key == "upstream" {
		out.Path = u.Path // that of an MCP server may be its key
	}
	return out.String()
}

// step is one of reaching an upstream; later ones are greater.
type step int32

const (
	byName step = iota
	byTCP
	byProxy
	byTLS
	byHTTP
)

var steps = [...]struct{ name, hint string }{
	byName:  {"name (DNS)", "is the host's name right, and does this machine resolve names? HTTPS_PROXY names a proxy"},
	byTCP:   {"TCP", "is it running? HTTPS_PROXY names a proxy"},
	byProxy: {"proxy", "does the proxy let this host pass? NO_PROXY names hosts that need none"},
	byTLS:   {"TLS", "ca_file names the certificates of a private authority; is this machine's clock right?"},
	byHTTP:  {"HTTP", "is it the right port, and http or https as the server speaks?"},
}

// progress is how far a request came. Hooks of one request may run at once.
type progress struct{ at atomic.Int32 }

func (p *progress) reached(s step) {
	for {
		was := p.at.Load()
		if was >= int32(s) || p.at.CompareAndSwap(was, int32(s)) {
			return
		}
	}
}

// trace notes the steps of a request. next is the one behind the connection.
func (p *progress) trace(next step) *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectStart: func(_, _ string) { p.reached(byTCP) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				p.reached(next)
			}
		},
		TLSHandshakeStart: func() { p.reached(byTLS) },
		GotConn:           func(httptrace.GotConnInfo) { p.reached(byHTTP) },
	}
}

// reach asks a target for something that any HTTP server answers.
func (t *target) reach(ctx context.Context) Check {
	say := func(status, hint, format string, args ...any) Check {
		return Check{Name: t.key, Status: status, Hint: hint, Detail: problem.OneLine(fmt.Sprintf(format, args...))}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tr, err := httpedge.Transport(t.caFile, 0)
	if err != nil {
		return say(Fail, "see ca_file of this "+t.key, "%s: %v", t.name, err)
	}
	defer tr.CloseIdleConnections()
	tr.MaxResponseHeaderBytes = 64 << 10
	u, err := url.Parse(t.url)
	if err != nil || u.Host == "" {
		return say(Fail, "see url of this "+t.key, "%s has no valid URL", t.name)
	}
	// The path of an MCP server may be its key, and a request there may start a
	// session.
	ask := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
	if t.key == "upstream" {
		ask.Path = strings.TrimSuffix(u.Path, "/") + "/models"
	}
	req := &http.Request{Method: http.MethodGet, URL: ask, Host: u.Host, Header: http.Header{}}
	next := byHTTP
	if u.Scheme == "https" {
		next = byTLS
		if proxy, err := tr.Proxy(req); proxy != nil && err == nil {
			next = byProxy
		}
	}
	var p progress
	start := time.Now()
	resp, err := tr.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, p.trace(next))))
	if err != nil {
		at := steps[p.at.Load()]
		why := httpedge.Reason(err)
		if errors.Is(err, context.DeadlineExceeded) {
			why = fmt.Sprintf("no answer within %s", patience)
		}
		c := say(Fail, at.hint, "%s at %s can't be reached: %s: %s", t.name, t.shown(), at.name, why)
		c.Step = at.name
		return c
	}
	defer resp.Body.Close()
	took := time.Since(start).Round(time.Millisecond)
	if resp.StatusCode >= 500 {
		return say(Warn, "try again", "%s at %s answers with status %d", t.name, t.shown(), resp.StatusCode)
	}
	return say(OK, "", "%s at %s answers in %s (status %d, asked without credentials)", t.name, t.shown(), took, resp.StatusCode)
}
