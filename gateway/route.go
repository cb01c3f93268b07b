package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/anthropic"
	"github.com/margaydev/margay/wire/openaichat"
)

// api is a codec with the memory of its streams.
type api struct {
	wire.API
	readings *sync.Pool
	shape    wire.Shape
}

func newAPI(a wire.API) *api { return &api{API: a, readings: newReadings(a), shape: a.Shape()} }

// apis are the codecs of a Gateway.
type apis struct{ chat, messages *api }

func newAPIs() apis { return apis{chat: newAPI(openaichat.API{}), messages: newAPI(anthropic.API{})} }

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
}

type kind uint8

const (
	unknown kind = iota
	mediated
	passed
)

// Mediated are the requests that are mediated, for messages.
const covered = "POST /chat/completions, /completions, /embeddings, /messages, /messages/count_tokens and GET /models"

// route finds what a path below /v1 is.
func (g *Gateway) route(r *http.Request, path string) route {
	post, get := r.Method == http.MethodPost, r.Method == http.MethodGet
	api := g.apis.of(r, path)
	switch {
	case post && (path == "/chat/completions" || path == "/completions" || path == "/embeddings"):
		return route{mediated, g.apis.chat, true}
	case post && (path == "/messages" || path == "/messages/count_tokens"):
		return route{mediated, g.apis.messages, true}
	case get && (path == "/models" || strings.HasPrefix(path, "/models/")):
		return route{mediated, api, false}
	case slices.Contains(g.cfg.PassPaths, path), slices.Contains(g.cfg.PassPaths, "/v1"+path):
		return route{passed, api, false}
	}
	return route{unknown, api, false}
}
