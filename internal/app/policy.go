package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/serve"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/pack"
)

//go:generate go run ../../cmd/margay policy docs --out ../../docs/packs.md

func (a *app) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Check packs, and explain which labels tools' results get and what calls need",
		Long:    "Check packs, and explain which labels tools' results get and what calls need. docs/packs.md lists what comes with Margay; docs/format/pack.md is for packs of your own.",
		Example: "  margay policy explain --tool WebFetch",
	}
	c.AddCommand(a.policyLint(), a.policyExplain(), a.policyDocs())
	return c
}

// maxPack bounds what is read of a file: packs are smaller.
const maxPack = 1 << 20

// openPack loads a pack by its name, or from a file.
func openPack(name string) (*pack.Pack, error) {
	if slices.Contains(pack.Names(), name) {
		return pack.Builtin(name)
	}
	f, err := os.Open(filepath.Clean(name))
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, maxPack+1)); err == nil {
			return pack.Load(name, b)
		}
	}
	return nil, usage("packs that come with margay: "+strings.Join(pack.Names(), " "), "%s is no pack that comes with margay, and can't be read as a file: %w", name, reason(err))
}

func (a *app) policyLint() *cobra.Command {
	var live string
	c := &cobra.Command{
		Use: "lint [PACK...]", Short: "Check packs and run their samples",
		Long: "Check packs, by name or file, and run their samples; without any, those that come with Margay and those that the configuration names, together. " +
			"With --live, compare one pack with what its server lists. Exit code 3 means findings.",
		Example: "  margay policy lint\n  margay policy lint ./my-server.yaml\n  margay policy lint mcp-github --live tools.json",
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return pack.Names(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(_ *cobra.Command, args []string) error {
			findings, n := []pack.Finding{}, 0
			if live != "" && len(args) != 1 {
				return usage("such as margay policy lint mcp-github --live tools.json", "--live compares one pack")
			}
			names := args
			if len(names) == 0 {
				names = pack.Names()
				c, err := a.load(nil)
				if err != nil {
					return err
				}
				for _, p := range c.Taint.Packs {
					if !slices.Contains(names, p) {
						names = append(names, p)
					}
				}
				if _, err := serve.Policy(&c.Taint); err != nil {
					findings = append(findings, pack.FindingOf("configuration", err))
				}
			}
			for _, name := range names {
				p, err := openPack(name)
				var missing *problem.Error
				if errors.As(err, &missing) {
					return err
				}
				if err != nil {
					findings = append(findings, pack.FindingOf(name, err))
					continue
				}
				n += len(p.Tools)
				findings = append(findings, pack.Lint(p)...)
				if live != "" {
					b, err := readAll(a.in, live)
					if err != nil {
						return err
					}
					tools, err := pack.ParseTools(b)
					if err != nil {
						return usage("it is the server's answer to tools/list, as JSON", "%w", err)
					}
					findings = append(findings, pack.Drift(p, tools)...)
				}
			}
			if len(findings) > 0 {
				a.code = exitFindings
			}
			return a.print(map[string]any{"packs": len(names), "tools": n, "findings": findings}, func(w io.Writer) {
				for i := range findings {
					fmt.Fprintln(w, findings[i].String())
				}
				fmt.Fprintf(w, "%s, %s, %s\n", count(len(names), "pack"), count(n, "tool"), count(len(findings), "finding"))
			})
		},
	}
	c.Flags().StringVar(&live, "live", "", "`file` with the server's answer to tools/list; - is standard input")
	return c
}

// explained is what margay policy explain tells.
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

// explainedRow is a region of a result. It has no text of it.
type explainedRow struct {
	Field string `json:"field"` // empty for what is between values
	Label string `json:"label"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Shape string `json:"shape"`
}

func (a *app) policyExplain() *cobra.Command {
	var name, args, result string
	var user, packs []string
	c := &cobra.Command{
		Use: "explain --tool NAME", Short: "Tell what a call needs, and which labels a result gets",
		Long: "Tell what a call needs, and which label each part of a result gets and why, by the packs of the configuration. " +
			"With --pack, by these packs and their tools' own names. No part of a result is shown: letters stand as a, digits as 0.",
		Example: "  margay policy explain --tool WebFetch --args '{\"url\":\"https://x.example\"}'\n  margay policy explain --pack mcp-slack --tool slack_get_users --result answer.json",
		RunE: func(*cobra.Command, []string) error {
			if name == "" {
				return usage("margay policy explain --tool Read", "--tool is missing")
			}
			p, err := a.explainPolicy(packs)
			if err != nil {
				return err
			}
			call := flow.ToolCall{Name: name, Arguments: args}
			e := explain(p, call, user)
			if result != "" {
				b, err := readAll(a.in, result)
				if err != nil {
					return err
				}
				e.explainResult(p, call, string(b))
			}
			return a.print(e, e.write)
		},
	}
	f := c.Flags()
	f.StringVar(&name, "tool", "", "`name` of the tool, as the model calls it")
	f.StringVar(&args, "args", "", "the call's arguments as a `JSON` object")
	f.StringVar(&result, "result", "", "`file` with what the tool returned; - is standard input")
	f.StringArrayVar(&user, "user", nil, "`text` of a message of the user's, for rules that ask for it; repeatable")
	f.StringArrayVar(&packs, "pack", nil, "`name` or file of a pack; repeatable")
	completeBy(c, "pack", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return pack.Names(), cobra.ShellCompDirectiveDefault
	})
	return c
}

// explainPolicy is the configuration's policy, or that of packs alone.
func (a *app) explainPolicy(packs []string) (*taint.Policy, error) {
	c, err := a.load(nil)
	if err != nil {
		return nil, err
	}
	if len(packs) == 0 {
		return serve.Policy(&c.Taint)
	}
	return packPolicy(&c.Taint, packs)
}

func packPolicy(t *config.Taint, packs []string) (*taint.Policy, error) {
	scheme, err := taint.FourPoint(), error(nil)
	if t.Lattice == "sets" {
		if scheme, err = taint.Sets(t.Self); err != nil {
			return nil, usage("see taint in margay config example", "taint.self: %w", err)
		}
	}
	var bindings []pack.Binding
	for _, name := range packs {
		p, err := openPack(name)
		var missing *problem.Error
		if errors.As(err, &missing) {
			return nil, err
		}
		if err != nil {
			return nil, usage("margay policy lint "+name+" tells more", "%w", err)
		}
		bindings = append(bindings, pack.Binding{Pack: p})
	}
	p, err := pack.Policy(scheme, t.Lists, bindings...)
	if err != nil {
		return nil, usage("give packs that don't share tools", "%w", err)
	}
	return p, nil
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
	e.Format, e.Worst = string(r.Format), lat.Format(r.Worst)
	if e.Format == "" {
		e.Format = "none that the pack expects"
	}
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
		fmt.Fprintf(w, "%s: denied\n", name)
	case "ask":
		fmt.Fprintf(w, "%s: always asks\n", name)
	default:
		fmt.Fprintf(w, "%s: runs unasked where what the model was shown is at most %s\n", name, e.Admits)
	}
	for _, r := range e.Reasons {
		fmt.Fprintf(w, "  %s (%s)\n", r.Detail, r.Code)
	}
	if e.Format == "" {
		return
	}
	fmt.Fprintf(w, "\nThe result is read as %s; the worst that the tool can give is %s.\n\n", e.Format, e.Worst)
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "field\tlabel\tbytes\tshape")
	for _, r := range e.Regions {
		field := r.Field
		if field == "" {
			field = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", field, r.Label, r.End-r.Start, r.Shape)
	}
	_ = t.Flush()
}

// policyDocs writes docs/packs.md. It is for those who work on Margay.
func (a *app) policyDocs() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "docs", Short: "Write the review of the packs", Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			packs, err := pack.All()
			if err != nil {
				return err
			}
			if out == "" {
				_, err := io.WriteString(a.out, pack.Review(packs))
				return err
			}
			return writeFile(out, []byte(pack.Review(packs)))
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` to write (default standard output)")
	return c
}

// readAll reads a file, or standard input for -, up to what is looked at.
func readAll(in io.Reader, name string) ([]byte, error) {
	r := in
	if name != "-" {
		f, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, failure("is the file there?", "%s can't be read: %w", name, reason(err))
		}
		defer f.Close()
		r = f
	}
	b, err := io.ReadAll(io.LimitReader(r, taint.MaxResult+1))
	if err != nil {
		return nil, failure("is it a file?", "%s can't be read: %w", name, reason(err))
	}
	return b, nil
}
