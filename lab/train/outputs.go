package train

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/margaydev/margay/monitor"
)

// output is what is kept of a trace: the samples of its tokens.
type output struct {
	group string // its task
	leaks bool
	modes [len(modes)]stream // by mode
}

// stream is an output as one mode sees it.
type stream struct {
	samples []monitor.Sample
	secret  []bool // the token overlaps a span
}

// mode is a way of looking.
type mode int

const (
	white mode = iota // all that a server may tell
	gray              // without telemetry
	black             // the text alone
)

var modes = [...]string{"white_box", "gray_box", "black_box"}

// neutral is a model of no opinion, which looks at the features.
func neutral(trend string) (*monitor.Model, error) {
	ones := slices.Repeat([]float64{1}, width)
	zero := make([]float64, width)
	opinion := slices.Clone(zero)
	for i, name := range monitor.Features() {
		if name == "low_entropy" || name == "divergence" {
			opinion[i] = 1 // so that the lower bound of the entropy is taken
		}
	}
	fit := monitor.Fit{Weights: opinion, Mean: zero, Scale: ones, Tau1: monitor.Tau1Least, Tau2: monitor.Tau2Least}
	return monitor.NewModel(monitor.Spec{
		Version: monitor.ModelVersion, Features: monitor.Features(), Window: monitor.Window, Trend: trend, White: fit, Gray: fit, Black: fit,
	})
}

// observe looks at a trace in all modes; white box only if there is telemetry. Without the server's help there are
// no tokens either, so the black box sees the text in pieces.
func observe(m *monitor.Model, t *Trace) output {
	o := output{group: cmp.Or(t.Task, t.ID), leaks: len(t.Spans) > 0}
	source := monitor.NewSource(t.Private...)
	options := monitor.Options{Vocabulary: t.Vocabulary, Source: source, Tool: t.Tool}
	inside := func(start, end int) bool {
		return slices.ContainsFunc(t.Spans, func(s Span) bool { return start < s.End && s.Start < end })
	}
	add := func(s *stream, mon *monitor.Monitor, k *monitor.Token, at int) {
		mon.Next(k)
		s.samples = append(s.samples, *mon.Sample())
		s.secret = append(s.secret, inside(at, at+len(k.Text)))
	}
	mon := m.New(options)
	for _, k := range []mode{white, gray} {
		if k == white && !slices.ContainsFunc(t.Tokens, func(k monitor.Token) bool { return k.Telemetry != nil }) {
			continue
		}
		mon.Reset(options)
		at := 0
		for _, token := range t.Tokens {
			if k == gray {
				token.Telemetry = nil
			}
			add(&o.modes[k], mon, &token, at)
			at += len(token.Text)
		}
	}
	options.BlackBox = true
	mon.Reset(options)
	text := t.Text()
	for at := 0; at < len(text); {
		k := monitor.Token{Text: text[at : at+monitor.NextPiece(text[at:])], Logprob: math.NaN()}
		add(&o.modes[black], mon, &k, at)
		at += len(k.Text)
	}
	return o
}

// blind takes features from an output, by their bits, as if they had never been
// available.
func blind(o *output, features uint16) {
	for k := range o.modes {
		for i := range o.modes[k].samples {
			o.modes[k].samples[i].Available &^= features
		}
	}
}

// groups are the tasks, the leaking ones and the clean ones, each shuffled.
type groups struct{ leaking, clean []string }

func group(all []output, random *rand.Rand) groups {
	leaks := map[string]bool{}
	for i := range all {
		leaks[all[i].group] = leaks[all[i].group] || all[i].leaks
	}
	var g groups
	for name, l := range leaks {
		if l {
			g.leaking = append(g.leaking, name)
		} else {
			g.clean = append(g.clean, name)
		}
	}
	for _, s := range [][]string{g.leaking, g.clean} {
		slices.Sort(s)
		random.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	return g
}

// of are the outputs that a mode sees.
func of(part []*output, k mode) []*output {
	return slices.DeleteFunc(slices.Clone(part), func(o *output) bool { return len(o.modes[k].samples) == 0 })
}

// split parts the outputs 70/30 by task, stratified by whether a task leaks.
func split(all []output, seed uint64) (train, test []*output, err error) {
	g := group(all, rand.New(rand.NewPCG(seed, 1))) //nolint:gosec // a draw from a seed
	held := map[string]bool{}
	for _, s := range [][]string{g.leaking, g.clean} {
		for _, name := range s[:len(s)*3/10] {
			held[name] = true
		}
	}
	for i := range all {
		if held[all[i].group] {
			test = append(test, &all[i])
		} else {
			train = append(train, &all[i])
		}
	}
	for name, part := range map[string][]*output{"training": train, "test": test} {
		leaking := 0
		for _, o := range part {
			if o.leaks {
				leaking++
			}
		}
		if leaking == 0 || leaking == len(part) {
			return nil, nil, fmt.Errorf("%w: %d of the %d outputs of the %s part leak", ErrOneClass, leaking, len(part), name)
		}
	}
	return train, test, nil
}

// folds gives each output of the training part one of n folds, by task and
// stratified.
func folds(part []*output, n int, seed uint64) []int {
	own := make([]output, len(part))
	for i, o := range part {
		own[i] = output{group: o.group, leaks: o.leaks}
	}
	g := group(own, rand.New(rand.NewPCG(seed, 2))) //nolint:gosec // a draw from a seed
	fold := map[string]int{}
	for i, name := range slices.Concat(g.leaking, g.clean) {
		fold[name] = i % n
	}
	out := make([]int, len(part))
	for i, o := range part {
		out[i] = fold[o.group]
	}
	return out
}
