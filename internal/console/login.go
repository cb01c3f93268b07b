package console

import (
	"context"
	"net/http"

	"github.com/margaydev/margay/internal/console/access"
)

// enter opens a session.
func (c *Console) enter(w http.ResponseWriter, r *http.Request, l *access.Login) (*access.Session, error) {
	s, err := c.sessions.Enter(w, r, l)
	if err != nil {
		c.cfg.Log.Warn("a login to the console failed", "from", access.Remote(r).String())
	}
	return s, err
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	var l access.Login
	err := body(r, map[string]*string{"token": &l.Token, "user": &l.User, "password": &l.Password})
	if err == nil {
		var s *access.Session
		if s, err = c.enter(w, r, &l); err == nil {
			writeJSON(w, http.StatusOK, s)
			return
		}
	}
	c.fail(w, r, err)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	c.sessions.End(w, r)
	w.WriteHeader(http.StatusNoContent)
}

func (c *Console) logoutForm(w http.ResponseWriter, r *http.Request) {
	c.sessions.End(w, r)
	http.Redirect(w, r, "/console/login", http.StatusSeeOther)
}

// loginModel is what the page of logins shows.
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
	s := *access.From(r.Context()) // what is shown is masked in place
	return &s, nil
}

// mayAnswer says why who is asking may not answer questions.
func mayAnswer(ctx context.Context) error {
	if !access.From(ctx).Operates() {
		return &Problem{http.StatusForbidden, "read-only", "you may look on, and not answer", "somebody with the role operator can"}
	}
	return nil
}
