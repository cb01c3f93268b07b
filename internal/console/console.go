// Package console is the web page and the JSON API by which people see what
// their agents said, to whom, and why it was let through, and answer what they
// are asked. docs/console.md is for those who use it, docs/api/openapi.json
// lists the API.
//
// Every page is made from a model that the API gives out as JSON, too: a page
// can do nothing that the API can't. What others wrote is shown as text, with
// what can't be seen made visible, and masked once more on its way out: no
// answer of the console holds the value of a known secret. Pages load nothing
// from elsewhere and run no inline script.
package console

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"iter"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/console/access"
	"github.com/margaydev/margay/internal/console/live"
	"github.com/margaydev/margay/internal/console/results"
	"github.com/margaydev/margay/internal/console/view"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// Secrets are what the page of secrets lists: names, kinds and sources.
type Secrets interface {
	Secrets(ctx context.Context) iter.Seq2[secret.Record, error]
}

// Budgets tells how much trajectories have told; nil: pages have no such
// section.
type Budgets interface {
	// Budgets are those of one trajectory, by sink and field, or for an
	// empty id those of all that are nearest to their cap, at most limit.
	Budgets(ctx context.Context, of flow.TrajectoryID, limit int) ([]Meter, error)
}

// Meter is one budget.
type Meter struct {
	Trajectory flow.TrajectoryID `json:"trajectory"`
	Sink       string            `json:"sink"`
	Field      string            `json:"field"`
	Bits       float64           `json:"bits"` // told so far
	Cap        float64           `json:"cap"`
}

// Share is how much of the cap is used, in [0,1].
func (m *Meter) Share() float64 {
	if m.Cap <= 0 {
		return 1
	}
	return min(m.Bits/m.Cap, 1)
}

// Ledger tells what a ledger holds of a trajectory; nil: no such section.
type Ledger interface {
	Entries(ctx context.Context, of flow.TrajectoryID, limit int) ([]Entry, error)
}

// Entry is one entry of a ledger.
type Entry struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Sink     string    `json:"sink"`
	Field    string    `json:"field"`
	Variant  string    `json:"variant"`
	Bits     float64   `json:"bits"`
	Verified bool      `json:"verified"` // its signature and place in the chain hold
}

// Upstream is where requests go, and how it does.
type Upstream struct {
	Name     string    `json:"name"`
	URL      string    `json:"url"`
	Requests int64     `json:"requests"`
	Failures int64     `json:"failures"`
	Failing  bool      `json:"failing"` // its last answer was an error
	Detail   string    `json:"detail,omitempty"`
	Millis   int64     `json:"millis"` // to the last answer's head
	Last     time.Time `json:"last,omitzero"`
}

// Config is what a Console needs. What is nil has no section.
type Config struct {
	Events  mediator.Events
	Secrets Secrets

	Desk    *confirm.Desk
	Budgets Budgets
	Ledger  Ledger
	Access  access.Config
	// Mask returns what replaces known secrets in what others wrote.
	Mask      func(context.Context) (func(string) string, error)
	Upstreams func() []Upstream
	Packs     func() Packs
	Rubrics   Rubrics
	Results   string // a folder with results of benchmarks; empty for none
	// Answered is told about answers that were given here; nil for nobody.
	Answered func(q *confirm.Question, a confirm.Answer, by string)
	// Lost tells how many events were not kept, and whether keeping fails.
	Lost    func() (int64, bool)
	Notices []string // what is to be known at every glance, such as on_error: pass
	Texts   bool     // what answers say is kept
	Log     *slog.Logger
	Now     func() time.Time
}

// Console is an http.Handler for /console and /api. Close ends its streams.
type Console struct {
	cfg      Config
	mux      *http.ServeMux
	sessions *access.Sessions
	live     *live.Hub
	trials   chan struct{} // those under way
}

//go:embed assets
var assets embed.FS

//go:embed pages
var pages embed.FS

