package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/bench"
	benchgateway "github.com/margaydev/margay/bench/gateway"
	"github.com/margaydev/margay/bench/vectors"
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure"}
	var n int
	var seed uint64
	var data, file string
	suite := func(name, short string, run func(context.Context) (*bench.Result, error)) *cobra.Command {
		cmd := &cobra.Command{Use: name, Short: short, RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				data = os.Getenv("MARGAY_DATA")
			}
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			r, err := run(ctx)
			if err != nil {
				return failure("outside data is looked for in $MARGAY_DATA, or --data", "%w", err)
			}
			r.Revision = version()["revision"]
			if file != "" {
				b, err := json.MarshalIndent(r, "", " ")
				if err != nil {
					return err
				}
				if err := writeFile(file, append(b, '\n')); err != nil {
					return err
				}
			}
			return a.print(r, r.Table)
		}}
		cmd.Flags().Uint64Var(&seed, "seed", 1, "what all draws are made from")
		cmd.Flags().StringVar(&data, "data", "", "`folder` with outside data (default $MARGAY_DATA)")
		cmd.Flags().StringVar(&file, "json", "", "write the result to a `file`, besides the table")
		return cmd
	}
	progress := func(s string) {
		if isTerminal(a.err) {
			fmt.Fprintf(a.err, "\r\x1b[K%s", s)
		}
	}
	v := suite("vectors", "Recognisers and the safe cut, over credential vectors in plain and in disguise", func(ctx context.Context) (*bench.Result, error) {
		return vectors.Run(ctx, vectors.Options{Data: data, N: n, Seed: seed, Progress: progress})
	})
	v.Flags().IntVar(&n, "n", 200, "vectors drawn; 0 for all")
	var seconds float64
	g := suite("gateway", "The gateway against a plain reverse proxy", func(ctx context.Context) (*bench.Result, error) {
		return benchgateway.Run(ctx, benchgateway.Options{Seed: seed, Seconds: seconds, Progress: progress})
	})
	g.Flags().Float64Var(&seconds, "seconds", 2, "length of each measurement")
	c.AddCommand(v, g)
	return c
}
