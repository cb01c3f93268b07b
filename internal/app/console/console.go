// Package console is the web page and the JSON API by which people see what
// their agents sent, to whom, and why it was released, and answer questions.
// docs/console.md is for its users; docs/api/openapi.json lists the API.
//
// Every page is made from a model that the API also returns as JSON: a page
// can do nothing that the API can't. Texts that others wrote are shown as
// plain text, with invisible characters made visible, and masked once more on
// their way out: no answer of the console holds the value of a known secret.
// Pages load nothing from elsewhere and run no inline script.
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
	"github.com/margaydev/margay/docs/api"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/internal/app/console/live"
	"github.com/margaydev/margay/internal/app/console/view"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// Secrets are what the page of secrets lists: names, kinds and sources.
type Secrets interface {
	Secrets(ctx context.Context) iter.Seq2[secret.Record, error]
}

// Books reads the ledger.
type Books interface {
	// Budgets returns at most limit budgets: those of one trajectory, by sink
	// and field; for an empty id those of all that are nearest to their cap.
	Budgets(ctx context.Context, of flow.TrajectoryID, limit int) ([]Meter, error)
	// Entries returns at most limit entries of a trajectory, the latest first.
	Entries(ctx context.Context, of flow.TrajectoryID, limit int) ([]Entry, error)
}

// Meter is one budget.
type Meter struct {
	Trajectory flow.TrajectoryID `json:"trajectory"`
	Sink       string            `json:"sink"`
	Field      string            `json:"field"`
	Bits       float64           `json:"bits"` // disclosed so far
	Cap        float64           `json:"cap"`
}

// Share is how much of the cap is used, in [0,1].
func (m *Meter) Share() float64 {
	if m.Cap <= 0 {
		return 1
	}
	return min(m.Bits/m.Cap, 1)
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

// Upstream is where requests go, and its health.
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

// Config is what a Console needs. All but Books and Rubrics is required.
type Config struct {
	Events  audit.Events
	Secrets Secrets
	Desk    *confirm.Desk
	Books   Books   // nil: pages have no budgets and no ledger
	Rubrics Rubrics // nil: pages have no rubrics
	Access  access.Config
	// Mask returns what replaces known secrets in what others wrote.
	Mask      func(context.Context) (func(string) string, error)
	Upstreams func() []Upstream
	Packs     func() Packs
	// Answered is called for each answer that is given here.
	Answered func(q *confirm.Question, a confirm.Answer, by string)
	// Lost returns how many events were not kept, and whether keeping fails.
	Lost    func() (int64, bool)
	Notices []string // what every page shows on top, such as on_error: pass
	Texts   bool     // the texts of answers are kept
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

// New returns a console. It fails if a user's password is not a hash.
func New(cfg Config) (*Console, error) {
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
	api, page string // patterns; an empty page is not there
	template  string
	title     string
	model     func(*http.Request) (any, error)
}

func (c *Console) resources() []route {
	return []route{
		{"/api/overview", "/console/{$}", "overview", "Overview", c.overview},
		{"/api/trajectories", "/console/trajectories", "trajectories", "Trajectories", c.trajectories},
		{"/api/trajectories/{id}", "/console/trajectories/{id}", "trajectory", "Trajectory", c.trajectory},
		{"/api/events/{seq}", "/console/events/{seq}", "event", "Event", c.event},
		{"/api/questions", "/console/confirmations", "confirmations", "Confirmations", c.questions},
		{"/api/questions/{id}", "/console/confirmations/{id}", "confirmation", "Confirmation", c.question},
		{"/api/packs", "/console/packs", "packs", "Packs", c.packs},
		{"/api/rubrics", "/console/rubrics", "rubrics", "Rubrics", c.rubrics},
		{"/api/rubrics/{hash}", "/console/rubrics/{hash}", "rubric", "Rubric", c.rubric},
		{"/api/secrets", "/console/secrets", "secrets", "Secrets", c.secrets},
		{api: "/api/session", model: c.whoami},
	}
}

func (c *Console) routes() {
	for _, r := range c.resources() {
		c.mux.HandleFunc("GET "+r.api, c.json(r.model))
		if r.page != "" {
			c.mux.HandleFunc("GET "+r.page, c.page(&r))
		}
	}
	c.mux.HandleFunc("POST /api/session", c.handle(c.login))
	c.mux.HandleFunc("DELETE /api/session", c.logout)
	c.mux.HandleFunc("POST /api/questions/{id}/answer", c.json(c.answerJSON))
	c.mux.HandleFunc("POST /api/rubrics/try", c.json(c.tryJSON))
	c.mux.HandleFunc("GET /api/questions/{id}/arguments", c.handle(c.arguments))
	c.mux.HandleFunc("GET /api/stream", c.handle(c.stream))
	c.mux.HandleFunc("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(api.Console)
	})
	c.mux.HandleFunc("POST /console/confirmations/{id}", c.handle(c.answerForm))
	c.mux.HandleFunc("POST /console/rubrics", c.handle(c.tryForm))
	c.mux.HandleFunc("GET /console/login", c.loginPage)
	c.mux.HandleFunc("POST /console/login", c.loginForm)
	c.mux.HandleFunc("POST /console/logout", c.logoutForm)
	c.mux.HandleFunc("GET /console/assets/{name}", asset)
	c.mux.HandleFunc("GET /console", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/console/", http.StatusSeeOther)
	})
	c.mux.HandleFunc("/", c.handle(func(http.ResponseWriter, *http.Request) error {
		return &Problem{http.StatusNotFound, "not-found", "there is no such page", "the overview is at /console/"}
	}))
}

