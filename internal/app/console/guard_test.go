package console

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/internal/app/console/access"
)

var (
	scripts  = regexp.MustCompile(`(?i)<script\b[^>]*>`)
	inline   = regexp.MustCompile(`(?i)<[^>]*\s(on[a-z]+|style)\s*=|<style\b|javascript:`)
	loads    = regexp.MustCompile(`(?i)\s(?:src|href|action|formaction|data|poster)\s*=\s*"?([^"\s>]*)`)
	ownFiles = regexp.MustCompile(`^<script (?:(?:defer )?src="/console/assets/[a-z.]+"(?: defer)?|type="application/json"[^>]*)>$`) // data don't run
)

// Whatever is answered says that nothing inline runs, that nothing is loaded
// from elsewhere, that no other page may hold it, and that nobody keeps it.
// Pages are made so that this takes nothing away.
func TestWhatPagesMayLoad(t *testing.T) {
	r, paths := everything(t, "x")
	u := r.user()
	all := []string{"/console/login", "/console/nowhere", "/api/nowhere", "/api/session", "/api/openapi.json", "/console/assets/nothing"}
	for _, path := range paths {
		all = append(all, "/api"+path, pageOf(path))
	}
	for _, who := range []*user{u, r.stranger()} {
		for _, path := range all {
			req, err := http.NewRequestWithContext(t.Context(), "GET", r.srv.URL+path, http.NoBody)
			must(t, err)
			resp, body := who.do(req)
			allowed := map[string]string{}
			for d := range strings.SplitSeq(resp.Header.Get("Content-Security-Policy"), ";") {
				name, from, _ := strings.Cut(strings.TrimSpace(d), " ")
				allowed[name] = from
			}
			for _, name := range []string{"default-src", "base-uri", "frame-ancestors"} {
				if allowed[name] != "'none'" {
					t.Errorf("%s: %s is %q", path, name, allowed[name])
				}
			}
			for name, from := range allowed {
				if from != "'none'" && from != "'self'" {
					t.Errorf("%s: %s is %q", path, name, from)
				}
			}
			if allowed["form-action"] == "" { // no part of default-src
				t.Errorf("%s: forms may go anywhere", path)
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := resp.Header.Values(name); len(got) != 1 || got[0] != want {
					t.Errorf("%s: %s is %q", path, name, got)
				}
			}
			if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
				continue
			}
			for _, s := range scripts.FindAllString(body, -1) {
				if !ownFiles.MatchString(s) {
					t.Errorf("%s: has the script %s", path, s)
				}
			}
			if bad := inline.FindString(body); bad != "" {
				t.Errorf("%s: has %s", path, bad)
			}
			for _, m := range loads.FindAllStringSubmatch(body, -1) {
				if m[1] != "" && (!strings.HasPrefix(m[1], "/") || strings.HasPrefix(m[1], "//")) && !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "?") {
					t.Errorf("%s: names %s", path, m[1])
				}
			}
		}
	}
}

// The cookie of a session is for no script and for no other site, and where
// there is TLS for nothing else.
func TestCookie(t *testing.T) {
	r := newRig(t, nil)
	for _, tls := range []bool{false, true} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.srv.URL+"/api/session", strings.NewReader(`{"token":"`+access.Token(r.cfg.Access.Key, r.now)+`"}`))
		must(t, err)
		if tls {
			req.Header.Set("X-Forwarded-Proto", "https")
		}
		resp, body := r.stranger().do(req)
		cookies := resp.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%d: %v %s", resp.StatusCode, cookies, body)
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != tls || c.Domain != "" || c.MaxAge != 12*60*60 || strings.Contains(body, c.Value) {
			t.Errorf("TLS %v: %s", tls, c)
		}
	}
}

