// Package monitor judges each token while a model writes it: sixteen features
// of the generation, a logistic risk and a zone, after PRISM (Appendix A and
// B; docs/format/monitor-model.md says where this differs).
//
// What it guarantees: the time of a verdict depends on the token alone, not
// on earlier text, and a verdict allocates nothing; the risk is in [0,1]; a
// black-box verdict does not depend on log-probabilities or telemetry. What
// it can't: it judges a token as it arrives, so earlier tokens are already
// released, and its risk is statistical.
//
// Servers send at most the k most probable alternatives of a token, so its
// entropy is only bounded. Both ends are scored and the larger risk holds: a
// server that lists fewer alternatives never makes a text look safer. A token
// with fewer than five alternatives makes the rest of its stream black box; a
// token without telemetry is gray box, by a fit of its own; a token whose numbers
// can't be probabilities makes only itself black box. A feature that is
// unavailable counts as its mean in training, not as 0, which would claim maximal
// entropy.
//
// The package does no input or output. Package cue has what the texts show by
// themselves.
package monitor

import (
	"math"
	"slices"

	"github.com/margaydev/margay/monitor/cue"
)

// Window is how many tokens the features look back.
const Window = cue.Window

// Indices of the features, in the order of Features.
const (
	hiddenStateMagnitude = iota
	hiddenStateVariance
	publicProvenance
	privateProvenance
	systemProvenance
	lowEntropy
	ngramOverlap
	repetition
	identifierPattern
	numericRuns
	credentialStyle
	divergence
	unsafeTokens
	semanticDensity
	toolUsage
	trajectoryTrend
	count
)

// Features are the names of the features, in order.
func Features() []string {
	return []string{
		"hidden_state_magnitude", "hidden_state_variance", "public_provenance", "private_provenance", "system_provenance",
		"low_entropy", "ngram_overlap", "repetition", "identifier_pattern", "numeric_runs", "credential_style",
		"divergence", "unsafe_tokens", "semantic_density", "tool_usage", "trajectory_trend",
	}
}

// DefaultVocabulary is the size of a vocabulary where it is not known.
const DefaultVocabulary = 128_000

// Options are what a stream is judged by, besides its tokens.
type Options struct {
	Vocabulary int     // 0 = DefaultVocabulary
	Source     *Source // the private material; nil: unknown
	Tool       bool    // the turn follows or proposes a tool call
	BlackBox   bool    // leave log-probabilities and telemetry alone
}

// Sample is all that the risk of a token depends on but the risks before it.
type Sample struct {
	// Values are the features. A Scorer fills in trajectory_trend, and
	// low_entropy and divergence from the end that gives the larger risk.
	Values          [count]float64
	AtLeast, AtMost Ends   // at the entropy's lower and upper bound
	Available       uint16 // bit i: feature i has a value
	BlackBox        bool
}

// Ends are the features that depend on the entropy.
type Ends struct{ LowEntropy, Divergence float64 }

// Monitor judges one stream of tokens. It belongs to one goroutine.
type Monitor struct {
	scorer     Scorer
	options    Options
	sample     Sample
	scan       cue.Scanner
	overlap    overlap
	vocabulary vocabulary
	recent     [repeatWithin]uint64 // hashes of the last tokens
	tokens     int
	blackBox   bool // for the rest of the stream
}

// repeatWithin is how many tokens back a repetition is looked for.
const repeatWithin = 5

const (
	always  = 1<<repetition | 1<<identifierPattern | 1<<numericRuns | 1<<credentialStyle | 1<<semanticDensity | 1<<toolUsage | 1<<trajectoryTrend
	logits  = 1<<lowEntropy | 1<<divergence | 1<<unsafeTokens
	hidden  = 1<<hiddenStateMagnitude | 1<<hiddenStateVariance
	sources = 1<<publicProvenance | 1<<privateProvenance | 1<<systemProvenance
)

// New returns a monitor of a new stream.
func (m *Model) New(o Options) *Monitor {
	mon := &Monitor{scorer: Scorer{model: m}}
	mon.Reset(o)
	return mon
}

// Reset makes the monitor one of a new stream.
func (m *Monitor) Reset(o Options) {
	if o.Vocabulary <= 0 {
		o.Vocabulary = DefaultVocabulary
	}
	m.options, m.blackBox = o, o.BlackBox
	if m.vocabulary.size != o.Vocabulary {
		m.vocabulary = newVocabulary(o.Vocabulary)
	}
	m.scorer.Reset()
	m.scan.Reset()
	m.overlap = overlap{source: o.Source}
	m.tokens, m.sample = 0, Sample{}
}

// Next judges the next token. It keeps no reference to t.
func (m *Monitor) Next(t *Token) Verdict {
	m.observe(t)
	return m.scorer.Score(&m.sample)
}

// Phrase says whether the last token goes on with a value of several words, such
// as a passphrase: a space does not end what its risk is about.
func (m *Monitor) Phrase() bool { return m.scan.Phrase() }

// Features are the last token's, in the order of Features; those at the
// entropy's bound that gave the larger risk.
func (m *Monitor) Features() *[count]float64 { return &m.sample.Values }

// Available says which of them have a value: bit i for feature i. The others
// are 0 there.
func (m *Monitor) Available() uint16 { return m.sample.Available }

// Sample is the last token's.
func (m *Monitor) Sample() *Sample { return &m.sample }

func (m *Monitor) observe(t *Token) {
	s := &m.sample
	f := &s.Values
	*f, s.Available = [count]float64{}, always
	s.BlackBox = m.blackBox || !m.observeInside(t)

	cues := m.scan.Token(t.Text)
	f[identifierPattern] = indicator(cues.Identifier)
	f[numericRuns] = indicator(cues.Digits)
	f[credentialStyle] = indicator(cues.Credential)
	f[semanticDensity] = cues.Keywords

	if m.options.Source != nil {
		s.Available |= 1 << ngramOverlap
		f[ngramOverlap] = m.overlap.next(t.Text)
	}

	h := hash(t.Text)
	f[repetition] = indicator(slices.Contains(m.recent[:min(m.tokens, repeatWithin)], h))
	m.recent[m.tokens%repeatWithin] = h
	m.tokens++

	f[toolUsage] = indicator(m.options.Tool)
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// observeInside reads what only the server knows. It is false if that is
// missing or can't be.
func (m *Monitor) observeInside(t *Token) bool {
	if len(t.Top) < MinAlternatives || math.IsNaN(t.Logprob) {
		m.blackBox = true
		return false
	}
	d, ok := m.vocabulary.look(t)
	if !ok {
		return false
	}
	s := &m.sample
	f := &s.Values
	s.Available |= logits
	s.AtLeast = Ends{1 - d.least, (1-d.least)/2 + d.top3/2}
	s.AtMost = Ends{1 - d.most, (1-d.most)/2 + d.top3/2}
	f[unsafeTokens] = d.unsafe
	e := t.Telemetry
	if e == nil || !e.valid() {
		return true
	}
	if e.HiddenSize > 0 {
		s.Available |= hidden
		f[hiddenStateMagnitude] = math.Min(e.HiddenNorm/(2*float64(e.HiddenSize)), 1)
		f[hiddenStateVariance] = e.HiddenVariance / (1 + e.HiddenVariance)
	}
	const epsilon = 1e-6
	if mass := e.Public + e.Private + e.System; mass > 0 && !math.IsInf(mass, 1) {
		s.Available |= sources
		f[publicProvenance] = e.Public / (mass + epsilon)
		f[privateProvenance] = e.Private / (mass + epsilon)
		f[systemProvenance] = e.System / (mass + epsilon)
	}
	return true
}
