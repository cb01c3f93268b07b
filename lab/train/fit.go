package train

import (
	"maps"
	"math"
	"slices"

	"github.com/margaydev/margay/monitor"
)

// What a fit is made on.
const (
	onWindows = "windows" // each token's window, labelled by whether the token is a secret's
	onOutputs = "outputs" // each output's greatest values, labelled by whether it leaks (B.5)
	// onWitnesses are the windows that decide: of each secret's tokens the one
	// of the greatest risk, against the riskiest of each clean output.
	onWitnesses = "witnesses"
)

// Lambdas are the strengths of regularisation that are tried.
func Lambdas() []float64 { return []float64{0.01, 0.1, 1, 10} }

const (
	foldCount = 5
	mining    = 8       // rounds in which witnesses are looked for
	rounds    = 3       // trajectory_trend depends on the risks, which depend on the fit
	cvRows    = 200_000 // more windows than these are thinned for cross-validation
	fallback  = 1.0     // lambda, where there is too little to cross-validate: the paper's
	touched   = 0.01    // share of the clean outputs that tau1 may touch
	disturbed = 0.03    // and that of the clean tasks
)

// rising are the features by which the theory measures copying and secrets
// (Theorem 1, Appendix A), falling those that measure the opposite. A weight of the
// other sign would be a trait of the training's language model, and wrong on the
// next one. silent are those of which the theory says nothing: what a fit makes of
// the size of a hidden state is such a trait.
var (
	rising  = indices("private_provenance", "low_entropy", "ngram_overlap", "credential_style", "divergence", "unsafe_tokens", "semantic_density")
	falling = indices("public_provenance", "system_provenance")
	silent  = indices("hidden_state_magnitude", "hidden_state_variance")

	told = indices("public_provenance", "private_provenance", "system_provenance")
)

func indices(names ...string) (out []int) {
	for _, name := range names {
		out = append(out, slices.Index(monitor.Features(), name))
	}
	return out
}

// with returns the model with another fit in the mode.
func with(m *monitor.Model, k mode, f monitor.Fit) (*monitor.Model, error) {
	s := m.Spec()
	*fits(&s)[k] = f
	return monitor.NewModel(s)
}

func fitOf(m *monitor.Model, k mode) monitor.Fit {
	s := m.Spec()
	return *fits(&s)[k]
}

// fits are a model's, by mode.
func fits(s *monitor.Spec) [len(modes)]*monitor.Fit {
	return [len(modes)]*monitor.Fit{&s.White, &s.Gray, &s.Black}
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
			r := row(&x)
			for j := range r {
				if r[j] > greatest[j] || math.IsNaN(greatest[j]) {
					greatest[j] = r[j]
				}
			}
			if kind == onWindows {
				v, y, of = append(v, r), append(y, s.secret[i]), append(of, n)
			}
		}
		if kind == onOutputs {
			v, y, of = append(v, greatest), append(y, o.leaks), append(of, n)
		}
	}
	return v, y, of
}

// witnesses are the clean tokens that were the riskiest of their output under
// one of the models so far, by output and token: to forget them would be to
// learn them anew.
type witnesses map[[2]int]struct{}

// find returns the rows of the witnesses under a model.
func (w witnesses) find(m *monitor.Model, part []*output, k mode) (v []vector, y []bool, of []int) {
	scorer := m.NewScorer()
	for n, o := range part {
		s := &o.modes[k]
		rows := make([]vector, len(s.samples))
		most, at := -1.0, -1
		scorer.Reset()
		for i := range s.samples {
			x := s.samples[i]
			risk := scorer.Score(&x).Risk
			rows[i] = row(&x)
			if (!o.leaks || s.secret[i]) && risk > most {
				most, at = risk, i
			}
		}
		if at < 0 {
			continue
		}
		if o.leaks {
			v, y, of = append(v, rows[at]), append(y, true), append(of, n)
			continue
		}
		w[[2]int{n, at}] = struct{}{}
		for i := range rows {
			if _, ok := w[[2]int{n, i}]; ok {
				v, y, of = append(v, rows[i]), append(y, false), append(of, n)
			}
		}
	}
	return v, y, of
}

