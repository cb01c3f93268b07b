// Package policies has the commands of packs and rubrics.
package policies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/drafts"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/simulate"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/pack"
)

// app is one invocation.
type app struct{ *invocation.App }

// Commands are those of this package.
func Commands(a *invocation.App) []*cobra.Command {
	c := &app{a}
	return []*cobra.Command{c.policyCommand(), c.rubricCommand()}
}

func (a *app) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check packs, and explain which labels results get and what calls need",
		Long:    "Check packs, and explain which labels the results of tools get and what calls need. docs/packs.md lists the packs that come with Margay; docs/format/pack.md is for packs of your own.",
		Example: "  margay policy explain --tool WebFetch",
	}
	c.AddCommand(a.policyLint(), a.policyExplain(), drafts.Command(a.App, drafts.Proposed), simulate.Command(a.App))
	return c
}

// maxPack bounds the file of a pack.
const maxPack = 1 << 20

// openPack loads a pack by its name, or from a file.
func openPack(name string) (*pack.Pack, error) {
	if slices.Contains(pack.Names(), name) {
		return pack.Builtin(name)
	}
	b, err := cli.ReadFile(name, maxPack+1)
	if err != nil {
		return nil, problem.Usage("packs that come with margay: "+strings.Join(pack.Names(), " "), "%s is not a pack that comes with margay, and as a file %w", name, err)
	}
	return pack.Load(name, b)
}

func (a *app) policyLint() *cobra.Command {
	var live string
	c := &cobra.Command{
		Use: "lint [PACK...]", Short: "Check packs and run their samples",
		Long: "Check packs, by name or file, and run their samples. Without an argument, check those that come with Margay and those that the configuration names, together. " +
			"With --live, compare one pack with what its server lists. Exit code 3 means findings.",
		Example: "  margay policy lint\n  margay policy lint ./my-server.yaml\n  margay policy lint mcp-github --live tools.json",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: cobra.FixedCompletions(pack.Names(), cobra.ShellCompDirectiveDefault),
		RunE: func(_ *cobra.Command, args []string) error {
			if live != "" && len(args) != 1 {
				return problem.Usage("such as margay policy lint mcp-github --live tools.json", "--live compares one pack")
			}
			names, findings, err := a.lintNames(args)
			if err != nil {
				return err
			}
			n := 0
			for _, name := range names {
				p, err := openPack(name)
				if errors.As(err, new(*problem.Error)) {
					return err
				}
				if err != nil {
					findings = append(findings, pack.FindingOf(name, err))
					continue
				}
				n += len(p.Tools)
				findings = append(findings, pack.Lint(p)...)
				if live != "" {
					drift, err := a.drift(p, live)
					if err != nil {
						return err
					}
					findings = append(findings, drift...)
				}
			}
			if len(findings) > 0 {
				a.Code = problem.Findings
			}
			return a.Print(map[string]any{"packs": len(names), "tools": n, "findings": findings}, func(w io.Writer) {
				for i := range findings {
					cli.Fprintf(w, "%s\n", findings[i].String())
				}
				cli.Fprintf(w, "%s, %s, %s\n", invocation.Count(len(names), "pack"), invocation.Count(n, "tool"), invocation.Count(len(findings), "finding"))
			})
		},
	}
	c.Flags().StringVar(&live, "live", "", "`file` with the server's answer to tools/list; - is standard input")
	return c
}

