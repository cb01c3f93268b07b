package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// plainPath reports whether every server reads a path alike: no empty elements
// and none that go up, nothing encoded that separates elements, no backslashes
// and no control characters. One slash may end it.
func plainPath(u *url.URL) bool {
	raw := strings.ToLower(u.EscapedPath())
	for _, hidden := range []string{"%2e", "%2f", "%5c", "%25"} {
		if strings.Contains(raw, hidden) {
			return false
		}
	}
	path, ok := strings.CutPrefix(u.Path, "/")
	if !ok || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return false
	}
	odd := func(s string) bool {
		s, _, _ = strings.Cut(s, ";") // parameters, as some servers read them
		return s == "" || s == "." || s == ".."
	}
	return path == "" || !slices.ContainsFunc(strings.Split(strings.TrimSuffix(path, "/"), "/"), odd)
}

// maxShown bounds how much of a path is shown.
const maxShown = 128

// shown is a path as messages and the log have it: in quotes and ASCII, cut, and
// without secrets.
func (g *Gateway) shown(r *http.Request, path string) string {
	if g.cfg.Mask == nil {
		return "(not shown)"
	}
	mask, err := g.cfg.Mask(r.Context())
	if err != nil {
		return "(not shown)"
	}
	path = mask(path[:min(len(path), 16*maxShown)])
	if len(path) > maxShown {
		return strconv.QuoteToASCII(path[:maxShown]) + "…"
	}
	return strconv.QuoteToASCII(path)
}

// uncovered refuses a request below /v1 that is not mediated.
func (g *Gateway) uncovered(r *http.Request, path string) *denied {
	name := g.shown(r, "/v1"+path)
	return g.unserved(r, "not-covered", name, fmt.Sprintf("margay does not cover %s %s: it mediates %s under /v1; to forward this path unseen, list it under pass_paths of its upstream (upstreams.NAME.pass_paths)",
		g.shown(r, r.Method), name, covered))
}

// unserved refuses a request that goes nowhere. SDKs do not repeat one that was
// answered with 404.
func (g *Gateway) unserved(r *http.Request, code, name, detail string) *denied {
	g.cfg.Log.Warn("a path is not served", "method", g.shown(r, r.Method), "path", name, "upstream", g.cfg.Name)
	return deny(http.StatusNotFound, code, detail)
}
