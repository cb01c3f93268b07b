package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/dojo"
)

// agentCommand serves the scripted agent of the suite dojo to environments
// that run elsewhere (scripts/agentdojo). It is for those who work on Margay.
func (a *app) agentCommand() *cobra.Command {
	var listen string
	var refuse bool
	c := &cobra.Command{
		Use: "agent", Short: "Serve a scripted worst-case agent as an OpenAI-compatible API", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			host, _, err := net.SplitHostPort(listen)
			if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
				return usage("such as 127.0.0.1:0", "--listen takes a loopback address and a port, not %q", listen)
			}
			rules, err := dojoRules(dojoSuites)
			if err != nil {
				return failure("", "%w", err)
			}
			var lc net.ListenConfig
			l, err := lc.Listen(ctx, "tcp", listen)
			if err != nil {
				return failure("is the port taken?", "%w", err)
			}
			srv := &http.Server{Handler: &dojo.Live{Refuse: refuse, Rules: rules}, ReadHeaderTimeout: 10 * time.Second}
			ended := make(chan error, 1)
			go func() { ended <- srv.Serve(l) }()
			fmt.Fprintf(a.Out, "http://%s/v1\n", l.Addr())
			<-ctx.Done()
			_ = srv.Close()
			if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
				return failure("", "%w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "loopback `address`")
	c.Flags().BoolVar(&refuse, "refuse", false, "answer every question with no, instead of as the user would")
	return c
}
