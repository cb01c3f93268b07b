package monitor

import (
	"math"

	"github.com/margaydev/margay/monitor/cue"
)

// distribution is what follows from a truncated list of a token's alternatives.
type distribution struct {
	least, most float64 // bounds of the normalised entropy
	top3        float64 // mass of the three most probable
	unsafe      float64 // mass of those that look like parts of credentials
}

// negligible is the log-probability below which an alternative, and all others
// of the largest vocabularies together, adds nothing that a float could tell.
const negligible = -50

// vocabulary is a number of tokens, and logarithms of it.
type vocabulary struct {
	size    int
	log     float64
	listed  int // for which notTold holds
	notTold float64
}

func newVocabulary(size int) vocabulary {
	return vocabulary{size: size, log: math.Log(float64(size)), listed: -1}
}

// rest is the logarithm of how many tokens are not among k listed ones, of at
// least one.
func (v *vocabulary) rest(k int) float64 {
	if v.listed != k {
		v.listed, v.notTold = k, math.Log(math.Max(float64(v.size-k), 1))
	}
	return v.notTold
}

// look reads t's distribution; ok is false if it is not one, or too short.
//
// The listed k alternatives leave a mass m. Entropy is least if one symbol
// has all of it and most if the V-k others share it; both are exact bounds.
// The token itself counts as listed: its probability is known.
func (v *vocabulary) look(t *Token) (d distribution, ok bool) {
	if len(t.Top) < MinAlternatives || !(t.Logprob <= 0) {
		return d, false
	}
	var sum, entropy, a, b, c float64
	listed := false
	for i := range t.Top {
		e := &t.Top[i]
		if !(e.Logprob <= 0) { // NaN too
			return d, false
		}
		if e.Logprob < negligible {
			listed = listed || t.is(e)
			continue
		}
		p := math.Exp(e.Logprob)
		if p > 0 {
			sum += p
			entropy -= p * e.Logprob
			if cue.CredentialLike(e.Text) {
				d.unsafe += p
			}
		}
		switch {
		case p > a:
			a, b, c = p, a, b
		case p > b:
			b, c = p, b
		case p > c:
			c = p
		}
		listed = listed || t.is(e)
	}
	k := len(t.Top)
	if !listed {
		if p := math.Exp(t.Logprob); p > 0 {
			sum += p
			entropy -= p * t.Logprob
			if cue.CredentialLike(t.Text) {
				d.unsafe += p
			}
		}
		k++
	}
	if sum > 1+massTolerance {
		return d, false
	}
	most := entropy
	if m := 1 - sum; m > 0 {
		spread := -m * math.Log(m)
		entropy += spread
		most += spread + m*v.rest(k)
	}
	norm := v.log
	if k > v.size {
		norm = math.Log(float64(k))
	}
	d.least, d.most = unit(entropy/norm), unit(most/norm)
	d.top3, d.unsafe = unit(a+b+c), unit(d.unsafe)
	return d, true
}

func unit(x float64) float64 { return math.Min(math.Max(x, 0), 1) }

// Entropy returns bounds of the last token's normalised entropy; ok is false
// where it is not known.
func (m *Monitor) Entropy() (least, most float64, ok bool) {
	s := &m.sample
	if s.Available&logits == 0 {
		return 0, 0, false
	}
	return 1 - s.AtLeast.LowEntropy, 1 - s.AtMost.LowEntropy, true
}

// Thresholds returns the risks from which a token is Yellow and Red.
func (m *Model) Thresholds(b Box) (yellow, red float64) { return m.fit(b).tau1, m.fit(b).tau2 }

func (m *Model) fit(b Box) *scale { return [...]*scale{&m.black, &m.gray, &m.white}[b] }
