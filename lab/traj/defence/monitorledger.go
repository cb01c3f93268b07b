package defence

import "context"

// LedgerBits is what all releases of a trajectory to whoever is not needed for
// its task may come to, by the monitor's estimates.
const LedgerBits = 40

// MonitorLedger is a monitor with a budget: what it takes a release to be worth
// is added up, and what no longer fits is blocked.
type MonitorLedger struct {
	m    *monitor
	most float64
}

// Name implements Defence.
func (*MonitorLedger) Name() string { return "monitorledger" }

// Begin implements Defence.
func (d *MonitorLedger) Begin(_ context.Context, k Known) (Session, error) {
	v := newVault(k.Records)
	spent := 0.0
	return stateless(func(c *Candidate) Outcome {
		if trusted(c) {
			return all(c)
		}
		bits := d.m.estimate(v, c)
		if spent+bits > d.most {
			return denied()
		}
		spent += bits
		return all(c)
	}), nil
}
