package train

import (
	"fmt"
	"slices"

	"github.com/margaydev/margay/monitor"
)

// Without returns a model with the named features unavailable: they count as
// their means. raw takes them as 0 instead, as the paper's ablations do.
func Without(m *monitor.Model, raw bool, names ...string) (*monitor.Model, error) {
	s := m.Spec()
	for _, fit := range fits(&s) {
		fit.Weights = slices.Clone(fit.Weights)
		for _, name := range names {
			i := slices.Index(s.Features, name)
			if i < 0 {
				return nil, fmt.Errorf("no feature %q", name)
			}
			if raw && fit.Scale[i] > 0 {
				fit.Bias -= fit.Weights[i] * fit.Mean[i] / fit.Scale[i]
			}
			fit.Weights[i] = 0
		}
	}
	return monitor.NewModel(s)
}

// PaperBlackBox is the paper's black-box variant of a model: the gray-box
// weights and thresholds with the features that are then unavailable zeroed,
// which are nine, or eight where the private context is known.
func PaperBlackBox(m *monitor.Model, contextKnown bool) (*monitor.Model, error) {
	s := m.Spec()
	s.Black = s.Gray
	unavailable := slices.Concat(s.Features[:slices.Index(s.Features, "ngram_overlap")], []string{"divergence", "unsafe_tokens"})
	if !contextKnown {
		unavailable = append(unavailable, "ngram_overlap")
	}
	copied, err := monitor.NewModel(s)
	if err != nil {
		return nil, err
	}
	out, err := Without(copied, true, unavailable...)
	if err != nil {
		return nil, err
	}
	s.Black = out.Spec().Black
	return monitor.NewModel(s)
}
