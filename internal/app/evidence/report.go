package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/report"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
)

func (a *app) reportCommand() *cobra.Command {
	var since, out string
	var whole bool
	c := &cobra.Command{
		Use: "report [TRAJECTORY]", Short: "Write one signed file about what agents did", Args: cobra.MaximumNArgs(1),
		Long: `Write one file about what a session (trajectory) did, or all did since a time:
decisions with their reasons, what people answered, what was removed, the labels
of what the model was shown, and what was disclosed in bits. The file is a page,
or JSON with --json, and holds no value of a secret. It is signed with the
ledger's key and carries the ledger's entries: margay report verify checks it with
the public key alone.`,
		Example: "  margay report 01K00000000000000000000001 -o report.html\n  margay report --since 7d --json -o report.json\n  margay report verify report.html --key margay-ledger-key:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := scopeOf(args, since)
			if err != nil {
				return err
			}
			if out == "" && !a.JSON && cli.IsTerminal(a.Out) {
				return problem.Usage("margay report … -o report.html", "a report is not written to a terminal")
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return a.WithState(ctx, func(c *config.Config, st *state.State) error {
				return a.makeReport(ctx, c, st, scope, whole, out)
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "what all sessions did in the last 2h or 7d, or after a date or an RFC 3339 `time`")
	c.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default standard output)")
	c.Flags().BoolVar(&whole, "whole-ledger", false, "carry all of the ledger, so that the report can be compared with a head that you kept")
	var key, head string
	verify := &cobra.Command{
		Use: "verify FILE", Short: "Check a report byte for byte", Args: cobra.ExactArgs(1),
		Long: `Check a report byte for byte: that the ledger's key signed it, that the page
shows what its data say, and the entries of the ledger in it. The check needs only
the file and the public key. It reports what is wrong, and the exit code is then 3.`,
		Example: "  margay report verify report.html --key margay-ledger-key:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return a.verifyReport(ctx, args[0], key, head)
		},
	}
	verify.Flags().StringVar(&key, "key", "", "public `key` of the ledger, or a file with it (default this installation's)")
	verify.Flags().StringVar(&head, "head", "", "a `head` that you kept, or a file with it; for reports that carry all of the ledger")
	c.AddCommand(verify)
	return c
}

// scopeOf reads what a report shall be about.
func scopeOf(args []string, since string) (report.Scope, error) {
	const hint = "margay report TRAJECTORY, or margay report --since 7d"
	var scope report.Scope
	switch {
	case len(args) == 0 && since == "":
		return scope, problem.Usage(hint, "a report needs a trajectory, or a time with --since")
	case len(args) > 0 && since != "":
		return scope, problem.Usage(hint, "a report is about one trajectory, or about all since a time")
	case len(args) > 0:
		id, err := flow.ParseTrajectoryID(strings.ToUpper(args[0]))
		if err != nil {
			return scope, problem.Usage("margay log --json and the console show the ids", "%s: %w", invocation.Printable(args[0]), err)
		}
		scope.Trajectory = id
		return scope, nil
	}
	at, err := invocation.Since(since, "a time looks like 2h, 7d, 2026-01-31 or 2026-01-31T15:04:05Z", time.RFC3339, time.DateOnly)
	scope.Since = at.UTC().Truncate(time.Millisecond)
	return scope, err
}

func (a *app) makeReport(ctx context.Context, c *config.Config, st *state.State, scope report.Scope, whole bool, out string) error {
	key, err := st.LedgerKey(ctx, c)
	if err != nil {
		return err
	}
	rules, err := state.Rules(c)
	if err != nil {
		return err
	}
	mc := mediator.Config{Config: session.Config{Keys: st.Keys, Store: st.Store, MaxHeld: c.Limits.Held}}
	known, err := masker(ctx, mc)
	if err != nil {
		return err
	}
	mc.Rules = rules
	mask, err := masker(ctx, mc)
	if err != nil {
		return err
	}
	d, err := report.Make(ctx, report.Config{
		Events: st.Store, Log: st.Store, Questions: confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Now: time.Now}), Ledger: st.Store,
		Key: key, Mask: mask, Known: known, Now: time.Now, Version: cli.Version()["version"], Whole: whole,
	}, scope)
	switch {
	case errors.Is(err, report.ErrUnknown) && scope.Trajectory != "":
		return problem.Failure("margay log --json and the console show the ids; old events are not kept", "unknown trajectory %s", scope.Trajectory)
	case errors.Is(err, report.ErrUnknown):
		return problem.Failure("give an earlier time; margay log shows what was decided", "nothing has happened since %s", scope.Since.Format(time.RFC3339))
	case err != nil:
		return problem.Unexpected(err)
	}
	write := d.Render
	if a.JSON {
		write = d.Encode
	}
	b, err := write()
	if err != nil {
		return problem.Failure("please report it", "the report can't be written: %w", err)
	}
	if out == "" || out == "-" {
		_, err := a.Out.Write(b)
		return err
	}
	if err := cli.PlaceFile(out, cli.ForOwner, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		return err
	}
	decisions := 0
	for i := range d.Trajectories {
		decisions += len(d.Trajectories[i].Decisions)
	}
	view := map[string]any{
		"file": out, "key": d.Key, "head": d.Ledger.Head, "trajectories": len(d.Trajectories), "decisions": decisions, "families": len(d.Ledger.Families),
		"sound": len(d.Ledger.Findings) == 0, "left_out": d.LeftOut,
	}
	return a.Print(view, func(w io.Writer) {
		cli.Fprintf(w, "%s: %s, %s, %s of the ledger\nkey      %s\n", out, invocation.Count(len(d.Trajectories), "trajectory"),
			invocation.Count(decisions, "decision"), invocation.Count(len(d.Ledger.Families), "family"), d.Key)
		for _, l := range d.LeftOut {
			cli.Fprintf(w, "left out %s\n", l)
		}
		if len(d.Ledger.Findings) > 0 {
			fmt.Fprintln(w, "the ledger is NOT SOUND: margay ledger verify says where")
		}
	})
}

