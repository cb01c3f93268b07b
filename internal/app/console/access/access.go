// Package access decides who may use the console: by a one-time token from
// this machine, by name and password, or by the header of a proxy that knows
// its users.
//
// Tokens are made with a key that lies beside the database, are valid once,
// and for ten minutes. A session is a cookie that scripts can't read and
// other sites don't send; changes also need its second secret, which only its
// own pages have. Viewers read; operators answer.
package access

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
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/internal/address"
	"github.com/margaydev/margay/internal/httpedge"
)

// Role is what somebody may do.
type Role string

// Roles.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // reads and answers
)

// User is somebody who logs in with a password.
type User struct {
	Hash string // by bcrypt
	Role Role
}

// Config says who may read, and who may answer. Without users and header, only
// the holder of a one-time token may, from this machine.
type Config struct {
	Key   []byte   // of one-time tokens; nobody else may know it
	Hosts []string // names besides loopback that requests may be addressed to; "*": any
	Users map[string]User
	// Header is where a proxy at one of Proxies names its user. Operators are
	// those of its users that may answer.
	Header    string
	Proxies   []netip.Prefix
	Operators []string
}

// What others need to know of sessions.
const (
	SessionTime = 12 * time.Hour // the longest that one lasts
	CookieName  = "margay_console"
	MaxName     = 128 // bytes of a name
)

// Bounds of access.
const (
	tokenTime   = 10 * time.Minute
	maxSessions = 1024
	maxTokens   = 4096 // used tokens that are remembered
	maxTries    = 10   // logins that fail in a minute
)

// Token returns a token that opens one session within ten minutes. It needs only
// the key, so a command beside the running console can make one.
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

// Refusal is an error that says why a request is refused, and what to do.
type Refusal struct {
	Status int
	Code   string
	Detail string
	Hint   string
}

// Error returns why.
func (r *Refusal) Error() string { return r.Detail }

// Session is the user behind a request.
type Session struct {
	User    string    `json:"user"`
	Role    Role      `json:"role"`
	CSRF    string    `json:"csrf"`             // for the header Margay-CSRF of changes
	Expires time.Time `json:"expires,omitzero"` // zero: a proxy decides
	byToken bool      // it has no name
}

// Name is the user's name for others to read; empty for a session by a token.
func (s *Session) Name() string {
	if s == nil || s.byToken {
		return ""
	}
	return s.User
}

// Operates reports whether the session may answer; nil may not.
func (s *Session) Operates() bool { return s != nil && s.Role == Operator }

type sessionKey struct{}

// With returns a request that knows its session.
func With(r *http.Request, s *Session) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, s))
}

