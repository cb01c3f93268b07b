package mediator

import (
	"context"
	"fmt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/disclose"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/mediator/step"
	"github.com/margaydev/margay/secret"
)

// These are the mediator's words. Its parts declare them.
type (
	// Policy is session.Policy.
	Policy = session.Policy
	// RiskMode is session.RiskMode.
	RiskMode = session.RiskMode
	// SessionRequest is session.Request.
	SessionRequest = session.Request
	// Result is session.Result.
	Result = session.Result
	// Values is session.Values.
	Values = session.Values
	// Said is session.Said.
	Said = session.Said
	// Message is disclose.Message.
	Message = disclose.Message
	// Declassify is disclose.Declassify.
	Declassify = disclose.Declassify
	// Taint is step.Taint.
	Taint = step.Taint
	// Pending is step.Pending.
	Pending = step.Pending
	// Clearing is step.Clearing.
	Clearing = step.Clearing
	// Back is step.Back.
	Back = step.Back
	// Returned is step.Returned.
	Returned = step.Returned
	// Share is step.Share.
	Share = step.Share
	// Shared is step.Shared.
	Shared = step.Shared
)

// Session is one request in its trajectory. It is not safe for concurrent
// use; sessions of one trajectory may run at the same time.
type Session struct {
	// Judges: the risk model judges the session's answers, so that it is of use
	// to tell the distributions of their tokens.
	Judges bool
	// Clears: calls are held to what they may follow from.
	Clears bool

	// Returned and Clear are about calls and what they may follow from.
	*step.Trajectory

	s     *session.Session
	e     *Engine
	texts *disclose.Verbs
}

// Decide decides about a message on its way over the boundary. Its verb says
// which way that is:
//
//   - Observe: what a tool tells, on its way to the model. Secrets become the
//     trajectory's pseudonyms, as in prompts.
//   - Call: a message to a tool. Secrets are redacted; a call whose arguments
//     hold a private key, or a pseudonym that is not turned back, is refused in
//     words for the model. That of a call that writes to a memory is Remember.
//   - Generate: texts that come with a model's answer, besides it.
//
// A message with an Outcome is a note of what the connector decided by itself,
// such as about bytes that can't be read.
func (s *Session) Decide(ctx context.Context, verb flow.Verb, m *Message) disclose.Decided {
	switch {
	case m.Outcome != "":
		return disclose.Decided{Result: s.texts.Note(ctx, verb, m.Outcome, m.Notes...)}
	case len(m.Headers) > 0:
		return disclose.Decided{Result: s.texts.Headers(ctx, m.Headers)}
	case verb == flow.Generate:
		return disclose.Decided{Result: answer.Look(ctx, s.s, s.texts, &answer.Whole{Texts: m.Texts}).Result}
	case verb == flow.Observe:
		return disclose.Decided{Result: s.texts.Observe(ctx, m)}
	default:
		return s.texts.Send(ctx, m)
	}
}

// Config is what an Engine needs.
type Config struct {
	session.Config
	// Taint is how tool calls are held to what they may follow from; nil where
	// they are not.
	Taint *Taint
	// Declassify is how releases are held to rubrics and charged; nil where
	// they are not.
	Declassify *Declassify
}

// Engine is the part of the mediator that all sessions share. It is safe for
// concurrent use.
type Engine struct {
	// Clears: calls are held to what they may follow from.
	Clears bool

	known      *session.Registry
	taint      *Taint
	declassify *Declassify
	origins    disclose.Origins
}

// New returns an engine.
func New(cfg Config) (*Engine, error) {
	e := &Engine{Clears: cfg.Taint != nil, taint: cfg.Taint, declassify: cfg.Declassify}
	if cfg.Taint != nil {
		cfg.Labels, e.origins = cfg.Taint.Book(), cfg.Taint
	}
	if d := cfg.Declassify; d != nil {
		cfg.Memories, cfg.Kept = d.Memories, d.Kept
	}
	var err error
	if e.known, err = session.New(cfg.Config); err != nil {
		return nil, fmt.Errorf("mediator: %w", err)
	}
	return e, e.known.Ready(context.Background()) // at start-up, before any request
}

// Ready reports whether the engine can decide: its store answers.
func (e *Engine) Ready(ctx context.Context) error { return e.known.Ready(ctx) }

// Share takes what another process knows of the family's trajectory.
func (e *Engine) Share(s *Share) (*Shared, error) { return e.taint.Share(e.known.Family(), s) }

// Masker returns what replaces, in any text, the credentials and registered
// secrets that are known or recognised by their kinds, whatever the policy is.
// Personal data stays. It is for programs that show what others wrote.
func (e *Engine) Masker(ctx context.Context) (func(string) string, error) {
	return e.known.Masker(ctx)
}

// Session finds or starts the trajectory of a request.
func (e *Engine) Session(ctx context.Context, r *SessionRequest) (*Session, error) {
	s, err := e.known.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Session{
		Judges: s.RiskMode() != session.RiskOff, Clears: e.Clears, Trajectory: step.Open(ctx, s, e.taint, r.Start, r.Dir), s: s, e: e, texts: disclose.New(s, e.declassify, e.origins),
	}, nil
}

// OfferingServer is the hash under which the tools that a server offers are pinned, by
// the server's name in their names.
func OfferingServer(k *secret.Keys, server string) [32]byte { return step.ServerID(k, server) }
