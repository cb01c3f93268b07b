package app

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/bench"
	"github.com/margaydev/margay/bench/dojo"
	"github.com/margaydev/margay/bench/dojo/episode"
	"github.com/margaydev/margay/bench/report"
)

// dojoOptions are those of the suite dojo alone.
type dojoOptions struct {
	defences []string
	typed    bool
}

func dojoDefences() []dojo.Defence {
	return []dojo.Defence{dojo.Undefended(), dojo.ToolFilter(), dojo.Confirm()}
}

func dojoNames() []string {
	var out []string
	for _, d := range dojoDefences() {
		out = append(out, d.Name)
	}
	return out
}

func dojoFlags(c *cobra.Command, o *benchOptions) {
	c.Flags().IntVar(&o.n, "n", 0, "episodes of each suite and kind; 0 for all")
	c.Flags().StringSliceVar(&o.dojo.defences, "defence", nil, "only these `names`, separated by commas: "+strings.Join(dojoNames(), " "))
	c.Flags().BoolVar(&o.dojo.typed, "typed", true, "also with the injected texts in typed fields")
}

func checkDojo(o *benchOptions) error { return checkDefences(o.dojo.defences, dojoNames()) }

func runDojo(ctx context.Context, o *benchOptions) (*bench.Result, []report.Figure, error) {
	if o.data == "" {
		return nil, nil, errNoData
	}
	set, err := episode.Load(o.data)
	if err != nil {
		return nil, nil, err
	}
	d := dojo.Options{Set: set, Seed: o.seed, N: max(0, o.n), Typed: o.dojo.typed, Progress: o.progress}
	if o.quick {
		d.N, d.Typed = 2, true
	}
	for _, f := range dojoDefences() {
		if len(o.dojo.defences) == 0 || slices.Contains(o.dojo.defences, f.Name) {
			d.Defences = append(d.Defences, f)
		}
	}
	r, err := dojo.Run(ctx, d)
	return r, nil, err
}
