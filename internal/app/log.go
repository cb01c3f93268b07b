package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

const (
	logPage = 1000
	// logLate is for how long before a listing begins its decisions are
	// remembered, so that they are not followed, too.
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
				return usage("0 shows all", "--lines %d is less than none", n)
			}
			from := time.Time{}
			if since != "" {
				d, err := parseDuration(since)
				if err != nil {
					if from, err = time.Parse(time.RFC3339, since); err != nil {
						return usage("a time looks like 2h, 7d or 2026-01-31T15:04:05Z", "--since %s is no time", since)
					}
				} else {
					from = time.Now().Add(-d)
				}
				if !cmd.Flags().Changed("lines") {
					n = 0
				}
			}
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			return a.withState(ctx, func(_ *config.Config, st *state.State) error {
				err := a.showLog(ctx, st.Store, from, n, follow)
				if ctx.Err() != nil {
					return nil
				}
				return err
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as decisions are made")
	c.Flags().IntVarP(&n, "lines", "n", 100, "how many of the newest to show; 0 for all")
	c.Flags().StringVar(&since, "since", "", "only those of the last 2h or 7d, or after an RFC 3339 `time`")
	return c
}

// before returns an id that is less than all made at t or later.
func before(t time.Time) string {
	if t.IsZero() || t.UnixMilli() <= 0 {
		return ""
	}
	var id ulid.ULID
	if err := id.SetTime(uint64(t.UnixMilli())); err != nil { //nolint:gosec // positive
		return ""
	}
	return id.String()
}

func (a *app) showLog(ctx context.Context, log state.Store, from time.Time, n int, follow bool) error {
	// What arrives from here on is followed; what is listed of it below is
	// not shown again.
	start, err := log.LastArrival(ctx)
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	var last []mediator.LogEntry // the newest n; all are printed at once where n is 0
	listed := map[string]bool{}
	window := before(time.Now().Add(-logLate))
	err = each(ctx, log, before(from), func(en *mediator.LogEntry) error {
		if follow && en.ID >= window {
			listed[en.ID] = true
		}
		if n == 0 {
			return a.printEntry(en)
		}
		if len(last) == 2*n {
			last = last[:copy(last, last[n:])]
		}
		last = append(last, *en)
		return nil
	})
	if err != nil {
		return err
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

// each calls f with all entries after an id.
func each(ctx context.Context, log mediator.Log, after string, f func(*mediator.LogEntry) error) error {
	for {
		page, err := log.Decisions(ctx, after, logPage)
		if err != nil {
			return failure(problem.Doctor, "%w", err)
		}
		for i := range page {
			if err := f(&page[i]); err != nil {
				return err
			}
			after = page[i].ID
		}
		if len(page) < logPage {
			return nil
		}
	}
}

// follow prints decisions as they arrive, until ctx ends: those behind the one
// with the number after, but for those already listed.
func (a *app) follow(ctx context.Context, log state.Store, after int64, listed map[string]bool) error {
	tick := time.NewTicker(logPoll)
	defer tick.Stop()
	for {
		page, next, err := log.Arrived(ctx, after, logPage)
		if err != nil {
			return failure(problem.Doctor, "%w", err)
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
	*mediator.LogEntry
	Allow []string `json:"allow,omitempty"`
}

func entryOf(en *mediator.LogEntry) entry {
	out := entry{LogEntry: en}
	for i := range en.Findings {
		out.Allow = append(out.Allow, allowCommandOf(en.Findings[i].ID))
	}
	return out
}

func (a *app) printEntry(en *mediator.LogEntry) error {
	return a.print(entryOf(en), func(w io.Writer) {
		fmt.Fprintf(w, "%s %s %s %s → %s\n", en.At.Format(time.DateTime), en.ID, en.Verb, en.Sink.Name, en.Outcome)
		for i := range en.Reasons {
			if en.Reasons[i].Finding == "" {
				fmt.Fprintf(w, "  %s\n", en.Reasons[i].Detail)
			}
		}
		for i := range en.Findings {
			fmt.Fprintf(w, "  %s\n", describe(&en.Findings[i]))
		}
	})
}

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use: "explain ID", Short: "Explain a decision or a finding", Args: cobra.ExactArgs(1),
		Long: "Explain a decision or a finding by its id, which the log, a client's error and margay scan show.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), func(_ *config.Config, st *state.State) error {
				return a.explain(cmd.Context(), st.Store, strings.ToUpper(args[0]))
			})
		},
	}
}

func (a *app) explain(ctx context.Context, log mediator.Log, id string) error {
	finding := ""
	if _, decision, err := log.FindingByID(ctx, id); err == nil {
		finding, id = id, decision
	}
	en, err := log.Decision(ctx, id)
	if errors.Is(err, secret.ErrNotFound) {
		return failure("margay log shows the ids", "neither a decision nor a finding has this id")
	}
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	return a.print(entryOf(&en), func(w io.Writer) {
		fmt.Fprintf(w, "decision    %s\ntrajectory  %s\nmade        %s\nverb        %s, to %s (%s)\noutcome     %s\n",
			en.ID, en.Trajectory, en.At.Format(time.RFC3339), en.Verb, en.Sink.Name, en.Sink.Trust, en.Outcome)
		for i := range en.Reasons {
			if r := &en.Reasons[i]; r.Finding == "" {
				fmt.Fprintf(w, "because     %s (%s)\n", r.Detail, r.Code)
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

func (a *app) explainFinding(w io.Writer, f *mediator.FindingRecord) {
	fmt.Fprintf(w, "\nfinding     %s\nkind        %s, %d bytes\n", f.ID, f.Kind, f.Length)
	switch {
	case f.Name != "":
		fmt.Fprintf(w, "known as    %s (%s)\n", f.Name, f.Source)
	default:
		fmt.Fprintf(w, "found by    rule %s\n", f.Rule)
	}
	for _, l := range [][2]string{{"seen as", f.View}, {"field", f.Field}, {"place", f.Path}, {"action", string(f.Action)}} {
		if l[1] != "" {
			fmt.Fprintf(w, "%-11s %s\n", l[0], l[1])
		}
	}
	fmt.Fprintf(w, "undo        %s\n", allowCommandOf(f.ID))
}
