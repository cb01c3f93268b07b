package monitor

import (
	"errors"
	"fmt"
	"math"

	"github.com/margaydev/margay/flow"
)

// Alternative is one entry of a token's distribution.
type Alternative = flow.Alternative

// Token is one generated token as the server told it.
type Token struct {
	Text      string
	Logprob   float64       // of Text; NaN where the server does not tell
	Top       []Alternative // most probable first; empty where it does not tell
	Telemetry *Telemetry    // nil where it gives none
}

// Telemetry is what a self-hosted server tells about a token besides its
// distribution (docs/format/telemetry.md). HiddenSize 0 means that it tells
// nothing of the hidden state, attention masses that are all 0 that it tells
// nothing of attention.
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

func (z Zone) String() string {
	switch z {
	case Green:
		return "green"
	case Yellow:
		return "yellow"
	}
	return "red"
}

// Verdict is the judgement of one token.
type Verdict struct {
	Risk     float64 // in [0,1]
	Zone     Zone
	BlackBox bool // the token was judged without its distribution
}

// What can be wrong with a token's distribution.
var (
	ErrLogprobs    = errors.New("missing log-probabilities")
	ErrNotFinite   = errors.New("a log-probability is not a number")
	ErrProbability = errors.New("a probability above 1")
	ErrMass        = errors.New("probabilities that sum to more than 1")
)

// MinAlternatives is how many alternatives a token must list for its entropy
// to be bounded usefully; with fewer the stream is judged as black box.
const MinAlternatives = 5

// massTolerance is what a listed distribution may sum to above 1: servers
// round log-probabilities, to two decimals at the coarsest.
const massTolerance = 0.01

// Check tells what is wrong with t's distribution, wrapping one of the errors
// above; nil where all is well. Minus infinity is probability 0.
func (t *Token) Check() error {
	if math.IsNaN(t.Logprob) || len(t.Top) < MinAlternatives {
		return fmt.Errorf("%w: %d alternatives", ErrLogprobs, len(t.Top))
	}
	if t.Logprob > 0 {
		return fmt.Errorf("%w: exp(%g)", ErrProbability, t.Logprob)
	}
	sum, listed := 0.0, false
	for i := range t.Top {
		a := &t.Top[i]
		if math.IsNaN(a.Logprob) {
			return ErrNotFinite
		}
		if a.Logprob > 0 {
			return fmt.Errorf("%w: exp(%g)", ErrProbability, a.Logprob)
		}
		sum += math.Exp(a.Logprob)
		listed = listed || t.is(a)
	}
	if !listed {
		sum += math.Exp(t.Logprob)
	}
	if sum > 1+massTolerance {
		return fmt.Errorf("%w: %g", ErrMass, sum)
	}
	return nil
}

// is says whether a is t itself. The number tells as well as the text, which
// servers garble where a token is a part of a character; another token of the
// same number only widens the bounds of the entropy.
func (t *Token) is(a *Alternative) bool { return a.Logprob == t.Logprob || a.Text == t.Text }
