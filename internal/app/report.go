package app

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/report"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mediator"
)

func (a *app) reportCommand() *cobra.Command {
	var since, out string
	var whole bool
	c := &cobra.Command{
		Use: "report [TRAJECTORY]", Short: "Write one signed file about what agents did", Args: cobra.MaximumNArgs(1),
		Long: `Write one file about what a trajectory did, or all did since a time: decisions
with their reasons, what people answered, what was taken out, the labels of what
the model was shown, and what was told in bits. It is a page, or JSON with
--json, and holds no value of a secret. It is signed with the ledger's key and
carries the ledger's entries: margay report verify checks it without anything
else but the public key.`,
		Example: "  margay report 01K00000000000000000000001 -o report.html\n  margay report --since 7d --json -o report.json\n  margay report verify report.html --key margay-ledger-key:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, err := scopeOf(args, since)
			if err != nil {
				return err
			}
			if out == "" && !a.json && isTerminal(a.out) {
				return usage("margay report … -o report.html", "a page is no text for a terminal")
			}
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			return a.withState(ctx, func(c *config.Config, st *state.State) error {
				return a.makeReport(ctx, c, st, scope, whole, out)
			})
		},
	}
	c.Flags().StringVar(&since, "since", "", "what all did in the last 2h or 7d, or after a date or an RFC 3339 `time`")
	c.Flags().StringVarP(&out, "out", "o", "", "`file` to write (default standard output)")
	c.Flags().BoolVar(&whole, "whole-ledger", false, "carry the whole ledger, so that the report can be held against a head that was kept")
	var key, head string
	verify := &cobra.Command{
		Use: "verify FILE", Short: "Check every byte of a report", Args: cobra.ExactArgs(1),
		Long: `Check every byte of a report: that it is signed by the ledger's key, that the page
shows what its data say, and every entry of the ledger in it. It needs the file
and the public key alone. What is wrong is told, and the exit code is 3.`,
		Example: "  margay report verify report.html --key margay-ledger-key:…",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interrupts(cmd.Context())
			defer stop()
			return a.verifyReport(ctx, args[0], key, head)
		},
	}
	verify.Flags().StringVar(&key, "key", "", "public `key` of the ledger, or a file with it (default this installation's)")
	verify.Flags().StringVar(&head, "head", "", "a `head` that was kept, or a file with it; for reports made with --whole-ledger")
	c.AddCommand(verify)
	return c
}

// scopeOf reads what a report is asked about.
func scopeOf(args []string, since string) (report.Scope, error) {
	const hint = "margay report TRAJECTORY, or margay report --since 7d"
	var scope report.Scope
	switch {
	case len(args) == 0 && since == "":
		return scope, usage(hint, "say what the report is to be about")
	case len(args) > 0 && since != "":
		return scope, usage(hint, "a report is about one trajectory, or about all since a time")
	case len(args) > 0:
		id, err := flow.ParseTrajectoryID(strings.ToUpper(args[0]))
		if err != nil {
			return scope, usage("margay log --json and the console show the ids", "%s: %w", printable(args[0]), err)
		}
		scope.Trajectory = id
		return scope, nil
	}
	if d, err := parseDuration(since); err == nil {
		scope.Since = time.Now().Add(-d)
	} else if scope.Since, err = time.Parse(time.RFC3339, since); err != nil {
		if scope.Since, err = time.Parse(time.DateOnly, since); err != nil {
			return scope, usage("a time looks like 2h, 7d, 2026-01-31 or 2026-01-31T15:04:05Z", "--since %s is no time", printable(since))
		}
	}
	scope.Since = scope.Since.UTC().Truncate(time.Millisecond)
	return scope, nil
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
	mask, err := masker(ctx, mediator.Config{Rules: rules, Keys: st.Keys, Store: st.Store, MaxHeld: c.Limits.Held})
	if err != nil {
		return err
	}
	known, err := masker(ctx, mediator.Config{Keys: st.Keys, Store: st.Store, MaxHeld: c.Limits.Held})
	if err != nil {
		return err
	}
	d, err := report.Make(ctx, report.Config{
		Events: st.Store, Log: st.Store, Questions: confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Now: time.Now}), Ledger: st.Store,
		Key: key, Mask: mask, Known: known, Now: time.Now, Version: version()["version"], Whole: whole,
	}, scope)
	switch {
	case errors.Is(err, report.ErrUnknown) && scope.Trajectory != "":
		return failure("margay log --json and the console show the ids; events that are old are not kept", "nothing is known of trajectory %s", scope.Trajectory)
	case errors.Is(err, report.ErrUnknown):
		return failure("give an earlier time; margay log shows what was decided", "nothing has happened since %s", scope.Since.Format(time.RFC3339))
	case err != nil:
		return failure(problem.Doctor, "%w", err)
	}
	write := d.Render
	if a.json {
		write = d.Encode
	}
	b, err := write()
	if err != nil {
		return failure("please report it", "the report can't be written: %w", err)
	}
	if out == "" || out == "-" {
		_, err := a.out.Write(b)
		return err
	}
	if err := placeFile(out, forOwner, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
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
	return a.print(view, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s, %s, %s of the ledger\nkey      %s\n", out, plural(uint64(len(d.Trajectories)), "trajectory", "trajectories"),
			count(decisions, "decision"), families(uint64(len(d.Ledger.Families))), d.Key)
		for _, l := range d.LeftOut {
			fmt.Fprintf(w, "left out %s\n", l)
		}
		if len(d.Ledger.Findings) > 0 {
			fmt.Fprintln(w, "the ledger is NOT SOUND: margay ledger verify says where")
		}
	})
}

