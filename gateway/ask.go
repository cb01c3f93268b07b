package gateway

import (
	"bytes"
	"io"
	"net/http"

	"github.com/margaydev/margay/wire"
)

// ask makes a request for a completion ask for the distributions of its
// tokens, unless the client decided that itself or the model has none.
func (g *Gateway) ask(c *call, req wire.Request) {
	if !g.cfg.AskLogprobs {
		return
	}
	model := req.Model()
	if _, mute := g.mute.Get(model); mute || len(model) > maxModel {
		return
	}
	if body, ok := req.AskLogprobs(c.body); ok {
		c.plain, c.body, c.asked = c.body, body, true
	}
}

// maxMute bounds the models that are remembered to tell no distributions, and
// maxModel the bytes of a name: it is the caller's.
const (
	maxMute  = 1024
	maxModel = 256
)

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
		resp.Body = reread{io.MultiReader(bytes.NewReader(told), resp.Body), resp.Body}
		return resp, nil
	}
	_ = resp.Body.Close()
	a.g.mute.Put(c.model, struct{}{})
	c.asked = false
	again := r.Clone(r.Context())
	setBody(again, c.plain)
	return a.next.RoundTrip(again)
}

// reread is a body that is read through another reader.
type reread struct {
	io.Reader
	io.Closer
}
