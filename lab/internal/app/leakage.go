package app

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/judge"
	"github.com/margaydev/margay/lab/leakage"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/screen/lexical"
)

// leakageOptions are those of the suite leakage alone.
type leakageOptions struct {
	defences          []string
	judge, judgeModel string
}

const judgeName = "judge"

func leakageNames() []string {
	var out []string
	for _, d := range leakage.Defences(lexical.Screener{}) {
		out = append(out, d.Name)
	}
	return append(out, judgeName)
}

func leakageFlags(c *cobra.Command, o *options) {
	l := &o.leakage
	c.Flags().IntVar(&o.n, "n", 222, "generated tasks, besides the 37; 0 for none")
	c.Flags().StringSliceVar(&l.defences, "defence", nil, "only these `names`, separated by commas: "+strings.Join(leakageNames(), " "))
	judgeFlags(c, &l.judge, &l.judgeModel)
}

// judgeFlags are those that name the endpoint of a judge.
func judgeFlags(c *cobra.Command, url, model *string) {
	c.Flags().StringVar(url, "judge", os.Getenv("MARGAY_JUDGE_URL"), "base `URL` of an OpenAI-compatible API for the row judge (default $MARGAY_JUDGE_URL)")
	c.Flags().Lookup("judge").DefValue = ""
	c.Flags().StringVar(model, "judge-model", "", "the judge's `model`; its key is $MARGAY_JUDGE_KEY")
}

// endpoint is one that flags name, wherever it is: benchmarks have no secrets
// but made-up ones. A small model on a busy processor takes minutes.
func endpoint(url, model string) completion.Config {
	return completion.Config{BaseURL: url, Model: model, Key: os.Getenv("MARGAY_JUDGE_KEY"), Remote: true, Timeout: 5 * time.Minute}
}

func checkLeakage(o *options) error {
	return checkDefences(o.leakage.defences, leakageNames())
}

// checkDefences holds names to those that there are.
func checkDefences(given, names []string) error {
	for _, n := range given {
		if !slices.Contains(names, n) {
			return usage("defences are "+strings.Join(names, " "), "unknown defence %q", n)
		}
	}
	return nil
}

func runLeakage(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	l := leakage.Options{Seed: o.seed, Generated: o.n, Progress: o.progress}
	if o.n < 0 {
		l.Generated = 222
	}
	if o.quick {
		l.Generated = 37
	}
	var notes []string
	all := leakage.Defences(lexical.Screener{})
	switch {
	case o.leakage.judge == "":
		notes = append(notes, "judge skipped: no endpoint configured")
	case o.quick:
		notes = append(notes, "judge skipped: a quick run asks none")
	default:
		j, err := judge.New(endpoint(o.leakage.judge, o.leakage.judgeModel))
		if err != nil {
			return nil, nil, usage("give --judge and --judge-model", "%w", err)
		}
		all = append(all, leakage.Defence{Name: judgeName, Screen: j})
		notes = append(notes, "judge: "+o.leakage.judgeModel)
	}
	for _, d := range all {
		if len(o.leakage.defences) == 0 || slices.Contains(o.leakage.defences, d.Name) {
			l.Defences = append(l.Defences, d)
		}
	}
	r, err := leakage.Run(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, notes...)
	return r, nil, nil
}
