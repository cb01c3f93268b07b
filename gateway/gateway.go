// Package gateway is the HTTP connector: a reverse proxy for model APIs whose
// requests and answers go through a mediator. It holds no policy.
//
// Requests are read whole, parsed strictly and forwarded with the mediator's
// edits. Answers stream: every event waits until its text is decided, and
// goes out unchanged if nothing in it is edited. The caller's credentials go
// to the configured upstream and nowhere else; redirects are not followed.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
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
	// Mask returns what takes secrets out of paths that messages and the log show;
	// nil: they show none.
	Mask func(context.Context) (func(string) string, error)
	// Ready reports whether requests can be decided; nil: always.
	Ready func(context.Context) error
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
	mute  *recent.Map[string, struct{}] // the models that tell no distributions
	owed  *recent.Map[debtor, debt]
}

// New returns a gateway.
func New(cfg Config) (*Gateway, error) {
	if cfg.Engine == nil || cfg.Upstream == nil {
		return nil, errors.New("gateway: engine and upstream are required")
	}
	if cfg.Upstream.Scheme != "http" && cfg.Upstream.Scheme != "https" || cfg.Upstream.Host == "" {
		return nil, fmt.Errorf("gateway: upstream %q is not an http(s) URL", cfg.Upstream.Redacted())
	}
	cfg.Name = cmp.Or(cfg.Name, cfg.Upstream.Host)
	cfg.MaxBody = cmp.Or(max(cfg.MaxBody, 0), 32<<20)
	cfg.MaxEvent = cmp.Or(max(cfg.MaxEvent, 0), 4<<20)
	cfg.Idle = cmp.Or(max(cfg.Idle, 0), 10*time.Minute)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Transport == nil {
		t, err := httpedge.Transport(cfg.CAFile, cfg.Idle)
		if err != nil {
			return nil, fmt.Errorf("gateway: %w", err)
		}
		cfg.Transport = t
	}
	g := &Gateway{
		cfg: cfg, apis: newAPIs(), guard: httpedge.Guard{Hosts: cfg.Hosts, Origins: cfg.Origins, Auth: cfg.Auth},
		mute: recent.New[string, struct{}](maxMute), owed: recent.New[debtor, debt](maxOwed),
	}
	if cfg.AskLogprobs {
		cfg.Transport = asker{g, cfg.Transport}
	}
	g.proxy = &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      cfg.Transport,
		BufferPool:     &buffers{},
		ModifyResponse: g.answered,
		ErrorHandler:   g.failed,
		ErrorLog:       slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
	}
	return g, nil
}

// Close releases the idle connections to the upstream.
func (g *Gateway) Close() {
	(&http.Client{Transport: g.cfg.Transport}).CloseIdleConnections()
}

// buffers are for bodies that are forwarded unseen. A mediated one writes itself,
// and leaves its buffer as it was.
type buffers struct{ sync.Pool }

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte {
	if p, ok := b.Pool.Get().(*[4 << 10]byte); ok {
		return p[:]
	}
	return make([]byte, 4<<10)
}

// Put implements httputil.BufferPool.
func (b *buffers) Put(p []byte) { b.Pool.Put((*[4 << 10]byte)(p)) }

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt := route{api: g.apis.of(r, "")}
	var d *denied
	if errors.As(g.serve(w, r, &rt), &d) {
		g.refuse(r, w, rt.api, nil, d)
	}
}

// serve answers a request of a path, whose route it finds.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request, rt *route) error {
	path := r.URL.Path
	if g.cfg.Token != "" {
		rest, ok := strings.CutPrefix(path, "/"+g.cfg.Token)
		if !ok || rest != "" && rest[0] != '/' {
			return deny(http.StatusNotFound, "not-found", "no such path; use the base URL that margay printed")
		}
		path = rest
	}
	if code, detail := g.guard.Refuse(r); code != "" {
		return deny(http.StatusForbidden, code, detail)
	}
	if !plainPath(r.URL) {
		return deny(http.StatusBadRequest, "path", "servers read the path "+g.shown(r, r.URL.EscapedPath())+" differently: write it without empty elements, dots, backslashes, and encoded slashes or dots")
	}
	switch path {
	case "/healthz":
		_, _ = cut.Own([]byte("ok\n")).WriteTo(w)
		return nil
	case "/readyz":
		if g.cfg.Ready != nil {
			if err := g.cfg.Ready(r.Context()); err != nil {
				d := deny(http.StatusServiceUnavailable, "not-ready", err.Error())
				d.write(w, rt.api) // a question about Margay, and no flow
				return nil
			}
		}
		_, _ = cut.Own([]byte("ready\n")).WriteTo(w)
		return nil
	}
	rest, ok := strings.CutPrefix(path, "/v1")
	if !ok || rest != "" && rest[0] != '/' {
		name := g.shown(r, path)
		return g.unserved(r, "not-found", name, "unknown path "+name+"; the API's paths start with /v1, and no setting forwards others: put /v1 at the end of the client's base URL")
	}
	path = strings.TrimSuffix(rest, "/")
	var err error
	if *rt, err = g.route(r, path); err != nil {
		return err
	}
	if !rt.pass {
		return g.mediate(w, r, path, rt)
	}
	g.forward(w, r, &call{g: g, path: path, api: rt.api, pass: true})
	return nil
}

