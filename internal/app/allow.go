package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

func (a *app) allowCommand() *cobra.Command {
	c := &cobra.Command{Use: "allow", Short: "Undo false positives"}
	var byRule, byPath bool
	var expires, reason string
	add := &cobra.Command{
		Use: "add FINDING-ID", Short: "Let what a finding found pass from now on", Args: cobra.ExactArgs(1),
		Long: "Let what a finding found pass from now on: its value (by keyed fingerprint), or with --rule all that its rule finds, or with --path all that its rule finds at its place.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(st *state) error {
				f, _, err := st.store.FindingByID(cmd.Context(), args[0])
				if errors.Is(err, secret.ErrNotFound) {
					return failure("margay log shows the ids of findings", "no finding has the id %s", args[0])
				}
				if err != nil {
					return failure("margay doctor", "%w", err)
				}
				al := secret.Allow{ID: flow.NewID(), Finding: f.ID, Reason: reason, Created: time.Now().UTC().Truncate(time.Millisecond)}
				switch {
				case byRule || byPath:
					if f.Rule == stream.RuleVault {
						return usage("margay secrets remove "+f.Name, "that finding is a registered secret, not a rule's")
					}
					al.Rule = f.Rule
					if byPath {
						al.Path = f.Path
					}
				case f.Fingerprint.IsZero():
					return usage("use --rule", "that finding has no fingerprint")
				default:
					al.Fingerprint = f.Fingerprint
				}
				if expires != "" {
					d, err := parseDays(expires)
					if err != nil {
						return usage("an expiry looks like 12h or 30d", "--expires %s is no duration", expires)
					}
					al.Expires = al.Created.Add(d)
				}
				if err := st.store.PutAllow(cmd.Context(), al); err != nil {
					return failure("margay doctor", "%w", err)
				}
				return a.print(map[string]any{"id": al.ID}, func(w io.Writer) {
					fmt.Fprintf(w, "allowed; undo: margay allow remove %s\n", al.ID)
				})
			})
		},
	}
	add.Flags().BoolVar(&byRule, "rule", false, "all that the finding's rule finds")
	add.Flags().BoolVar(&byPath, "path", false, "all that the finding's rule finds at the same place")
	add.Flags().StringVar(&expires, "expires", "", "for how long, such as 12h or 30d (default: for good)")
	add.Flags().StringVar(&reason, "reason", "", "why, for whoever reads the list")
	c.AddCommand(add,
		&cobra.Command{Use: "list", Short: "List what is allowed", RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(st *state) error {
				all, err := st.store.Allows(cmd.Context())
				if err != nil {
					return failure("margay doctor", "%w", err)
				}
				tw := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
				for i := range all {
					al := &all[i]
					if a.json {
						if err := a.print(al, nil); err != nil {
							return err
						}
						continue
					}
					what, until := "one value", "for good"
					if al.Rule != "" {
						what = "rule " + al.Rule
					}
					if al.Path != "" {
						what += " at " + al.Path
					}
					if !al.Expires.IsZero() {
						until = "until " + al.Expires.Format(time.DateTime)
					}
					fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", al.ID, what, until, al.Reason)
				}
				return tw.Flush()
			})
		}},
		&cobra.Command{Use: "remove ID", Short: "Take an allowance back", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(st *state) error {
				err := st.store.DeleteAllow(cmd.Context(), args[0])
				if errors.Is(err, secret.ErrNotFound) {
					return failure("margay allow list", "no allowance has the id %s", args[0])
				}
				if err != nil {
					return failure("margay doctor", "%w", err)
				}
				return a.print(map[string]any{"removed": args[0]}, func(w io.Writer) { fmt.Fprintln(w, "removed") })
			})
		}},
	)
	return c
}

func parseDays(s string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		d, err := strconv.Atoi(n)
		if err != nil || d <= 0 || d > 36500 {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(d) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d <= 0 {
		err = errors.New("not positive")
	}
	return d, err
}

func (a *app) withStore(ctx context.Context, f func(*state) error) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	st, err := a.open(ctx, c)
	if err != nil {
		return err
	}
	defer st.store.Close()
	return f(st)
}

func (a *app) logCommand() *cobra.Command {
	var follow bool
	var n int
	c := &cobra.Command{
		Use: "log", Short: "Show what was decided and why",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			return a.withStore(ctx, func(st *state) error {
				last := ""
				for {
					entries, err := st.store.Decisions(ctx, last, 1000)
					if err != nil {
						if ctx.Err() != nil {
							return nil
						}
						return failure("margay doctor", "%w", err)
					}
					if last == "" && !follow && n > 0 {
						entries = entries[max(0, len(entries)-n):]
					}
					for i := range entries {
						last = entries[i].ID
						if err := a.printEntry(&entries[i]); err != nil {
							return err
						}
					}
					if !follow && len(entries) < 1000 {
						return nil
					}
					if follow {
						select {
						case <-ctx.Done():
							return nil
						case <-time.After(300 * time.Millisecond):
						}
					}
				}
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on as decisions are made")
	c.Flags().IntVarP(&n, "lines", "n", 100, "how many of the newest to show; 0 for all")
	return c
}

func (a *app) printEntry(en *mediator.LogEntry) error {
	return a.print(en, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s %s %s → %s\n", en.At.Format(time.DateTime), en.ID, en.Verb, en.Sink.Name, en.Outcome)
		if len(en.Findings) == 0 {
			for _, r := range en.Reasons {
				fmt.Fprintf(w, "  %s\n", r.Detail)
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(st *state) error {
				id := args[0]
				if _, decision, err := st.store.FindingByID(cmd.Context(), id); err == nil {
					id = decision
				}
				en, err := st.store.Decision(cmd.Context(), id)
				if errors.Is(err, secret.ErrNotFound) {
					return failure("margay log shows the ids", "neither a decision nor a finding has the id %s", args[0])
				}
				if err != nil {
					return failure("margay doctor", "%w", err)
				}
				return a.print(en, func(w io.Writer) {
					fmt.Fprintf(w, "decision   %s\ntrajectory %s\nmade       %s\nverb       %s, to %s\noutcome    %s\n", en.ID, en.Trajectory, en.At.Format(time.RFC3339), en.Verb, en.Sink.Name, en.Outcome)
					for _, r := range en.Reasons {
						fmt.Fprintf(w, "because    %s (%s)\n", r.Detail, r.Code)
						if r.Finding != "" && r.Action != flow.ActAllow {
							fmt.Fprintf(w, "           %s; undo: margay allow add %s\n", r.Action, r.Finding)
						}
					}
				})
			})
		},
	}
}
