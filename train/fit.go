package train

import (
	"math"
	"slices"

	"github.com/margaydev/margay/monitor"
)

// What a fit is made on.
const (
	onWindows = "windows" // each token's window, labelled by whether the token is a secret's
	onOutputs = "outputs" // each output's greatest values, labelled by whether it leaks (B.5)
)

// Lambdas are the strengths of regularisation that are tried.
func Lambdas() []float64 { return []float64{0.01, 0.1, 1, 10} }

const (
	foldCount = 5
	rounds    = 3       // trajectory_trend depends on the risks, which depend on the fit
	cvRows    = 200_000 // more windows than these are thinned for cross-validation
	fallback  = 1.0     // lambda, where there is too little to cross-validate: the paper's
	touched   = 0.01    // share of the clean outputs that tau1 may touch
)

// with returns the model with another fit in the mode.
func with(m *monitor.Model, k mode, f monitor.Fit) (*monitor.Model, error) {
	s := m.Spec()
	if k == white {
		s.White = f
	} else {
		s.Black = f
	}
	return monitor.NewModel(s)
}

func fitOf(m *monitor.Model, k mode) monitor.Fit {
	if k == white {
		return m.Spec().White
	}
	return m.Spec().Black
}

// vectors are the features under a model, in rows of a kind. of is the output
// that each belongs to.
func vectors(m *monitor.Model, part []*output, k mode, kind string) (v []vector, y []bool, of []int) {
	scorer := m.NewScorer()
	for n, o := range part {
		s := &o.modes[k]
		scorer.Reset()
		greatest := nothing()
		for i := range s.samples {
			x := s.samples[i]
			scorer.Score(&x)
			row := nothing()
			for j := range row {
				if x.Available>>j&1 == 1 {
					row[j] = x.Values[j]
					if !(greatest[j] >= row[j]) {
						greatest[j] = row[j]
					}
				}
			}
			if kind == onWindows {
				v, y, of = append(v, row), append(y, s.secret[i]), append(of, n)
			}
		}
		if kind == onOutputs {
			v, y, of = append(v, greatest), append(y, o.leaks), append(of, n)
		}
	}
	return v, y, of
}

func nothing() (v vector) {
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// fit fits one mode on rows of a kind: a few rounds, as trajectory_trend and
// the choice of the entropy's end follow from the model, the strength of
// regularisation chosen in the first. lambda > 0 is taken as given.
func fit(m *monitor.Model, part []*output, k mode, kind string, lambda float64, seed uint64) (*monitor.Model, error) {
	for range rounds {
		v, y, of := vectors(m, part, k, kind)
		if lambda <= 0 {
			lambda = choose(v, y, of, folds(part, foldCount, seed))
		}
		scale := newScaler(v)
		t := fitLogistic(standardise(v, y, &scale), lambda)
		f := monitor.Fit{
			Weights: slices.Clone(t[:width]), Bias: t[width], Mean: slices.Clone(scale.mean[:]), Scale: slices.Clone(scale.scale[:]),
			Tau1: monitor.Tau1Least, Tau2: monitor.Tau2Least, Lambda: lambda, Rows: kind,
		}
		for i, sd := range f.Scale {
			if sd == 0 {
				f.Weights[i] = 0
			}
		}
		var err error
		if m, err = with(m, k, f); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func standardise(v []vector, y []bool, s *scaler) *rows {
	r := &rows{x: make([]float64, 0, len(v)*width), y: make([]bool, 0, len(v))}
	for i := range v {
		z := s.apply(&v[i])
		r.add(z[:], y[i])
	}
	return r
}

// choose returns the lambda of the least held-out loss.
func choose(v []vector, y []bool, of, fold []int) float64 {
	step := len(v)/cvRows + 1
	best, least := fallback, math.Inf(1)
	for _, lambda := range Lambdas() {
		loss, whole := 0.0, true
		for f := range foldCount {
			var in, out []vector
			var yin, yout []bool
			for i := f % step; i < len(v); i += step {
				if fold[of[i]] == f {
					out, yout = append(out, v[i]), append(yout, y[i])
				} else {
					in, yin = append(in, v[i]), append(yin, y[i])
				}
			}
			if !slices.Contains(yin, true) || !slices.Contains(yin, false) || len(yout) == 0 {
				whole = false
				break
			}
			scale := newScaler(in)
			t := fitLogistic(standardise(in, yin, &scale), lambda)
			loss += objective(standardise(out, yout, &scale), 0, &t, nil, nil)
		}
		if whole && loss < least {
			best, least = lambda, loss
		}
	}
	return best
}

// judged is an output under a model.
type judged struct {
	leaks    bool
	greatest float64  // logit of the greatest risk
	secret   float64  // that among the tokens of a secret
	tokens   []scored // by risk
}

// judge scores the outputs.
func judge(m *monitor.Model, part []*output, k mode) []judged {
	scorer := m.NewScorer()
	out := make([]judged, len(part))
	for n, o := range part {
		s := &o.modes[k]
		j := judged{leaks: o.leaks, greatest: math.Inf(-1), secret: math.Inf(-1), tokens: make([]scored, len(s.samples))}
		scorer.Reset()
		for i := range s.samples {
			x := s.samples[i]
			r := scorer.Score(&x).Risk
			j.tokens[i] = scored{r, s.secret[i]}
			z := logit(r)
			j.greatest = max(j.greatest, z)
			if s.secret[i] {
				j.secret = max(j.secret, z)
			}
		}
		out[n] = j
	}
	return out
}

func logit(p float64) float64 { return math.Log(p) - math.Log1p(-p) }

// thresholds sets tau1, tau2 and the bias on the training part. tau1
// maximises the share of secrets touched with at most one clean output in a
// hundred touched; among all that do, it lies as far from both as it can. The
// thresholds may move only a little (B.2), so where that is outside, the bias
// is shifted by what is missing. tau2 maximises F1 over the outputs.
func thresholds(m *monitor.Model, part []*output, k mode) (*monitor.Model, error) {
	all := judge(m, part, k)
	var clean []float64
	for _, j := range all {
		if !j.leaks {
			clean = append(clean, j.greatest)
		}
	}
	slices.Sort(clean)
	// The largest clean risk that must stay untouched, and the least risk of
	// a secret above it.
	bound := clean[len(clean)-1-int(touched*float64(len(clean)))]
	next := math.Inf(1)
	for _, j := range all {
		if j.leaks && j.secret > bound {
			next = min(next, j.secret)
		}
	}
	if math.IsInf(next, 1) {
		next = bound + 2e-6
	}
	cut := bound + (next-bound)/2
	f := fitOf(m, k)
	least := math.Inf(1)
	for _, tau := range grid(monitor.Tau1Least, monitor.Tau1Most) {
		z := logit(tau)
		if far := math.Abs(z - cut); far < least {
			least, f.Tau1, f.Shift = far, tau, 0
			if z <= bound || z > next {
				f.Shift = z - cut
			}
		}
	}
	f.Bias += f.Shift
	best := -1.0
	for _, tau := range grid(monitor.Tau2Least, monitor.Tau2Most) {
		var s []scored
		for _, j := range all {
			s = append(s, scored{sigmoid(j.greatest + f.Shift), j.leaks})
		}
		got := map[string]float64{}
		if classified(s, tau, got); got["f1"] > best {
			best, f.Tau2 = got["f1"], tau
		}
	}
	return with(m, k, f)
}

// grid are the hundredths from low to high.
func grid(low, high float64) (g []float64) {
	for i := math.Round(low * 100); i <= math.Round(high*100); i++ {
		g = append(g, i/100)
	}
	return g
}
