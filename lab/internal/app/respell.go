package app

import (
	"context"
	"errors"
	"os"

	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/robust/respell"
	"github.com/margaydev/margay/lab/traj/defence"
)

// runRespell measures whether values that a family has released are found in
// other spellings.
func runRespell(ctx context.Context, o *options) (*results.Result, error) {
	mine, err := newOurs(o)
	if err != nil {
		return nil, err
	}
	cfg, err := mine.rubrics.Config(defence.MargayConfig{Name: rulesName, Defender: rules.Defender{}, Challenges: challenges})
	if err != nil {
		return nil, err
	}
	m, err := defence.NewMargay(cfg)
	if err != nil {
		return nil, err
	}
	opt := respell.Options{Seed: o.seed, Name: rulesName, Verifier: respell.Of(m), Progress: o.progress, N: max(0, o.n)}
	if !o.nGiven { // the flag's default is for people
		opt.N = 0
	}
	r, rep, err := respell.Run(ctx, opt)
	if err != nil || o.traj.causes == "" {
		return r, err
	}
	f, err := os.Create(o.traj.causes)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(rep.WriteCauses(f), f.Close())
}
