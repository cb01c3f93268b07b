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
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// allowance is one secret.Allow, as it is printed.
type allowance struct {
	ID      string    `json:"id"`
	Allows  string    `json:"allows"` // "value" or "rule"
	Rule    string    `json:"rule,omitempty"`
	Path    string    `json:"path,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Finding string    `json:"finding,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
}

func allowanceOf(al *secret.Allow) allowance {
	out := allowance{ID: al.ID, Allows: "value", Rule: al.Rule, Path: al.Path, Reason: al.Reason, Finding: al.Finding, Created: al.Created, Expires: al.Expires}
	if al.Fingerprint.IsZero() {
		out.Allows = "rule"
	}
	return out
}

func (al *allowance) what() string {
	out := "one value"
	if al.Allows == "rule" {
		out = "rule " + al.Rule
	}
	if al.Path != "" {
		out += " at " + al.Path
	}
	return out
}

func (al *allowance) until() string {
	if al.Expires.IsZero() {
		return "until removed"
	}
	return "until " + al.Expires.Format(time.DateTime)
}

type allowFlags struct {
	rule, path      bool
	expires, reason string
}

func (a *app) allowCommand() *cobra.Command {
	c := &cobra.Command{Use: "allow", Short: "Undo false positives"}
	var f allowFlags
	add := &cobra.Command{
		Use: "add FINDING-ID", Short: "Let what a finding found pass from now on", Args: cobra.ExactArgs(1),
		Long: `Let what a finding found pass from now on: its value, known by keyed
fingerprint; with --rule all that its rule finds; with --path all that its rule
finds at the same place. Running gateways take it up with their next request.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), func(_ *config.Config, st *state.State) error { return a.allow(cmd.Context(), st, args[0], &f) })
		},
	}
	add.Flags().BoolVar(&f.rule, "rule", false, "all that the finding's rule finds")
	add.Flags().BoolVar(&f.path, "path", false, "all that the finding's rule finds at the same place")
	add.Flags().StringVar(&f.expires, "expires", "", "for how long, a `duration` such as 12h or 30d (default: until removed)")
	add.Flags().StringVar(&f.reason, "reason", "", "why, for whoever reads the list")
	c.AddCommand(
		add,
		&cobra.Command{Use: "list", Short: "List what is allowed", RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withState(cmd.Context(), func(_ *config.Config, st *state.State) error { return a.listAllows(cmd.Context(), st) })
		}},
		&cobra.Command{Use: "remove ID", Short: "Take an allowance back", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), func(_ *config.Config, st *state.State) error {
				err := st.Store.DeleteAllow(cmd.Context(), strings.ToUpper(args[0]))
				if errors.Is(err, secret.ErrNotFound) {
					return failure("margay allow list shows the ids", "no allowance has this id")
				}
				if err != nil {
					return failure(problem.Doctor, "%w", err)
				}
				return a.print(map[string]any{"removed": args[0]}, func(w io.Writer) { fmt.Fprintf(w, "removed %s\n", args[0]) })
			})
		}},
	)
	return c
}

func (a *app) allow(ctx context.Context, st *state.State, id string, f *allowFlags) error {
	until, err := expiry(f.expires, time.Now())
	if err != nil {
		return err
	}
	found, _, err := st.Store.FindingByID(ctx, strings.ToUpper(id))
	if errors.Is(err, secret.ErrNotFound) {
		return failure("margay log shows the ids of findings", "no finding has this id")
	}
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	al := secret.Allow{ID: flow.NewID(), Finding: found.ID, Reason: f.reason, Created: time.Now().UTC().Truncate(time.Millisecond), Expires: until}
	switch {
	case (f.rule || f.path) && found.Rule == stream.RuleVault:
		return usage("margay secrets remove "+found.Name, "that is a registered secret and no rule's finding: allowing its rule would allow all of them")
	case f.rule || f.path:
		al.Rule = found.Rule
		if f.path {
			al.Path = found.Path
		}
		if f.path && al.Path == "" {
			return usage("use --rule", "that finding has no place")
		}
	case found.Fingerprint.IsZero():
		return usage("add --rule or --path", "that finding was cut off before it ended, so it has no fingerprint")
	default:
		al.Fingerprint = found.Fingerprint
	}
	if err := st.Store.PutAllow(ctx, al); err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	if found.Rule == stream.RuleVault && found.Source == secret.SourceRegistered {
		a.note("%s is a registered secret: it now passes everywhere", found.Name)
	}
	out := allowanceOf(&al)
	return a.print(&out, func(w io.Writer) {
		fmt.Fprintf(w, "allowed %s %s; undo: margay allow remove %s\n", out.what(), out.until(), al.ID)
	})
}

func (a *app) listAllows(ctx context.Context, st *state.State) error {
	all, err := st.Store.Allows(ctx)
	if err != nil {
		return failure(problem.Doctor, "%w", err)
	}
	tw := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	for i := range all {
		al := allowanceOf(&all[i])
		if a.json {
			if err := a.print(&al, nil); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", al.ID, al.what(), al.until(), al.Reason)
	}
	return tw.Flush()
}

// expiry turns a duration such as 30d into the time it ends; empty is never.
func expiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return time.Time{}, usage("a time looks like 12h or 30d", "--expires %s is no duration", s)
	}
	return now.UTC().Truncate(time.Millisecond).Add(d), nil
}

// parseDuration knows days, too.
func parseDuration(s string) (time.Duration, error) {
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
