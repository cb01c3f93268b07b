package access

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

type rig struct {
	t   *testing.T
	s   *Sessions
	now time.Time
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	r := &rig{t: t, now: noon}
	var err error
	if r.s, err = New(c, func() time.Time { return r.now }); err != nil {
		t.Fatal(err)
	}
	return r
}

func request(from string, header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7878/console/", http.NoBody)
	r.RemoteAddr = from
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

const here = "127.0.0.1:40000"

// enter logs in and returns the cookie, or the code of the refusal.
func (r *rig) enter(from string, l Login) (*http.Cookie, string) {
	r.t.Helper()
	w := httptest.NewRecorder()
	_, err := r.s.Enter(w, request(from), &l)
	var refused *Refusal
	if errors.As(err, &refused) {
		if refused.Hint == "" || refused.Status < 400 || len(w.Result().Cookies()) > 0 {
			r.t.Errorf("refused as %+v", refused)
		}
		return nil, refused.Code
	}
	if err != nil {
		r.t.Fatal(err)
	}
	c := w.Result().Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" {
		r.t.Errorf("the cookie is %s", c)
	}
	return c, ""
}

func (r *rig) of(c *http.Cookie) *Session {
	req := request(here)
	req.AddCookie(c)
	return r.s.Of(req)
}

func hash(t *testing.T, password string) string {
	t.Helper()
	b, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A token opens one session from this machine, for ten minutes; every other
// string of its length opens none.
func TestToken(t *testing.T) {
	key := []byte("key")
	r := newRig(t, Config{Key: key})
	if _, code := r.enter("192.0.2.1:40000", Login{Token: Token(key, noon)}); code != "not-here" {
		t.Errorf("from elsewhere: %q", code)
	}
	if _, code := newRig(t, Config{}).enter(here, Login{Token: Token(nil, noon)}); code != "login" {
		t.Errorf("where there is no key: %q", code)
	}
	token := Token(key, noon)
	for i := range token {
		changed := []byte(token)
		if changed[i] ^= 1; string(changed) == token {
			continue
		}
		if c, _ := r.enter(here, Login{Token: string(changed)}); c != nil && i < len(token)-1 { // the last holds two bits of nothing
			t.Fatalf("a token that is changed at %d is good", i)
		}
	}
	r = newRig(t, Config{Key: key})
	c, code := r.enter(here, Login{Token: token})
	if code != "" {
		t.Fatal(code)
	}
	if s := r.of(c); s == nil || !s.Operates() || s.Name() != "" || s.CSRF == "" {
		t.Errorf("the session is %+v", s)
	}
	if _, code := r.enter(here, Login{Token: token}); code != "login" {
		t.Errorf("the second time: %q", code)
	}
	for late, want := range map[time.Duration]string{tokenTime - time.Second: "", tokenTime: "login"} {
		r := newRig(t, Config{Key: key})
		r.now = noon.Add(late)
		if _, code := r.enter(here, Login{Token: Token(key, noon)}); code != want {
			t.Errorf("%v late: %q", late, code)
		}
	}
	r.now = noon.Add(SessionTime)
	if r.of(c) != nil {
		t.Error("a session outlasts its time")
	}
}

// Who has used many tokens can't use more, so that a used one is never
// forgotten before it expires; and old sessions go where there are too many.
func TestBounds(t *testing.T) {
	key := []byte("key")
	r := newRig(t, Config{Key: key})
	first, _ := r.enter(here, Login{Token: Token(key, noon)})
	var last *http.Cookie
	for i := 1; i < maxTokens; i++ {
		if i == 1 {
			r.now = r.now.Add(time.Second) // the first is the oldest
		}
		c, code := r.enter(here, Login{Token: Token(key, noon)})
		if code != "" {
			t.Fatalf("token %d: %s", i, code)
		}
		last = c
	}
	if _, code := r.enter(here, Login{Token: Token(key, noon)}); code != "login" {
		t.Errorf("one more: %q", code)
	}
	if r.of(first) != nil || r.of(last) == nil || len(r.s.byHash) != maxSessions {
		t.Errorf("of %d sessions not the oldest went", len(r.s.byHash))
	}
	r.now = noon.Add(tokenTime)
	if _, code := r.enter(here, Login{Token: Token(key, r.now)}); code != "" || len(r.s.used) != 1 {
		t.Errorf("later: %q, %d used ones are remembered", code, len(r.s.used))
	}
}

// A name and its password open a session with that name's role; few may be
// wrong in a minute, and whoever is called you is told apart from who came by a
// token.
func TestPassword(t *testing.T) {
	r := newRig(t, Config{Users: map[string]User{"ann": {hash(t, "correct horse"), Operator}, "you": {hash(t, "battery staple"), Viewer}}})
	c, code := r.enter("192.0.2.1:40000", Login{User: "ann", Password: "correct horse"})
	if code != "" || r.of(c).Name() != "ann" || !r.of(c).Operates() {
		t.Fatalf("ann: %q, %+v", code, r.of(c))
	}
	c, _ = r.enter(here, Login{User: "you", Password: "battery staple"})
	if s := r.of(c); s.Name() != "you" || s.Operates() {
		t.Errorf("you: %+v", s)
	}
	for i := range maxTries {
		if _, code := r.enter(here, Login{User: []string{"ann", "dora"}[i%2], Password: "battery staple"}); code != "login" {
			t.Fatalf("wrong login %d: %q", i, code)
		}
	}
	if _, code := r.enter(here, Login{User: "ann", Password: "correct horse"}); code != "too-many" {
		t.Errorf("after as many: %q", code)
	}
	r.now = r.now.Add(time.Minute + 1)
	for range 2 * maxTries { // what succeeds does not count
		if _, code := r.enter(here, Login{User: "ann", Password: "correct horse"}); code != "" {
			t.Fatalf("a minute later: %q", code)
		}
	}
	if _, err := New(Config{Users: map[string]User{"ann": {"plain", Viewer}}}, time.Now); err == nil || strings.Contains(err.Error(), "plain") {
		t.Errorf("a password in plain: %v", err)
	}
}

// What a header says is believed from a proxy's address alone, and where it
// says one thing.
func TestProxy(t *testing.T) {
	r := newRig(t, Config{Header: "X-User", Operators: []string{"carl"}, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/32"), netip.MustParsePrefix("fd00::/8")}})
	for from, known := range map[string]bool{"10.0.0.2:1": true, "[::ffff:10.0.0.2]:1": true, "[fd00::1]:1": true, "10.0.0.3:1": false, here: false, "nonsense": false, "": false} {
		if s := r.s.Of(request(from, "X-User", "carl")); (s != nil) != known || known && (!s.Operates() || s.Name() != "carl") {
			t.Errorf("from %q: %+v", from, s)
		}
	}
	proxied := func(header ...string) *Session { return r.s.Of(request("10.0.0.2:1", header...)) }
	for what, header := range map[string][]string{"none": {}, "empty": {"X-User", ""}, "two": {"X-User", "carl", "X-User", "dora"}, "long": {"X-User", strings.Repeat("x", MaxName+1)}} {
		if s := proxied(header...); s != nil {
			t.Errorf("%s: %+v", what, s)
		}
	}
	carl, dora := proxied("X-User", "carl"), proxied("X-User", "dora")
	if dora.Operates() || carl.CSRF == dora.CSRF || carl.CSRF != proxied("X-User", "carl").CSRF || carl.CSRF == "" {
		t.Errorf("%+v and %+v", carl, dora)
	}
	if !carl.MayChange(request(here, "Margay-CSRF", carl.CSRF)) || carl.MayChange(request(here, "Margay-CSRF", dora.CSRF)) || carl.MayChange(request(here)) {
		t.Error("a change is let through by another's token, or not by its own")
	}
}

// A change carries the session's second secret, in a header or in a form.
func TestChange(t *testing.T) {
	key := []byte("key")
	r := newRig(t, Config{Key: key})
	c, _ := r.enter(here, Login{Token: Token(key, noon)})
	s := r.of(c)
	for token, want := range map[string]bool{s.CSRF: true, "": false, s.CSRF[1:]: false, strings.ToUpper(s.CSRF): false} {
		form := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(url.Values{"csrf": {token}}.Encode()))
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if s.MayChange(form) != want || s.MayChange(request(here, "Margay-CSRF", token)) != want {
			t.Errorf("%.8q…: not %v", token, want)
		}
		text := httptest.NewRequest(http.MethodPost, "/?csrf="+token, strings.NewReader("csrf="+token))
		text.Header.Set("Content-Type", "text/plain")
		if s.MayChange(text) {
			t.Error("a token in an address or in plain text is good")
		}
	}
	w := httptest.NewRecorder()
	req := request(here)
	req.AddCookie(c)
	r.s.End(w, req)
	if r.of(c) != nil {
		t.Error("the session goes on")
	}
}

// Who is not a guest of this machine, or sent by another page, is not answered.
func TestRefuse(t *testing.T) {
	local := newRig(t, Config{Key: []byte("key")})
	team := newRig(t, Config{Hosts: []string{"margay.example"}, Users: map[string]User{"ann": {hash(t, "x"), Viewer}}})
	for i, c := range []struct {
		rig  *rig
		from string
		host string
		head []string
		post bool
		page bool
		code string
	}{
		{local, here, "127.0.0.1:7878", nil, false, true, ""},
		{local, here, "localhost:7878", nil, true, true, ""},
		{local, "192.0.2.1:1", "127.0.0.1:7878", nil, false, true, "not-here"},
		{local, here, "evil.example", nil, false, true, "foreign-host"},
		{local, here, "127.0.0.1:7878", []string{"Origin", "http://evil.example"}, false, false, "foreign-origin"},
		{local, here, "127.0.0.1:7878", []string{"Sec-Fetch-Site", "cross-site"}, false, true, ""},
		{local, here, "127.0.0.1:7878", []string{"Sec-Fetch-Site", "cross-site"}, false, false, "foreign-origin"},
		{local, here, "127.0.0.1:7878", []string{"Sec-Fetch-Site", "cross-site"}, true, true, "foreign-origin"},
		{local, here, "127.0.0.1:7878", []string{"Sec-Fetch-Site", "same-origin"}, true, true, ""},
		{team, "192.0.2.1:1", "margay.example", nil, false, true, ""},
		{team, "192.0.2.1:1", "other.example", nil, false, true, "foreign-host"},
	} {
		req := request(c.from, c.head...)
		if req.Host = c.host; c.post {
			req.Method = http.MethodPost
		}
		code := ""
		if refused := c.rig.s.Refuse(req, c.page); refused != nil {
			code = refused.Code
			if refused.Hint == "" || refused.Status != http.StatusForbidden || refused.Error() == "" {
				t.Errorf("%d: %+v", i, refused)
			}
		}
		if code != c.code {
			t.Errorf("%d: %s", i, fmt.Sprintf("%q, want %q", code, c.code))
		}
	}
}