// From returns the session of a request; nil where it has none.
func From(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// Sessions are the open sessions. It is safe for concurrent use.
type Sessions struct {
	access Config
	cross  *http.CrossOriginProtection
	now    func() time.Time
	secret []byte // of tokens against forged changes
	dummy  []byte // a hash to compare with for an unknown user

	mu     sync.Mutex
	byHash map[[32]byte]*Session
	used   map[[16]byte]time.Time // tokens, until they expire
	tries  []time.Time            // failed logins of the last minute
}

// New returns an empty Sessions. It fails if a user's password is not a hash.
func New(a Config, now func() time.Time) (*Sessions, error) {
	s := &Sessions{access: a, cross: http.NewCrossOriginProtection(), now: now, secret: make([]byte, 32), byHash: map[[32]byte]*Session{}, used: map[[16]byte]time.Time{}}
	_, _ = rand.Read(s.secret)
	var err error
	s.dummy, err = bcrypt.GenerateFromPassword(s.secret, bcrypt.MinCost)
	for _, u := range a.Users {
		cost, cerr := bcrypt.Cost([]byte(u.Hash))
		if cerr != nil {
			return nil, errors.New("console: a user's password is not a bcrypt hash")
		}
		if s.dummy, err = bcrypt.GenerateFromPassword(s.secret, cost); err != nil {
			break
		}
	}
	return s, err
}

// Refuse returns why nobody gets an answer to a request, or nil. A request for a
// page may come from another site: from a link.
func (s *Sessions) Refuse(r *http.Request, page bool) *Refusal {
	a := &s.access
	guard := httpedge.Guard{Hosts: a.Hosts, Origins: []string{"http://" + r.Host, "https://" + r.Host}}
	if code, detail := guard.Refuse(r); code != "" {
		return &Refusal{http.StatusForbidden, code, detail, "open the address that margay console prints, or add the name to access.hosts"}
	}
	if len(a.Users) == 0 && a.Header == "" && !isLoopback(r) {
		return &Refusal{http.StatusForbidden, "not-here", "the console answers this machine alone", "set console.users, or console.header behind a proxy that knows its users"}
	}
	if s.cross.Check(r) != nil || r.Header.Get("Sec-Fetch-Site") == "cross-site" && !page {
		return &Refusal{http.StatusForbidden, "foreign-origin", "the request comes from another web page", "open the console itself"}
	}
	return nil
}

// Remote is where a request comes from; zero if that is not known.
func Remote(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap()
}

func isLoopback(r *http.Request) bool { return address.Here(Remote(r).String()) }

// proxied returns the session of the user that a trusted proxy names, or nil.
func (s *Sessions) proxied(r *http.Request) *Session {
	a := &s.access
	if a.Header == "" {
		return nil
	}
	from := Remote(r)
	if !slices.ContainsFunc(a.Proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return nil
	}
	names := r.Header.Values(a.Header)
	if len(names) != 1 || names[0] == "" || len(names[0]) > MaxName {
		return nil
	}
	w := &Session{User: names[0], Role: Viewer}
	if slices.Contains(a.Operators, w.User) {
		w.Role = Operator
	}
	h := hmac.New(sha256.New, s.secret)
	h.Write([]byte(w.User))
	w.CSRF = hex.EncodeToString(h.Sum(nil))
	return w
}

// Of returns the session of a request, or nil.
func (s *Sessions) Of(r *http.Request) *Session {
	if w := s.proxied(r); w != nil {
		return w
	}
	cookie, err := r.Cookie(CookieName)
	if err != nil {
		return nil
	}
	key := sha256.Sum256([]byte(cookie.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.byHash[key]
	if w == nil || !s.now().Before(w.Expires) {
		delete(s.byHash, key)
		return nil
	}
	return w
}

// MayChange reports whether a request for a change comes from a page of the
// session. A form is read, whose size the caller bounds.
func (s *Session) MayChange(r *http.Request) bool {
	token := r.Header.Get("Margay-CSRF")
	if token == "" && IsForm(r) {
		token = r.PostFormValue("csrf")
	}
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.CSRF)) == 1
}

// IsForm reports whether a request carries a form.
func IsForm(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
}

var errLogin = &Refusal{http.StatusUnauthorized, "login", "the token was used, has expired or is wrong", "margay console prints a new address to open"}

// redeem uses a one-time token.
func (s *Sessions) redeem(r *http.Request, token string) (*Session, error) {
	if !isLoopback(r) {
		return nil, &Refusal{http.StatusForbidden, "not-here", "tokens are for this machine alone", "log in with a password"}
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
	return &Session{User: "you", Role: Operator, byToken: true}, nil
}

// password checks a name and a password. Each check costs much, so that few
// logins may fail.
func (s *Sessions) password(name, password string) (*Session, error) {
	now := s.now()
	s.mu.Lock()
	s.tries = slices.DeleteFunc(s.tries, func(t time.Time) bool { return now.Sub(t) > time.Minute })
	if len(s.tries) >= maxTries {
		s.mu.Unlock()
		return nil, &Refusal{http.StatusTooManyRequests, "too-many", "too many logins have failed", "wait a minute"}
	}
	s.tries = append(s.tries, now) // removed again on success
	s.mu.Unlock()
	u, ok := s.access.Users[name]
	hash := []byte(u.Hash)
	if !ok {
		hash = s.dummy
	}
	if err := bcrypt.CompareHashAndPassword(hash, []byte(password)); err != nil || !ok {
		return nil, &Refusal{http.StatusUnauthorized, "login", "the name or the password is wrong", "console.users has the names"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.tries, now); i >= 0 {
		s.tries = slices.Delete(s.tries, i, i+1)
	}
	return &Session{User: name, Role: u.Role}, nil
}

// Login is what opens a session: a token, or a name and a password.
type Login struct {
	Token    string `json:"token,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
}

// Passwords reports whether there are users with passwords.
func (s *Sessions) Passwords() bool { return len(s.access.Users) > 0 }

// Enter opens a session and sets its cookie. Its errors are Refusals.
func (s *Sessions) Enter(w http.ResponseWriter, r *http.Request, l *Login) (*Session, error) {
	var of *Session
	var err error
	switch {
	case l.Token != "":
		of, err = s.redeem(r, l.Token)
	case s.Passwords() && l.User != "":
		of, err = s.password(l.User, l.Password)
	default:
		err = errLogin
	}
	if err != nil {
		return nil, err
	}
	s.start(w, r, of)
	return of, nil
}

// start starts a session and sets its cookie.
func (s *Sessions) start(w http.ResponseWriter, r *http.Request, of *Session) {
	var id, csrf [32]byte
	_, _ = rand.Read(id[:])
	_, _ = rand.Read(csrf[:])
	value := hex.EncodeToString(id[:])
	of.CSRF, of.Expires = hex.EncodeToString(csrf[:]), s.now().Add(SessionTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.byHash) >= maxSessions {
		var first [32]byte
		for k, o := range s.byHash {
			if f := s.byHash[first]; f == nil || o.Expires.Before(f.Expires) {
				first = k
			}
		}
		delete(s.byHash, first)
	}
	s.byHash[sha256.Sum256([]byte(value))] = of
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where there is TLS: on loopback there is none
		Name: CookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(SessionTime.Seconds()),
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
}

// End ends the session of a request.
func (s *Sessions) End(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(CookieName); err == nil {
		s.mu.Lock()
		delete(s.byHash, sha256.Sum256([]byte(cookie.Value)))
		s.mu.Unlock()
	}
	http.SetCookie(w, &http.Cookie{Name: CookieName, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1}) //nolint:gosec // it removes the cookie
}
