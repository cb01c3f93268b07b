package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/margaydev/margay/monitor"
)

// What can be wrong with a token's distribution.
var (
	ErrLogprobs    = errors.New("missing log-probabilities")
	ErrNotFinite   = errors.New("a log-probability is not a number")
	ErrProbability = errors.New("a probability above 1")
	ErrMass        = errors.New("probabilities that sum to more than 1")
)

// massTolerance is what a listed distribution may sum to above 1, as in package
// monitor.
const massTolerance = 0.01

// CheckToken says what is wrong with a token's distribution, wrapping one of the
// errors above; nil where all is well. Minus infinity is probability 0. To a
// monitor, a token that is refused here is black box.
func CheckToken(t *monitor.Token) error {
	if math.IsNaN(t.Logprob) || len(t.Top) < monitor.MinAlternatives {
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
		listed = listed || a.Logprob == t.Logprob || a.Text == t.Text
	}
	if !listed {
		sum += math.Exp(t.Logprob)
	}
	if sum > 1+massTolerance {
		return fmt.Errorf("%w: %g", ErrMass, sum)
	}
	return nil
}
