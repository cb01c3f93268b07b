package train

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/margaydev/margay/monitor"
)

// Options of a training.
type Options struct {
	Without  []string     // features to leave out, as if nobody could tell them
	Name     string       // the model's; "" takes the sources'
	Seed     uint64       // of the split and the folds
	Seeds    int          // further splits, to tell how stable the result is
	Against  string       // traces of an evaluation, with which no secret may be shared; "" for none
	Progress func(string) // may be nil
}

// Monitor trains the monitor's risk model on the traces of a file or folder.
// It fits both modes, each on windows, on outputs and on witnesses, and ships
// what catches more of the training part. Same traces and seed, same model.
func Monitor(path string, o Options) (*monitor.Model, error) {
	say := o.Progress
	if say == nil {
		say = func(string) {}
	}
	start, err := neutral(monitor.TrendWindow)
	if err != nil {
		return nil, err
	}
	var without uint16
	for _, name := range o.Without {
		i := slices.Index(monitor.Features(), name)
		if i < 0 {
			return nil, fmt.Errorf("no feature %q", name)
		}
		without |= 1 << i
	}
	var all []output
	say("reading " + path)
	set, err := ReadTraces(path, func(t *Trace) error {
		all = append(all, observe(start, t))
		blind(&all[len(all)-1], without)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Against != "" {
		say("comparing with the secrets of " + o.Against)
		other, err := ReadTraces(o.Against, func(*Trace) error { return nil })
		if err != nil {
			return nil, err
		}
		if err := set.Disjoint(other); err != nil {
			return nil, err
		}
	}
	t := trainer{all: all, seed: o.Seed, say: say, metrics: map[string]map[string]float64{}, curves: map[string][]monitor.Bin{}}
	m, err := t.train()
	if err == nil {
		err = t.stability(m, o.Seeds)
	}
	if errors.Is(err, ErrOneClass) {
		return nil, &Error{File: path, Token: -1, Err: err}
	} else if err != nil {
		return nil, err
	}
	s := m.Spec()
	s.Name = o.Name
	if s.Name == "" {
		s.Name = fmt.Sprint(set.Sources)
	}
	s.Training = monitor.Training{
		Data: set.Hash, Sources: set.Sources, Vocabulary: set.Vocabulary, Seed: o.Seed, Outputs: len(all),
		Metrics: t.metrics, Calibration: t.curves,
	}
	for i := range all {
		if all[i].leaks {
			s.Training.Leaking++
		}
		s.Training.Tokens += len(all[i].modes[gray].samples)
	}
	return monitor.NewModel(s)
}

type trainer struct {
	all     []output
	seed    uint64
	say     func(string)
	metrics map[string]map[string]float64
	curves  map[string][]monitor.Bin
}

// train fits all modes with both trends and keeps the one over the window;
// the paper's, over all steps, is measured. Where telemetry is missing or weighs
// nothing, the white box is the gray one.
func (t *trainer) train() (*monitor.Model, error) {
	part, test, err := split(t.all, t.seed)
	if err != nil {
		return nil, err
	}
	var shipped *monitor.Model
	for _, trend := range []string{monitor.TrendAll, monitor.TrendWindow} {
		m, err := neutral(trend)
		if err != nil {
			return nil, err
		}
		for _, k := range []mode{gray, white, black} {
			part, test := of(part, k), of(test, k)
			if k == white && (len(part) == 0 || len(test) == 0) {
				if m, err = with(m, white, fitOf(m, gray)); err != nil {
					return nil, err
				}
				continue
			}
			if m, err = t.ship(m, part, k, trend); err != nil {
				return nil, err
			}
			// Where telemetry has no say, the rest is fitted without it.
			if f := fitOf(m, k); k == white && !slices.ContainsFunc(told, func(i int) bool { return f.Weights[i] != 0 }) {
				if m, err = with(m, white, fitOf(m, gray)); err != nil {
					return nil, err
				}
			}
			prefix := modes[k]
			if trend == monitor.TrendAll {
				prefix += "_trend_all"
			}
			t.report(m, part, k, prefix+"/train")
			t.report(m, test, k, prefix+"/test")
		}
		shipped = m
	}
	t.features(part)
	paper, err := PaperBlackBox(shipped, true)
	if err != nil {
		return nil, err
	}
	t.report(paper, test, black, "black_box_paper/test")
	return shipped, nil
}

// features measures each feature by itself, on the tokens of the training part.
func (t *trainer) features(part []*output) {
	for i, name := range monitor.Features() {
		var all []scored
		sum, n, tokens := [2]float64{}, [2]float64{}, 0.0
		for _, o := range part {
			s := &o.modes[white]
			if len(s.samples) == 0 {
				s = &o.modes[gray]
			}
			for j := range s.samples {
				x := &s.samples[j]
				tokens++
				if x.Available>>i&1 == 0 {
					continue
				}
				v, of := x.Values[i], 0
				if s.secret[j] {
					of = 1
				}
				sum[of], n[of] = sum[of]+v, n[of]+1
				all = append(all, scored{v, s.secret[j]})
			}
		}
		m := map[string]float64{}
		ratio(m, "available", float64(len(all)), tokens)
		ratio(m, "mean_other", sum[0], n[0])
		ratio(m, "mean_secret", sum[1], n[1])
		if a := auc(all); !math.IsNaN(a) {
			m["auc"] = a
		}
		t.metrics["feature="+name] = m
	}
}

// ship fits one mode in each way and returns the model with the better fit on
// the training part: more caught, and on equality the larger area.
func (t *trainer) ship(m *monitor.Model, part []*output, k mode, trend string) (*monitor.Model, error) {
	var best *monitor.Model
	most := [2]float64{-1, -1}
	for _, kind := range []string{onWindows, onOutputs, onWitnesses} {
		t.say(fmt.Sprintf("fitting %s on %s (trend over %s)", modes[k], kind, trend))
		f, err := fit(m, part, k, kind, 0, t.seed)
		if err == nil {
			f, err = thresholds(f, part, k, 0)
		}
		if err != nil {
			return nil, err
		}
		got := outputsOf(f, judge(f, part, k), k)
		key := modes[k] + "_on_" + kind + "/train"
		if trend == monitor.TrendWindow {
			t.metrics[key] = got
		}
		if now := [2]float64{got["caught_f1"], got["auc"]}; now[0] > most[0] || now[0] == most[0] && now[1] > most[1] {
			best, most = f, now
		}
	}
	t.say(fmt.Sprintf("counting what %s does not see (trend over %s)", modes[k], trend))
	floor, err := unseen(best, part, k, t.seed)
	if err != nil {
		return nil, err
	}
	return thresholds(best, part, k, floor)
}

// outputsOf are the metrics over outputs. An output counts as leaking where
// the greatest risk reaches tau2, as in the paper; caught is the share of the
// leaking ones whose secret is touched, which is what stops a leak: a token
// of it reaches tau1. clean_touched is the share of the clean ones that are.
func outputsOf(m *monitor.Model, all []judged, k mode) map[string]float64 {
	f := fitOf(m, k)
	s := make([]scored, len(all))
	var caught, leaking, clean, touched float64
	for i, j := range all {
		s[i] = scored{sigmoid(j.greatest), j.leaks}
		switch {
		case j.leaks:
			leaking++
			if j.secret >= logit(f.Tau1) {
				caught++
			}
		default:
			clean++
			if j.greatest >= logit(f.Tau1) {
				touched++
			}
		}
	}
	out := measure(s, f.Tau2)
	ratio(out, "caught", caught, leaking)
	ratio(out, "clean_touched", touched, clean)
	ratio(out, "caught_f1", 2*caught, leaking+caught+touched)
	out["n"] = float64(len(all))
	return out
}

// report measures a mode on a part, by outputs and by tokens.
func (t *trainer) report(m *monitor.Model, part []*output, k mode, name string) {
	all := judge(m, part, k)
	t.metrics[name+"/outputs"] = outputsOf(m, all, k)
	var tokens, outputs []scored
	for _, j := range all {
		tokens = append(tokens, j.tokens...)
		outputs = append(outputs, scored{sigmoid(j.greatest), j.leaks})
	}
	t.metrics[name+"/tokens"] = measure(tokens, fitOf(m, k).Tau2)
	t.metrics[name+"/tokens"]["n"] = float64(len(tokens))
	t.curves[name+"/outputs"], t.curves[name+"/tokens"] = calibration(outputs), calibration(tokens)
}

// stability fits the shipped way on further splits and notes the least and
// the most of what is measured on their test parts (B.5).
func (t *trainer) stability(m *monitor.Model, seeds int) error {
	for i := range seeds {
		seed := t.seed + 1 + uint64(i)
		t.say(fmt.Sprintf("fitting on another split (seed %d)", seed))
		part, test, err := split(t.all, seed)
		if err != nil {
			return err
		}
		for k := range mode(len(modes)) {
			part, test := of(part, k), of(test, k)
			if len(part) == 0 || len(test) == 0 {
				continue
			}
			f := fitOf(m, k)
			again, err := neutral(m.Spec().Trend)
			if err == nil {
				again, err = fit(again, part, k, f.Rows, f.Lambda, seed)
			}
			if err == nil {
				again, err = thresholds(again, part, k, f.Floor)
			}
			if err != nil {
				return err
			}
			t.widen(modes[k]+"/seeds", outputsOf(again, judge(again, test, k), k))
		}
	}
	return nil
}

// widen widens the ranges under a name.
func (t *trainer) widen(name string, got map[string]float64) {
	into := t.metrics[name]
	if into == nil {
		into = map[string]float64{}
		t.metrics[name] = into
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		low, high := key+"_min", key+"_max"
		if _, ok := into[low]; !ok {
			into[low], into[high] = math.Inf(1), math.Inf(-1)
		}
		into[low], into[high] = min(into[low], got[key]), max(into[high], got[key])
	}
}
