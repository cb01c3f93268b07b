package defence

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// Dry takes releases through all of the verifier's phases and keeps no ledger: to see
// what a defender's output would be worth. It is safe for concurrent use.
type Dry struct {
	cfg MargayConfig
	v   *declassify.Verification
}

// NewDry returns a Dry. The name and the ablations of the configuration are not used.
func NewDry(cfg MargayConfig) (*Dry, error) {
	v, err := cfg.dry()
	return &Dry{cfg, v}, err
}

func (cfg *MargayConfig) dry() (*declassify.Verification, error) {
	return declassify.NewVerification(declassify.Config{
		Resolve: cfg.Resolve, Defender: cfg.Defender, Screener: cfg.Screener, Key: sha256.Sum256([]byte("fingerprints")),
		Challenges: cfg.Challenges, Deadline: cfg.Deadline,
	})
}

// DryRun is one trajectory. It is used by one goroutine.
type DryRun struct {
	d     *Dry
	v     *declassify.Verification
	chain chain
	names names
}

// Begin starts a trajectory.
func (d *Dry) Begin(id string) *DryRun {
	return &DryRun{d, d.v, chain{state: charge.NewState(flow.TrajectoryID(id))}, names{of: id, given: map[string]string{}}}
}

// Screen sets who screens the releases that follow; nil: nobody does.
func (r *DryRun) Screen(by declassify.Screener) error {
	cfg := r.d.cfg
	cfg.Screener = by
	v, err := cfg.dry()
	r.v = v
	return err
}

// Verdict is what the verifier decides of a release.
type Verdict struct {
	declassify.Release
	Parts []string      // what would be sent; nil: nothing
	Entry *charge.Entry // what it would be charged; nil without Parts
	// Before has the sums of the trajectory by class before the release.
	Before [charge.Classes]flow.Bits
	// Ignored: the defender's evidence could not be used.
	Ignored bool
}

// Release decides a release and, if something would be sent, counts it as sent. The
// decision's id is what the defender finds in its request as the action.
func (r *DryRun) Release(ctx context.Context, c *Candidate, decision string) (*Verdict, error) {
	in, q := c.declassify(&r.names)
	in.Trajectory, in.Decision = r.chain.state.Family, decision
	in.Tool.Class = in.Tool.Class.Known()
	rules, err := r.d.cfg.Resolve(q)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", c.Step, err)
	}
	draft, err := r.v.Draft(&in, rules, &r.chain.past, r.chain.state)
	if err != nil {
		return nil, fmt.Errorf("step %d: %w", c.Step, err)
	}
	fits := draft.Run(ctx)
	out := &Verdict{Release: draft.Result(), Before: r.chain.state.Caps}
	for _, why := range out.Reasons {
		out.Ignored = out.Ignored || ignored[rule.Rule(why.Code)]
	}
	if err := ctx.Err(); !fits || err != nil {
		return out, err
	}
	out.Entry = draft.Entry()
	for _, p := range draft.Parts() {
		out.Parts = append(out.Parts, p.Text)
	}
	if err := r.chain.state.Apply(out.Entry); err != nil {
		return nil, err
	}
	r.chain.past.Shown.Take(out.Entry, rules)
	return out, nil
}
