package simulate

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/recorded"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/pack"
)

type flags struct {
	before      string
	packs       []string
	n           int
	distrusting bool
}

// Command is margay policy simulate.
func Command(a *invocation.App) *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "simulate [flags] TRACE...", Short: "Show what would be asked in recorded sessions, before and after a change",
		Long: `Show what would be asked in recorded sessions, before and after a change.

A TRACE has a session on each line, as JSON: {"cwd", "trusted", "tools", "messages":
[{"role", "text", "calls": [{"id", "name", "args"}], "callid"}]}; one whose name ends
in .gz is compressed. Margay plays the calls through the engine that the configuration
makes, as taint.mode on would. After is the configuration with --packs; before is that
of --before, or else the configuration without --packs, or else Margay's defaults.

A refused call ends there, since no model tries another way: real sessions ask less
often. Each question is answered yes, once. Questions about what a call would
disclose are left out. Names and reasons are shown, and no arguments. Exit code 3
means that after the change more calls are asked about, or denied.`,
		Example: "  margay policy simulate sessions.jsonl.gz\n  margay policy simulate sessions.jsonl --packs notes.yaml\n  margay policy simulate sessions.jsonl --before old.yaml --json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return run(ctx, a, f, args)
		},
	}
	c.Flags().StringVar(&f.before, "before", "", "configuration `file` to compare with")
	c.Flags().StringArrayVar(&f.packs, "packs", nil, "`name` or file of a pack to add to taint.packs; repeatable")
	cli.CompleteBy(c, "packs", cobra.FixedCompletions(pack.Names(), cobra.ShellCompDirectiveDefault))
	c.Flags().IntVarP(&f.n, "lines", "n", 0, "how many sessions of each file, from its start; 0 for all")
	c.Flags().BoolVar(&f.distrusting, "no-trusted", false, "do not trust the folders that sessions name as trusted, only those of taint.workspaces")
	return c
}

// counted is what would be asked under one configuration.
type counted struct {
	Config   string `json:"config"`
	Asked    int    `json:"asked"`  // calls
	Denied   int    `json:"denied"` // calls, without a question
	Sessions int    `json:"sessions_asked"`

	by map[cause]int
}

// change is what becomes of the questions about one tool for one reason.
type change struct {
	cause
	Before int `json:"before"`
	After  int `json:"after"`
}

// compared is what margay policy simulate prints.
type compared struct {
	Sessions int      `json:"sessions"`
	Calls    int      `json:"calls"`
	Before   *counted `json:"before"`
	After    *counted `json:"after"`
	Changes  []change `json:"by"` // the most asked first
}

func run(ctx context.Context, a *invocation.App, f *flags, files []string) error {
	if f.n < 0 {
		return problem.Usage("0 reads all", "--lines %d is negative", f.n)
	}
	after, err := a.Load(func(c *config.Config) { c.Taint.Packs = slices.Concat(c.Taint.Packs, f.packs) })
	if err != nil {
		return err
	}
	before, name, err := f.compared(a)
	if err != nil {
		return err
	}
	if after.Taint.Mode == "off" {
		a.Note("taint.mode is off: this is what on would ask")
	}
	var all []*recorded.Session
	for _, file := range files {
		some, err := recorded.ReadFile(file, f.n)
		if err != nil {
			return problem.Failure("margay policy simulate --help has the format", "%w", err)
		}
		all = append(all, some...)
	}
	out := compared{Sessions: len(all), Changes: []change{}}
	if out.Before, _, err = f.count(ctx, before, name, all); err != nil {
		return err
	}
	if out.After, out.Calls, err = f.count(ctx, after, configName(after, f.packs), all); err != nil {
		return err
	}
	for why, n := range out.Before.by {
		out.Changes = append(out.Changes, change{why, n, out.After.by[why]})
	}
	for why, n := range out.After.by {
		if out.Before.by[why] == 0 {
			out.Changes = append(out.Changes, change{why, 0, n})
		}
	}
	slices.SortFunc(out.Changes, func(a, b change) int {
		return cmp.Or(max(b.Before, b.After)-max(a.Before, a.After), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Reason, b.Reason))
	})
	if out.After.Asked > out.Before.Asked || out.After.Denied > out.Before.Denied {
		a.Code = problem.Findings
	}
	return a.PrintTable(&out, out.write)
}

// compared is the configuration before the change, and what to call it.
func (f *flags) compared(a *invocation.App) (*config.Config, string, error) {
	switch {
	case f.before != "":
		c, err := config.Load(f.before, os.Environ(), nil)
		return c, f.before, err
	case len(f.packs) > 0:
		c, err := a.Load(nil)
		if err != nil {
			return nil, "", err
		}
		return c, configName(c, nil), nil
	}
	return config.Default(), "defaults", nil
}

func configName(c *config.Config, packs []string) string {
	name := cmp.Or(c.File, "defaults and environment")
	if len(packs) > 0 {
		name += " with " + strings.Join(packs, ", ")
	}
	return name
}

// workers play sessions side by side.
const workers = 2

// count plays the sessions under a configuration.
func (f *flags) count(ctx context.Context, c *config.Config, name string, all []*recorded.Session) (*counted, int, error) {
	on := *c
	on.Taint.Mode, on.Observe = "on", false
	if s := on.Taint.Screen; s == "judge" || s == "saliency" {
		on.Taint.Screen = "all" // no endpoint is sent what was recorded: it is as if it failed
	}
	base, err := mediation.Taint(&on, &state.State{Store: memory.New(), Keys: keys}, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, 0, err
	}
	var roots []string
	for _, dir := range on.Taint.Workspaces { // mediation.Taint has looked at them
		names, err := mediation.Folder(dir)
		if err != nil {
			return nil, 0, problem.Usage("see taint.workspaces", "%s: %w", dir, err)
		}
		roots = append(roots, names...)
	}
	out, errs := make([]*outcome, len(all)), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(all) && errs[w] == nil; i += workers {
				if errs[w] = ctx.Err(); errs[w] == nil {
					out[i], errs[w] = playOne(ctx, base, roots, f, all[i])
				}
			}
		})
	}
	wg.Wait()
	if err := cmp.Or(errs[0], errs[1]); err != nil {
		return nil, 0, err
	}
	total := &counted{Config: name, by: map[cause]int{}}
	calls := 0
	for _, s := range out {
		calls, total.Denied = calls+s.calls, total.Denied+s.denied
		if len(s.asked) > 0 {
			total.Sessions++
		}
		for why, n := range maps.All(s.asked) {
			total.by[why] += n
			total.Asked += n
		}
	}
	return total, calls, nil
}

func playOne(ctx context.Context, base *mediator.Taint, roots []string, f *flags, s *recorded.Session) (*outcome, error) {
	out, err := play(ctx, base, roots, !f.distrusting, s)
	if err != nil && ctx.Err() == nil {
		err = problem.Failure("is the trace as it was recorded?", "session %s: %w", invocation.Printable(s.ID), err)
	}
	return out, err
}
