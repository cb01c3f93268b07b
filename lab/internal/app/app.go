// Package app is the command line of the laboratory: suites that measure
// Margay, and the training of its models.
package app

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/lab/demo"
)

// app is one invocation.
type app struct{ cli.Command }

func usage(hint, format string, args ...any) error { return problem.Usage(hint, format, args...) }

func failure(hint, format string, args ...any) error { return problem.Failure(hint, format, args...) }

// Main runs the command line and returns the exit code.
func Main(args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{cli.Command{Name: "margay-lab", In: in, Out: out, Err: errw, Args: args, Hint: "margay-lab --help lists the commands"}}
	return a.Execute(a.root())
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "margay-lab",
		Short: "Measures Margay and fits its models",
		Long: "margay-lab measures Margay and fits its models. A suite prints a table, and can write its result as JSON and as a page with plots. " +
			"The same seed gives the same figures on another machine, timings apart.",
	}
	for _, s := range suites() {
		c := a.suiteCommand(&s)
		if s.lint != nil {
			c.Args = cobra.NoArgs
			c.AddCommand(s.lint(a))
		}
		root.AddCommand(c)
	}
	root.AddCommand(a.allCommand(), a.compareCommand(), a.figuresCommand(), a.agentCommand(), a.trainCommand(), a.worldCommand(), a.rewardCommand(), a.partyCommand(), demo.Command(&a.Command))
	a.Prepare(root)
	return root
}

//go:generate go test -run ^TestReferenceIsUpToDate$ . -update
//go:generate go run ../../cmd/margay-lab figures --results ../../../docs/bench ../../../docs/benchmarks.md ../../../README.md
