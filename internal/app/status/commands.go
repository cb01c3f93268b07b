package status

import (
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

// Command is margay status.
func Command(a *invocation.App) *cobra.Command {
	since := ""
	c := &cobra.Command{
		Use: "status", Short: "Show what is protected, what is not, and what people were asked", Args: cobra.NoArgs,
		Long: `Show what is protected, what is not, and what people were asked.

Status says what it has seen: the configuration, whether a margay serve answers, the
files of agents, the store. A running margay may have started with another
configuration, and an agent that was started in another way goes past Margay. It changes
nothing; margay doctor looks for mistakes.

A regret is a yes after which, in the same session, somebody said no to the same call,
to one that differs in free arguments alone, or to one of the same tool with the same
effects at the same places. Where an agent asks its user by itself, Margay is not told
a no: it counts as not answered.`,
		Example: "  margay status\n  margay status --since 30d --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := invocation.Since(since, "a time looks like 2h, 7d or 2026-01-31", time.DateOnly, time.RFC3339)
			if err != nil {
				return err
			}
			conf, err := a.Load(nil)
			if err != nil {
				return err
			}
			s, err := Of(cmd.Context(), conf, from.UTC())
			if err != nil {
				return err
			}
			return a.PrintTable(s, s.write)
		},
	}
	c.Flags().StringVar(&since, "since", "7d", "count questions of the last 2h or 30d, or since a `time`")
	return c
}

func (s *Status) write(w io.Writer) {
	from := "no file: defaults and environment"
	if s.Config != "" {
		from = s.Config
	}
	cli.Fprintf(w, "configuration\t\t%s\n", from)
	for i := range s.Lines {
		l := &s.Lines[i]
		text := problem.OneLine(l.Detail)
		if l.Next != "" {
			text = strings.TrimSuffix(text, ".") + " → " + l.Next
		}
		cli.Fprintf(w, "%s\t%s\t%s\n", l.Name, l.State, text)
	}
}
