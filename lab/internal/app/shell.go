package app

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/effects"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

const shellLong = `Analyse labelled shell commands, and count those whose effects differ from their
labels. A FILE has one command a line, as JSON; without one, the commands of
lab/effects/testdata are taken, whose README says how they were labelled.`

func shellFlags(c *cobra.Command, o *options) {
	c.Long = shellLong
	c.Flags().StringVar(&o.missed, "list", "", "write the commands whose effects differ to a `file`, as JSON lines")
}

func checkShell(o *options) error {
	if len(o.files) > 1 {
		return usage("give one file", "shell takes one FILE")
	}
	return nil
}

func runShell(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	s := effects.ShellOptions{}
	if len(o.files) == 1 {
		s.File = o.files[0]
	}
	var list bytes.Buffer
	if o.missed != "" {
		e := json.NewEncoder(&list)
		e.SetEscapeHTML(false)
		s.Missed = func(m *effects.Missed) { _ = e.Encode(m) } // a buffer takes it
	}
	r, err := effects.RunShell(ctx, s)
	if err == nil && o.missed != "" {
		err = cli.WriteFile(o.missed, list.Bytes())
	}
	return r, nil, err
}