// from sends a request as if it came from an address.
func (r *rig) from(addr, method, path, body string, header ...string) (int, string) {
	req := httptest.NewRequestWithContext(r.t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	req.RemoteAddr = addr
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.c.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// Without users the console answers this machine alone, and tokens are for this
// machine alone wherever passwords are taken from.
func TestOtherMachines(t *testing.T) {
	r := newRig(t, nil)
	token := func() string { return `{"token":"` + access.Token(r.cfg.Access.Key, r.now) + `"}` }
	for _, addr := range []string{"192.0.2.1:9", "[2001:db8::1]:9", "nonsense", ""} {
		for _, path := range []string{"/console/", "/console/login", "/api/overview", "/console/assets/console.css"} {
			if status, body := r.from(addr, "GET", path, ""); status != http.StatusForbidden || !strings.Contains(body, "this machine alone") {
				t.Errorf("%s from %q: %d %.100s", path, addr, status, body)
			}
		}
		if status, _ := r.from(addr, "POST", "/api/session", token()); status != http.StatusForbidden {
			t.Errorf("a token from %q: %d", addr, status)
		}
	}
	for _, addr := range []string{"127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"} {
		if status, body := r.from(addr, "POST", "/api/session", token()); status != http.StatusOK {
			t.Errorf("a token from %q: %d %s", addr, status, body)
		}
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	must(t, err)
	r = newRig(t, func(c *Config) {
		c.Access.Users = map[string]access.User{"ann": {Hash: string(hash), Role: access.Operator}}
	})
	if status, body := r.from("192.0.2.1:9", "POST", "/api/session", token()); status != http.StatusForbidden || !strings.Contains(body, "this machine alone") {
		t.Errorf("a token from another machine: %d %s", status, body)
	}
	if status, body := r.from("192.0.2.1:9", "POST", "/api/session", `{"user":"ann","password":"correct horse"}`); status != http.StatusOK {
		t.Errorf("a password from another machine: %d %s", status, body)
	}
}

// Who a proxy says is asking is believed where it says it once.
func TestAmbiguousProxy(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Access.Header, c.Access.Operators, c.Access.Proxies = "X-User", []string{"carl"}, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	for name, c := range map[string]struct {
		addr   string
		header []string
		want   int
	}{
		"once":          {"192.0.2.1:9", []string{"X-User", "carl"}, http.StatusOK},
		"elsewhere":     {"198.51.100.1:9", []string{"X-User", "carl"}, http.StatusUnauthorized},
		"forwarded for": {"198.51.100.1:9", []string{"X-User", "carl", "X-Forwarded-For", "192.0.2.1"}, http.StatusUnauthorized},
		"twice":         {"192.0.2.1:9", []string{"X-User", "carl", "X-User", "dora"}, http.StatusUnauthorized},
		"empty":         {"192.0.2.1:9", []string{"X-User", ""}, http.StatusUnauthorized},
		"endless":       {"192.0.2.1:9", []string{"X-User", strings.Repeat("c", 129)}, http.StatusUnauthorized},
		"nobody":        {"192.0.2.1:9", nil, http.StatusUnauthorized},
	} {
		if status, body := r.from(c.addr, "GET", "/api/session", "", c.header...); status != c.want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// Another site gets nothing of the API, though it may link to a page, and
// changes nothing, whatever token it has.
func TestOtherSitesReadNothing(t *testing.T) {
	r := newRig(t, nil)
	u := r.user()
	for path, want := range map[string]int{"/api/overview": http.StatusForbidden, "/api/secrets": http.StatusForbidden, "/console/": http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.srv.URL+path, http.NoBody)
		must(t, err)
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		if resp, body := u.do(req); resp.StatusCode != want {
			t.Errorf("%s: %d %.100s", path, resp.StatusCode, body)
		}
	}
	q := r.ask(nil)
	for _, site := range []string{"cross-site", "same-site"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.srv.URL+"/console/confirmations/"+q.ID, strings.NewReader("answer=once&csrf="+u.csrf))
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", site)
		if resp, body := u.do(req); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "another web page") {
			t.Errorf("a form of a %s page: %d", site, resp.StatusCode)
		}
	}
	if row, err := r.desk.Row(t.Context(), q.ID); err != nil || row.Answer != "" {
		t.Errorf("it was answered: %q, %v", row.Answer, err)
	}
}

// All arguments of a call are masked as the first of them are; and where it
// can't be known what to mask, nothing is shown.
func TestMaskedOrNotShown(t *testing.T) {
	r, paths := everything(t, planted)
	u := r.user()
	var id string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "/questions/"); ok {
			id = rest
		}
	}
	if status, body := u.get("/api/questions/" + id + "/arguments"); status != http.StatusOK || strings.Contains(body, planted) {
		t.Errorf("%d: the arguments show the secret", status)
	}
	r.c.cfg.Mask = func(context.Context) (func(string) string, error) { return nil, errors.New("no room") }
	for _, path := range append(paths, "/questions/"+id+"/arguments") {
		for _, at := range []string{"/api" + path, pageOf(path), pageOf(path) + "?part=1"} {
			if strings.HasSuffix(at, "/arguments") && !strings.HasPrefix(at, "/api") {
				continue
			}
			if status, body := u.get(at); status != http.StatusServiceUnavailable && status != http.StatusNotFound || strings.Contains(body, planted) {
				t.Errorf("%s: %d %.200s", at, status, body)
			}
		}
	}
}

// A log tells that a login failed, and not by what: a password that was typed
// wrong is nearly the right one.
func TestLoginsAreNotLogged(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), bcrypt.MinCost)
	must(t, err)
	var logged bytes.Buffer
	r := newRig(t, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Access.Users = map[string]access.User{"ann": {Hash: string(hash), Role: access.Operator}}
	})
	good := access.Token(r.cfg.Access.Key, r.now)
	for _, body := range []string{`{"token":"` + good + `"}`, `{"token":"` + good + `"}`, `{"user":"ann","password":"correct horsf"}`, `{"user":"correct horse","password":"ann"}`} {
		r.from("127.0.0.1:9", "POST", "/api/session", body)
	}
	if text := logged.String(); strings.Count(text, "failed") != 3 || strings.Contains(text, good[:20]) || strings.Contains(text, "horse") || strings.Contains(text, "horsf") {
		t.Errorf("the log says %s", text)
	}
}