// New returns a console.
func New(cfg Config) (*Console, error) {
	if cfg.Events == nil || cfg.Mask == nil {
		return nil, errors.New("console: events and mask are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c := &Console{cfg: cfg, mux: http.NewServeMux(), trials: make(chan struct{}, maxTrials)}
	var err error
	if c.sessions, err = access.New(cfg.Access, cfg.Now); err != nil {
		return nil, err
	}
	c.live = c.hub()
	c.routes()
	return c, nil
}

// Close ends the streams, and with them the console's goroutine.
func (c *Console) Close() { c.live.Close() }

// route is one resource: a model, as JSON below /api and as a page below
// /console.
type route struct {
	api, page string // patterns; empty: not there
	template  string
	title     string
	summary   string // for the API's document
	query     []parameter
	model     func(*http.Request) (any, error)
	of        any // a value of the model's type
}

// parameter is one of a query.
type parameter struct{ name, meaning string }

func (c *Console) resources() []route {
	return []route{
		{api: "/api/overview", page: "/console/{$}", template: "overview", title: "Overview", summary: "Trajectories now, decisions over time, upstreams and what waits for an answer", model: c.overview, of: Overview{}},
		{api: "/api/trajectories", page: "/console/trajectories", template: "trajectories", title: "Trajectories", summary: "Trajectories, the one that something happened in last first", query: []parameter{{"before", "last_seq of the last one of the page before"}}, model: c.trajectories, of: Trajectories{}},
		{api: "/api/trajectories/{id}", page: "/console/trajectories/{id}", template: "trajectory", title: "Trajectory", summary: "What happened in a trajectory, and the labels of what its model was shown", query: []parameter{{"before", "seq of the first event of the page before"}}, model: c.trajectory, of: Trajectory{}},
		{api: "/api/events/{seq}", page: "/console/events/{seq}", template: "event", title: "Event", summary: "One event with its detail: the tokens' risks, and the masked text where texts are kept", model: c.event, of: Event{}},
		{api: "/api/questions", page: "/console/confirmations", template: "confirmations", title: "Confirmations", summary: "Calls that wait for a person's answer", query: []parameter{{"all", "1: the latest answered and expired ones, too"}}, model: c.questions, of: Questions{}},
		{api: "/api/questions/{id}", page: "/console/confirmations/{id}", template: "confirmation", title: "Confirmation", summary: "One call, exactly as it would be made, and what forced the question", model: c.question, of: Question{}},
		{api: "/api/packs", page: "/console/packs", template: "packs", title: "Packs", summary: "Packs in force, and what lint finds in them", model: c.packs, of: Packs{}},
		{api: "/api/rubrics", page: "/console/rubrics", template: "rubrics", title: "Rubrics", summary: "Rubrics of the registry with their signatures, and what lint finds in them", model: c.rubrics, of: RubricList{}},
		{api: "/api/rubrics/{hash}", page: "/console/rubrics/{hash}", template: "rubric", title: "Rubric", summary: "One rubric: its limits, and what each way of showing a field costs", model: c.rubric, of: Rubric{}},
		{api: "/api/secrets", page: "/console/secrets", template: "secrets", title: "Secrets", summary: "Registered secrets by name, kind and source, and when each was found last; never a value", model: c.secrets, of: SecretList{}},
		{api: "/api/benchmarks", page: "/console/benchmarks", template: "benchmarks", title: "Benchmarks", summary: "Results of benchmarks; with a, one of them; with a and b, two compared", query: []parameter{{"a", "a result's name"}, {"b", "another's, to compare"}, {"slice", "the slice to show"}}, model: c.benchmarks, of: results.Benchmarks{}},
		{api: "/api/session", summary: "Who is asking, and the token that changes need", model: c.whoami, of: access.Session{}},
	}
}

func (c *Console) routes() {
	for _, r := range c.resources() {
		if r.api != "" {
			c.mux.HandleFunc("GET "+r.api, func(w http.ResponseWriter, req *http.Request) { c.serveJSON(w, req, r.model) })
		}
		if r.page != "" {
			c.mux.HandleFunc("GET "+r.page, func(w http.ResponseWriter, req *http.Request) { c.servePage(w, req, &r) })
		}
	}
	c.mux.HandleFunc("POST /api/session", c.login)
	c.mux.HandleFunc("DELETE /api/session", c.logout)
	c.mux.HandleFunc("POST /api/questions/{id}/answer", c.answerJSON)
	c.mux.HandleFunc("POST /api/rubrics/try", c.tryJSON)
	c.mux.HandleFunc("GET /api/questions/{id}/arguments", c.arguments)
	c.mux.HandleFunc("GET /api/stream", c.stream)
	c.mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, c.OpenAPI()) })
	c.mux.HandleFunc("POST /console/confirmations/{id}", c.answerForm)
	c.mux.HandleFunc("POST /console/rubrics", c.tryForm)
	c.mux.HandleFunc("GET /console/login", c.loginPage)
	c.mux.HandleFunc("POST /console/login", c.loginForm)
	c.mux.HandleFunc("POST /console/logout", c.logoutForm)
	c.mux.HandleFunc("GET /console/assets/{name}", asset)
	c.mux.HandleFunc("GET /console", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/console/", http.StatusSeeOther)
	})
	c.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c.fail(w, r, &Problem{http.StatusNotFound, "not-found", "there is no such page", "the overview is at /console/"})
	})
}

