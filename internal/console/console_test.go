package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const trajectoryOne = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

// planted is a secret that is registered and put into every field that a page
// shows.
const planted = "plantedValue-93jf8Ks02mQz7"

// hostile is what somebody may write who wants to break a page.
const hostile = "<script>alert(1)</script>\x1b[31m\u202egnp.exe\u2066\x00 \"'><img src=x onerror=alert(2)>"

type rig struct {
	t      *testing.T
	c      *Console
	store  *memory.Store
	desk   *confirm.Desk
	keys   secret.Keys
	engine *mediator.Engine
	srv    *httptest.Server
	now    time.Time
	cfg    Config
	said   []confirm.Answer
}

// newRig returns a console over a store in memory, with a registered secret.
func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: memory.New(), keys: secret.NewKeys(), now: time.Now().UTC().Truncate(time.Millisecond)}
	rec, _, err := secret.Prepare(&r.keys, flow.NewID(), "PLANTED", secret.KindToken, secret.SourceRegistered, "env:PLANTED", []byte(planted), r.now)
	if err != nil {
		t.Fatal(err)
	}
	must(t, r.store.PutSecrets(t.Context(), []secret.Record{rec}))
	rules, err := recognise.Default()
	must(t, err)
	r.engine, err = mediator.New(mediator.Config{Rules: rules, Keys: r.keys, Store: r.store})
	must(t, err)
	r.desk = confirm.New(confirm.Config{Store: r.store, Sealer: &r.keys, Poll: time.Millisecond})
	r.cfg = Config{
		Events: r.store, Secrets: r.store, Desk: r.desk, Access: Access{Key: []byte("key")}, Mask: r.engine.Masker,
		Answered: func(_ *confirm.Question, a confirm.Answer, _ string) { r.said = append(r.said, a) },
		Now:      func() time.Time { return r.now },
	}
	if change != nil {
		change(&r.cfg)
	}
	r.c, err = New(r.cfg)
	must(t, err)
	r.srv = httptest.NewServer(r.c)
	t.Cleanup(func() {
		r.c.Close()
		r.srv.CloseClientConnections()
		r.srv.Close()
	})
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// user is somebody with a browser.
type user struct {
	r    *rig
	http *http.Client
	csrf string
}

