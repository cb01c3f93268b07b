package method

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// MonitorConfig says which parts of Margay decide.
type MonitorConfig struct {
	Name string
	// Model judges each token; nil for none.
	Model *monitor.Model
	// Risk says what the verdicts do; session.RiskEnforce where empty.
	Risk mediator.RiskMode
	// BlackBox leaves the tokens' distributions alone: the text is cut into
	// pieces as a gateway does that gets no log-probabilities.
	BlackBox bool
	// GrayBox leaves the tokens' telemetry alone, if they have any.
	GrayBox bool
	// Mediate sends the output through a mediator session: recognisers, and
	// the secrets discovered in what the agent read.
	Mediate bool
	// Vault registers Input.Registered beforehand; needs Mediate.
	Vault bool
	// Halt ends a generation where something would be redacted (on_red:
	// halt).
	Halt bool
}

// Monitor is Margay itself: a mediator session reads what the agent was shown
// and mediates the output, token by token as it comes (package mediator says
// what the risk model takes out).
//
// The agent sees what it is shown by the benchmark: the pseudonyms by which
// Margay would keep secrets from it in the first place are not used, so that
// all methods face the same outputs. Each output has a trajectory of its own
// that has read the whole context, so that Filter is a function of its input.
type Monitor struct {
	cfg     MonitorConfig
	engines *engines
}

// NewMonitor returns a monitor of a configuration.
func NewMonitor(cfg MonitorConfig) (*Monitor, error) {
	m := &Monitor{cfg: cfg}
	var rules *recognise.Set
	if cfg.Mediate {
		var err error
		if rules, err = recognise.Default(); err != nil {
			return nil, err
		}
	}
	policy := mediator.Policy{Halt: cfg.Halt}
	if cfg.Model != nil {
		policy.Risk = cmp.Or(cfg.Risk, session.RiskEnforce)
	}
	m.engines = newEngines(rules, policy, cfg.Model)
	return m, nil
}

// Everything is the monitor with everything on: registered secrets, discovery,
// recognisers, and the risk model, which reports (monitor.mode: report). On the
// training repository its acting on RED stopped no leak that the others let
// pass, and touched clean tasks.
func Everything(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor", Model: model, Risk: session.RiskReport, Mediate: true, Vault: true})
}

// Red is Everything with the risk model acting on RED (monitor.mode: red).
func Red(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-red", Model: model, Risk: session.RiskRed, Mediate: true, Vault: true})
}

// NoVault is Everything where nothing was registered beforehand.
func NoVault(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-novault", Model: model, Risk: session.RiskReport, Mediate: true})
}

// RiskOnly is the risk model alone with the tokens' distributions: the paper's
// own setting.
func RiskOnly(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-risk", Model: model})
}

// GrayBox is the risk model alone without telemetry.
func GrayBox(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-risk", Model: model, GrayBox: true})
}

// BlackBox is the risk model alone on the text.
func BlackBox(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-blackbox", Model: model, BlackBox: true})
}

// Name implements Method.
func (m *Monitor) Name() string { return m.cfg.Name }

var errTokens = errors.New("the tokens, put together, are not the text")

// Filter implements Method.
func (m *Monitor) Filter(ctx context.Context, in *Input) (Output, error) {
	start := time.Now()
	var known []Secret
	if m.cfg.Vault {
		known = in.Registered
	}
	s := &output{text: in.Text, risk: math.NaN()}
	session, err := m.engines.session(ctx, known, in, &session.Watch{Judged: s.judged, Edited: s.edited})
	if err != nil {
		return Output{}, err
	}
	turn := read(ctx, session, in)
	reading := time.Since(start)
	if err := s.mediate(turn.Stream(ctx, answer.Options{}, nil), in, m.cfg.BlackBox, !m.cfg.GrayBox); err != nil {
		return Output{}, err
	}
	out := Output{Risk: s.risk, Reading: reading, Halted: s.halted}
	out.Text, out.Removed = s.apply()
	return out, nil
}

// output is what becomes of an output.
type output struct {
	text   string
	risk   float64
	edits  []stream.Edit
	halted bool
}

