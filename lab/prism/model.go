package prism

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// ModelRows are a risk model's figures in its own training (Tables 3 and 4),
// as its file tells them, with prefix before their slices.
func ModelRows(m *monitor.Model, prefix string) []results.Row {
	spec := m.Spec()
	var out []results.Row
	defence := func(mode string) string {
		if strings.HasPrefix(mode, "black_box") {
			return "monitor-blackbox"
		}
		return "monitor-risk"
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Training.Metrics)) {
		if strings.HasPrefix(name, "feature=") {
			out = append(out, results.Row{Defence: "monitor-risk", Slice: prefix + "training," + name, Metrics: finite(spec.Training.Metrics[name])})
			continue
		}
		mode, part, _ := strings.Cut(name, "/")
		part, level, _ := strings.Cut(part, "/")
		slice := prefix + "training,mode=" + mode + ",part=" + part
		if level != "" && level != "outputs" {
			slice += ",of=" + level
		}
		out = append(out, results.Row{Defence: defence(mode), Slice: slice, Metrics: finite(spec.Training.Metrics[name])})
	}
	for mode, f := range map[string]*monitor.Fit{"white_box": &spec.White, "gray_box": &spec.Gray, "black_box": &spec.Black} {
		raw := map[string]float64{"bias": f.Bias, "tau1": f.Tau1, "tau2": f.Tau2, "lambda": f.Lambda}
		normal, sum := map[string]float64{}, 0.0
		for i, name := range spec.Features {
			raw[name] = f.Weights[i]
			sum += max(0, f.Weights[i])
		}
		for i, name := range spec.Features {
			normal[name] = f.Weights[i] / sum
		}
		slice := prefix + "weights,mode=" + mode
		out = append(out,
			results.Row{Defence: defence(mode), Slice: slice, Metrics: finite(raw)},
			results.Row{Defence: defence(mode), Slice: slice + ",scale=normalised", Metrics: finite(normal)})
	}
	slices.SortStableFunc(out, func(a, b results.Row) int { return strings.Compare(a.Slice, b.Slice) })
	return out
}

// finite leaves out what JSON can't say.
func finite(m map[string]float64) map[string]float64 {
	out := maps.Clone(m)
	maps.DeleteFunc(out, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return out
}

// TrainOnRecord trains a risk model on a record of one repository. A secret
// that it shares with against, the record to be measured on if any, is an error.
func TrainOnRecord(path string, against []string, o train.Options) (m *monitor.Model, err error) {
	var of []*world.Repository
	for _, p := range append([]string{path}, against...) {
		h, err := ReadHeader(p)
		if err != nil {
			return nil, err
		}
		of = append(of, h.repository())
	}
	for _, other := range of[1:] {
		if err := world.Disjoint(of[0], other); err != nil {
			return nil, err
		}
	}
	traces, err := RecordedTraces(path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "margay-traces-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "traces.jsonl")
	out, err := train.Create(file)
	if err != nil {
		return nil, err
	}
	for i := range traces {
		// An agent that said nothing teaches nothing.
		if len(traces[i].Tokens) == 0 {
			continue
		}
		if err := out.Write(&traces[i]); err != nil {
			return nil, errors.Join(err, out.Close())
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	if m, err = train.Monitor(file, o); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Speaker is the name of a recorded model in slices: what its own begins with.
func (h *Header) Speaker() string {
	name, _, _ := strings.Cut(h.Model, "-")
	return name
}

// repository is the one that was recorded, without its files.
func (h *Header) repository() *world.Repository {
	r := &world.Repository{Name: h.Repository, Seed: h.Seed}
	for _, s := range h.Secrets {
		r.Secrets = append(r.Secrets, world.Secret(s))
	}
	return r
}
