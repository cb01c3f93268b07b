package method

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// maxEngines bounds the engines that are kept: one for each set of registered
// secrets, of which a run has a few.
const maxEngines = 16

// engines keeps a mediator engine for each set of registered secrets. It is
// safe for concurrent use.
type engines struct {
	rules  *recognise.Set
	policy mediator.Policy
	model  *monitor.Model
	mu     sync.Mutex
	by     map[[32]byte]*mediator.Engine
}

func newEngines(rules *recognise.Set, policy mediator.Policy, model *monitor.Model) *engines {
	return &engines{rules: rules, policy: policy, model: model, by: map[[32]byte]*mediator.Engine{}}
}

// session begins a trajectory.
func (e *engines) session(ctx context.Context, known []Secret, in *Input, watch *session.Watch) (*mediator.Session, error) {
	engine, err := e.engine(known)
	if err != nil {
		return nil, err
	}
	policy := e.policy
	policy.Vocabulary = in.Vocabulary
	var roles []flow.Role
	if in.Tool {
		roles = []flow.Role{flow.RoleTool}
	}
	return engine.Session(ctx, &mediator.SessionRequest{
		Trajectory: flow.NewID(), Roles: roles, Policy: &policy, Watch: watch,
		Sink: flow.Sink{Name: "benchmark", Channel: flow.ChannelModel, Trust: flow.TrustProvider},
	})
}

// fixedKeys are the same in every run, as the numbers are. They protect
// nothing: the benchmark's secrets are its own.
var fixedKeys = func() (k secret.Keys) {
	for i, key := range []*[32]byte{&k.Fingerprint, &k.Pseudonym, &k.Seal} {
		for j := range key {
			key[j] = byte(i*37 + j*11 + 1)
		}
	}
	return k
}()

func (e *engines) engine(known []Secret) (*mediator.Engine, error) {
	h := sha256.New()
	for _, s := range known {
		for _, part := range []string{s.Name, s.Value} {
			_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // a hash takes everything
			h.Write([]byte(part))
		}
	}
	var key [32]byte
	h.Sum(key[:0])
	e.mu.Lock()
	defer e.mu.Unlock()
	if engine := e.by[key]; engine != nil {
		return engine, nil
	}
	now := time.Unix(1, 0)
	recs := make([]secret.Record, 0, len(known))
	for i, s := range known {
		rec, _, err := match.Prepare(&fixedKeys, fmt.Sprintf("%026d", i), s.Name, secret.KindSecret, secret.SourceRegistered, "benchmark", []byte(s.Value), now)
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", s.Name, err)
		}
		recs = append(recs, rec)
	}
	store := memory.New()
	store.MaxDecisions = 1
	engine, err := mediator.New(mediator.Config{Config: session.Config{
		Rules: e.rules, Monitor: e.model, Keys: fixedKeys, Store: store, Policy: e.policy, Ephemeral: recs,
		MaxTrajectories: 64, // each is used once, by one goroutine
		Now:             func() time.Time { return now },
	}})
	if err != nil {
		return nil, err
	}
	if len(e.by) >= maxEngines {
		clear(e.by)
	}
	e.by[key] = engine
	return engine, nil
}

// read lets the trajectory see what the agent was shown, by the verbs through
// which it would: each tool result is observed, the rest is the prompt. What
// the verbs would change is not used, what they discover is.
func read(ctx context.Context, s *mediator.Session, in *Input) *mediator.Turn {
	rest := in.Context
	for _, p := range in.Private {
		s.Decide(ctx, flow.Observe, &mediator.Message{Tool: "tool", Texts: []flow.Text{{Text: p, Path: func() string { return "tool" }}}})
		if p != "" {
			rest = strings.Replace(rest, p, "\n", 1)
		}
	}
	p := mediator.Prompt{Conversation: true, Closed: func() bool { return true }}
	if rest != "" {
		p.Texts = []flow.Text{{Text: rest, Field: flow.FieldContent, Path: func() string { return "context" }}}
	}
	return s.Prompt(ctx, &p)
}

// Discovers returns the values that the monitor takes for secrets when an
// agent reads a text: what its trajectory would learn. It is for telling known
// secrets from unknown ones in the tables and decides nothing.
func (m *Monitor) Discovers(text string) []string {
	if !m.cfg.Mediate {
		return nil
	}
	var out []string
	for _, found := range m.engines.rules.Find([]byte(text)) {
		if found.Kind().Personal() || found.Capped {
			continue
		}
		value := text[found.Start:found.End]
		if _, strength, err := match.Print(&fixedKeys, []byte(value)); err == nil && session.WorthKnowing([]byte(value), strength, recognise.Sure(found.Rule.ID)) && !slices.Contains(out, value) {
			out = append(out, value)
		}
	}
	return out
}
