// Package gateway is the HTTP connector: a reverse proxy for model APIs whose
// requests and answers go through a mediator. It holds no policy.
//
// Requests are read whole, parsed strictly and forwarded with the mediator's
// edits. Answers stream: every event is delayed until its text is decided and
// goes out as it came where nothing in it is edited. The caller's credentials
// go to the configured upstream and nowhere else; redirects are not followed.
package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire"
)

// Config is what a Gateway needs. Zero limits mean the defaults.
type Config struct {
	Engine *mediator.Engine
	// Upstream is the base URL of the model API, such as
	// https://api.openai.com/v1.
	Upstream *url.URL
	// Name is the upstream's name as a sink; its host by default.
	Name string
	// CAFile adds certificates to those the system trusts.
	CAFile string
	// Hosts are the names, besides loopback ones, that requests may be
	// addressed to. "*" takes any.
	Hosts []string
	// Origins are the web origins that may send requests. None by default.
	Origins []string
	// Token, where not empty, is the first element of every path. It keeps
	// other users of the machine out of a listener on loopback.
	Token string
	// Auth, where not empty, is the bearer token that the gateway itself
	// asks for, in the header Margay-Token.
	Auth string
	// PassPaths are further API paths that are forwarded unseen.
	PassPaths []string
	MaxBody   int           // bytes of a request or a whole answer; 32 MiB
	MaxEvent  int           // bytes of one event of a stream; 4 MiB
	Idle      time.Duration // longest silence of an upstream; 10 min
	Log       *slog.Logger
	// AskLogprobs makes the gateway ask for the distributions of the tokens,
	// which the risk model judges by, and take them out of the answer again.
	// A model that has none is remembered.
	AskLogprobs bool
	// Streamed, where not nil, is told about every stream that ended.
	Streamed func(StreamStats)
	// Transport is used for the upstream; by default one of its own.
	Transport http.RoundTripper
}

// StreamStats says how a stream was delayed.
type StreamStats struct {
	Events   int           // that arrived
	MaxHeld  int64         // bytes of text held at one time
	MaxDelay time.Duration // of an event, from its arrival to its release
}

// Gateway is an http.Handler. Close releases its connections.
type Gateway struct {
	cfg   Config
	proxy *httputil.ReverseProxy
	apis  apis
	guard httpedge.Guard
	mute  mute
	owed  owed
}

// New returns a gateway.
func New(cfg Config) (*Gateway, error) {
	if cfg.Engine == nil || cfg.Upstream == nil {
		return nil, errors.New("gateway: engine and upstream are required")
	}
	if cfg.Upstream.Scheme != "http" && cfg.Upstream.Scheme != "https" || cfg.Upstream.Host == "" {
		return nil, fmt.Errorf("gateway: upstream %q is no http(s) URL", cfg.Upstream.Redacted())
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Upstream.Host
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = 32 << 20
	}
	if cfg.MaxEvent <= 0 {
		cfg.MaxEvent = 4 << 20
	}
	if cfg.Idle <= 0 {
		cfg.Idle = 10 * time.Minute
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Transport == nil {
		t, err := httpedge.Transport(cfg.CAFile, cfg.Idle)
		if err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		cfg.Transport = t
	}
	g := &Gateway{cfg: cfg, apis: newAPIs(), guard: httpedge.Guard{Hosts: cfg.Hosts, Origins: cfg.Origins, Auth: cfg.Auth}}
	if cfg.AskLogprobs {
		cfg.Transport = asker{g, cfg.Transport}
	}
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      cfg.Transport,
		FlushInterval:  -1,
		BufferPool:     &buffers{},
		ModifyResponse: g.response,
		ErrorHandler:   g.failed,
		ErrorLog:       slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	return g, nil
}

// Close releases the idle connections to the upstream.
func (g *Gateway) Close() {
	if t, ok := g.cfg.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, burst)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	api := g.apis.of(r, "")
	refuse := func(status int, code, detail string) { refuse(w, api, status, code, detail, "") }
	if g.cfg.Token != "" {
		rest, ok := strings.CutPrefix(path, "/"+g.cfg.Token)
		if !ok || rest != "" && rest[0] != '/' {
			refuse(http.StatusNotFound, "not-found", "no such path; use the base URL that margay printed")
			return
		}
		path = rest
	}
	if code, detail := g.guard.Stranger(r); code != "" {
		refuse(http.StatusForbidden, code, detail)
		return
	}
	switch path {
	case "/healthz":
		_, _ = w.Write([]byte("ok\n"))
		return
	case "/readyz":
		if err := g.cfg.Engine.Ready(r.Context()); err != nil {
			refuse(http.StatusServiceUnavailable, "not-ready", err.Error())
			return
		}
		_, _ = w.Write([]byte("ready\n"))
		return
	}
	path, ok := strings.CutPrefix(path, "/v1")
	if !ok {
		refuse(http.StatusNotFound, "not-found", "API paths begin with /v1")
		return
	}
	path = strings.TrimSuffix(path, "/")
	rt := g.route(r, path)
	api = rt.api
	switch rt.kind {
	case mediated:
		g.mediate(w, r, path, rt)
	case upgrade:
		refuse(http.StatusUpgradeRequired, "websocket", "margay does not mediate WebSockets; use POST over HTTP (Codex does so by itself, or with supports_websockets=false)")
	case passed:
		g.forward(w, r, &call{g: g, path: path, api: api, pass: true})
	default:
		refuse(http.StatusNotImplemented, "not-covered", "margay mediates "+covered+" under /v1; other paths are refused unless pass_paths lists them")
	}
}