func masker(ctx context.Context, c mediator.Config) (func(string) string, error) {
	engine, err := mediator.New(c)
	if err != nil {
		return nil, problem.Unexpected(err)
	}
	mask, err := engine.Masker(ctx)
	return mask, problem.Unexpected(err)
}

func (a *app) verifyReport(ctx context.Context, path, key, head string) error {
	kept, err := headOf(head)
	if err != nil {
		return err
	}
	public, in, err := a.toVerify(path, key, "report", "margay report")
	if err != nil {
		return err
	}
	defer in.Close()
	r, err := report.Verify(ctx, in, report.Check{Key: public, Head: kept})
	switch {
	case errors.Is(err, report.ErrPart):
		return problem.Usage("make it with --whole-ledger, or check the ledger itself: margay ledger verify --head", "%w", err)
	case err != nil:
		return problem.Failure("run it again", "the report can't be read: %w", cli.Reason(err))
	}
	if len(r.Findings) > 0 {
		a.Code = problem.Findings
	}
	view := map[string]any{"findings": append([]report.Finding{}, r.Findings...)}
	if d := r.Document; d != nil && len(r.Findings) == 0 {
		view["made"], view["scope"], view["trajectories"], view["left_out"] = d.Made, d.Scope, len(d.Trajectories), d.LeftOut
		view["entries"], view["families"], view["head"] = r.Ledger.Entries, r.Ledger.Families, d.Ledger.Head
	}
	return a.Print(view, func(w io.Writer) {
		for _, f := range r.Findings {
			cli.Fprintf(w, "%s: %s\n", f.Rule, f.Detail)
		}
		if len(r.Findings) > 0 {
			cli.Fprintf(w, "NOT TO BE BELIEVED: %s\n", invocation.Count(len(r.Findings), "finding"))
			return
		}
		cli.Fprintf(w, "as it was made at %s: %s; %s of %s, every charge adds up, every entry is signed\n", r.Document.Made.Format(time.RFC3339),
			invocation.Count(len(r.Document.Trajectories), "trajectory"), invocation.Count(r.Ledger.Entries, "entry"), invocation.Count(r.Ledger.Families, "family"))
	})
}
