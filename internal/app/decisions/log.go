package decisions

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/audit"
)

const (
	logPage = 1000
	// logLate is the age up to which listed decisions are remembered, so that
	// follow does not print them again.
	logLate = time.Minute
	logPoll = 300 * time.Millisecond
)

func (a *app) logCommand() *cobra.Command {
	var follow bool
	var n int
	var since string
	c := &cobra.Command{
		Use: "log", Short: "Show what was decided and why",
		Long: "Show the decisions that had findings or were denials, oldest first. Values are not in the log.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 0 {
				return problem.Usage("0 shows all", "--lines %d is negative", n)
			}
			from := time.Time{}
			if since != "" {
				var err error
				if from, err = invocation.Since(since, "a time looks like 2h, 7d or 2026-01-31T15:04:05Z", time.RFC3339); err != nil {
					return err
				}
				if !cmd.Flags().Changed("lines") {
					n = 0
				}
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return a.WithState(ctx, func(_ *config.Config, st *state.State) error {
				err := a.showLog(ctx, st.Store, from, n, follow)
				if ctx.Err() != nil {
					return nil
				}
				return err
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "print new decisions as they are made")
	c.Flags().IntVarP(&n, "lines", "n", 100, "how many of the newest to show; 0 for all")
	c.Flags().StringVar(&since, "since", "", "only those of the last 2h or 7d, or after an RFC 3339 `time`")
	return c
}

func (a *app) showLog(ctx context.Context, log state.Store, from time.Time, n int, follow bool) error {
	// Decisions that arrive from here on are followed, except those that are
	// listed below.
	start, err := log.LastArrival(ctx)
	if err != nil {
		return problem.Unexpected(err)
	}
	var last []audit.Entry // the newest n; with n 0, entries are printed as they come
	listed := map[string]bool{}
	window := audit.FirstID(time.Now().Add(-logLate))
	for en, err := range audit.Since(ctx, log, from) {
		if err != nil {
			return problem.Unexpected(err)
		}
		if follow && en.ID >= window {
			listed[en.ID] = true
		}
		if n == 0 {
			if err := a.printEntry(en); err != nil {
				return err
			}
			continue
		}
		if len(last) == 2*n {
			last = last[:copy(last, last[n:])]
		}
		last = append(last, *en)
	}
	for i := max(0, len(last)-n); i < len(last); i++ {
		if err := a.printEntry(&last[i]); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	return a.follow(ctx, log, start, listed)
}

// follow prints decisions as they arrive, until ctx ends: those after the one with
// the number after, except those already listed.
func (a *app) follow(ctx context.Context, log state.Store, after int64, listed map[string]bool) error {
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		page, next, err := log.Arrived(ctx, after, logPage)
		if err != nil {
			return problem.Unexpected(err)
		}
		for i := range page {
			if listed[page[i].ID] {
				delete(listed, page[i].ID)
				continue
			}
			if err := a.printEntry(&page[i]); err != nil {
				return err
			}
		}
		after = next
		if len(page) == logPage {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// entry is a decision for --json, with the commands that undo its findings.
type entry struct {
	*audit.Entry
	Allow []string `json:"allow,omitempty"`
}

func entryOf(en *audit.Entry) entry {
	out := entry{Entry: en}
	for i := range en.Findings {
		if undo := invocation.Undo(&en.Findings[i]); undo != "" {
			out.Allow = append(out.Allow, undo)
		}
	}
	return out
}

func (a *app) printEntry(en *audit.Entry) error {
	return a.Print(entryOf(en), func(w io.Writer) {
		cli.Fprintf(w, "%s %s %s %s → %s%s\n", en.At.Format(time.DateTime), en.ID, en.Verb, en.Sink.Name, en.Outcome, times(en))
		for i := range en.Reasons {
			if en.Reasons[i].Finding == "" {
				cli.Fprintf(w, "  %s\n", en.Reasons[i].Detail)
			}
		}
		for i := range en.Findings {
			cli.Fprintf(w, "  %s\n", invocation.Describe(&en.Findings[i]))
		}
	})
}

// times says how many refusals alike a decision stands for.
func times(en *audit.Entry) string {
	if en.N() == 1 {
		return ""
	}
	return fmt.Sprintf(" × %d", en.N())
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain ID", Short: "Explain a decision or a finding", Args: cobra.ExactArgs(1),
		Long: "Explain a decision or a finding by its id, which the log, a client's error and margay scan show.",
		RunE: a.OnState(a.explain),
	}
}

func (a *app) explain(ctx context.Context, st *state.State, args []string) error {
	finding, id := "", strings.ToUpper(args[0])
	if _, decision, err := st.Store.FindingByID(ctx, id); err == nil {
		finding, id = id, decision
	}
	en, err := st.Store.Decision(ctx, id)
	if err != nil {
		return unknown(err, "margay log shows the ids", "neither a decision nor a finding has this id")
	}
	return a.Print(entryOf(&en), func(w io.Writer) {
		cli.Fprintf(w, "decision    %s\ntrajectory  %s\nmade        %s\nverb        %s, to %s (%s)\noutcome     %s%s\n",
			en.ID, en.Trajectory, en.At.Format(time.RFC3339), en.Verb, en.Sink.Name, en.Sink.Trust, en.Outcome, times(&en))
		for i := range en.Reasons {
			if r := &en.Reasons[i]; r.Finding == "" {
				cli.Fprintf(w, "because     %s (%s)\n", r.Detail, r.Code)
			}
		}
		for i := range en.Findings {
			f := &en.Findings[i]
			if finding != "" && f.ID != finding {
				continue
			}
			a.explainFinding(w, f)
		}
	})
}

func (a *app) explainFinding(w io.Writer, f *audit.Finding) {
	cli.Fprintf(w, "\nfinding     %s\nkind        %s, %d bytes\n", f.ID, f.Kind, f.Length)
	switch {
	case f.Name != "":
		cli.Fprintf(w, "known as    %s (%s)\n", f.Name, f.Source)
	default:
		cli.Fprintf(w, "found by    rule %s\n", f.Rule)
	}
	for _, l := range [][2]string{{"seen as", f.View}, {"field", f.Field}, {"place", f.Path}, {"action", string(f.Action)}} {
		if l[1] != "" {
			cli.Fprintf(w, "%-11s %s\n", l[0], l[1])
		}
	}
	if undo := invocation.Undo(f); undo != "" {
		cli.Fprintf(w, "undo        %s\n", undo)
	}
}
