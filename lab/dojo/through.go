package dojo

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/lab/judging"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
)

// Gateway is a defence by the gateway itself, over loopback: between the
// harness and the scripted model's API stands what `margay serve` serves, with
// a desk that asks the scripted user.
type Gateway struct {
	Name   string
	Rules  Rules
	Stream bool
	// Screen and NoReplay are those of mediator.Taint.
	Screen   taint.Screener
	NoReplay bool
	Judge    *judging.Judge // screens instead; nil for none
}

// Defence returns the row.
func (g Gateway) Defence() Defence {
	return Defence{g.Name, func(t *Task, m harness.Model) (harness.Model, error) {
		policy, err := g.Rules(t.Suite)
		if err != nil {
			return nil, err
		}
		p := &passage{task: t}
		if err := p.open(g, policy, m); err != nil {
			p.Close()
			return nil, err
		}
		return p, nil
	}}
}

// asks is a judge as an adviser about one episode.
type asks struct {
	judge *judging.Judge
	task  *Task
}

// Relevant implements screen.Adviser.
func (a asks) Relevant(ctx context.Context, q *screen.Question) ([]bool, error) {
	return a.judge.Ask(ctx, q, func() []bool { return a.task.Relevant(q) }, a.task.Judged)
}

// passage is one episode's way through a gateway of its own.
type passage struct {
	harness.Client
	task    *Task
	desk    *confirm.Desk
	servers []*http.Server
	serving sync.WaitGroup // servers, and answers to questions
	refused atomic.Bool    // some call since the last turn of the user's
}

var defaultRules = sync.OnceValues(recognise.Default)

func (p *passage) open(g Gateway, policy *taint.Policy, m harness.Model) error {
	rules, err := defaultRules()
	if err != nil {
		return err
	}
	upstream, err := p.serve(harness.Handler(m))
	if err != nil {
		return err
	}
	target, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	keys, store := secret.NewKeys(), memory.New()
	p.desk = confirm.New(confirm.Config{Store: store, Sealer: &keys, Limit: time.Minute, Poll: 5 * time.Millisecond, Asked: p.asked})
	cfg := &mediator.Taint{
		Policy: policy, Desk: p.desk, Foreign: func(string) bool { return false }, Screen: g.Screen, NoReplay: g.NoReplay,
	}
	if g.Judge != nil {
		cfg.Screen = screen.Screener{Adviser: asks{g.Judge, p.task}}
	}
	if _, err := rand.Read(cfg.Key[:]); err != nil {
		return err
	}
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store, Policy: onlyReport()}, Taint: cfg})
	if err != nil {
		return err
	}
	h, err := gateway.New(gateway.Config{Engine: e, Upstream: target, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	base, err := p.serve(h)
	p.Client = harness.Client{BaseURL: base, Stream: g.Stream, HTTP: &http.Client{Transport: &http.Transport{}}}
	return err
}

// onlyReport is a policy that takes no secret out: what is measured here is
// labels.
func onlyReport() mediator.Policy {
	p := mediator.Policy{Prompt: map[secret.Kind]flow.Action{}, Generate: map[secret.Kind]flow.Action{}}
	for _, k := range []secret.Kind{
		secret.KindAPIKey, secret.KindToken, secret.KindPassword, secret.KindPrivateKey, secret.KindConnectionString, secret.KindWebhook, secret.KindSecret,
	} {
		p.Prompt[k], p.Generate[k] = flow.ActReport, flow.ActReport
	}
	return p
}

// serve serves a handler on a loopback port of its own.
func (p *passage) serve(h http.Handler) (base string, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	p.servers = append(p.servers, s)
	p.serving.Go(func() { _ = s.Serve(l) })
	return "http://" + l.Addr().String() + "/v1", nil
}

// asked answers a question as the scripted user does.
func (p *passage) asked(q *confirm.Question) {
	id, call := q.ID, q.Call
	p.serving.Go(func() {
		answer := confirm.Deny
		if p.task.Confirm(call) {
			answer = confirm.Once
		} else {
			p.refused.Store(true)
		}
		// Where it is too late, the gateway has denied the call.
		_ = p.desk.Answer(context.Background(), id, answer, "bench")
	})
}

// Generate implements harness.Model. Where the agent stops after the user
// refused a call, the user tells it to go on with the rest.
func (p *passage) Generate(ctx context.Context, r *harness.Request) (harness.Message, error) {
	told := *r
	told.Messages = slices.Clone(r.Messages)
	for range again {
		m, err := p.Client.Generate(ctx, &told)
		if err != nil || len(m.Calls) > 0 || !p.refused.Swap(false) {
			return m, err
		}
		p.task.Urge()
		told.Messages = append(told.Messages, harness.Message{Role: flow.RoleAssistant, Text: m.Text}, harness.Message{Role: flow.RoleUser, Text: "Go on without that."})
	}
	return harness.Message{}, errors.New("calls are refused again and again")
}

// Close ends the servers.
func (p *passage) Close() error {
	for _, s := range p.servers {
		_ = s.Close()
	}
	if p.Client.HTTP != nil {
		p.Client.HTTP.CloseIdleConnections()
	}
	p.serving.Wait()
	return nil
}
