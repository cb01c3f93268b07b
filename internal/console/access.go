package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/internal/httpedge"
	"github.com/margaydev/margay/internal/strictjson"
)

// Role is what somebody may do.
type Role string

// Roles.
const (
	Viewer   Role = "viewer"   // looks on
	Operator Role = "operator" // answers, too
)

// User is somebody who logs in with a password.
type User struct {
	Hash string // by bcrypt
	Role Role
}

// Access says who may look, and who may answer. Without users and header it is
// whoever has a one-time token, from this machine alone.
type Access struct {
	Key   []byte   // of one-time tokens; nobody else may know it
	Hosts []string // names besides loopback that requests may be addressed to; "*": any
	Users map[string]User
	// Header is where a proxy at one of Proxies tells who is asking.
	// Operators of those may answer.
	Header    string
	Proxies   []netip.Prefix
	Operators []string
}

// Bounds of access.
const (
	sessionTime = 12 * time.Hour
	tokenTime   = 10 * time.Minute
	maxSessions = 1024
	maxTokens   = 4096 // used ones that are remembered
	maxName     = 128
	cookieName  = "margay_console"
)

// Token returns a token that opens one session within ten minutes. It needs
// nothing but the key, so that a command beside the running console can make
// one.
func Token(key []byte, now time.Time) string {
	b := make([]byte, 24, 56)
	_, _ = rand.Read(b[:16])
	binary.BigEndian.PutUint64(b[16:], uint64(now.Add(tokenTime).Unix())) //nolint:gosec // after 1970
	return base64.RawURLEncoding.EncodeToString(append(b, sign(key, b)...))
}

func sign(key, b []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("margay console token v1"))
	h.Write(b)
	return h.Sum(nil)
}

type whoKey struct{}

// who is somebody who is asking.
type who struct {
	name    string
	role    Role
	csrf    string
	expires time.Time // zero: as long as the proxy says so
}

func whoOf(r *http.Request) *who {
	w, _ := r.Context().Value(whoKey{}).(*who)
	return w
}

// SessionView is who is asking.
type SessionView struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	CSRF    string    `json:"csrf"` // for the header Margay-CSRF of changes
	Expires time.Time `json:"expires,omitzero"`
}

func (w *who) view() *SessionView { return &SessionView{w.name, w.role, w.csrf, w.expires} }

// sessions are those who logged in. It is safe for concurrent use.
type sessions struct {
	access *Access
	now    func() time.Time
	secret []byte // of tokens against forged changes
	dummy  []byte // a hash that is compared with where there is no user

	mu     sync.Mutex
	byHash map[[32]byte]*who
	used   map[[16]byte]time.Time // tokens, until they expire
	tries  []time.Time            // logins that failed, of the last minute
}

func newSessions(a *Access, now func() time.Time) (*sessions, error) {
	s := &sessions{access: a, now: now, secret: make([]byte, 32), byHash: map[[32]byte]*who{}, used: map[[16]byte]time.Time{}}
	_, _ = rand.Read(s.secret)
	var err error
	s.dummy, err = bcrypt.GenerateFromPassword(s.secret, bcrypt.MinCost)
	for _, u := range a.Users {
		cost, cerr := bcrypt.Cost([]byte(u.Hash))
		if cerr != nil {
			return nil, errors.New("console: a user's password is no bcrypt hash")
		}
		if s.dummy, err = bcrypt.GenerateFromPassword(s.secret, cost); err != nil {
			break
		}
	}
	return s, err
}

// admit says why a request may not be answered, whoever asks.
func (c *Console) admit(r *http.Request) *Problem {
	a := &c.cfg.Access
	guard := httpedge.Guard{Hosts: a.Hosts, Origins: []string{"http://" + r.Host, "https://" + r.Host}}
	if code, detail := guard.Stranger(r); code != "" {
		return &Problem{http.StatusForbidden, code, detail, "open the address that margay console prints, or add the name to access.hosts"}
	}
	if len(a.Users) == 0 && a.Header == "" && !isLoopback(r) {
		return &Problem{http.StatusForbidden, "not-here", "the console answers this machine alone", "set console.users, or console.header behind a proxy that knows its users"}
	}
	if c.cross.Check(r) != nil || r.Header.Get("Sec-Fetch-Site") == "cross-site" && !wantsPage(r) {
		return &Problem{http.StatusForbidden, "foreign-origin", "the request comes from another web page", "open the console itself"}
	}
	return nil
}

