package decisions

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
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
		Use: "add FINDING-ID", Short: "Allow what a finding found from now on", Args: cobra.ExactArgs(1),
		Long: `Allow what a finding found from now on: its value, recognised by a keyed
fingerprint; with --rule all that its rule finds; with --path all that its rule
finds at the same place. Running gateways apply it from their next request on.`,
		RunE: a.OnState(func(ctx context.Context, st *state.State, args []string) error { return a.allow(ctx, st, args[0], &f) }),
	}
	add.Flags().BoolVar(&f.rule, "rule", false, "all that the finding's rule finds")
	add.Flags().BoolVar(&f.path, "path", false, "all that the finding's rule finds at the same place")
	add.Flags().StringVar(&f.expires, "expires", "", "for how long, a `duration` such as 12h or 30d (default: until removed)")
	add.Flags().StringVar(&f.reason, "reason", "", "why, for readers of the list")
	c.AddCommand(
		add,
		&cobra.Command{Use: "list", Short: "List what is allowed", RunE: a.OnState(a.listAllows)},
		&cobra.Command{Use: "remove ID", Short: "Remove an allowance", Args: cobra.ExactArgs(1), RunE: a.OnState(a.removeAllow)},
	)
	return c
}

func (a *app) allow(ctx context.Context, st *state.State, id string, f *allowFlags) error {
	until, err := invocation.Expiry(f.expires, time.Now())
	if err != nil {
		return err
	}
	found, _, err := st.Store.FindingByID(ctx, strings.ToUpper(id))
	if err != nil {
		return unknown(err, "margay log shows the ids of findings", "no finding has this id")
	}
	al := secret.Allow{ID: flow.NewID(), Finding: found.ID, Reason: f.reason, Created: time.Now().UTC().Truncate(time.Millisecond), Expires: until}
	switch {
	case (f.rule || f.path) && found.Rule == stream.RuleVault:
		return problem.Usage("margay secrets remove "+found.Name, "a registered secret was found by no rule: to allow its rule would allow all registered secrets")
	case f.rule || f.path:
		al.Rule = found.Rule
		if f.path {
			al.Path = found.Path
		}
		if f.path && al.Path == "" {
			return problem.Usage("use --rule", "that finding has no place")
		}
	case found.Fingerprint.IsZero():
		return problem.Usage("add --rule or --path", "that finding was cut off before it ended, so it has no fingerprint")
	default:
		al.Fingerprint = found.Fingerprint
	}
	if err := st.Store.PutAllow(ctx, al); err != nil {
		return problem.Unexpected(err)
	}
	if found.Rule == stream.RuleVault && found.Source == secret.SourceRegistered {
		a.Note("%s is a registered secret: it now passes everywhere", found.Name)
	}
	out := allowanceOf(&al)
	return a.Print(&out, func(w io.Writer) {
		cli.Fprintf(w, "allowed %s %s; undo: margay allow remove %s\n", out.what(), out.until(), al.ID)
	})
}

func (a *app) removeAllow(ctx context.Context, st *state.State, args []string) error {
	err := st.Store.DeleteAllow(ctx, strings.ToUpper(args[0]))
	if err != nil {
		return unknown(err, "margay allow list shows the ids", "no allowance has this id")
	}
	return a.Print(map[string]any{"removed": args[0]}, func(w io.Writer) { cli.Fprintf(w, "removed %s\n", args[0]) })
}

func (a *app) listAllows(ctx context.Context, st *state.State, _ []string) error {
	all, err := st.Store.Allows(ctx)
	if err != nil {
		return problem.Unexpected(err)
	}
	rows := a.Rows()
	for i := range all {
		al := allowanceOf(&all[i])
		if err := rows.Add(&al, "%s\t%s\t%s\t%s\n", al.ID, al.what(), al.until(), al.Reason); err != nil {
			return err
		}
	}
	return rows.Flush()
}
