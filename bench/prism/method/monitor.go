package method

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret/recognise"
)

// MonitorConfig says which parts of Margay decide.
type MonitorConfig struct {
	Name string
	// Model judges each token; nil for none.
	Model *monitor.Model
	// BlackBox leaves the tokens' distributions alone: the text is cut into
	// pieces as a gateway does that gets no log-probabilities.
	BlackBox bool
	// Mediate sends the output through a mediator session: recognisers, and
	// the secrets discovered in what the agent read.
	Mediate bool
	// Vault registers Input.Registered beforehand; needs Mediate.
	Vault bool
	// Halt ends a generation where something would be redacted (on_red:
	// halt).
	Halt bool
}

// Monitor is Margay itself. Tokens are judged and mediated as they come; what
// the mediator has not released yet is held.
//
//   - A finding of the mediator is taken out as it decides: no byte of it goes
//     out.
//   - RED (risk of τ2 and above) takes out the token and the rest of its word,
//     and the head of the word as far as it is still held: a credential is one
//     word, and the model's risk may fall before its end.
//   - YELLOW masks the token, one [MASK] each. The space before it stays.
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
	if !cfg.Mediate {
		return m, nil
	}
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	m.engines = newEngines(rules, mediator.Policy{Halt: cfg.Halt})
	return m, nil
}

// Everything is the monitor with everything on: registered secrets, discovery,
// recognisers and the risk model.
func Everything(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor", Model: model, Mediate: true, Vault: true})
}

// NoVault is the monitor where nothing was registered beforehand.
func NoVault(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-novault", Model: model, Mediate: true})
}

// RiskOnly is the risk model alone with the tokens' distributions: the paper's
// own setting.
func RiskOnly(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-risk", Model: model})
}

// BlackBox is the risk model alone on the text.
func BlackBox(model *monitor.Model) (*Monitor, error) {
	return NewMonitor(MonitorConfig{Name: "monitor-blackbox", Model: model, BlackBox: true})
}

// Name implements Method.
func (m *Monitor) Name() string { return m.cfg.Name }

// Mask stands for one masked token.
const Mask = "[MASK]"

// riskRedaction stands for what the risk model took out.
const riskRedaction = "[REDACTED:risk]"

var errTokens = errors.New("the tokens, put together, are not the text")

// Filter implements Method.
func (m *Monitor) Filter(ctx context.Context, in *Input) (Output, error) {
	tokens := in.Tokens
	if m.cfg.BlackBox || len(tokens) == 0 {
		tokens = pieceTokens(in.Text)
	}
	start := time.Now()
	s := &stream{in: in, halts: m.cfg.Halt}
	if m.cfg.Model != nil {
		s.risk = m.cfg.Model.New(monitor.Options{
			Vocabulary: in.Vocabulary, Source: monitor.NewSource(in.Private...), Tool: in.Tool, BlackBox: m.cfg.BlackBox,
		})
	}
	if m.engines != nil {
		var known []Secret
		if m.cfg.Vault {
			known = in.Registered
		}
		session, err := m.engines.session(ctx, known)
		if err != nil {
			return Output{}, err
		}
		read(ctx, session, in)
		s.gen = session.Generate(ctx)
	}
	reading := time.Since(start)
	for i := range tokens {
		if err := s.next(&tokens[i]); err != nil {
			return Output{}, err
		}
		if s.halted {
			break
		}
	}
	out, err := s.end()
	out.Reading = reading
	return out, err
}

// pieceTokens cuts a text into tokens of which only the text is known.
func pieceTokens(text string) []monitor.Token {
	var out []monitor.Token
	for at := 0; at < len(text); {
		n := monitor.NextPiece(text[at:])
		out = append(out, monitor.Token{Text: text[at : at+n], Logprob: math.NaN()})
		at += n
	}
	return out
}

// stream is one output on its way.
type stream struct {
	in    *Input
	risk  *monitor.Monitor
	gen   *mediator.Generation
	halts bool

	ends     []int // of the tokens so far, in bytes
	out      int   // tokens released
	at       int   // bytes read
	word     int   // start of the current word
	cutting  bool  // the rest of the word is taken out
	halted   bool
	greatest float64
	judged   bool
	found    []edit // by the mediator
	risky    []edit // by the risk model
	deltas   []flow.Delta
}

// edit replaces bytes of the text.
type edit struct {
	span
	text string
}

// released is the end of what has gone out.
func (s *stream) released() int {
	switch {
	case s.gen == nil:
		return s.at
	case s.out == 0:
		return 0
	}
	return s.ends[s.out-1]
}

// next takes a token: it is judged before it is passed on.
func (s *stream) next(t *monitor.Token) error {
	if !strings.HasPrefix(s.in.Text[s.at:], t.Text) {
		return errTokens
	}
	from := s.at
	if s.risk != nil {
		v := s.risk.Next(t)
		s.greatest, s.judged = max(s.greatest, v.Risk), true
		s.judge(t.Text, v.Zone)
		if s.halted {
			s.cutFrom(min(s.released(), from), riskRedaction)
			return nil
		}
	}
	s.at += len(t.Text)
	s.ends = append(s.ends, s.at)
	if s.gen == nil {
		return nil
	}
	return s.mediate(from, t.Text)
}

