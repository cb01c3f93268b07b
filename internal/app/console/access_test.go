package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/internal/app/console/access"
)

// Every way in without a session, and every way to change without a page of
// it, is closed.
func TestAccess(t *testing.T) {
	r, paths := everything(t, "x")
	nobody := r.stranger()
	for _, path := range append(paths, "/stream?topic=none", "/session", "/openapi.json") {
		if status, body := nobody.get("/api" + path); status != http.StatusUnauthorized || !strings.Contains(body, "margay console") {
			t.Errorf("%s for a stranger: %d %s", path, status, body)
		}
		if status, _ := nobody.get(pageOf(path)); status != http.StatusSeeOther {
			t.Errorf("%s for a stranger: %d", pageOf(path), status)
		}
	}
	q := r.ask(nil)
	if status, _ := nobody.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"once"}`); status != http.StatusUnauthorized {
		t.Errorf("an answer by a stranger: %d", status)
	}
	u := r.user()
	forged := *u
	forged.csrf = ""
	if status, body := forged.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"once"}`); status != http.StatusForbidden || !strings.Contains(body, "csrf") {
		t.Errorf("an answer without the token: %d %s", status, body)
	}
	for name, h := range map[string]http.Header{
		"another host":   {"Host": {"evil.example"}},
		"another origin": {"Origin": {"http://evil.example"}},
		"another site":   {"Sec-Fetch-Site": {"cross-site"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.srv.URL+"/api/questions/"+q.ID+"/answer", strings.NewReader(`{"answer":"once"}`))
		must(t, err)
		req.Header = h.Clone()
		req.Header.Set("Margay-CSRF", u.csrf)
		if h.Get("Host") != "" {
			req.Host = h.Get("Host")
		}
		if resp, body := u.do(req); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "foreign") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if got, err := r.desk.Row(t.Context(), q.ID); err != nil || got.Answer != "" {
		t.Errorf("the question was answered: %+v, %v", got, err)
	}
	// A token is good once, and not for long.
	token := access.Token(r.cfg.Access.Key, r.now)
	for i, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		if status, body := r.stranger().send("POST", "/api/session", fmt.Sprintf(`{"token":%q}`, token)); status != want {
			t.Errorf("use %d: %d %s", i, status, body)
		}
	}
	for name, token := range map[string]string{"old": access.Token(r.cfg.Access.Key, r.now.Add(-time.Hour)), "forged": access.Token([]byte("other"), r.now), "nonsense": "x"} {
		if status, body := r.stranger().send("POST", "/api/session", fmt.Sprintf(`{"token":%q}`, token)); status != http.StatusUnauthorized || !strings.Contains(body, "hint") {
			t.Errorf("a token that is %s: %d %s", name, status, body)
		}
	}
	for _, body := range []string{"", "[]", `{"token":1}`, `{"tokn":"x"}`, `{"token":"a","token":"b"}`, strings.Repeat("x", 1<<15)} {
		if status, text := r.stranger().send("POST", "/api/session", body); status != http.StatusBadRequest || !strings.Contains(text, "hint") {
			t.Errorf("the body %.20q: %d %s", body, status, text)
		}
	}
	// A session ends by itself, and by logging out.
	if status, _ := u.send("DELETE", "/api/session", ""); status != http.StatusNoContent {
		t.Errorf("logout: %d", status)
	}
	if status, _ := u.get("/api/overview"); status != http.StatusUnauthorized {
		t.Errorf("after the logout: %d", status)
	}
	u = r.user()
	r.now = r.now.Add(13 * time.Hour)
	if status, _ := u.get("/api/overview"); status != http.StatusUnauthorized {
		t.Errorf("after its time: %d", status)
	}
}

// Teams log in with passwords; viewers can't answer.
func TestTeam(t *testing.T) {
	hash := func(p string) string {
		b, err := bcrypt.GenerateFromPassword([]byte(p), bcrypt.MinCost)
		must(t, err)
		return string(b)
	}
	r := newRig(t, func(c *Config) {
		c.Access.Users = map[string]access.User{"ann": {Hash: hash("correct horse"), Role: access.Operator}, "ben": {Hash: hash("battery staple"), Role: access.Viewer}}
	})
	q := r.ask(nil)
	login := func(name, password string) (*user, int) {
		u := r.stranger()
		status, body := u.send("POST", "/api/session", fmt.Sprintf(`{"user":%q,"password":%q}`, name, password))
		var v access.Session
		_ = json.Unmarshal([]byte(body), &v)
		u.csrf = v.CSRF
		return u, status
	}
	for _, c := range [][2]string{{"ann", "wrong"}, {"dora", "correct horse"}, {"", ""}} {
		if _, status := login(c[0], c[1]); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", c[0], status)
		}
	}
	ben, status := login("ben", "battery staple")
	if status != http.StatusOK {
		t.Fatal(status)
	}
	if status, body := ben.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"once"}`); status != http.StatusForbidden || !strings.Contains(body, "read-only") {
		t.Errorf("a viewer's answer: %d %s", status, body)
	}
	if _, body := ben.get("/console/confirmations"); strings.Contains(body, "<button name=\"answer\"") {
		t.Error("a viewer is offered buttons")
	}
	ann, _ := login("ann", "correct horse")
	if status, body := ann.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"deny"}`); status != http.StatusOK || !strings.Contains(body, `"by":"console: ann"`) {
		t.Errorf("an operator's answer: %d %s", status, body)
	}
	// Many wrong passwords are not tried.
	last := 0
	for range 13 {
		_, last = login("ann", "wrong again")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after many logins: %d", last)
	}
	r.now = r.now.Add(2 * time.Minute)
	if _, status := login("ann", "correct horse"); status != http.StatusOK {
		t.Errorf("a while later: %d", status)
	}
}

// A header tells who is asking where a proxy vouches for it, and nowhere else.
func TestProxy(t *testing.T) {
	for _, c := range []struct {
		proxy, name string
		status      int
		role        access.Role
	}{
		{"10.0.0.0/8", "carl", http.StatusUnauthorized, ""},
		{"127.0.0.0/8", "carl", http.StatusOK, access.Operator},
		{"127.0.0.0/8", "dora", http.StatusOK, access.Viewer},
	} {
		r := newRig(t, func(cfg *Config) {
			cfg.Access.Header, cfg.Access.Operators, cfg.Access.Proxies = "X-User", []string{"carl"}, []netip.Prefix{netip.MustParsePrefix(c.proxy)}
		})
		u := r.stranger()
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.srv.URL+"/api/session", http.NoBody)
		must(t, err)
		req.Header.Set("X-User", c.name)
		resp, body := u.do(req)
		var v access.Session
		_ = json.Unmarshal([]byte(body), &v)
		if resp.StatusCode != c.status || v.Role != c.role || c.role != "" && (v.User != c.name || v.CSRF == "") {
			t.Errorf("%s behind %s: %d %s", c.name, c.proxy, resp.StatusCode, body)
		}
	}
}