// call is one request on its way.
type call struct {
	g       *Gateway
	api     *api
	path    string
	pass    bool
	caller  string // the credential that it came with
	session *mediator.Session
	body    []byte // what was decided; nil for none

	model string // asked for
	// Of a conversation whose labels are looked at.
	step  *mediator.Step
	conv  wire.Conversation
	edits map[int]string
	view  mediator.View // that the answer is made from

	asked bool   // it asks for what the client did not
	plain []byte // the body without that

	settler wire.Settler // the request, where it must have results for calls
	owes    []wire.Owed  // those
	goesOn  string       // the answer that they belong to
}

type callKey struct{}

func (g *Gateway) rewrite(pr *httputil.ProxyRequest) {
	c := pr.In.Context().Value(callKey{}).(*call)
	u := *g.cfg.Upstream
	u.Path = strings.TrimSuffix(u.Path, "/") + c.path
	u.RawPath = ""
	u.RawQuery = pr.In.URL.RawQuery
	u.User = nil
	pr.Out.URL = &u
	pr.Out.Host = u.Host
	for _, h := range []string{"Margay-Trajectory", "Margay-Token", "Origin", "Referer", "Content-Encoding"} {
		pr.Out.Header.Del(h)
	}
	if c.pass {
		return
	}
	// A GET has no body that was looked at, and an upgraded connection
	// could not be.
	setBody(pr.Out, c.body)
	pr.Out.Header.Del("Upgrade")
	pr.Out.Header.Del("Connection")
	pr.Out.Header.Set("Accept-Encoding", "identity")
}

// failed answers where the upstream could not be reached or its answer not be
// used.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		g.cfg.Log.Info("client went away", "path", r.URL.Path)
		return
	}
	api := r.Context().Value(callKey{}).(*call).api
	var d *denied
	if errors.As(err, &d) {
		refuse(w, api, d.status, d.code, d.detail, d.decision)
		return
	}
	g.cfg.Log.Warn("upstream failed", "upstream", g.cfg.Name, "error", reachError(err))
	refuse(w, api, http.StatusBadGateway, "upstream-failed", "the upstream "+g.cfg.Name+" can't be reached: "+reachError(err), "")
}

// reachError tells a transport error without the URL, which may hold a query.
func reachError(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// denied is an answer that is refused.
type denied struct {
	status                 int
	code, detail, decision string
}

func (d *denied) Error() string { return d.code + ": " + d.detail }

// told is the detail with the decision that can be asked for.
func (d *denied) told() string {
	if d.decision == "" {
		return d.detail
	}
	return d.detail + " (decision " + d.decision + "; margay explain " + d.decision + ")"
}

// refuse answers in the API's error shape.
func refuse(w http.ResponseWriter, api wire.API, status int, code, detail, decision string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if decision != "" {
		h.Set("Margay-Decision", decision)
	}
	detail = (&denied{detail: detail, decision: decision}).told()
	w.WriteHeader(status)
	_, _ = w.Write(api.ErrorBody(&wire.Problem{Status: status, Message: "margay: " + detail, Code: code})) //nolint:gosec // JSON, and sent as JSON
}

func (g *Gateway) sink() flow.Sink {
	return flow.Sink{Name: g.cfg.Name, Channel: flow.ChannelModel, Trust: flow.TrustProvider}
}
