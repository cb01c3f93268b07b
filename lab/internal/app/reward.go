package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/reward"
	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/defence"
)

const rewardLong = `Serve the reward by which a defender is trained, over HTTP: what its output for a
step of a task is worth, computed by the verifier with the shipped rubrics:

	authorised · (1 + utility − cost / B) − β · fallback

GET /tasks returns steps with prompts for a defender, POST /reward the reward of an
output or of a batch, and GET /healthz what is served. docs/format/reward.md has the
format. The same seed, world and output give the same reward. The endpoint has no
authentication and listens on this machine alone; scripts/reward-example trains a
small model by it.`

func (a *app) rewardCommand() *cobra.Command {
	var listen string
	o := options{seed: traj.DevelopmentSeed, n: 480}
	r := reward.Options{}
	c := &cobra.Command{
		Use: "reward", Short: "Serve the reward that defenders are trained with", Long: rewardLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			host, _, err := net.SplitHostPort(listen)
			if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
				return usage("such as 127.0.0.1:7979; a tunnel brings it elsewhere", "--listen takes a loopback address and a port, not %q", listen)
			}
			o.command = typed("reward", nil)
			if err := openWorld(&o); err != nil {
				return err
			}
			mine, err := newOurs(&o)
			if err != nil {
				return err
			}
			if r.Margay, err = mine.rubrics.Config(defence.MargayConfig{Deadline: time.Minute}); err != nil {
				return err
			}
			r.World, r.Seed, r.N = o.world(), o.seed, o.n
			j, err := reward.New(r)
			if err != nil {
				return usage("--seed 100 --n 480 --beta 0.5", "%w", err)
			}
			return a.serveReward(ctx, listen, j)
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:7979", "loopback `address` and port; port 0 takes a free one")
	c.Flags().Float64Var(&r.Beta, "beta", .5, "weight of fallback")
	c.Flags().Float64Var(&r.Lambda, "lambda", 1, "factor of the rubrics' weights of what recipients other than required services learn, 1 or more")
	c.Flags().Uint64Var(&o.seed, "seed", o.seed, "seed of the tasks, 100 or above")
	c.Flags().IntVar(&o.n, "n", o.n, "tasks")
	c.Flags().StringVar(&o.traj.world, "world", "", "`folder` of a world, as docs/format/world.md has it (default worlds/dev, which is built in)")
	c.Flags().StringVar(&o.traj.rubrics, "rubrics", "", "`folder` of rubrics, as YAML (default the library's)")
	return c
}

func (a *app) serveReward(ctx context.Context, listen string, j *reward.Judge) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return failure("is the port taken?", "%w", err)
	}
	srv := &http.Server{Handler: j.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	fmt.Fprintf(a.Out, "http://%s\n", l.Addr())
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = srv.Close()
		err = <-ended
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return failure("", "%w", err)
	}
	return nil
}
