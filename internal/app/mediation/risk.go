package mediation

import (
	"os"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/monitor"
)

// RiskModel reads the model that judges answers; nil if none are judged.
func RiskModel(c *config.Config) (*monitor.Model, error) {
	if !c.Monitors() {
		return nil, nil //nolint:nilnil // no model is not an error
	}
	if c.Monitor.Model == "" {
		return monitor.Default(), nil
	}
	hint := "make one with margay-lab train monitor, or leave monitor.model empty"
	f, err := os.Open(c.Monitor.Model)
	if err != nil {
		return nil, problem.Failure(hint, "monitor.model: %w", err)
	}
	defer func() { _ = f.Close() }()
	m, err := monitor.Load(f)
	if err != nil {
		return nil, problem.Failure(hint, "monitor.model %s: %w", c.Monitor.Model, err)
	}
	return m, nil
}
