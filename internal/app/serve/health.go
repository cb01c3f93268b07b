package serve

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/mediator/audit"
)

// healths are the states of the upstreams. It is safe for concurrent use.
type healths struct {
	mu  sync.Mutex
	all []*health
	// changed is called when an upstream starts to fail, or answers again.
	changed func(audit.Upstream)
}

// watch wraps a transport to note the outcomes of its requests. Upstreams with
// the same name and URL share one state.
func (h *healths) watch(name, at string, next http.RoundTripper) http.RoundTripper {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.all {
		if one.now.Name == name && one.now.URL == at {
			return &watched{one, next}
		}
	}
	one := &health{of: h, now: console.Upstream{Name: name, URL: at}}
	h.all = append(h.all, one)
	return &watched{one, next}
}

// list returns all upstreams by name.
func (h *healths) list() []console.Upstream {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []console.Upstream{}
	for _, one := range h.all {
		out = append(out, one.now)
	}
	slices.SortFunc(out, func(a, b console.Upstream) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.URL, b.URL)) })
	return out
}

type health struct {
	of  *healths
	now console.Upstream // guarded by of.mu
}

type watched struct {
	*health
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := w.next.RoundTrip(r)
	if err != nil && r.Context().Err() != nil {
		return resp, err // the client disconnected
	}
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	w.note(status, err, start)
	return resp, err
}

// CloseIdleConnections closes those of the transport below.
func (w *watched) CloseIdleConnections() {
	if t, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// note notes an answer. Mistakes of the caller are not failures of the upstream.
func (h *health) note(status int, err error, start time.Time) {
	detail := ""
	switch {
	case err != nil:
		detail = "it can't be reached: " + httpedge.Reason(err)
	case status >= 500, status == http.StatusTooManyRequests:
		detail = "it answered " + strconv.Itoa(status) + " " + http.StatusText(status)
	}
	h.of.mu.Lock()
	was := h.now.Failing
	h.now.Requests++
	h.now.Last, h.now.Millis = time.Now().UTC(), time.Since(start).Milliseconds()
	h.now.Failing, h.now.Detail = detail != "", detail
	if detail != "" {
		h.now.Failures++
	}
	name, changed := h.now.Name, h.of.changed
	h.of.mu.Unlock()
	if changed != nil && was != (detail != "") {
		changed(audit.Upstream{Name: name, Failed: detail != "", Status: status, Detail: detail})
	}
}