// policy is what pages may load: their own files, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Serves reports whether a request is for one of the console's pages or models.
func (c *Console) Serves(r *http.Request) bool {
	_, pattern := c.mux.Handler(r)
	return pattern != "/" && pattern != ""
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, forms would have the origin null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
	if refused := c.sessions.Refuse(r, wantsPage(r)); refused != nil {
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
	changes := r.Method != http.MethodGet && r.Method != http.MethodHead
	switch {
	case changes && !fits(r):
		c.fail(w, r, tooLarge("a form", maxTrial))
	case changes && !who.MayChange(r):
		c.fail(w, r, &Problem{http.StatusForbidden, "csrf", "the request does not come from a page of this session", "load the page again; programs send the csrf of GET /api/session in the header Margay-CSRF"})
	default:
		c.mux.ServeHTTP(w, r)
	}
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

// fail answers with an error, as a page or as JSON.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is away
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

// mask replaces known secrets in a model, in place. No model is shown without.
func (c *Console) mask(ctx context.Context, v any) error {
	mask, err := c.cfg.Mask(ctx)
	if err == nil {
		view.Mask(v, mask)
	}
	return err
}

// handle adds an answer for what goes wrong.
func (c *Console) handle(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			c.fail(w, r, err)
		}
	}
}

// json answers with a model as JSON.
func (c *Console) json(model func(*http.Request) (any, error)) http.HandlerFunc {
	return c.handle(func(w http.ResponseWriter, r *http.Request) error {
		v, err := model(r)
		if err == nil {
			err = c.mask(r.Context(), v)
		}
		if err == nil {
			writeJSON(w, http.StatusOK, v)
		}
		return err
	})
}

// page answers with a model as a page, or with its part of a page alone.
func (c *Console) page(rt *route) http.HandlerFunc {
	return c.handle(func(w http.ResponseWriter, r *http.Request) error {
		v, err := rt.model(r)
		if err == nil {
			err = c.mask(r.Context(), v)
		}
		if err != nil {
			return err
		}
		if r.URL.Query().Get("part") != "1" {
			c.render(w, r, http.StatusOK, rt.template, rt.title, v)
			return nil
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if text, err := c.part(rt.template, v); err == nil {
			_, _ = io.WriteString(w, text)
		}
		return nil
	})
}

// layout is what every page shows around its model.
type layout struct {
	Title, Name string
	Who         *access.Session
	Open        int  // questions that wait
	Rubrics     bool // there is a section of them
	Notices     []string
	Model       any
}

var templates = template.Must(template.New("").Funcs(view.Functions).Funcs(template.FuncMap{"chart": chart}).ParseFS(pages, "pages/*.html"))

func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, name, title string, v any) {
	p := layout{Title: title, Name: name, Notices: c.cfg.Notices, Rubrics: c.cfg.Rubrics != nil, Model: v}
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
