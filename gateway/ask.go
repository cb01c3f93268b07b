package gateway

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"sync"

	"github.com/margaydev/margay/wire"
)

// ask makes a request for a completion ask for the distributions of its
// tokens, unless the client decided that itself or the model has none.
func (g *Gateway) ask(c *call, req wire.Request) {
	asker, ok := req.(wire.LogprobAsker)
	if !ok || !g.cfg.AskLogprobs {
		return
	}
	model := req.Model()
	if len(model) > maxModel || g.mute.has(model) {
		return
	}
	if body, ok := asker.AskLogprobs(c.body); ok {
		c.plain, c.body, c.asked = c.body, body, true
	}
}

// maxMute bounds the models that are remembered to tell no distributions, and
// maxModel the bytes of a name: it is the caller's.
const (
	maxMute  = 1024
	maxModel = 256
)

// mute remembers the models that tell no distributions, the one noted longest
// ago forgotten first. The zero value is ready; it is safe for concurrent use.
type mute struct {
	mu     sync.Mutex
	models map[string]*list.Element
	order  list.List
}

func (m *mute) has(model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.models[model] != nil
}

func (m *mute) add(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.models == nil {
		m.models = map[string]*list.Element{}
	}
	if m.models[model] != nil {
		return
	}
	m.models[model] = m.order.PushBack(model)
	if m.order.Len() > maxMute {
		delete(m.models, m.order.Remove(m.order.Front()).(string))
	}
}

// asker is the transport to an upstream that may refuse to tell distributions:
// then it is asked again without.
type asker struct {
	g    *Gateway
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a asker) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(r)
	c, ok := r.Context().Value(callKey{}).(*call)
	if err != nil || !ok || !c.asked || resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusUnprocessableEntity {
		return resp, err
	}
	const most = 64 << 10
	told, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil || !bytes.Contains(bytes.ToLower(told), []byte("logprobs")) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(told), resp.Body), resp.Body}
		return resp, nil
	}
	_ = resp.Body.Close()
	a.g.mute.add(c.model)
	c.asked = false
	again := r.Clone(r.Context())
	setBody(again, c.plain)
	return a.next.RoundTrip(again)
}
