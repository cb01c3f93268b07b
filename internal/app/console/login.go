package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/internal/strictjson"
)

// enter opens a session.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, l *access.Login) (*access.Session, error) {
	s, err := c.sessions.Enter(w, r, l)
	if err != nil {
		c.cfg.Log.Warn("a login to the console failed", "from", access.Remote(r).String())
	}
	return s, err
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) error {
	var l access.Login
	if err := body(r, map[string]*string{"token": &l.Token, "user": &l.User, "password": &l.Password}); err != nil {
		return err
	}
	s, err := c.enter(w, r, &l)
	if err == nil {
		writeJSON(w, http.StatusOK, s)
	}
	return err
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	c.sessions.End(w, r)
	w.WriteHeader(http.StatusNoContent)
}

func (c *Console) logoutForm(w http.ResponseWriter, r *http.Request) {
	c.sessions.End(w, r)
	http.Redirect(w, r, "/console/login", http.StatusSeeOther)
}

// loginModel is what the login page shows.
type loginModel struct {
	Passwords bool
	Problem   *Problem
}

func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, http.StatusOK, "login", "Log in", &loginModel{Passwords: c.sessions.Passwords()})
}

func (c *Console) loginForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
	_, err := c.enter(w, r, &access.Login{Token: r.PostFormValue("token"), User: r.PostFormValue("user"), Password: r.PostFormValue("password")})
	if err != nil {
		p := problemOf(err)
		c.render(w, r, p.Status, "login", "Log in", &loginModel{c.sessions.Passwords(), p})
		return
	}
	http.Redirect(w, r, "/console/", http.StatusSeeOther)
}

func (c *Console) whoami(r *http.Request) (any, error) {
	s := *access.From(r.Context()) // a copy: models are masked in place
	return &s, nil
}

// fits reads the form of a request, if it has one, and reports whether it is
// within bounds. Handlers find other mistakes in it.
func fits(r *http.Request) bool {
	if !access.IsForm(r) {
		return true
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxTrial)
	var long *http.MaxBytesError
	return !errors.As(r.ParseForm(), &long)
}

// body reads a small strict JSON document.
func body(r *http.Request, into map[string]*string) error {
	return bodyOf(r, into, 1<<14, http.StatusBadRequest)
}

var errLarge = errors.New("it is too large")

// bodyOf is body with a bound in bytes, and the status of longer bodies.
func bodyOf(r *http.Request, into map[string]*string, most int64, large int) error {
	bad := func(err error) error {
		status := http.StatusBadRequest
		if errors.Is(err, errLarge) {
			status = large
		}
		return &Problem{status, "strict-json", fmt.Sprintf("the body can't be read: %v", err), "docs/api/openapi.json lists its fields"}
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, most))
	if err == nil && int64(len(b)) == most {
		err = errLarge
	}
	var d strictjson.Doc
	if err == nil {
		err = d.Parse(b, strictjson.Limits{})
	}
	if err != nil {
		return bad(err)
	}
	if len(d.Nodes) == 0 || d.Nodes[0].Kind != strictjson.Object {
		return bad(errors.New("it is not an object"))
	}
	for i := 1; i < len(d.Nodes); i++ {
		to, ok := into[d.Key(i)]
		if !ok || d.Nodes[i].Kind != strictjson.String {
			return bad(errors.New("unknown key or a value that is not a string"))
		}
		*to = d.Text(i)
	}
	return nil
}
