package demo

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/environ"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/secret/recognise"
)

// Command is margay-lab demo.
func Command(a *cli.Command) *cobra.Command {
	var seed uint64
	c := &cobra.Command{
		Use: "demo", Short: "See four agents leak, and stop leaking",
		Long: `Run a scripted pipeline of four agents, once without Margay and once with it, and
show side by side what leaked. All of it runs on loopback; nothing is installed
or written. Leaks are counted by searching the bytes that the model, the next
agent and an outside service received, plain and decoded; Margay is not asked.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), a, seed) },
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "what the planted secrets are drawn from")
	return c
}

func run(ctx context.Context, a *cli.Command, seed uint64) error {
	ctx, stop := cli.Interrupts(ctx)
	defer stop()
	rules, err := recognise.Default()
	if err != nil {
		return err
	}
	r, err := Play(ctx, Options{
		Seed: seed,
		Tell: func(s string) { a.Note("%s", s) },
		Import: func(file string, text []byte) []Credential {
			var out []Credential
			for _, c := range environ.Credentials(rules, environ.Parse(file, text)) {
				out = append(out, Credential{Name: c.Name, Kind: c.Kind, Value: c.Value})
			}
			return out
		},
	})
	if err != nil {
		return problem.Failure("run it again; if it fails again, please report it", "the demonstration broke off: %w", err)
	}
	if r.With.Leaks > 0 {
		a.Code = problem.Failed
	}
	return a.Print(r, func(w io.Writer) { showDemo(w, r, cli.IsTerminal(a.Out) && os.Getenv("NO_COLOR") == "") })
}

// width is that of a column of the demonstration.
const width = 34

// columns writes two columns beside a label.
type columns struct {
	w      io.Writer
	colour bool
}

func (c *columns) paint(code, s string) string {
	if !c.colour || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

const (
	red, green, bold, dim = "31", "32", "1", "2"
)

// row writes a line for each line of the longer cell.
func (c *columns) row(label string, left []string, leftCode string, right []string, rightCode string) {
	for i := range max(len(left), len(right), 1) {
		l, r := "", ""
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(c.w, "%s  %s  %s\n", pad(label, 26), c.paint(leftCode, pad(l, width)), c.paint(rightCode, r))
	}
}

// leaks writes what got out in one place.
func (c *columns) leaks(label string, without, with []string) {
	cell := func(names []string) ([]string, string) {
		if len(names) == 0 {
			return []string{"nothing"}, green
		}
		return names, red
	}
	if len(without)+len(with) == 0 {
		return
	}
	l, lc := cell(without)
	r, rc := cell(with)
	c.row(label, l, lc, r, rc)
}

func showDemo(w io.Writer, r *Report, colour bool) {
	c := &columns{w, colour}
	fmt.Fprintln(w)
	c.row("", []string{"without Margay"}, bold, []string{"with Margay"}, bold)
	rule := strings.Repeat("─", width)
	c.row("what leaked, and where to", []string{rule}, dim, []string{rule}, dim)
	for i := range r.Without.Agents {
		x, y := &r.Without.Agents[i], &r.With.Agents[i]
		c.leaks(x.Agent+" → the model", x.Model, y.Model)
		c.leaks(x.Agent+" → next agent", x.Next, y.Next)
		c.leaks(x.Agent+" → outside chat", x.Others, y.Others)
	}
	c.row("", []string{rule}, dim, []string{rule}, dim)
	leaks := func(n int) ([]string, string) {
		if n == 0 {
			return []string{"0"}, green
		}
		return []string{fmt.Sprint(n)}, red
	}
	l, lc := leaks(r.Without.Leaks)
	d, dc := leaks(r.With.Leaks)
	c.row("leaks (secrets × places)", l, lc, d, dc)
	cells := func(f func(*Run) string) ([]string, []string) {
		return []string{f(&r.Without)}, []string{f(&r.With)}
	}
	plain := func(label string, f func(*Run) string) {
		l, d := cells(f)
		c.row(label, l, "", d, "")
	}
	plain("the release was done", func(x *Run) string {
		if x.Done {
			return "yes"
		}
		return "no"
	})
	plain("text on its way, at most", func(x *Run) string { return fmt.Sprintf("%d bytes of %d tokens", x.MaxHeld, x.Tokens) })
	plain("a token took", func(x *Run) string {
		return fmt.Sprintf("%.2f ms (median), %.1f ms (p99)", x.DelayP50, x.DelayP99)
	})
	plain("time in all", func(x *Run) string { return fmt.Sprintf("%.1f s", x.Elapsed/1000) })
	fmt.Fprintln(w)
	stopped := make([]string, 0, len(r.With.Findings))
	for _, k := range slices.Sorted(maps.Keys(r.With.Findings)) {
		stopped = append(stopped, fmt.Sprintf("%s ×%d", k, r.With.Findings[k]))
	}
	fmt.Fprintf(w, "Margay did: %s.\n", strings.Join(stopped, ", "))
	fmt.Fprintf(w, "The model saw %d pseudonyms instead of values and worked with them; %d tool call that carried one was refused, and made again without.\n", r.With.Pseudonyms, r.With.Refused)
	fmt.Fprintln(w, "Words stream on as they come; arguments of tool calls wait until they are complete, and are decided as a whole.")
	fmt.Fprintf(w, "Of %d secrets, the model knew one from an earlier conversation; it wrote it in base64, and that did not come out.\n", len(r.Secrets))
	fmt.Fprintf(w, "\nYour own agent:  %s\n", c.paint(bold, "margay run -- YOUR-AGENT"))
}

func pad(s string, n int) string {
	if m := n - len([]rune(s)); m > 0 {
		return s + strings.Repeat(" ", m)
	}
	return s
}
