package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/anthropic"
	"github.com/margaydev/margay/wire/openaichat"
	"github.com/margaydev/margay/wire/openairesponses"
)

// api is a codec with the memory of its streams.
type api struct {
	wire.API
	readings *sync.Pool
	shape    wire.Shape
}

func newAPI(a wire.API) *api { return &api{API: a, readings: newReadings(a), shape: a.Shape()} }

// apis are the codecs of a Gateway.
type apis struct{ chat, responses, messages *api }

func newAPIs() apis {
	return apis{chat: newAPI(openaichat.API{}), responses: newAPI(openairesponses.API{}), messages: newAPI(anthropic.API{})}
}

// of is the API that a request speaks. Anthropic's clients name its version,
// whatever they ask for.
func (a *apis) of(r *http.Request, path string) *api {
	if r.Header.Get("Anthropic-Version") != "" || path == "/messages" || strings.HasPrefix(path, "/messages/") {
		return a.messages
	}
	return a.chat
}

// route says how the bodies of a path are treated.
type route struct {
	api  *api // whose shape errors have, at least
	pass bool // they are forwarded unseen
	body bool // requests have one
	asks bool // for text that a model writes
	says bool // a model answers, whole or in a stream; elsewhere are neither streams nor calls
	// previous names what the request is about, where no body says it.
	previous string
}

// covered are the requests that are mediated, for messages.
const covered = "POST /chat/completions, /completions, /embeddings, /responses and what is below it, /messages, /messages/count_tokens and GET /models"

// route finds what a path below /v1 is.
func (g *Gateway) route(r *http.Request, path string) (route, error) {
	post, get := r.Method == http.MethodPost, r.Method == http.MethodGet
	api := g.apis.of(r, path)
	if rest, ok := strings.CutPrefix(path, "/responses"); ok && (rest == "" || rest[0] == '/') {
		if get && r.Header.Get("Upgrade") != "" {
			return route{api: g.apis.responses}, deny(http.StatusUpgradeRequired, "websocket", "margay does not mediate WebSockets; use POST over HTTP (Codex does so by itself, or with supports_websockets=false)")
		}
		if rt, ok := g.responses(r.Method, rest); ok {
			return rt, nil
		}
	}
	switch {
	case post && (path == "/chat/completions" || path == "/completions" || path == "/embeddings"):
		return route{api: g.apis.chat, body: true, asks: true, says: path != "/embeddings"}, nil
	case post && (path == "/messages" || path == "/messages/count_tokens"):
		return route{api: g.apis.messages, body: true, says: path == "/messages"}, nil
	case get && (path == "/models" || strings.HasPrefix(path, "/models/")):
		return route{api: api}, nil
	case slices.Contains(g.cfg.PassPaths, path), slices.Contains(g.cfg.PassPaths, "/v1"+path):
		return route{api: api, pass: true}, nil
	}
	return route{api: api}, g.uncovered(r, path)
}

// responses finds what a path below /v1/responses is. A response that the
// server keeps belongs to the trajectory that it was made in.
func (g *Gateway) responses(method, rest string) (rt route, ok bool) {
	rt.api = g.apis.responses
	id, verb, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch method + " " + verb {
	case "POST ":
		rt.body, rt.asks, rt.says = true, rest == "", rest == ""
		return rt, rest == "" || rest == "/input_tokens" || rest == "/compact"
	case "POST cancel", "GET ", "GET input_items", "DELETE ":
		rt.previous, rt.says = id, verb == "" && method == http.MethodGet || verb == "cancel"
		return rt, id != ""
	}
	return rt, false
}