func (s *output) judged(_ flow.StreamKey, _, _ int64, v monitor.Verdict) {
	if !(s.risk >= v.Risk) { // it may be NaN
		s.risk = v.Risk
	}
}

func (s *output) edited(_ flow.StreamKey, e stream.Edit) { s.edits = append(s.edits, e) }

// mediate sends the output through an answer, an event a token.
func (s *output) mediate(g *mediator.Answer, in *Input, blackBox, telemetry bool) error {
	defer g.Free()
	key := flow.StreamKey{Field: flow.FieldContent}
	released, at := 0, 0
	ends := make([]int, 0, len(in.Tokens)) // of the events, in bytes
	take := func(outs []answer.Outgoing, err error) error {
		released += len(outs)
		if errors.Is(err, answer.ErrHalted) {
			s.halted = true
			return nil
		}
		return err
	}
	raw := []byte(s.text)
	ev := answer.Event{Deltas: []flow.Delta{{Key: key}}, Choices: []int{0}}
	push := func(text string, told []flow.Token) error {
		if !strings.HasPrefix(s.text[at:], text) {
			return errTokens
		}
		ev.Deltas[0].Text, ev.Deltas[0].Tokens = raw[at:at+len(text)], told
		at += len(text)
		ends = append(ends, at)
		if err := g.Add(&ev); err != nil {
			return take(nil, err)
		}
		return take(g.Release())
	}
	if blackBox || len(in.Tokens) == 0 {
		for at < len(s.text) && !s.halted {
			n := monitor.NextPiece(s.text[at:])
			if err := push(s.text[at:at+n], nil); err != nil {
				return err
			}
		}
	} else {
		told := make([]flow.Token, len(in.Tokens))
		for i := range in.Tokens {
			t := &in.Tokens[i]
			told[i] = flow.Token{Text: t.Text, Logprob: t.Logprob, Top: t.Top}
			ev.Deltas[0].Telemetry = nil
			if telemetry && t.Telemetry != nil {
				ev.Deltas[0].Telemetry = written(t.Telemetry)
			}
			if err := push(t.Text, told[i:i+1]); err != nil {
				return err
			}
			if s.halted {
				break
			}
		}
	}
	if !s.halted {
		if at != len(s.text) {
			return errTokens
		}
		next, err := g.End(nil)
		if err := take(next.Out, err); err != nil {
			return err
		}
	}
	if s.halted {
		// Nothing behind what was released goes on.
		from := 0
		if released > 0 {
			from = ends[released-1]
		}
		s.edits = slices.DeleteFunc(s.edits, func(e stream.Edit) bool { return e.Start >= int64(from) })
		s.edits = append(s.edits, stream.Edit{Start: int64(from), End: int64(len(s.text)), Text: []byte(Redaction)})
	}
	return nil
}

// written is telemetry as a server sends it (docs/format/telemetry.md).
func written(t *monitor.Telemetry) []byte {
	return fmt.Appendf(nil, `{"version":1,"tokens":[{"hidden_norm":%g,"hidden_variance":%g,"hidden_size":%d,"attention":{"public":%g,"private":%g,"system":%g}}]}`,
		t.HiddenNorm, t.HiddenVariance, t.HiddenSize, t.Public, t.Private, t.System)
}

// apply makes the edits. Those that touch are one stretch that was removed.
func (s *output) apply() (string, []Removed) {
	var out strings.Builder
	var removed []Removed
	at := 0
	for i := range s.edits {
		start, end := max(int(s.edits[i].Start), at), int(s.edits[i].End)
		if end <= start && int(s.edits[i].Start) < at {
			continue
		}
		out.WriteString(s.text[at:start])
		out.Write(s.edits[i].Text)
		at = end
		if end == start {
			continue
		}
		if n := len(removed); n > 0 && removed[n-1].End == start {
			removed[n-1].End = end
		} else {
			removed = append(removed, Removed{start, end})
		}
	}
	out.WriteString(s.text[at:])
	return out.String(), removed
}
