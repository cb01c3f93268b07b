package app

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var seed uint64
	c := &cobra.Command{
		Use: "demo", Short: "See four agents leak, and stop leaking",
		Long: "Run a scripted pipeline of four agents over loopback, once without Margay and once with it, and show side by side what leaked. No network, nothing to install.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			tell := func(s string) {
				if !a.json {
					fmt.Fprintln(a.out, s)
				}
			}
			r, err := demo.Play(cmd.Context(), seed, tell)
			if err != nil {
				return failure("run it again; if it fails again, please report it", "the demonstration broke off: %w", err)
			}
			if r.With.Leaks > 0 {
				a.code = exitFailed
			}
			return a.print(r, func(w io.Writer) { a.showDemo(w, r) })
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "what the planted secrets are drawn from")
	return c
}

func (a *app) showDemo(w io.Writer, r *demo.Report) {
	red, green, bold, off := "", "", "", ""
	if isTerminal(a.out) && os.Getenv("NO_COLOR") == "" {
		red, green, bold, off = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
	}
	const width = 42
	cell := func(names []string) string {
		if len(names) == 0 {
			return green + pad("nothing", width) + off
		}
		s := strings.Join(names, ", ")
		if len(s) > width-5 {
			s = fmt.Sprintf("%d secrets: %s…", len(names), s[:width-18])
		}
		return red + pad(s, width) + off
	}
	fmt.Fprintf(w, "\n%s%s%s%s%s\n", bold, pad("", 24), pad("without Margay", width), "with Margay", off)
	for i := range r.Without.Agents {
		x, y := r.Without.Agents[i], r.With.Agents[i]
		fmt.Fprintf(w, "%s%s%s\n", pad(x.Agent+" → model", 24), cell(x.ToModel), cell(y.ToModel))
		fmt.Fprintf(w, "%s%s%s\n", pad(x.Agent+" → others", 24), cell(x.ToOthers), cell(y.ToOthers))
	}
	fmt.Fprintf(w, "%s%s%s%s%s%s%s\n\n", pad("leaks", 24), red, pad(fmt.Sprint(r.Without.Leaks), width), off, green, fmt.Sprint(r.With.Leaks), off)
	did := make([]string, 0, len(r.With.Findings))
	for k, n := range r.With.Findings {
		did = append(did, fmt.Sprintf("%s ×%d", k, n))
	}
	sort.Strings(did)
	fmt.Fprintf(w, "Margay did: %s.\n", strings.Join(did, ", "))
	fmt.Fprintf(w, "The text kept streaming: at most %d bytes were held back, for at most %s.\n", r.With.MaxHeld, r.With.MaxDelay.Round(time.Millisecond))
	fmt.Fprintf(w, "%d secrets were planted; leaks are counted by searching for them, plain and encoded, in what the model and the agents received.\n", r.Secrets)
	fmt.Fprintf(w, "Both runs took %s.\n\nYour own agent:  margay run -- YOUR-AGENT\n", (r.Without.Elapsed + r.With.Elapsed).Round(10*time.Millisecond))
}

func pad(s string, n int) string {
	if m := n - len([]rune(s)); m > 0 {
		return s + strings.Repeat(" ", m)
	}
	return s
}