func masker(ctx context.Context, c mediator.Config) (func(string) string, error) {
	engine, err := mediator.New(c)
	if err != nil {
		return nil, failure(problem.Doctor, "%w", err)
	}
	mask, err := engine.Masker(ctx)
	if err != nil {
		return nil, failure(problem.Doctor, "%w", err)
	}
	return mask, nil
}

// reportKey is the key that is given, or this installation's.
func (a *app) reportKey(text string) (ed25519.PublicKey, error) {
	key, err := publicOf(text)
	if err != nil || key != nil {
		return key, err
	}
	c, err := a.load(nil)
	if err != nil {
		return nil, err
	}
	key, err = state.LedgerPublic(c)
	if err == nil && key == nil {
		err = usage("give the key that margay ledger head prints where the report was made", "this installation has no ledger: --key is needed")
	}
	return key, err
}

func (a *app) verifyReport(ctx context.Context, path, key, head string) error {
	check := report.Check{}
	var err error
	if check.Head, err = headOf(head); err != nil {
		return err
	}
	if check.Key, err = a.reportKey(key); err != nil {
		return err
	}
	in := a.in
	if path != "-" {
		f, err := os.Open(filepath.Clean(path))
		if err != nil {
			return failure("give a file that margay report wrote, or -", "%s can't be read: %w", path, reason(err))
		}
		defer f.Close()
		in = f
	}
	r, err := report.Verify(ctx, in, check)
	switch {
	case errors.Is(err, report.ErrPart):
		return usage("make it with --whole-ledger, or check the ledger itself: margay ledger verify --head", "%w", err)
	case err != nil:
		return failure("run it again", "the report can't be read: %w", reason(err))
	}
	if len(r.Findings) > 0 {
		a.code = exitFindings
	}
	view := map[string]any{"findings": append([]report.Finding{}, r.Findings...)}
	if d := r.Document; d != nil && len(r.Findings) == 0 {
		view["made"], view["scope"], view["trajectories"], view["left_out"] = d.Made, d.Scope, len(d.Trajectories), d.LeftOut
		view["entries"], view["families"], view["head"] = r.Ledger.Entries, r.Ledger.Families, d.Ledger.Head
	}
	return a.print(view, func(w io.Writer) {
		for _, f := range r.Findings {
			fmt.Fprintf(w, "%s: %s\n", f.Rule, f.Detail)
		}
		if len(r.Findings) > 0 {
			fmt.Fprintf(w, "NOT TO BE BELIEVED: %s\n", count(len(r.Findings), "finding"))
			return
		}
		fmt.Fprintf(w, "as it was made at %s: %s; %s of %s, every charge adds up, every entry is signed\n", r.Document.Made.Format(time.RFC3339),
			plural(uint64(len(r.Document.Trajectories)), "trajectory", "trajectories"), entries(r.Ledger.Entries), families(r.Ledger.Families))
	})
}
