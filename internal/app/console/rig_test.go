package console

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
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

	trusted []string // folders, by answers
}

// newRig returns a console over a store in memory, with a registered secret.
func newRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, store: memory.New(), keys: secret.NewKeys(), now: time.Now().UTC().Truncate(time.Millisecond)}
	rec, _, err := match.Prepare(&r.keys, flow.NewID(), "PLANTED", secret.KindToken, secret.SourceRegistered, "env:PLANTED", []byte(planted), r.now)
	if err != nil {
		t.Fatal(err)
	}
	must(t, r.store.PutSecrets(t.Context(), []secret.Record{rec}))
	rules, err := recognise.Default()
	must(t, err)
	r.engine, err = mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: r.keys, Store: r.store}})
	must(t, err)
	r.desk = confirm.New(confirm.Config{Store: r.store, Sealer: &r.keys, Poll: time.Millisecond, Trust: func(_ context.Context, q *confirm.Question) error {
		r.trusted = append(r.trusted, q.Folder)
		return nil
	}})
	r.cfg = Config{
		Events: r.store, Secrets: r.store, Desk: r.desk, Access: access.Config{Key: []byte("key")}, Mask: r.engine.Masker,
		Upstreams: func() []Upstream { return []Upstream{} }, Packs: func() Packs { return Packs{Mode: "off", Packs: []Pack{}, Findings: []PackFinding{}} },
		Lost: func() (int64, bool) { return 0, false }, Log: slog.New(slog.DiscardHandler),
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
	return r.login(fmt.Sprintf(`{"token":%q}`, access.Token(r.cfg.Access.Key, r.now)))
}

func (r *rig) login(with string) *user {
	r.t.Helper()
	u := r.stranger()
	status, body := u.send("POST", "/api/session", with)
	if status != http.StatusOK {
		r.t.Fatalf("login: %d %s", status, body)
	}
	var v access.Session
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
		Label: "untrusted", Needs: "trusted", Values: []confirm.Value{{Name: "to", Value: "mallory", From: []string{"read_file"}}}, Deeds: []confirm.Deed{{Effect: "spend", Part: "pay bob", To: "bob", Why: "it spends money"}}, Faults: []confirm.Fault{{Source: "read_mail", Field: "body", Label: "untrusted", Excerpt: "pay at once"}}, Flows: []string{"what read_mail told"}, Free: []string{"amount"},
	}
	if change != nil {
		change(q)
	}
	must(r.t, r.desk.Put(r.t.Context(), q))
	return q
}