// row are a sample's values; those that it has not are NaN.
func row(x *monitor.Sample) (v vector) {
	for j := range v {
		v[j] = math.NaN()
		if x.Available>>j&1 == 1 {
			v[j] = x.Values[j]
		}
	}
	return v
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
	times := rounds
	var seen witnesses
	if kind == onWitnesses {
		var err error
		if m, err = fit(m, part, k, onWindows, fallback, seed); err != nil {
			return nil, err
		}
		times, seen = mining, witnesses{}
	}
	for range times {
		var v []vector
		var y []bool
		var of []int
		if kind == onWitnesses {
			v, y, of = seen.find(m, part, k)
		} else {
			v, y, of = vectors(m, part, k, kind)
		}
		if lambda <= 0 {
			lambda = choose(v, y, of, folds(part, foldCount, seed))
		}
		scale := newScaler(v)
		t := fitSigned(standardise(v, y, &scale), lambda)
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
			t := fitSigned(standardise(in, yin, &scale), lambda)
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

// maxFloor bounds the least risk.
const maxFloor = 0.2

// unseen is the share of leaks among the outputs that a fit does not touch: of each
// of some parts of the data, under a fit to the others.
func unseen(m *monitor.Model, part []*output, k mode, seed uint64) (float64, error) {
	f, of := fitOf(m, k), folds(part, foldCount, seed)
	leaks, n := 0.0, 0.0
	for i := range foldCount {
		var in, out []*output
		for j, o := range part {
			if of[j] == i {
				out = append(out, o)
			} else {
				in = append(in, o)
			}
		}
		other, err := neutral(m.Spec().Trend)
		if err == nil {
			other, err = fit(other, in, k, f.Rows, f.Lambda, seed)
		}
		if err == nil {
			other, err = thresholds(other, in, k, 0)
		}
		if err != nil {
			return 0, err
		}
		tau := logit(fitOf(other, k).Tau1)
		for _, j := range judge(other, out, k) {
			if j.greatest < tau {
				n++
				if j.leaks {
					leaks++
				}
			}
		}
	}
	if n == 0 {
		return 0, nil
	}
	return min(leaks/n, maxFloor), nil
}

// thresholds sets tau1, tau2, the floor and the bias on the training part of a fit
// that has no floor yet. tau1
// maximises the share of secrets touched with at most one clean output in a
// hundred touched; among all that do, it lies as far from both as it can. The
// thresholds may move only a little (B.2), so where that is outside, the bias
// is shifted by what is missing. tau2 maximises F1 over the outputs.
func thresholds(m *monitor.Model, part []*output, k mode, floor float64) (*monitor.Model, error) {
	all := judge(m, part, k)
	var clean []float64
	tasks, leaking := map[string]float64{}, map[string]bool{}
	for i, j := range all {
		group := part[i].group
		leaking[group] = leaking[group] || j.leaks
		if most, ok := tasks[group]; !ok || j.greatest > most {
			tasks[group] = j.greatest
		}
		if !j.leaks {
			clean = append(clean, j.greatest)
		}
	}
	// The largest clean risk that must stay untouched, and the least risk of
	// a secret above it.
	bound := highest(clean, touched)
	if maps.DeleteFunc(tasks, func(group string, _ float64) bool { return leaking[group] }); len(tasks) > 0 {
		bound = max(bound, highest(slices.Collect(maps.Values(tasks)), disturbed))
	}
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
	least, shift := math.Inf(1), 0.0
	for _, tau := range grid(monitor.Tau1Least, monitor.Tau1Most) {
		z := logit(tau)
		if far := math.Abs(z - cut); far < least {
			least, f.Tau1, shift = far, tau, 0
			if z <= bound || z > next {
				shift = z - cut
			}
		}
	}
	// With the floor, what reached tau1 reaches it still.
	f.Floor = floor
	shift += logit((f.Tau1-floor)/(1-floor)) - logit(f.Tau1)
	f.Bias += shift
	f.Shift += shift
	best := -1.0
	for _, tau := range grid(monitor.Tau2Least, monitor.Tau2Most) {
		var s []scored
		for _, j := range all {
			s = append(s, scored{floor + (1-floor)*sigmoid(j.greatest+shift), j.leaks})
		}
		got := map[string]float64{}
		if classified(s, tau, got); got["f1"] > best {
			best, f.Tau2 = got["f1"], tau
		}
	}
	return with(m, k, f)
}

// highest is the greatest risk but for a share of them.
func highest(risks []float64, but float64) float64 {
	slices.Sort(risks)
	return risks[len(risks)-1-int(but*float64(len(risks)))]
}

// grid are the hundredths from low to high.
func grid(low, high float64) (g []float64) {
	for i := math.Round(low * 100); i <= math.Round(high*100); i++ {
		g = append(g, i/100)
	}
	return g
}