// call is one request on its way.
type call struct {
	g       *Gateway
	api     *api
	path    string
	pass    bool
	says    bool   // a model answers
	caller  string // the credential that it came with
	session *mediator.Session
	body    []byte // what was decided; nil for none
	to      *final // the client

	model string // asked for
	turn  *mediator.Turn
	req   wire.Request // nil for one without a body

	asked bool   // it asks for what the client did not
	plain []byte // the body without that

	owes   []wire.Owed // calls that the request must have results for
	goesOn debtor      // the answer that they belong to

	ahead interface{ Ahead() int } // the connection that the answer comes by; nil where it does not read ahead
}

// reached notes the connection that the answer comes by.
func (c *call) reached(i httptrace.GotConnInfo) { c.ahead, _ = i.Conn.(interface{ Ahead() int }) }

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

// failed answers where the upstream could not be reached, or its answer could not
// be used.
func (g *Gateway) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		g.cfg.Log.Info("client went away", "path", r.URL.Path)
		return
	}
	var d *denied
	if !errors.As(err, &d) {
		why := httpedge.Reason(err)
		g.cfg.Log.Warn("upstream failed", "upstream", g.cfg.Name, "error", why)
		d = unusable("upstream-failed", "the upstream "+g.cfg.Name+" can't be reached: "+why)
	}
	c := r.Context().Value(callKey{}).(*call)
	g.refuse(r, w, c.api, c.session, d)
}

// denied is why a request or an answer is refused.
type denied struct {
	status                 int
	code, detail, decision string
}

func (d *denied) Error() string { return d.code + ": " + d.detail }

// deny refuses what was not decided about.
func deny(status int, code, detail string) *denied { return &denied{status, code, detail, ""} }

// unusable refuses an answer of the upstream's that can't be decided about.
func unusable(code, detail string) *denied { return deny(http.StatusBadGateway, code, detail) }

// decided refuses an answer of the upstream's that a decision denies.
func decided(d *flow.Decision) *denied {
	return &denied{http.StatusBadGateway, "denied", d.Why(), d.ID}
}

// told is the detail with the decision that can be asked for.
func (d *denied) told() string { return d.detail + d.explain() }

// explain is the decision that can be asked for; empty for none.
func (d *denied) explain() string {
	if d.decision == "" {
		return ""
	}
	return " (decision " + d.decision + "; margay explain " + d.decision + ")"
}

// refuse records what was not decided about, and answers.
func (g *Gateway) refuse(r *http.Request, w http.ResponseWriter, api wire.API, s *mediator.Session, d *denied) {
	verb := flow.Generate
	if d.status < http.StatusInternalServerError {
		verb = flow.Prompt
	}
	g.record(r.Context(), verb, r.Header.Get("Margay-Trajectory"), s, d)
	d.write(w, api)
}

// record gives a refusal without a decision one. Where the log fails it stays
// without.
func (g *Gateway) record(ctx context.Context, verb flow.Verb, trajectory string, s *mediator.Session, d *denied) {
	if d.decision != "" {
		return
	}
	if s == nil {
		var err error
		if s, err = g.cfg.Engine.Session(ctx, &mediator.SessionRequest{Trajectory: trajectory, Sink: g.sink(), Refuses: true}); err != nil {
			return
		}
	}
	res := s.Decide(ctx, verb, &mediator.Message{Outcome: flow.Deny, Notes: []flow.Reason{{Code: d.code, Detail: d.detail, Action: flow.ActBlock}}})
	d.decision = res.Decision.ID
}

// write answers in the API's error shape.
func (d *denied) write(w http.ResponseWriter, api wire.API) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if d.decision != "" {
		h.Set("Margay-Decision", d.decision)
	}
	if d.status == http.StatusNotFound {
		h.Set("X-Should-Retry", "false") // for the SDKs of OpenAI and Anthropic
	}
	w.WriteHeader(d.status)
	_, _ = cut.Own(api.ErrorBody(&wire.Problem{Status: d.status, Message: "margay: " + d.told(), Code: d.code})).WriteTo(w)
}

func (g *Gateway) sink() flow.Sink {
	return flow.Sink{Name: g.cfg.Name, Channel: flow.ChannelModel, Trust: flow.TrustProvider}
}
