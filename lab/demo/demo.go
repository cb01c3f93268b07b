// Package demo runs a scripted pipeline of four agents that leak what they
// read, once without Margay and once with it, over real HTTP on loopback.
//
// Only the texts are scripted. The agents are streaming clients, the model is
// a streaming server, and between them runs the gateway that `margay run`
// uses. What leaked is counted by searching for the planted values, plain and
// encoded, in the bytes that the model, the next agent and an outside service
// received: Margay is not asked. The agents measure how long text was held,
// from when the model wrote a token until it arrived.
package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// Credential is what Options.Import finds in a file.
type Credential struct {
	Name  string
	Kind  secret.Kind
	Value string
}

// Options say how the demonstration runs.
type Options struct {
	// Seed is what the planted values are drawn from.
	Seed uint64
	// Import finds the credentials of a .env file, as margay run does.
	Import func(file string, text []byte) []Credential
	// Pace is the time that the model takes for a token; 1 ms by default.
	Pace time.Duration
	// Tell is called with lines about progress.
	Tell func(string)
}

// AgentReport names the secrets that got out in one agent's turn.
type AgentReport struct {
	Agent  string   `json:"agent"`
	Model  []string `json:"leaked_to_model"`
	Next   []string `json:"leaked_to_next_agent"`
	Others []string `json:"leaked_to_others"` // an outside service, by a tool call
}

// Run is one pass of the pipeline.
type Run struct {
	Margay     bool           `json:"margay"`
	Agents     []AgentReport  `json:"agents"`
	Leaks      int            `json:"leaks"`              // secrets × places
	Findings   map[string]int `json:"findings,omitempty"` // by action and kind
	Pseudonyms int            `json:"pseudonyms"`         // different ones that the model saw
	Refused    int            `json:"calls_refused"`
	Done       bool           `json:"task_done"` // the last tool call was made
	Tokens     int            `json:"tokens"`
	MaxHeld    int            `json:"max_held_bytes"` // of text on its way at one time
	DelayP50   float64        `json:"delay_ms_p50"`   // from the model's writing to the agent's reading
	DelayP99   float64        `json:"delay_ms_p99"`
	DelayMax   float64        `json:"delay_ms_max"`
	Elapsed    float64        `json:"elapsed_ms"`
}

// Report is the whole demonstration.
type Report struct {
	Seed    uint64   `json:"seed"`
	Secrets []string `json:"secrets"` // their names
	Without Run      `json:"without"`
	With    Run      `json:"with"`
}

// Play runs the demonstration. It opens loopback ports alone and writes
// nothing to disk.
func Play(ctx context.Context, opt Options) (*Report, error) {
	if opt.Pace <= 0 {
		opt.Pace = time.Millisecond
	}
	if opt.Tell == nil {
		opt.Tell = func(string) {}
	}
	repo, err := newRepository(opt.Seed)
	if err != nil {
		return nil, err
	}
	r := &Report{Seed: opt.Seed}
	for _, p := range repo.planted {
		r.Secrets = append(r.Secrets, p.name)
	}
	opt.Tell("Four agents deploy a payments service: without Margay …")
	if r.Without, err = play(ctx, repo, &opt, false); err != nil {
		return nil, err
	}
	opt.Tell("… and with it.")
	r.With, err = play(ctx, repo, &opt, true)
	return r, err
}

// play runs the pipeline once.
func play(ctx context.Context, repo *repository, opt *Options, protect bool) (Run, error) {
	run := Run{Margay: protect, Findings: map[string]int{}}
	m := &model{repo: repo, pace: opt.Pace, received: map[string]string{}, clock: newClock()}
	at, stop, err := serve(m)
	if err != nil {
		return run, err
	}
	defer stop()
	chat := &service{}
	chatAt, stopChat, err := serve(chat)
	if err != nil {
		return run, err
	}
	defer stopChat()
	var found findings
	if protect {
		g, err := guard(at, repo, opt, &found)
		if err != nil {
			return run, err
		}
		defer g.Close()
		gatewayAt, stopGateway, err := serve(g)
		if err != nil {
			return run, err
		}
		defer stopGateway()
		at = gatewayAt
	}
	p := &pipeline{
		repo: repo, base: "http://" + at + "/v1", chat: "http://" + chatAt, clock: m.clock,
		client: &http.Client{Transport: &http.Transport{}},
	}
	defer p.client.CloseIdleConnections()
	start := time.Now()
	for _, name := range agents {
		outside := chat.text()
		handed, err := p.turn(ctx, name)
		if err != nil {
			return run, fmt.Errorf("%s: %w", name, err)
		}
		a := AgentReport{
			Agent: name, Model: repo.in(m.receivedBy(name)), Next: repo.in(handed), Others: repo.in(chat.text()[len(outside):]),
		}
		run.Leaks += len(a.Model) + len(a.Next) + len(a.Others)
		run.Agents = append(run.Agents, a)
	}
	run.Elapsed = milliseconds(time.Since(start))
	run.Pseudonyms = m.pseudonyms()
	run.Refused, run.Done = p.refused, p.done
	m.clock.measure(&run)
	found.into(&run)
	return run, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

var pseudonym = regexp.MustCompile(`margay-[a-z]+(?:-[a-z]+)*-[a-z2-7]{14}`)

// findings counts what Margay decides, for comparison with what is measured.
type findings struct {
	mu sync.Mutex
	by map[string]int
}

func (f *findings) decided(en audit.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]int{}
	}
	for i := range en.Findings {
		f.by[string(en.Findings[i].Action)+" "+string(en.Findings[i].Kind)]++
	}
}

func (f *findings) into(r *Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, n := range f.by {
		r.Findings[k] = n
	}
}

// guard is the gateway that margay run makes: the credentials of .env files
// are registered for the run, everything else is found by its looks.
func guard(upstream string, repo *repository, opt *Options, f *findings) (*gateway.Gateway, error) {
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	keys := secret.NewKeys()
	var recs []secret.Record
	if opt.Import != nil {
		for _, c := range opt.Import(envFile, []byte(repo.files[envFile])) {
			rec, _, err := match.Prepare(&keys, flow.NewID(), c.Name, c.Kind, secret.SourceRegistered, "file:"+envFile, []byte(c.Value), time.Now())
			if err != nil {
				return nil, err
			}
			recs = append(recs, rec)
		}
	}
	e, err := mediator.New(mediator.Config{Config: session.Config{
		Rules: rules, Keys: keys, Store: memory.New(), Ephemeral: recs, Family: flow.TrajectoryID(flow.NewID()),
		Decided: f.decided,
	}})
	if err != nil {
		return nil, err
	}
	u, err := url.Parse("http://" + upstream + "/v1")
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{Engine: e, Upstream: u, Name: "model", Log: slog.New(slog.DiscardHandler)})
}

// serve serves h on a free loopback port until stop is called.
func serve(h http.Handler) (addr string, stop func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln)
	}()
	return ln.Addr().String(), func() { _ = s.Close(); <-done }, nil
}
