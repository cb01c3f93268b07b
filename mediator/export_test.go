package mediator

import (
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/disclose"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/mediator/step"
)

// The verbs one by one, as tests of their rules call them.

type (
	Generation = answer.Stream
	Step       = step.Step
	View       = step.View

	SessionConfig = session.Config
	Store         = session.Store
	Releaser      = disclose.Releaser
	Watch         = session.Watch
)

const (
	RiskOff     = session.RiskOff
	RiskReport  = session.RiskReport
	RiskRed     = session.RiskRed
	RiskEnforce = session.RiskEnforce
)

var ErrNoTrajectory = step.ErrNoTrajectory

func (s *Session) ID() flow.TrajectoryID { return s.s.ID }

func (s *Session) Named(name string) { s.s.Name(name) }

func (s *Session) Texts(ctx context.Context, texts []flow.Text) Result {
	return s.texts.Prompt(ctx, texts)
}

func (s *Session) Observe(ctx context.Context, m *Message) Result { return s.texts.Observe(ctx, m) }

func (s *Session) Send(ctx context.Context, m *Message) disclose.Decided { return s.texts.Send(ctx, m) }

func (s *Session) Call(ctx context.Context, call flow.ToolCall) (flow.ToolCall, Result) {
	d := s.texts.Send(ctx, &Message{Tool: call.Name, Texts: []flow.Text{{Text: call.Arguments, Field: flow.FieldToolArguments, Path: func() string { return call.Name }}}})
	if text, ok := d.Edits[0]; ok {
		call.Arguments = text
	}
	return call, d.Result
}

func (s *Session) Headers(ctx context.Context, texts []flow.Text) Result {
	return s.texts.Headers(ctx, texts)
}

func (s *Session) Note(ctx context.Context, verb flow.Verb, outcome flow.Outcome, reasons ...flow.Reason) Result {
	return s.texts.Note(ctx, verb, outcome, reasons...)
}

func (s *Session) Answer(ctx context.Context, a *answer.Whole) answer.Looked {
	return answer.Look(ctx, s.s, s.texts, a)
}

func (s *Session) Generate(ctx context.Context, opt answer.Options) *Generation {
	opt.Calls = s.texts
	return answer.Open(ctx, s.s, opt)
}

func (s *Session) Step(turns []flow.Turn, tools []flow.OfferedTool, elsewhere bool, text func(part int) string) *Step {
	return step.New(context.Background(), s.Trajectory, turns, tools, elsewhere, text)
}

// Push adds an event and returns what it releases.
func Push(g *Generation, ev *answer.Event) ([]answer.Outgoing, error) {
	if err := g.Add(ev); err != nil {
		return nil, err
	}
	return g.Release()
}
