package defence

import "context"

// ThresholdBits is what a release may be worth, by the monitor's estimate: one
// of the fields that people give away every day, and not two.
const ThresholdBits = 20

// Threshold is a monitor that blocks a release to whoever is not needed for
// the task, if it takes it to be worth more than a threshold; less goes in
// whole.
type Threshold struct {
	m    *monitor
	most float64
}

// Name implements Defence.
func (*Threshold) Name() string { return "threshold" }

// Begin implements Defence.
func (d *Threshold) Begin(_ context.Context, k Known) (Session, error) {
	v := newVault(k.Records)
	return stateless(func(c *Candidate) Outcome {
		if !trusted(c) && d.m.estimate(v, c) > d.most {
			return denied()
		}
		return all(c)
	}), nil
}
