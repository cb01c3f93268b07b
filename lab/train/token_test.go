package train

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/margaydev/margay/monitor"
)

// TestCheckToken: each mistake has its error, and a monitor takes the token for
// black box.
func TestCheckToken(t *testing.T) {
	good := func() monitor.Token {
		k := monitor.Token{Text: "0", Logprob: math.Log(0.5), Top: []monitor.Alternative{{Text: "0", Logprob: math.Log(0.5)}}}
		for i := range 19 {
			k.Top = append(k.Top, monitor.Alternative{Text: strconv.Itoa(i + 1), Logprob: math.Log(0.02)})
		}
		return k
	}
	ok := good()
	if err := CheckToken(&ok); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		spoil func(*monitor.Token)
		err   error
	}{
		"no logprob":     {func(t *monitor.Token) { t.Logprob = math.NaN() }, ErrLogprobs},
		"few":            {func(t *monitor.Token) { t.Top = t.Top[:4] }, ErrLogprobs},
		"NaN":            {func(t *monitor.Token) { t.Top[3].Logprob = math.NaN() }, ErrNotFinite},
		"above 1":        {func(t *monitor.Token) { t.Top[0].Logprob = 0.3 }, ErrProbability},
		"own above 1":    {func(t *monitor.Token) { t.Logprob = 0.3 }, ErrProbability},
		"sum":            {func(t *monitor.Token) { t.Top[1].Logprob = math.Log(0.6) }, ErrMass},
		"own beside all": {func(t *monitor.Token) { t.Text, t.Logprob = "y", -0.1 }, ErrMass},
	} {
		bad := good()
		c.spoil(&bad)
		if err := CheckToken(&bad); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if v := monitor.Default().New(monitor.Options{}).Next(&bad); v.Box != monitor.BlackBox {
			t.Errorf("%s: not black box", name)
		}
	}
}