// boundary reports whether a byte ends a word: space, and what stands around
// values in prose and code.
func boundary(b byte) bool {
	return b <= ' ' || strings.IndexByte("\"'`,;<>()[]{}|", b) >= 0
}

func ends(r rune) bool { return r < 0x80 && boundary(byte(r)) }

// judge does what a token's zone asks for.
func (s *stream) judge(text string, zone monitor.Zone) {
	start := 0
	for start < len(text) && boundary(text[start]) {
		start++
	}
	body := text[start:]
	if start > 0 {
		s.cutting = false
		s.word = s.at + start
	}
	switch {
	case body == "":
		return // nothing in it to hide
	case zone == monitor.Red && s.halts:
		s.halted = true
		return
	case zone == monitor.Red:
		// The part of the word that is still held goes, too.
		from := min(max(s.word, s.released()), s.at+start)
		s.cutting = true
		s.risky = append(s.risky, edit{span{from, s.at + start}, riskRedaction})
	}
	// The token may hold the word's end, and the beginning of another one.
	last := strings.LastIndexFunc(body, ends)
	end := len(body)
	if s.cutting && last >= 0 && zone == monitor.Green {
		end = strings.IndexFunc(body, ends)
	}
	at := span{s.at + start, s.at + start + end}
	switch {
	case s.cutting:
		s.risky = append(s.risky, edit{at, riskRedaction})
	case zone == monitor.Yellow:
		s.risky = append(s.risky, edit{at, Mask})
	}
	if last >= 0 {
		s.cutting = zone == monitor.Red && last < len(body)-1
		s.word = s.at + start + last + 1
	}
}

// cutFrom takes out everything from a place on.
func (s *stream) cutFrom(from int, text string) {
	s.found = append(s.found, edit{span{from, len(s.in.Text)}, text})
}

// mediate passes a token to the mediator, byte by byte inside one event: so an
// event that was edited tells which bytes were.
func (s *stream) mediate(from int, text string) error {
	s.deltas = s.deltas[:0]
	for i := range len(text) {
		s.deltas = append(s.deltas, flow.Delta{Key: flow.StreamKey{Field: flow.FieldContent}, Text: []byte(s.in.Text[from+i : from+i+1])})
	}
	return s.take(s.gen.Push(&mediator.Event{Deltas: s.deltas, Choices: []int{0}}))
}

// take notes what was released, in the order of the tokens.
func (s *stream) take(outs []mediator.Out, err error) error {
	for i := range outs {
		from := 0
		if s.out > 0 {
			from = s.ends[s.out-1]
		}
		to := s.ends[s.out]
		s.out++
		if outs[i].Edit == nil {
			continue
		}
		for b := range to - from {
			text, ok := outs[i].Edit.Text[b]
			if !ok {
				continue
			}
			at := span{from + b, from + b + 1}
			if n := len(s.found); len(text) == 0 && n > 0 && s.found[n-1].end == at.start {
				s.found[n-1].end++
				continue
			}
			s.found = append(s.found, edit{at, string(text)})
		}
	}
	if errors.Is(err, mediator.ErrHalted) {
		s.halted = true
		s.cutFrom(s.released(), Redaction)
		return nil
	}
	return err
}

// end decides the rest and puts the output together.
func (s *stream) end() (Output, error) {
	if !s.halted && s.at != len(s.in.Text) {
		return Output{}, errTokens
	}
	if s.gen != nil && !s.halted {
		if err := s.take(s.gen.Close()); err != nil {
			return Output{}, err
		}
	}
	out := Output{Risk: math.NaN()}
	if s.judged {
		out.Risk = s.greatest
	}
	out.Text, out.Removed = apply(s.in.Text, slices.Concat(s.found, s.risky))
	n := len(out.Removed)
	out.Halted = s.halted && n > 0 && out.Removed[n-1].End == len(s.in.Text)
	return out, nil
}

// apply makes edits, which it orders. Where they overlap, the one that starts first says what
// stands there, the mediator's before the risk model's; redactions by risk
// that touch are one.
func apply(text string, edits []edit) (string, []Removed) {
	slices.SortStableFunc(edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(rank(a.text), rank(b.text)))
	})
	var b strings.Builder
	var removed []Removed
	at, last := 0, ""
	for _, e := range edits {
		if e.start >= e.end || e.end <= at && len(removed) > 0 {
			continue
		}
		n := len(removed)
		switch {
		case n > 0 && (e.start < at || e.start == at && e.text == riskRedaction && last == riskRedaction):
			removed[n-1].End = e.end
		case n > 0 && e.start == at:
			b.WriteString(e.text)
			last = e.text
			removed[n-1].End = e.end
		default:
			b.WriteString(text[at:e.start])
			b.WriteString(e.text)
			last = e.text
			removed = append(removed, Removed{e.start, e.end})
		}
		at = e.end
	}
	b.WriteString(text[at:])
	return b.String(), removed
}

func rank(text string) int {
	switch text {
	case riskRedaction:
		return 1
	case Mask:
		return 2
	}
	return 0
}