// policy is what pages may load: their own files, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, forms would tell the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	if refused := c.sessions.Stranger(r, wantsPage(r)); refused != nil {
		c.fail(w, r, refused)
		return
	}
	if open(r) {
		c.mux.ServeHTTP(w, r)
		return
	}
	who := c.sessions.Of(r)
	if who == nil {
		if wantsPage(r) && r.Method == http.MethodGet {
			http.Redirect(w, r, "/console/login", http.StatusSeeOther)
			return
		}
		c.fail(w, r, &Problem{http.StatusUnauthorized, "unauthorized", "the session is missing or has ended", "margay console prints a new address to open"})
		return
	}
	r = access.With(r, who)
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !fits(r) {
		c.fail(w, r, tooLarge("a form", maxTrial))
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !who.MayChange(r) {
		c.fail(w, r, &Problem{http.StatusForbidden, "csrf", "the request does not come from a page of this session", "load the page again; programs send the csrf of GET /api/session in the header Margay-CSRF"})
		return
	}
	c.mux.ServeHTTP(w, r)
}

// open reports whether a request needs no session.
func open(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/console/assets/") || r.URL.Path == "/console/login" || r.URL.Path == "/api/session" && r.Method == http.MethodPost
}

func wantsPage(r *http.Request) bool {
	return r.URL.Path == "/console" || strings.HasPrefix(r.URL.Path, "/console/")
}

// Problem is what went wrong, and what to do.
type Problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"error"`
	Hint   string `json:"hint"`
}

// Error returns what went wrong.
func (p *Problem) Error() string { return p.Detail }

func problemOf(err error) *Problem {
	var p *Problem
	var refused *access.Refusal
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		return &Problem{refused.Status, refused.Code, refused.Detail, refused.Hint}
	case errors.Is(err, secret.ErrNotFound), errors.Is(err, confirm.ErrNotFound):
		return &Problem{http.StatusNotFound, "not-found", "nothing has this id: it may be older than what is kept", "the overview is at /console/, and margay log shows the log"}
	case errors.Is(err, confirm.ErrAnswered):
		return &Problem{http.StatusConflict, "answered", err.Error() + ": the first answer counts", "load the page again to see who answered what"}
	case errors.Is(err, confirm.ErrExpired):
		return &Problem{http.StatusGone, "expired", err.Error(), "the agent may make the call again; taint.wait sets how long an answer is waited for"}
	}
	return &Problem{http.StatusServiceUnavailable, "store-failed", "the store failed: " + err.Error(), "run margay doctor"}
}

// fail answers with a problem, as a page or as JSON.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // who asked went away
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		c.cfg.Log.Error("console", "path", r.URL.Path, "error", p.Detail)
	}
	if !wantsPage(r) {
		writeJSON(w, p.Status, p)
		return
	}
	c.render(w, r, p.Status, "problem", "Problem", p)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// masked makes a model that may be shown.
func (c *Console) masked(ctx context.Context, v any) (any, error) {
	mask, err := c.cfg.Mask(ctx)
	if err != nil {
		return nil, err
	}
	return view.Mask(v, mask), nil
}

func (c *Console) serveJSON(w http.ResponseWriter, r *http.Request, model func(*http.Request) (any, error)) {
	v, err := model(r)
	if err == nil {
		v, err = c.masked(r.Context(), v)
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, v)
}

func (c *Console) servePage(w http.ResponseWriter, r *http.Request, rt *route) {
	v, err := rt.model(r)
	if err == nil {
		v, err = c.masked(r.Context(), v)
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	if r.URL.Query().Get("part") == "1" { // for a page that shows it inside
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if text, err := c.part(rt.template, v); err == nil {
			_, _ = io.WriteString(w, text)
		}
		return
	}
	c.render(w, r, http.StatusOK, rt.template, rt.title, v)
}

// page is what the layout shows.
type page struct {
	Title, Name string
	Who         *access.Session
	Open        int  // questions that wait
	Rubrics     bool // there is a section of them
	Notices     []string
	Model       any
}

var templates = template.Must(template.New("").Funcs(functions).ParseFS(pages, "pages/*.html"))

func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name, title string, v any) {
	p := page{Title: title, Name: name, Notices: c.cfg.Notices, Rubrics: c.cfg.Rubrics != nil, Model: v}
	if p.Who = access.From(r.Context()); p.Who != nil {
		p.Open = c.openQuestions(r.Context())
	}
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, "top", &p); err == nil {
		err = errors.Join(templates.ExecuteTemplate(&b, name, v), templates.ExecuteTemplate(&b, "bottom", &p))
		if err != nil {
			c.cfg.Log.Error("console", "page", name, "error", fmt.Sprintf("%T", err))
			http.Error(w, "margay: the page could not be made; please report it", http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, b.String())
}

// part renders a template without the layout.
func (c *Console) part(name string, v any) (string, error) {
	var b strings.Builder
	err := templates.ExecuteTemplate(&b, name, v)
	return b.String(), err
}

func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(name[strings.LastIndexByte(name, '.'):]))
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(b) //nolint:gosec // a file of ours
}
