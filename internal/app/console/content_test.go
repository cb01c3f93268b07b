package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/mediator/audit"
)

// A secret in every field that a page shows is in no page, no JSON and no
// stream.
func TestNoSecretIsShown(t *testing.T) {
	r, paths := everything(t, planted)
	u := r.user()
	for _, path := range paths {
		for _, at := range []string{"/api" + path, pageOf(path)} {
			status, body := u.get(at)
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", at, status, body)
			}
			if strings.Contains(body, planted) || strings.Contains(body, planted[4:18]) {
				t.Errorf("%s shows the secret", at)
			}
		}
	}
	for _, q := range []string{"?topic=overview", "?topic=questions", "?topic=trajectory&after=1&id=" + trajectoryOne} {
		s := u.stream(q, "")
		r.full(planted)
		r.c.Publish([]audit.Event{{Kind: audit.KindDecision}})
		text := s.until("event:")
		if strings.Contains(text, planted) {
			t.Errorf("the stream %s shows the secret", q)
		}
		s.close()
	}
	// What is not a secret is there: the test sees the fields.
	r2, paths := everything(t, "ordinary")
	u = r2.user()
	all := ""
	for _, path := range paths {
		_, body := u.get("/api" + path)
		all += body
	}
	for _, field := range []string{"up ", "tool ", "code ", "detail ", "rule ", "name ", "path ", "untrusted ", "field ", "by ", "call ", "kind ", "sink ", "label ", "needs ", "flow ", "free ", "covers ", "source ", "excerpt ", "t ", "p ", "worst ", "policy ", "variant ", "before ", "title ", "action ", "file ", "path ", "for ", "group ", "level ", "operator "} {
		if !strings.Contains(all, field+"ordinary") {
			t.Errorf("no page has %q", field)
		}
	}
}

// What others wrote is text on every page, and what can't be seen is visible.
func TestHostileContentIsText(t *testing.T) {
	r, paths := everything(t, hostile)
	u := r.user()
	for _, path := range paths {
		status, body := u.get(pageOf(path))
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
		for _, bad := range []string{"<script>alert", "<img src=x", "\x1b", "\u202e", "\u2066", "\x00"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s holds %q", path, bad)
			}
		}
		if status, body := u.get("/api" + path); status != http.StatusOK || !json.Valid([]byte(body)) || strings.Contains(body, "<script") {
			t.Errorf("%s: %d", path, status)
		}
	}
	_, body := u.get("/console/trajectories/" + trajectoryOne)
	if !strings.Contains(body, "&lt;script&gt;alert(1)") || !strings.Contains(body, "␛[31m") || !strings.Contains(body, "⟨U&#43;202E⟩") {
		t.Error("the hostile text is not shown as text")
	}
}

// A call with 5 MB of arguments has a page that loads, and all of it as text.
func TestLongArguments(t *testing.T) {
	r := newRig(t, nil)
	long := `{"text":"` + strings.Repeat("lorem <b> ", 500_000) + `"}`
	q := r.ask(func(q *confirm.Question) { q.Call.Arguments = long })
	u := r.user()
	for _, at := range []string{"/console/confirmations", "/console/confirmations/" + q.ID, "/api/questions"} {
		if status, body := u.get(at); status != http.StatusOK || len(body) > 200_000 || !strings.Contains(body, "lorem") {
			t.Errorf("%s: %d, %d bytes", at, status, len(body))
		}
	}
	if status, body := u.get("/api/questions/" + q.ID + "/arguments"); status != http.StatusOK || body != long {
		t.Errorf("all arguments: %d, %d bytes of %d", status, len(body), len(long))
	}
}