// lintNames are the packs to check: those named, or else the built-in ones and
// those of the configuration, whose mistakes are findings.
func (a *app) lintNames(args []string) ([]string, []pack.Finding, error) {
	findings := []pack.Finding{}
	if len(args) > 0 {
		return args, findings, nil
	}
	c, err := a.Load(nil)
	if err != nil {
		return nil, nil, err
	}
	names := pack.Names()
	for _, p := range c.Taint.Packs {
		if !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	if _, err := mediation.Policy(&c.Taint); err != nil {
		findings = append(findings, pack.FindingOf("configuration", err))
	}
	return names, findings, nil
}

// drift compares a pack with what its server lists.
func (a *app) drift(p *pack.Pack, live string) ([]pack.Finding, error) {
	b, err := a.readText(live)
	if err != nil {
		return nil, err
	}
	tools, err := pack.ParseTools(b)
	if err != nil {
		return nil, problem.Usage("it is the server's answer to tools/list, as JSON", "%w", err)
	}
	return pack.Drift(p, tools), nil
}

// explained is what margay policy explain prints.
type explained struct {
	Tool    string         `json:"tool"`
	Known   bool           `json:"known"`
	Outcome string         `json:"outcome"` // "deny", "ask" or "by label"
	Admits  string         `json:"admits,omitempty"`
	Reasons []flow.Reason  `json:"reasons"`
	Format  string         `json:"format,omitempty"`
	Regions []explainedRow `json:"regions,omitempty"`
	Worst   string         `json:"worst,omitempty"`
}

// explainedRow is a region of a result, without its text.
type explainedRow struct {
	Field string `json:"field"` // empty between values
	Label string `json:"label"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Shape string `json:"shape"`
}

func (a *app) policyExplain() *cobra.Command {
	var name, args, result string
	var user, packs []string
	c := &cobra.Command{
		Use: "explain --tool NAME", Short: "Explain what a call needs, and which labels a result gets",
		Long: "Explain what a call needs, and which label each part of a result gets and why, by the packs of the configuration. " +
			"With --pack, use these packs and their tools' own names. The output shows no part of a result: letters become a, digits 0.",
		Example: "  margay policy explain --tool WebFetch --args '{\"url\":\"https://x.example\"}'\n  margay policy explain --pack mcp-slack --tool slack_get_users --result answer.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" {
				return problem.Usage("margay policy explain --tool Read", "--tool is missing")
			}
			p, err := a.explainPolicy(cmd.Context(), packs)
			if err != nil {
				return err
			}
			call := flow.ToolCall{Name: name, Arguments: args}
			e := explain(p, call, user)
			if result != "" {
				b, err := a.readText(result)
				if err != nil {
					return err
				}
				e.explainResult(p, call, string(b))
			}
			return a.PrintTable(e, e.write)
		},
	}
	f := c.Flags()
	f.StringVar(&name, "tool", "", "`name` of the tool, as the model calls it")
	f.StringVar(&args, "args", "", "the call's arguments as a `JSON` object")
	f.StringVar(&result, "result", "", "`file` with what the tool returned; - is standard input")
	f.StringArrayVar(&user, "user", nil, "`text` of a message from the user, for rules that require it; repeatable")
	f.StringArrayVar(&packs, "pack", nil, "`name` or file of a pack; repeatable")
	cli.CompleteBy(c, "pack", cobra.FixedCompletions(pack.Names(), cobra.ShellCompDirectiveDefault))
	return c
}

// machine is the computer as the configuration, and a store that is there, know it.
func machine(ctx context.Context, c *config.Config) (*act.Machine, error) {
	st := &state.State{Store: memory.New()}
	if _, err := os.Stat(c.StorePath()); err == nil {
		if st, err = state.Open(ctx, c); err != nil {
			return nil, err
		}
		defer st.Close()
	}
	b, err := mediation.Places(c, st)
	if err != nil {
		return nil, err
	}
	on, err := b.Now(ctx, "")
	return on, problem.Unexpected(err)
}

// explainPolicy is the policy of the configuration, or of the named packs alone.
func (a *app) explainPolicy(ctx context.Context, packs []string) (*taint.Policy, error) {
	c, err := a.Load(nil)
	if err != nil {
		return nil, err
	}
	if c.Dir, err = os.Getwd(); err != nil {
		c.Dir = ""
	}
	on, err := machine(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(packs) == 0 {
		p, err := mediation.Policy(&c.Taint)
		if err != nil {
			return nil, err
		}
		return p.On(on), nil
	}
	scheme, err := mediation.Scheme(&c.Taint)
	if err != nil {
		return nil, err
	}
	var bindings []pack.Binding
	for _, name := range packs {
		p, err := openPack(name)
		if errors.As(err, new(*problem.Error)) {
			return nil, err
		}
		if err != nil {
			return nil, problem.Usage("margay policy lint "+name+" lists every mistake", "%w", err)
		}
		bindings = append(bindings, pack.Binding{Pack: p})
	}
	p, err := pack.Policy(scheme, c.Taint.Lists, bindings...)
	if err != nil {
		return nil, problem.Usage("give packs that don't share tools", "%w", err)
	}
	return p.On(on), nil
}

func explain(p *taint.Policy, call flow.ToolCall, user []string) *explained {
	c := p.Clear(call, user)
	e := &explained{Tool: call.Name, Known: c.Known, Outcome: "by label", Reasons: c.Reasons}
	lat := p.Scheme().Lattice
	switch {
	case c.Deny:
		e.Outcome = "deny"
		return e
	case c.Confirm:
		e.Outcome = "ask"
	}
	e.Admits = c.Limit.Format(lat)
	return e
}

func (e *explained) explainResult(p *taint.Policy, call flow.ToolCall, text string) {
	r := p.Annotate(call, text)
	lat := p.Scheme().Lattice
	e.Format, e.Worst = cmp.Or(string(r.Format), "none that the pack expects"), lat.Format(r.Worst)
	for _, g := range r.Regions {
		e.Regions = append(e.Regions, explainedRow{g.From.Field, lat.Format(g.Label), g.Start, g.End, shape(text[g.Start:g.End])})
	}
}

// shape masks a text: its first characters, letters as a, digits as 0.
func shape(s string) string {
	const most = 24
	out := []rune{}
	for _, r := range s {
		if len(out) == most {
			return string(out) + "…"
		}
		switch {
		case r >= '0' && r <= '9':
			r = '0'
		case r >= '!' && r <= '~' && !(r|0x20 >= 'a' && r|0x20 <= 'z'), r == ' ':
		case r < ' ' || r == 0x7f:
			r = ' '
		default:
			r = 'a'
		}
		out = append(out, r)
	}
	return string(out)
}

func (e *explained) write(w io.Writer) {
	name := problem.OneLine(e.Tool)
	switch e.Outcome {
	case "deny":
		cli.Fprintf(w, "%s: denied\n", name)
	case "ask":
		cli.Fprintf(w, "%s: always asks\n", name)
	default:
		cli.Fprintf(w, "%s: runs without a question if the context's label is at most %s\n", name, e.Admits)
	}
	for _, r := range e.Reasons {
		cli.Fprintf(w, "  %s (%s)\n", r.Detail, r.Code)
	}
	if e.Format == "" {
		return
	}
	cli.Fprintf(w, "\nThe result is read as %s; the worst label that the tool can give is %s.\n\n", e.Format, e.Worst)
	fmt.Fprintln(w, "field\tlabel\tbytes\tshape")
	for _, r := range e.Regions {
		cli.Fprintf(w, "%s\t%s\t%d\t%s\n", cmp.Or(r.Field, "-"), r.Label, r.End-r.Start, r.Shape)
	}
}

// readText reads a file, or standard input for -, up to the limit of results.
func (a *app) readText(name string) ([]byte, error) {
	b, err := a.ReadInput(name, document.MaxResult+1)
	if err != nil {
		return nil, problem.Failure("name a file that you can read, or - for standard input", "%w", err)
	}
	return b, nil
}
