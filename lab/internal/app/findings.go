package app

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/findings"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

type findingsOptions struct {
	sets []string
	list string
}

func findingsFlags(c *cobra.Command, o *options) {
	c.Flags().IntVar(&o.n, "n", 0, "sessions of each set; 0 for all")
	c.Flags().StringSliceVar(&o.findings.sets, "set", nil, "only these `sets` of recorded sessions")
	c.Flags().StringVar(&o.findings.list, "list", "", "write the findings to a `file`, redacted, as JSON lines for a person to judge")
}

func runFindings(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.data == "" {
		return nil, nil, errNoData
	}
	f := findings.Options{Data: o.data, Sets: o.findings.sets, N: max(0, o.n), Progress: o.progress}
	if o.quick {
		f.N = 2
	}
	var list bytes.Buffer
	if o.findings.list != "" {
		e := json.NewEncoder(&list)
		e.SetEscapeHTML(false)
		f.Found = func(x *findings.Finding) { _ = e.Encode(x) } // a buffer takes it
	}
	r, err := findings.Run(ctx, f)
	if err == nil && o.findings.list != "" {
		err = cli.WriteFile(o.findings.list, list.Bytes())
	}
	return r, nil, err
}