func (r *rig) stranger() *user {
	jar, err := cookiejar.New(nil)
	must(r.t, err)
	tr := &http.Transport{}
	r.t.Cleanup(tr.CloseIdleConnections)
	return &user{r: r, http: &http.Client{Jar: jar, Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (r *rig) user() *user {
	u := r.stranger()
	status, body := u.send("POST", "/api/session", fmt.Sprintf(`{"token":%q}`, Token(r.cfg.Access.Key, r.now)))
	if status != http.StatusOK {
		r.t.Fatalf("login: %d %s", status, body)
	}
	var v SessionView
	must(r.t, json.Unmarshal([]byte(body), &v))
	u.csrf = v.CSRF
	return u
}

func (u *user) do(req *http.Request) (*http.Response, string) {
	u.r.t.Helper()
	resp, err := u.http.Do(req)
	must(u.r.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(u.r.t, err)
	return resp, string(b)
}

func (u *user) get(path string) (int, string) {
	u.r.t.Helper()
	req, err := http.NewRequestWithContext(u.r.t.Context(), "GET", u.r.srv.URL+path, http.NoBody)
	must(u.r.t, err)
	resp, body := u.do(req)
	return resp.StatusCode, body
}

func (u *user) send(method, path, body string) (int, string) {
	u.r.t.Helper()
	req, err := http.NewRequestWithContext(u.r.t.Context(), method, u.r.srv.URL+path, strings.NewReader(body))
	must(u.r.t, err)
	req.Header.Set("Content-Type", "application/json")
	if u.csrf != "" {
		req.Header.Set("Margay-CSRF", u.csrf)
	}
	resp, text := u.do(req)
	return resp.StatusCode, text
}

// ask puts a question.
func (r *rig) ask(change func(*confirm.Question)) *confirm.Question {
	q := &confirm.Question{
		Trajectory: trajectoryOne, Digest: [32]byte{1}, Grant: [32]byte{2}, Call: flow.ToolCall{Name: "send_money", Arguments: `{"to":"mallory","amount":3}`}, Sink: "mallory",
		Label: "untrusted", Needs: "trusted", Faults: []confirm.Fault{{Source: "read_mail", Field: "body", Label: "untrusted", Excerpt: "pay at once"}}, Flows: []string{"what read_mail told"}, Free: []string{"amount"},
	}
	if change != nil {
		change(q)
	}
	must(r.t, r.desk.Put(r.t.Context(), q))
	return q
}

// full fills the store with an event of each kind, every text of it said.
func (r *rig) full(said string) []mediator.TraceEvent {
	r.t.Helper()
	print := r.keys.FingerprintOf([]byte(planted))
	base := mediator.TraceEvent{Trajectory: trajectoryOne, At: r.now, Sink: "up " + said}
	var out []mediator.TraceEvent
	add := func(f func(*mediator.TraceEvent)) {
		e := base
		e.ID, e.Payload.Version = flow.NewID(), 1
		f(&e)
		out = append(out, e)
	}
	for _, v := range []flow.Verb{flow.Prompt, flow.Generate, flow.Call, flow.Observe, flow.Remember, flow.Tell} {
		for _, o := range []flow.Outcome{flow.Allow, flow.Rewrite, flow.Confirm, flow.Deny} {
			add(func(e *mediator.TraceEvent) {
				e.Kind, e.Verb, e.Outcome = mediator.EventDecision, v, o
				e.Payload.Size = &mediator.TraceSize{Texts: 2, Bytes: 300, Tool: "tool " + said}
				e.Payload.Decision = &mediator.LogEntry{
					Decision: flow.Decision{ID: e.ID, Trajectory: trajectoryOne, Verb: v, Outcome: o, At: r.now, Sink: flow.Sink{Name: "up " + said, Channel: flow.ChannelModel, Trust: flow.TrustProvider}, Reasons: []flow.Reason{{Code: "code " + said, Detail: "detail " + said, Action: flow.ActRedact, Finding: "F"}}},
					Findings: []mediator.FindingRecord{{ID: flow.NewID(), Rule: "rule " + said, Name: "name " + said, Kind: secret.KindToken, Source: secret.SourceRegistered, View: "raw", Fingerprint: print, Field: "content", Path: "path " + said, Action: flow.ActRedact, Length: 20, Risk: 0.5, Model: "m"}},
				}
			})
		}
	}
	add(func(e *mediator.TraceEvent) {
		e.Kind, e.Verb = mediator.EventStep, flow.Prompt
		e.Payload.Step = &mediator.StepTrace{Context: "untrusted " + said, Messages: 3, From: 1, Cut: true, Partial: true, Regions: []mediator.RegionTrace{{Message: 1, Role: "user", Label: "trusted", Bottom: true, Bytes: 5}, {Message: 2, Role: "tool", Tool: "tool " + said, Field: "field " + said, Label: "untrusted " + said, Bytes: 9}}}
	})
	add(func(e *mediator.TraceEvent) {
		e.Kind, e.Verb = mediator.EventWithheld, flow.Generate
		e.Payload.Withheld = &mediator.WithheldTrace{Context: "trusted", Messages: []int{2}, Gone: []int{7}, Tools: 1, Again: true}
	})
	add(func(e *mediator.TraceEvent) {
		e.Kind = mediator.EventQuestion
		e.Payload.Question = &mediator.QuestionTrace{ID: "Q", Tool: "tool " + said, Answer: "once", By: "by " + said}
	})
	add(func(e *mediator.TraceEvent) {
		e.Kind = mediator.EventUpstream
		e.Payload.Upstream = &mediator.UpstreamTrace{Name: "up " + said, Failed: true, Status: 503, Detail: "detail " + said}
	})
	add(func(e *mediator.TraceEvent) {
		e.Kind, e.Verb = mediator.EventAnswer, flow.Generate
		text := "before " + said + " after é"
		e.Payload.Answer = &mediator.AnswerTrace{
			Halted: true, Dropped: true, Broken: true, Stream: true, Took: time.Second, Calls: []string{"call " + said},
			Texts: []mediator.TextTrace{{Choice: 1, Item: 1, Field: "content", Tool: "tool " + said, Bytes: 99, Tokens: 3, Yellow: 1, Red: 1, Risk: 900, Held: 9, Edits: 2}},
		}
		e.Detail = &mediator.Detail{Version: 1, Texts: []mediator.TextDetail{{
			Text: text, Cut: true, Spans: []mediator.SpanTrace{{Start: 1, End: 3, At: 0, To: 6, Action: "redact", Kind: "kind " + said}}, Held: []mediator.SpanTrace{{Start: 4, End: 9, At: 3, To: 12}},
			Tokens: &mediator.TokenSeries{N: 3, Every: 1, Risk: []int{10, 400, 900}, Zone: "gyr", Least: []int{-1, 10, 20}, Most: []int{-1, 30, 40}, Ends: []int{3, 6, 9}, Yellow: 300, Red: 600, Vocabulary: 1000},
		}}}
	})
	must(r.t, r.store.AppendEvents(r.t.Context(), out))
	return out
}

// paths are all resources with something to show.
func (r *rig) paths(events []mediator.TraceEvent, questions ...*confirm.Question) (out []string) {
	out = []string{"/overview", "/trajectories", "/trajectories/" + trajectoryOne, "/packs", "/rubrics", "/rubrics/" + hashOne, "/secrets", "/benchmarks", "/benchmarks?a=one", "/benchmarks?a=one&b=two"}
	for _, e := range events[len(events)-5:] {
		out = append(out, fmt.Sprintf("/events/%d", e.Seq))
	}
	for _, q := range questions {
		out = append(out, "/questions/"+q.ID)
	}
	return append(out, "/questions", "/questions?all=1")
}

func pageOf(path string) string {
	switch {
	case path == "/overview":
		return "/console/"
	case strings.HasPrefix(path, "/questions"):
		return "/console/confirmations" + strings.TrimPrefix(path, "/questions")
	}
	return "/console" + path
}

// everything is a rig with all sections, each text of which is said.
func everything(t *testing.T, said string) (*rig, []string) {
	dir := t.TempDir()
	quoted, err := json.Marshal(said)
	must(t, err)
	for _, name := range []string{"one", "two"} {
		text := fmt.Sprintf(`{"suite":"s","seed":1,"n":2,"revision":"r","source":%s,"models":{"m":"h"},"environment":{"go":"go1","cpu":"c","cores":2},"rows":[{"defence":"a","slice":"all","metrics":{"f1":0.5,"p":1},"ci":{"f1":[0.4,0.6]}},{"defence":"b","slice":"all","metrics":{"f1":0.9}}],"notes":["n"]}`, quoted)
		text = strings.Replace(text, `"f1":0.5`, map[string]string{"one": `"f1":0.5`, "two": `"f1":0.7`}[name], 1)
		must(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600))
	}
	r := newRig(t, func(c *Config) {
		c.Results, c.Texts, c.Notices = dir, true, []string{"a notice"}
		c.Upstreams = func() []Upstream {
			return []Upstream{{Name: "up " + said, URL: "http://x/" + said, Requests: 3, Failures: 1, Failing: true, Detail: "detail " + said, Millis: 4, Last: time.Now()}}
		}
		c.Packs = func() Packs {
			return Packs{Mode: "on", Packs: []Pack{{Name: "p " + said, Title: "t " + said, Kind: "server", For: "f " + said, File: "file " + said, Tools: []PackTool{{Name: "tool " + said, Worst: "worst " + said, Policy: []string{"policy " + said}}}}}, Findings: []PackFinding{{Pack: "p " + said, Line: 1, Code: "code", Detail: "detail " + said}}}
		}
		c.Budgets, c.Ledger, c.Rubrics = meters(said), meters(said), shelf(said)
		c.Lost = func() (int64, bool) { return 3, true }
	})
	rec, _, err := secret.Prepare(&r.keys, flow.NewID(), "OLD "+said, secret.KindToken, secret.SourceRegistered, "file:"+said, []byte("another-Value-83ke92ks"), r.now.Add(-time.Hour))
	must(t, err)
	rec.Expires = r.now.Add(-time.Minute)
	must(t, r.store.PutSecrets(t.Context(), []secret.Record{rec}))
	events := r.full(said)
	say := func(q *confirm.Question) {
		b, _ := json.Marshal(map[string]string{"to": said})
		q.Call = flow.ToolCall{Name: "tool " + said, Arguments: string(b)}
		q.Sink, q.Label, q.Needs, q.Flows, q.Free = "sink "+said, "label "+said, "needs "+said, []string{"flow " + said}, []string{"free " + said}
		q.Faults = []confirm.Fault{{Source: "source " + said, Field: "field " + said, Label: "label " + said, Excerpt: "excerpt " + said}}
	}
	waits, answered := r.ask(say), r.ask(say)
	must(t, r.desk.Answer(t.Context(), answered.ID, confirm.Once, "by "+said))
	return r, r.paths(events, waits, answered)
}

type meters string

func (m meters) Budgets(context.Context, flow.TrajectoryID, int) ([]Meter, error) {
	return []Meter{{Trajectory: trajectoryOne, Sink: "sink " + string(m), Field: "field " + string(m), Bits: 3, Cap: 4}}, nil
}

func (m meters) Entries(context.Context, flow.TrajectoryID, int) ([]Entry, error) {
	return []Entry{{ID: "E", At: time.Now(), Sink: "sink " + string(m), Field: "field " + string(m), Variant: "variant " + string(m), Bits: 1, Verified: true}}, nil
}

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
		r.c.Happened([]mediator.TraceEvent{{Kind: mediator.EventDecision}})
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
	for _, field := range []string{"up ", "tool ", "code ", "detail ", "rule ", "name ", "path ", "untrusted ", "field ", "by ", "call ", "kind ", "sink ", "label ", "needs ", "flow ", "free ", "source ", "excerpt ", "t ", "p ", "worst ", "policy ", "variant ", "before ", "title ", "action ", "file ", "path ", "for ", "group ", "level ", "operator "} {
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
	token := Token(r.cfg.Access.Key, r.now)
	for i, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		if status, body := r.stranger().send("POST", "/api/session", fmt.Sprintf(`{"token":%q}`, token)); status != want {
			t.Errorf("use %d: %d %s", i, status, body)
		}
	}
	for name, token := range map[string]string{"old": Token(r.cfg.Access.Key, r.now.Add(-time.Hour)), "forged": Token([]byte("other"), r.now), "nonsense": "x"} {
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

// Teams log in with passwords, or by a proxy that is believed; viewers can't
// answer.
func TestTeam(t *testing.T) {
	hash := func(p string) string {
		b, err := bcrypt.GenerateFromPassword([]byte(p), bcrypt.MinCost)
		must(t, err)
		return string(b)
	}
	r := newRig(t, func(c *Config) {
		c.Access.Users = map[string]User{"ann": {hash("correct horse"), Operator}, "ben": {hash("battery staple"), Viewer}}
		c.Access.Header, c.Access.Operators = "X-User", []string{"carl"}
	})
	q := r.ask(nil)
	login := func(name, password string) (*user, int) {
		u := r.stranger()
		status, body := u.send("POST", "/api/session", fmt.Sprintf(`{"user":%q,"password":%q}`, name, password))
		var v SessionView
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
	// A header is believed from the proxy alone.
	req := func(u *user, name string) int {
		hr, err := http.NewRequestWithContext(t.Context(), "GET", r.srv.URL+"/api/session", http.NoBody)
		must(t, err)
		hr.Header.Set("X-User", name)
		resp, _ := u.do(hr)
		return resp.StatusCode
	}
	if status := req(r.stranger(), "carl"); status != http.StatusUnauthorized {
		t.Errorf("a header that nobody vouches for: %d", status)
	}
	r.c.sessions.access.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for name, role := range map[string]Role{"carl": Operator, "dora": Viewer} {
		hr, err := http.NewRequestWithContext(t.Context(), "GET", r.srv.URL+"/api/session", http.NoBody)
		must(t, err)
		hr.Header.Set("X-User", name)
		resp, body := r.stranger().do(hr)
		var v SessionView
		must(t, json.Unmarshal([]byte(body), &v))
		if resp.StatusCode != http.StatusOK || v.User != name || v.Role != role || v.CSRF == "" {
			t.Errorf("%s by the proxy: %d %s", name, resp.StatusCode, body)
		}
	}
	r.c.sessions.access.Proxies = nil
	ann, _ := login("ann", "correct horse")
	if status, body := ann.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"deny"}`); status != http.StatusOK || !strings.Contains(body, `"by":"console: ann"`) {
		t.Errorf("an operator's answer: %d %s", status, body)
	}
	// Many wrong passwords are not tried.
	last := 0
	for range maxTries + 3 {
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

// An answer lets the call go on that waits; a second one is told who was first.
func TestAnswer(t *testing.T) {
	r := newRig(t, nil)
	u, other := r.user(), r.user()
	q := r.ask(nil)
	got := make(chan confirm.Answer, 1)
	go func() {
		a, _ := r.desk.Wait(context.Background(), q)
		got <- a
	}()
	if status, body := u.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"once"}`); status != http.StatusOK || !strings.Contains(body, `"answer":"once"`) {
		t.Fatalf("%d %s", status, body)
	}
	if a := <-got; a != confirm.Once {
		t.Errorf("the call got %q", a)
	}
	if status, body := other.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"deny"}`); status != http.StatusConflict || !strings.Contains(body, "once, by console") {
		t.Errorf("a second answer: %d %s", status, body)
	}
	if !slices.Equal(r.said, []confirm.Answer{confirm.Once}) {
		t.Errorf("told of %v", r.said)
	}
	// By the page's form.
	q = r.ask(func(q *confirm.Question) { q.Grant = [32]byte{} })
	form := func(answer string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.srv.URL+"/console/confirmations/"+q.ID, strings.NewReader(url.Values{"csrf": {u.csrf}, "answer": {answer}}.Encode()))
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, body := u.do(req)
		return resp.StatusCode, body
	}
	if status, body := form("trajectory"); status != http.StatusBadRequest || !strings.Contains(body, "allow it once") {
		t.Errorf("a grant of what can't be granted: %d %s", status, body)
	}
	if status, _ := form("maybe"); status != http.StatusBadRequest {
		t.Errorf("no answer: %d", status)
	}
	if status, _ := form("deny"); status != http.StatusSeeOther {
		t.Errorf("deny: %d", status)
	}
	// Too late, and never there.
	if status, body := u.send("POST", "/api/questions/01ARZ3NDEKTSV4RRFFQ69G5FAZ/answer", `{"answer":"once"}`); status != http.StatusNotFound || !strings.Contains(body, "hint") {
		t.Errorf("an unknown question: %d %s", status, body)
	}
}

// stream is an open stream of events.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	seen bytes.Buffer
}

func (u *user) stream(query, last string) *stream {
	u.r.t.Helper()
	req, err := http.NewRequestWithContext(u.r.t.Context(), "GET", u.r.srv.URL+"/api/stream"+query, http.NoBody)
	must(u.r.t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := u.http.Do(req)
	must(u.r.t, err)
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		u.r.t.Fatalf("stream: %d %s", resp.StatusCode, b)
	}
	return &stream{t: u.r.t, body: resp.Body}
}

// until reads until all words have come.
func (s *stream) until(words ...string) string {
	s.t.Helper()
	b := make([]byte, 1<<16)
	for {
		all := true
		for _, w := range words {
			all = all && strings.Contains(s.seen.String(), w)
		}
		if all {
			return s.seen.String()
		}
		n, err := s.body.Read(b)
		s.seen.Write(b[:n])
		if err != nil {
			s.t.Fatalf("the stream ended without %q: %v\n%s", words, err, s.seen.String())
		}
	}
}

func (s *stream) close() { _ = s.body.Close() }
