package prism

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// FeatureClass is one of the paper's classes of features (Table 14).
type FeatureClass struct {
	Name     string
	Features []string
}

// FeatureClasses are those that need the tokens' distributions or the course of
// the risk, those that need the text, those that need to know what the agent has
// read and does, and those of telemetry, which only recordings have.
func FeatureClasses() []FeatureClass {
	return []FeatureClass{
		{"temporal", []string{"low_entropy", "divergence", "unsafe_tokens", "trajectory_trend"}},
		{"structural", []string{"identifier_pattern", "numeric_runs", "credential_style", "semantic_density", "repetition"}},
		{"contextual", []string{"ngram_overlap", "tool_usage"}},
		{"telemetry", []string{"hidden_state_magnitude", "hidden_state_variance", "public_provenance", "private_provenance", "system_provenance"}},
	}
}

// ablation is what the slices of the ablations begin with.
const ablation = "ablation="

// negligible is the weight up to which the paper calls a feature inert (Table
// 4).
const negligible = 1e-7

// Ablations are variants of the risk model alone: without each class and each
// feature, with each class alone and with the active features alone, all
// without the rest being fitted again, and the paper's black box. What is left
// out counts as its mean in training.
func Ablations(m *monitor.Model) ([]Defence, error) {
	var out []Defence
	add := func(name string, without ...string) error {
		less, err := train.Without(m, false, without...)
		if err != nil {
			return err
		}
		d, err := RiskVariant(less, ablation+name)
		out = append(out, d)
		return err
	}
	if err := add("nothing"); err != nil {
		return nil, err
	}
	spec := m.Spec()
	var inert []string
	for i, f := range spec.Features {
		if max(math.Abs(spec.White.Weights[i]), math.Abs(spec.Gray.Weights[i])) < negligible {
			inert = append(inert, f)
		}
	}
	if err := add("active-only", inert...); err != nil {
		return nil, err
	}
	for _, c := range FeatureClasses() {
		rest := slices.DeleteFunc(slices.Clone(spec.Features), func(f string) bool { return slices.Contains(c.Features, f) })
		if err := add("only:"+c.Name, rest...); err != nil {
			return nil, err
		}
		if err := add("without:"+c.Name, c.Features...); err != nil {
			return nil, err
		}
	}
	for _, f := range spec.Features {
		if slices.Contains(inert, f) {
			continue // as active-only shows
		}
		if err := add("without:"+f, f); err != nil {
			return nil, err
		}
	}
	gray, err := method.GrayBox(m)
	if err != nil {
		return nil, err
	}
	out = append(out, Defence{Method: gray, Distributions: true, Variant: "box=gray"})
	paper, err := train.PaperBlackBox(m, true)
	if err != nil {
		return nil, err
	}
	alone, err := train.Without(m, false, "ngram_overlap")
	if err != nil {
		return nil, err
	}
	for name, model := range map[string]*monitor.Model{"blackbox-paper": paper, "blackbox,without:ngram_overlap": alone, "blackbox": m} {
		black, err := method.BlackBox(model)
		if err != nil {
			return nil, err
		}
		out = append(out, Defence{Method: black, Variant: ablation + name})
	}
	slices.SortStableFunc(out, func(a, b Defence) int { return strings.Compare(a.Variant, b.Variant) })
	return out, nil
}

// RiskVariant is the risk model alone, as monitor-risk, with another model.
func RiskVariant(m *monitor.Model, name string) (Defence, error) {
	risk, err := method.RiskOnly(m)
	if err != nil {
		return Defence{}, fmt.Errorf("%s: %w", name, err)
	}
	return Defence{Method: risk, Distributions: true, Variant: name}, nil
}
