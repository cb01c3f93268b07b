package app

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/lab/confaide"
	"github.com/margaydev/margay/lab/leak"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

func leakFlags(c *cobra.Command, o *options) {
	c.Flags().IntVar(&o.n, "n", 0, "traces; 0 for all")
}

func runLeak(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.data == "" {
		return nil, nil, errNoData
	}
	l := leak.Options{Data: o.data, N: max(0, o.n), Seed: o.seed, Progress: o.progress}
	if o.quick {
		l.N = 5
	}
	r, err := leak.Run(ctx, l)
	return r, nil, err
}

func confaideFlags(c *cobra.Command, o *options) {
	c.Flags().IntVar(&o.n, "n", 0, "stories of each tier; 0 for all")
	trajOwnFlags(c, o)
}

func runConfaide(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.data == "" {
		return nil, nil, errNoData
	}
	all, _, notes, err := trajDefences(o)
	if err != nil {
		return nil, nil, err
	}
	c := confaide.Options{Data: o.data, N: max(0, o.n), Seed: o.seed, Defences: all, Progress: o.progress}
	if o.quick {
		c.N = 5
	}
	r, err := confaide.Run(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, notes...)
	return r, nil, nil
}