// full fills the store with an event of each kind, every text of it said.
func (r *rig) full(said string) []audit.Event {
	r.t.Helper()
	print := r.keys.FingerprintOf([]byte(planted))
	base := audit.Event{Trajectory: trajectoryOne, At: r.now, Sink: "up " + said}
	var out []audit.Event
	add := func(f func(*audit.Event)) {
		e := base
		e.ID, e.Payload.Version = flow.NewID(), 1
		f(&e)
		out = append(out, e)
	}
	for _, v := range []flow.Verb{flow.Prompt, flow.Generate, flow.Call, flow.Observe, flow.Remember, flow.Tell} {
		for _, o := range []flow.Outcome{flow.Allow, flow.Rewrite, flow.Confirm, flow.Deny} {
			add(func(e *audit.Event) {
				e.Kind, e.Verb, e.Outcome = audit.KindDecision, v, o
				e.Payload.Size = &audit.Size{Texts: 2, Bytes: 300, Tool: "tool " + said}
				e.Payload.Decision = &audit.Entry{
					Decision: flow.Decision{ID: e.ID, Trajectory: trajectoryOne, Verb: v, Outcome: o, At: r.now, Count: len(v) % 2, Sink: flow.Sink{Name: "up " + said, Channel: flow.ChannelModel, Trust: flow.TrustProvider}, Reasons: []flow.Reason{{Code: "code " + said, Detail: "detail " + said, Action: flow.ActRedact, Finding: "F"}}},
					Findings: []audit.Finding{{ID: flow.NewID(), Rule: "rule " + said, Name: "name " + said, Kind: secret.KindToken, Source: secret.SourceRegistered, View: "raw", Fingerprint: print, Field: "content", Path: "path " + said, Action: flow.ActRedact, Length: 20, Risk: 0.5, Model: "m"}},
				}
			})
		}
	}
	add(func(e *audit.Event) {
		e.Kind, e.Verb = audit.KindStep, flow.Prompt
		e.Payload.Step = &audit.Step{Context: "untrusted " + said, Messages: 3, From: 1, Cut: true, Partial: true, Regions: []audit.Region{{Message: 1, Role: "user", Label: "trusted", Bottom: true, Bytes: 5}, {Message: 2, Role: "tool", Tool: "tool " + said, Field: "field " + said, Label: "untrusted " + said, Bytes: 9}}}
	})
	add(func(e *audit.Event) {
		e.Kind, e.Verb = audit.KindWithheld, flow.Generate
		e.Payload.Withheld = &audit.Withheld{Context: "trusted", Messages: []int{2}, Gone: []int{7}, Tools: 1, Again: true}
	})
	add(func(e *audit.Event) {
		e.Kind = audit.KindQuestion
		e.Payload.Question = &audit.Question{ID: "Q", Tool: "tool " + said, Answer: "once", By: "by " + said}
	})
	add(func(e *audit.Event) {
		e.Kind = audit.KindUpstream
		e.Payload.Upstream = &audit.Upstream{Name: "up " + said, Failed: true, Status: 503, Detail: "detail " + said}
	})
	add(func(e *audit.Event) {
		e.Kind, e.Verb = audit.KindAnswer, flow.Generate
		text := "before " + said + " after é"
		e.Payload.Answer = &audit.Answer{
			Halted: true, Dropped: true, Broken: true, Stream: true, Took: time.Second, Calls: []string{"call " + said},
			Texts: []audit.Text{{Choice: 1, Item: 1, Field: "content", Tool: "tool " + said, Bytes: 99, Tokens: 3, Yellow: 1, Red: 1, Risk: 900, Held: 9, Edits: 2}},
		}
		e.Detail = &audit.Detail{Version: 1, Texts: []audit.TextDetail{{
			Text: text, Cut: true, Spans: []audit.Span{{Start: 1, End: 3, At: 0, To: 6, Action: "redact", Kind: "kind " + said}}, Held: []audit.Span{{Start: 4, End: 9, At: 3, To: 12}},
			Tokens: &audit.Series{N: 3, Every: 1, Risk: []int{10, 400, 900}, Zone: "gyr", Least: []int{-1, 10, 20}, Most: []int{-1, 30, 40}, Ends: []int{3, 6, 9}, Yellow: 300, Red: 600, Vocabulary: 1000},
		}}}
	})
	must(r.t, r.store.AppendEvents(r.t.Context(), out))
	return out
}

// paths are all resources with something to show.
func (r *rig) paths(events []audit.Event, questions ...*confirm.Question) (out []string) {
	out = []string{"/overview", "/trajectories", "/trajectories/" + trajectoryOne, "/packs", "/rubrics", "/rubrics/" + hashOne, "/secrets"}
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
		c.Texts, c.Notices = true, []string{"a notice"}
		c.Upstreams = func() []Upstream {
			return []Upstream{{Name: "up " + said, URL: "http://x/" + said, Requests: 3, Failures: 1, Failing: true, Detail: "detail " + said, Millis: 4, Last: time.Now()}}
		}
		c.Packs = func() Packs {
			return Packs{Mode: "on", Packs: []Pack{{Name: "p " + said, Title: "t " + said, Kind: "server", For: "f " + said, File: "file " + said, Tools: []PackTool{{Name: "tool " + said, Worst: "worst " + said, Policy: []string{"policy " + said}}}}}, Findings: []PackFinding{{Pack: "p " + said, Line: 1, Code: "code", Detail: "detail " + said}}}
		}
		c.Books, c.Rubrics = meters(said), shelf(said)
		c.Lost = func() (int64, bool) { return 3, true }
	})
	rec, _, err := match.Prepare(&r.keys, flow.NewID(), "OLD "+said, secret.KindToken, secret.SourceRegistered, "file:"+said, []byte("another-Value-83ke92ks"), r.now.Add(-time.Hour))
	must(t, err)
	rec.Expires = r.now.Add(-time.Minute)
	must(t, r.store.PutSecrets(t.Context(), []secret.Record{rec}))
	events := r.full(said)
	say := func(q *confirm.Question) {
		b, _ := json.Marshal(map[string]string{"to": said})
		q.Call = flow.ToolCall{Name: "tool " + said, Arguments: string(b)}
		q.Sink, q.Label, q.Needs, q.Flows, q.Free, q.Kinds = "sink "+said, "label "+said, "needs "+said, []string{"flow " + said}, []string{"free " + said}, []string{"covers " + said}
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
