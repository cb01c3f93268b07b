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
	kind kind
	api  *api // whose shape errors have, at least
	body bool // requests have one
	asks bool // for text that a model writes
	// previous names what the request is about, where no body says it.
	previous string
}

type kind uint8

const (
	unknown kind = iota
	mediated
	passed
	upgrade // the client wants another protocol
)

// Mediated are the requests that are mediated, for messages.
const covered = "POST /chat/completions, /completions, /embeddings, /responses and what is below it, /messages, /messages/count_tokens and GET /models"

// route finds what a path below /v1 is.
func (g *Gateway) route(r *http.Request, path string) route {
	if rest, ok := strings.CutPrefix(path, "/responses"); ok && (rest == "" || rest[0] == '/') {
		if rt := g.responses(r, rest); rt.kind != unknown {
			return rt
		}
	}
	post, get := r.Method == http.MethodPost, r.Method == http.MethodGet
	api := g.apis.of(r, path)
	switch {
	case post && (path == "/chat/completions" || path == "/completions" || path == "/embeddings"):
		return route{kind: mediated, api: g.apis.chat, body: true, asks: true}
	case post && (path == "/messages" || path == "/messages/count_tokens"):
		return route{kind: mediated, api: g.apis.messages, body: true}
	case get && (path == "/models" || strings.HasPrefix(path, "/models/")):
		return route{kind: mediated, api: api}
	case slices.Contains(g.cfg.PassPaths, path), slices.Contains(g.cfg.PassPaths, "/v1"+path):
		return route{kind: passed, api: api}
	}
	return route{kind: unknown, api: api}
}

// responses finds what a path below /v1/responses is. A response that the
// server keeps belongs to the trajectory that it was made in.
func (g *Gateway) responses(r *http.Request, rest string) route {
	rt := route{kind: unknown, api: g.apis.responses}
	post, get := r.Method == http.MethodPost, r.Method == http.MethodGet
	id, verb, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	switch {
	case get && r.Header.Get("Upgrade") != "":
		rt.kind = upgrade
	case post && rest == "":
		rt.kind, rt.body, rt.asks = mediated, true, true
	case post && (rest == "/input_tokens" || rest == "/compact"):
		rt.kind, rt.body = mediated, true
	case id == "":
	case post && verb == "cancel", get && (verb == "" || verb == "input_items"), r.Method == http.MethodDelete && verb == "":
		rt.kind, rt.previous = mediated, id
	}
	return rt
}
