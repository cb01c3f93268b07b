package console

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/sqlite"
)

// crowd is the state of the requirement: 10,000 trajectories and 1,000,000
// events in SQLite, those of the last trajectory the most. It is made once.
var crowd = struct {
	sync.Once
	store *sqlite.Store
	ids   []flow.TrajectoryID
}{}

func crowded(b *testing.B, now time.Time) {
	b.Helper()
	crowd.Do(func() {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "margay.db"), sqlite.Options{MaxEvents: 2_000_000, MaxEventBytes: 8 << 30})
		must(b, err)
		for range 10_000 {
			crowd.ids = append(crowd.ids, flow.TrajectoryID(flow.NewID()))
		}
		batch := make([]audit.Event, 0, 5000)
		for i := range 1_000_000 {
			batch = append(batch, synthetic(i, crowd.ids[i%len(crowd.ids)], now.Add(time.Duration(i-1_000_000)*7*time.Millisecond)))
			if len(batch) == cap(batch) {
				must(b, s.AppendEvents(b.Context(), batch))
				batch = batch[:0]
			}
		}
		crowd.store = s
		b.Cleanup(func() { _ = s.Close() })
	})
}

// synthetic is an event like those of real runs: each tenth an answer of 300
// tokens, each twentieth the labels of a step.
func synthetic(i int, id flow.TrajectoryID, at time.Time) audit.Event {
	e := audit.Event{ID: flow.NewID(), Trajectory: id, At: at, Sink: "api.openai.com", Payload: audit.Payload{Version: 1}}
	n := i / 10_000
	switch {
	case n%10 == 9:
		e.Kind, e.Verb = audit.KindAnswer, flow.Generate
		e.Payload.Answer = &audit.Answer{Stream: true, Calls: []string{"Bash"}, Texts: []audit.Text{{Field: "content", Bytes: 1300, Tokens: 300, Risk: 120}}}
		t := &audit.Series{N: 300, Every: 1, Yellow: 300, Red: 600, Vocabulary: 128000}
		for k := range 300 {
			t.Risk, t.Least, t.Most, t.Ends, t.Zone = append(t.Risk, k%120), append(t.Least, 100), append(t.Most, 180), append(t.Ends, 4*k), t.Zone+"g"
		}
		e.Detail = &audit.Detail{Version: 1, Texts: []audit.TextDetail{{Tokens: t}}}
	case n%20 == 4:
		e.Kind, e.Verb = audit.KindStep, flow.Prompt
		e.Payload.Step = &audit.Step{Context: "untrusted, private", Messages: n + 2, From: n}
		for k := range 12 {
			e.Payload.Step.Regions = append(e.Payload.Step.Regions, audit.Region{Message: n + k%2, Role: "tool", Tool: "WebFetch", Field: fmt.Sprintf("items[%d].body", k), Label: "untrusted", Bytes: 300})
		}
	default:
		e.Kind = audit.KindDecision
		e.Verb = []flow.Verb{flow.Prompt, flow.Generate, flow.Call}[n%3]
		e.Outcome = []flow.Outcome{flow.Allow, flow.Allow, flow.Rewrite}[n%3]
		e.Payload.Size = &audit.Size{Texts: 12, Bytes: 9000}
		d := &audit.Entry{Decision: flow.Decision{ID: e.ID, Trajectory: id, Verb: e.Verb, Outcome: e.Outcome, At: at, Sink: flow.Sink{Name: "api.openai.com", Channel: flow.ChannelModel, Trust: flow.TrustProvider}}}
		if e.Outcome == flow.Rewrite {
			d.Reasons = []flow.Reason{{Code: "secret-found", Detail: fmt.Sprintf("token of 40 bytes found by github-pat at messages[%d].content", n), Action: flow.ActPseudonym}}
			d.Findings = []audit.Finding{{ID: flow.NewID(), Rule: "github-pat", Kind: secret.KindToken, View: "raw", Fingerprint: secret.Fingerprint{byte(i), byte(i >> 8), 1}, Field: "content", Action: flow.ActPseudonym, Length: 40}}
		}
		e.Payload.Decision = d
	}
	return e
}

// BenchmarkPages times the server's side of pages over the crowd: p50 and p99
// of one request after another.
func BenchmarkPages(b *testing.B) {
	now := time.Now().UTC()
	crowded(b, now)
	r := &rig{keys: secret.NewKeys(), now: now}
	e, err := mediator.New(mediator.Config{Config: session.Config{Keys: r.keys, Store: crowd.store}})
	must(b, err)
	c, err := New(Config{
		Events: crowd.store, Secrets: crowd.store, Desk: confirm.New(confirm.Config{Store: crowd.store, Sealer: &r.keys}), Mask: e.Masker, Access: access.Config{Key: []byte("key")}, Now: time.Now,
		Upstreams: func() []Upstream { return nil }, Lost: func() (int64, bool) { return 0, false }, Log: slog.New(slog.DiscardHandler),
	})
	must(b, err)
	defer c.Close()
	w := httptest.NewRecorder()
	_, err = c.sessions.Enter(w, &http.Request{RemoteAddr: "127.0.0.1:1"}, &access.Login{Token: access.Token([]byte("key"), now)})
	must(b, err)
	cookie := w.Result().Cookies()[0] //nolint:bodyclose // a recorder's
	one := string(crowd.ids[4321])
	for _, p := range []struct{ name, path string }{
		{"overview", "/console/"},
		{"trajectories", "/console/trajectories"},
		{"trajectory", "/console/trajectories/" + one},
		{"trajectory-json", "/api/trajectories/" + one},
		{"event", "/console/events/994322"},
		{"secrets", "/console/secrets"},
	} {
		b.Run(p.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				req := httptest.NewRequestWithContext(b.Context(), "GET", "http://127.0.0.1"+p.path, http.NoBody)
				req.RemoteAddr = "127.0.0.1:1"
				req.AddCookie(cookie)
				w := httptest.NewRecorder()
				began := time.Now()
				c.ServeHTTP(w, req)
				took = append(took, time.Since(began))
				if w.Code != http.StatusOK {
					b.Fatalf("%d %s", w.Code, w.Body)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}
