package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/effects"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

const effectsLong = `Score what the shipped classifier proposes for labelled tools of real MCP servers.
A FILE has one label a line, as lab/effects/LABELS.md says; without one, the labels
of lab/effects/testdata are taken. The definitions are other people's: scripts/mcp-tools
fetch gets them. Servers are in three parts; the classifier was fitted to the first,
and its rules were chosen on the second.`

// effectsOptions are those of the suite effects.
type effectsOptions struct {
	paths effects.Paths
	other string
	parts []string
}

func pathFlags(c *cobra.Command, p *effects.Paths) {
	c.Flags().StringVar(&p.Definitions, "definitions", "", "`folder` of definitions (default $MCP_TOOLS_CACHE/definitions, or .cache/mcp-tools/definitions)")
	c.Flags().StringVar(&p.Split, "split", "", "`file` that says which part each server is in (default that of lab/effects/testdata)")
}

func effectsFlags(c *cobra.Command, o *options) {
	c.Long = effectsLong
	pathFlags(c, &o.effects.paths)
	c.Flags().StringVar(&o.effects.other, "other", "", "`file` with labels of a second labeller (default that of lab/effects/testdata, if it is there)")
	c.Flags().StringSliceVar(&o.effects.parts, "part", []string{effects.Dev, effects.Test}, "`parts` to score, separated by commas: train, dev, test")
	c.Flags().StringVar(&o.missed, "list", "", "write the tools whose effects differ to a `file`, as JSON lines")
}

func checkEffects(o *options) error {
	if len(o.files) > 1 {
		return usage("give one file", "effects takes one FILE")
	}
	if err := effects.CheckParts(o.effects.parts); err != nil {
		return usage("--part train,dev,test", "%w", err)
	}
	return nil
}

func runEffects(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	e := effects.ToolsOptions{Paths: o.effects.paths, Other: o.effects.other, Parts: o.effects.parts}
	if len(e.Parts) == 0 {
		e.Parts = []string{effects.Dev, effects.Test}
	}
	if len(o.files) == 1 {
		e.Labels = o.files[0]
	}
	if e.Definitions == "" {
		e.Definitions = effects.Cache()
	}
	var list bytes.Buffer
	if o.missed != "" {
		enc := json.NewEncoder(&list)
		enc.SetEscapeHTML(false)
		e.Missed = func(m *effects.MissedTool) { _ = enc.Encode(m) } // a buffer takes it
	}
	r, err := effects.RunTools(ctx, e)
	if err == nil && o.missed != "" {
		err = cli.WriteFile(o.missed, list.Bytes())
	}
	return r, nil, err
}

func (a *app) trainEffectsCommand() *cobra.Command {
	var out string
	o := effects.TrainOptions{}
	c := &cobra.Command{
		Use: "effects", Short: "Fit the classifier of tools",
		Long: "Fit the classifier of tools to the labels of lab/effects/testdata. The weights are fitted to the servers that are there to train, " +
			"the rest is chosen on servers that a fit has not seen, and definitions of test servers are not read. " +
			"The same definitions and seed give the same model. FOLDER gets model.bin and model.json, its card.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usage("margay-lab train effects --out FOLDER", "--out is needed")
			}
			if o.Definitions == "" {
				o.Definitions = effects.Cache()
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			o.Progress = func(s string) { a.Note("%s", s) }
			m, card, err := effects.TrainTools(ctx, o)
			switch {
			case errors.Is(err, effects.ErrNoDefinitions), errors.Is(err, fs.ErrNotExist):
				return failure("scripts/mcp-tools fetch gets them, --definitions says where they are", "%w", err)
			case err != nil:
				return failure("lab/effects/LABELS.md has the format of labels", "%w", err)
			}
			b, err := json.MarshalIndent(card, "", " ")
			if err == nil {
				err = cli.WriteFile(filepath.Join(out, "model.bin"), m.Bytes())
			}
			if err == nil {
				err = cli.WriteFile(filepath.Join(out, "model.json"), append(b, '\n'))
			}
			if err != nil {
				return failure("is the folder there, and yours?", "the model can't be written: %w", err)
			}
			return a.Print(card, func(w io.Writer) { cardTable(w, card) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "`folder` for the model")
	c.Flags().StringVar(&o.Labels, "labels", "", "`file` of labels (default that of lab/effects/testdata)")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the folds")
	pathFlags(c, &o.Paths)
	return c
}

func cardTable(w io.Writer, c *effects.Card) {
	(&results.Result{Suite: "train effects", Seed: c.Seed, N: c.Train + c.Dev, Rows: []results.Row{
		{Defence: "margay", Slice: "held out", Metrics: c.Held}, {Defence: "margay", Slice: "dev alone", Metrics: c.OnDev},
	}}).Table(w)
}
