package monitor

import (
	"math"
	"math/bits"
)

// Scorer turns the samples of one stream into verdicts.
type Scorer struct {
	model *Model
	last  float64
	steps int    // between two risks
	rises int    // among all of them
	trend uint16 // the last ten, the newest lowest: the risk rose
}

// NewScorer returns one for a new stream.
func (m *Model) NewScorer() *Scorer { return &Scorer{model: m} }

// Reset starts a new stream.
func (s *Scorer) Reset() { *s = Scorer{model: s.model} }

// Score judges a sample: it fills in trajectory_trend from the risks before,
// and leaves in the sample the end of the entropy's bounds that it chose.
func (s *Scorer) Score(x *Sample) Verdict {
	m := s.model
	box := WhiteBox
	switch {
	case x.BlackBox:
		box = BlackBox
	case x.Available&(hidden|sources) == 0:
		box = GrayBox
	}
	fit := m.fit(box)
	if x.Available&logits != 0 {
		x.Values[lowEntropy], x.Values[divergence] = x.AtLeast.LowEntropy, x.AtLeast.Divergence
	}
	x.Values[trajectoryTrend] = s.share()
	logit := fit.bias
	for i := range x.Values {
		v := x.Values[i]
		if x.Available>>i&1 == 0 {
			v = fit.mean[i]
		}
		logit += fit.weights[i] * v
	}
	if x.Available&logits != 0 {
		if d := fit.weights[lowEntropy]*(x.AtMost.LowEntropy-x.AtLeast.LowEntropy) +
			fit.weights[divergence]*(x.AtMost.Divergence-x.AtLeast.Divergence); d > 0 {
			logit += d
			x.Values[lowEntropy], x.Values[divergence] = x.AtMost.LowEntropy, x.AtMost.Divergence
		}
	}
	v := Verdict{Risk: fit.floor + (1-fit.floor)/(1+math.Exp(-logit)), Box: box}
	switch {
	case v.Risk >= fit.tau2:
		v.Zone = Red
	case v.Risk >= fit.tau1:
		v.Zone = Yellow
	}
	s.step(v.Risk)
	return v
}

func (s *Scorer) share() float64 {
	n := s.steps - 1
	switch {
	case n <= 0:
		return 0
	case s.model.spec.Trend == TrendAll:
		return float64(s.rises) / float64(n)
	}
	return float64(bits.OnesCount16(s.trend)) / float64(min(n, Window))
}

// step counts a risk; the first is not a rise.
func (s *Scorer) step(risk float64) {
	s.trend = s.trend << 1 & (1<<Window - 1)
	if s.steps > 0 && risk > s.last {
		s.trend |= 1
		s.rises++
	}
	s.steps++
	s.last = risk
}
