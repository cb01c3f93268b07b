package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/margaydev/margay/flow"
)

// Alternative is one entry of a token's distribution.
type Alternative = flow.Alternative

// Token is one generated token as the server reports it.
type Token struct {
	Text      string
	Logprob   float64       // of Text; NaN where the server does not report it
	Top       []Alternative // most probable first; empty where it does not report them
	Telemetry *Telemetry    // nil where it gives none
}

// Telemetry is what a self-hosted server reports about a token besides its
// distribution (docs/format/telemetry.md). HiddenSize 0 means that it reports
// nothing about the hidden state, attention masses that are all 0 that it reports
// nothing about attention.
type Telemetry struct {
	HiddenNorm     float64 // Euclidean norm of the last layer's hidden state, >= 0
	HiddenVariance float64 // variance of its entries, >= 0
	HiddenSize     int     // its length
	// Attention mass on public, private and system parts of the context, >= 0.
	Public, Private, System float64
}

// Zone is what a risk asks for.
type Zone uint8

// Zones.
const (
	Green  Zone = iota // passes
	Yellow             // masked
	Red                // redacted, or the generation is stopped
)

func (z Zone) String() string { return [...]string{"green", "yellow", "red"}[z] }

// Verdict is the judgement of one token.
type Verdict struct {
	Risk float64 // in [0,1]
	Zone Zone
	Box  Box // what it was judged by
}

// Box says what a token was judged by.
type Box uint8

// Boxes, from the least that a server may tell.
const (
	BlackBox Box = iota // the text alone
	GrayBox             // log-probabilities, too
	WhiteBox            // and telemetry
)

// String is the field's word for it.
func (b Box) String() string { return [...]string{"black-box", "gray-box", "white-box"}[b] }

// MinAlternatives is how many alternatives a token must list for its entropy
// to be bounded usefully; with fewer the stream is judged as black box.
const MinAlternatives = 5

// massTolerance is what a listed distribution may sum to above 1: servers
// round log-probabilities, to two decimals at the coarsest.
const massTolerance = 0.01

// is says whether a is t itself. The number identifies it as well as the text, which
// servers garble where a token is a part of a character; another token of the
// same number only widens the bounds of the entropy.
func (t *Token) is(a *Alternative) bool { return a.Logprob == t.Logprob || a.Text == t.Text }

// ErrTelemetry is returned for an extension that is not as
// docs/format/telemetry.md has it.
var ErrTelemetry = errors.New("bad telemetry")

const telemetryVersion = 1

// ParseTelemetry reads the value of a choice's margay_telemetry: one entry
// for each token of the choice's logprobs.content. An entry is nil where the
// server reports nothing about that token. What is not understood is an error that
// wraps ErrTelemetry, and the tokens then have none.
func ParseTelemetry(raw []byte) ([]*Telemetry, error) {
	var doc struct {
		Version int `json:"version"`
		Tokens  []*struct {
			HiddenNorm     *float64 `json:"hidden_norm"`
			HiddenVariance *float64 `json:"hidden_variance"`
			HiddenSize     int      `json:"hidden_size"`
			Attention      struct {
				Public  float64 `json:"public"`
				Private float64 `json:"private"`
				System  float64 `json:"system"`
			} `json:"attention"`
		} `json:"tokens"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTelemetry, err)
	}
	if doc.Version != telemetryVersion {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrTelemetry, doc.Version, telemetryVersion)
	}
	out := make([]*Telemetry, len(doc.Tokens))
	for i, e := range doc.Tokens {
		if e == nil {
			continue
		}
		has := e.HiddenSize != 0
		if has != (e.HiddenNorm != nil) || has != (e.HiddenVariance != nil) {
			return nil, fmt.Errorf("%w: token %d has only a part of hidden_norm, hidden_variance and hidden_size", ErrTelemetry, i)
		}
		t := &Telemetry{HiddenSize: e.HiddenSize, Public: e.Attention.Public, Private: e.Attention.Private, System: e.Attention.System}
		if has {
			t.HiddenNorm, t.HiddenVariance = *e.HiddenNorm, *e.HiddenVariance
		}
		if !t.valid() {
			return nil, fmt.Errorf("%w: token %d has a negative value", ErrTelemetry, i)
		}
		out[i] = t
	}
	return out, nil
}

func (t *Telemetry) valid() bool {
	all := []float64{t.HiddenNorm, t.HiddenVariance, t.Public, t.Private, t.System}
	return t.HiddenSize >= 0 && !slices.ContainsFunc(all, func(x float64) bool { return !(x >= 0) || math.IsInf(x, 1) })
}