func remote(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

func isLoopback(r *http.Request) bool { return remote(r).IsLoopback() }

// proxied is whom a trusted proxy says is asking.
func (s *sessions) proxied(r *http.Request) *who {
	a := s.access
	if a.Header == "" {
		return nil
	}
	from := remote(r)
	if !slices.ContainsFunc(a.Proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return nil
	}
	names := r.Header.Values(a.Header)
	if len(names) != 1 || names[0] == "" || len(names[0]) > maxName {
		return nil
	}
	w := &who{name: names[0], role: Viewer}
	if slices.Contains(a.Operators, w.name) {
		w.role = Operator
	}
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte(w.name))
	w.csrf = hex.EncodeToString(h.Sum(nil))
	return w
}

// of returns who is asking; nil for nobody who is known.
func (s *sessions) of(r *http.Request) *who {
	if w := s.proxied(r); w != nil {
		return w
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	key := sha256.Sum256([]byte(cookie.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.byHash[key]
	if w == nil || !s.now().Before(w.expires) {
		delete(s.byHash, key)
		return nil
	}
	return w
}

// mayChange reports whether a request for a change comes from a page of who is
// asking.
func (s *sessions) mayChange(r *http.Request, w *who) bool {
	token := r.Header.Get("Margay-CSRF")
	if token == "" && isForm(r) {
		token = r.PostFormValue("csrf")
	}
	return subtle.ConstantTimeCompare([]byte(token), []byte(w.csrf)) == 1
}

func isForm(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}

// fits reads the form of a request that has one, and reports whether it is
// within bounds. What else is wrong with it shows where it is used.
func fits(r *http.Request) bool {
	if !isForm(r) {
		return true
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxTrial)
	var long *http.MaxBytesError
	return !errors.As(r.ParseForm(), &long)
}

// errLogin says that somebody may not come in.
var errLogin = &Problem{http.StatusUnauthorized, "login", "the token was used, has expired or is wrong", "margay console prints a new address to open"}

// redeem uses a one-time token.
func (s *sessions) redeem(r *http.Request, token string) (*who, error) {
	if !isLoopback(r) {
		return nil, &Problem{http.StatusForbidden, "not-here", "tokens are for this machine alone", "log in with a password"}
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 56 || len(s.access.Key) == 0 || !hmac.Equal(sign(s.access.Key, b[:24]), b[24:]) {
		return nil, errLogin
	}
	now := s.now()
	until := time.Unix(int64(binary.BigEndian.Uint64(b[16:24])), 0) //nolint:gosec // it is signed
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, at := range s.used {
		if !now.Before(at) {
			delete(s.used, id)
		}
	}
	id := [16]byte(b)
	if _, was := s.used[id]; was || !now.Before(until) || len(s.used) >= maxTokens {
		return nil, errLogin
	}
	s.used[id] = until
	return &who{name: "you", role: Operator}, nil
}

// maxTries bounds the logins that fail in a minute.
const maxTries = 10

// password checks a name and password. Few may be tried, as each costs much.
func (s *sessions) password(name, password string) (*who, error) {
	now := s.now()
	s.mu.Lock()
	s.tries = slices.DeleteFunc(s.tries, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(s.tries) >= maxTries {
		s.mu.Unlock()
		return nil, &Problem{http.StatusTooManyRequests, "too-many", "too many logins have failed", "wait a minute"}
	}
	s.tries = append(s.tries, now) // taken back where it succeeds
	s.mu.Unlock()
	u, ok := s.access.Users[name]
	hash := []byte(u.Hash)
	if !ok {
		hash = s.dummy
	}
	if err := bcrypt.CompareHashAndPassword(hash, []byte(password)); err != nil || !ok {
		return nil, &Problem{http.StatusUnauthorized, "login", "the name or the password is wrong", "console.users has the names"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.tries, now); i >= 0 {
		s.tries = slices.Delete(s.tries, i, i+1)
	}
	return &who{name: name, role: u.Role}, nil
}

// begin begins a session and sets its cookie.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, who *who) {
	var id, csrf [32]byte
	_, _ = rand.Read(id[:])
	_, _ = rand.Read(csrf[:])
	value := hex.EncodeToString(id[:])
	who.csrf, who.expires = hex.EncodeToString(csrf[:]), s.now().Add(sessionTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.byHash) >= maxSessions {
		var first [32]byte
		for k, o := range s.byHash {
			if f := s.byHash[first]; f == nil || o.expires.Before(f.expires) {
				first = k
			}
		}
		delete(s.byHash, first)
	}
	s.byHash[sha256.Sum256([]byte(value))] = who
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where there is TLS: on loopback there is none
		Name: cookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(sessionTime.Seconds()),
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// end ends the session of a request.
func (s *sessions) end(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.mu.Lock()
		delete(s.byHash, sha256.Sum256([]byte(cookie.Value)))
		s.mu.Unlock()
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1}) //nolint:gosec // it is taken away
}

// Login is what opens a session: a token, or a name and a password.
type Login struct {
	Token    string `json:"token,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

func (c *Console) enter(w http.ResponseWriter, r *http.Request, l *Login) (*who, error) {
	var who *who
	var err error
	switch {
	case l.Token != "":
		who, err = c.sessions.redeem(r, l.Token)
	case len(c.cfg.Access.Users) > 0 && l.User != "":
		who, err = c.sessions.password(l.User, l.Password)
	default:
		err = errLogin
	}
	if err != nil {
		c.cfg.Log.Warn("a login to the console failed", "from", remote(r).String())
		return nil, err
	}
	c.sessions.begin(w, r, who)
	return who, nil
}

// body reads a small strict JSON document.
func body(r *http.Request, into map[string]*string) error {
	return bodyOf(r, into, 1<<14, http.StatusBadRequest)
}

var errLarge = errors.New("it is too large")

// bodyOf is body with a bound in bytes, and the status of what is beyond it.
func bodyOf(r *http.Request, into map[string]*string, most, large int) error {
	bad := func(err error) error {
		status := http.StatusBadRequest
		if errors.Is(err, errLarge) {
			status = large
		}
		return &Problem{status, "strict-json", fmt.Sprintf("the body can't be read: %v", err), "docs/api/openapi.json says what it holds"}
	}
	b := make([]byte, most)
	n, err := readFull(r, b)
	if err != nil {
		return bad(err)
	}
	var d strictjson.Doc
	if err := d.Parse(b[:n], strictjson.Limits{MaxBytes: len(b)}); err != nil {
		return bad(err)
	}
	if len(d.Nodes) == 0 || d.Nodes[0].Kind != strictjson.Object {
		return bad(errors.New("it is no object"))
	}
	for i := 1; i < len(d.Nodes); i++ {
		to, ok := into[d.Key(i)]
		if !ok || d.Nodes[i].Kind != strictjson.String {
			return bad(errors.New("it holds what is not asked for"))
		}
		*to = d.Text(i)
	}
	return nil
}

func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	var l Login
	err := body(r, map[string]*string{"token": &l.Token, "user": &l.User, "password": &l.Password})
	if err == nil {
		var who *who
		if who, err = c.enter(w, r, &l); err == nil {
			writeJSON(w, http.StatusOK, who.view())
			return
		}
	}
	c.fail(w, r, err)
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	c.sessions.end(w, r)
	w.WriteHeader(http.StatusNoContent)
}

func (c *Console) logoutForm(w http.ResponseWriter, r *http.Request) {
	c.sessions.end(w, r)
	http.Redirect(w, r, "/console/login", http.StatusSeeOther)
}

// loginModel is what the page of logins shows.
type loginModel struct {
	Passwords bool
	Problem   *Problem
}

func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	c.render(w, r, http.StatusOK, "login", "Log in", &loginModel{Passwords: len(c.cfg.Access.Users) > 0})
}

func (c *Console) loginForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<14)
	_, err := c.enter(w, r, &Login{Token: r.PostFormValue("token"), User: r.PostFormValue("user"), Password: r.PostFormValue("password")})
	if err != nil {
		p := problemOf(err)
		c.render(w, r, p.Status, "login", "Log in", &loginModel{len(c.cfg.Access.Users) > 0, p})
		return
	}
	http.Redirect(w, r, "/console/", http.StatusSeeOther)
}

func (c *Console) whoami(r *http.Request) (any, error) { return whoOf(r).view(), nil }

// mayAnswer says why who is asking may not answer questions.
func mayAnswer(ctx context.Context) error {
	if w, _ := ctx.Value(whoKey{}).(*who); w == nil || w.role != Operator {
		return &Problem{http.StatusForbidden, "read-only", "you may look on, and not answer", "somebody with the role operator can"}
	}
	return nil
}

// readFull reads all of a body that fits.
func readFull(r *http.Request, b []byte) (int, error) {
	n, err := io.ReadFull(r.Body, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return n, nil
	case err == nil:
		err = errLarge
	}
	return n, err
}
