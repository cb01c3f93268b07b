package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	defender "github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/tagger"
)

func (a *app) trainTaggerCommand() *cobra.Command {
	var out string
	var attack int
	o := tagger.Options{}
	c := &cobra.Command{
		Use: "tagger", Short: "Train the defender that reads",
		Long: "Train the network of defend/tagger on texts made from a seed, calibrate it on templates that the training has not seen, and measure it " +
			"on templates, words and a category that neither has. The same seed, steps and Go release give the same weights on one architecture. " +
			"FILE gets the weights; the card goes beside it, as .json. With --fold, all templates of a category are left out of training and calibration.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if attack > 0 {
				return a.attackTagger(cmd.Context(), o.Seed, attack)
			}
			if out == "" && o.Fold == "" {
				return usage("margay-lab train tagger --out FILE", "--out is needed, unless a --fold is only measured")
			}
			if o.Steps < 1 || o.Texts < 1 {
				return usage("margay-lab train tagger --steps 100 --texts 50", "--steps and --texts are at least 1")
			}
			if out != "" {
				o.Checkpoint = out + ".checkpoint"
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			o.Progress = func(s string) { a.Note("%s", s) }
			file, card, err := tagger.Run(ctx, o)
			switch {
			case errors.Is(err, tagger.ErrCheckpoint):
				return failure("remove it, or train with the options that it was made with", "%w: %s", err, o.Checkpoint)
			case err != nil:
				return failure("--resume goes on from the last checkpoint", "%w", err)
			}
			if out != "" {
				b, err := json.MarshalIndent(card, "", " ")
				if err == nil {
					err = cli.WriteFile(out, file)
				}
				if err == nil {
					err = cli.WriteFile(strings.TrimSuffix(out, filepath.Ext(out))+".json", append(b, '\n'))
				}
				if err != nil {
					return failure("is the folder there, and yours?", "the weights can't be written: %w", err)
				}
				_ = os.Remove(o.Checkpoint)
			}
			return a.Print(card, func(w io.Writer) { taggerTable(w, card) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` for the weights")
	c.Flags().StringVar(&o.Fold, "fold", "", "`category` to leave out and measure on")
	c.Flags().IntVar(&attack, "attack", 0, "train nothing: play this `number` of texts of authors who work against the network that is shipped")
	c.Flags().BoolVar(&o.Resume, "resume", false, "go on from FILE.checkpoint")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of texts and weights")
	c.Flags().IntVar(&o.Steps, "steps", 6000, "batches of 32 texts to train on")
	c.Flags().IntVar(&o.Texts, "texts", 1000, "texts of each slice to measure on")
	return c
}

// attackTagger measures how often a private sentence counts as clear under attack.
func (a *app) attackTagger(ctx context.Context, seed uint64, n int) error {
	m, err := defender.Default()
	if err != nil {
		return err
	}
	got, err := tagger.Attacked(ctx, m, seed, n)
	if err != nil {
		return err
	}
	return a.Print(got, func(w io.Writer) {
		cli.Fprintf(w, "%d texts, seed %d: %.4f come through as they are, %.4f in the best of %d variants (at most %.4f)\n", got.Texts, seed, got.Plain, got.Passed, got.Variants+1, got.Bound)
	})
}

func taggerTable(w io.Writer, c *tagger.Card) {
	r := results.Result{Suite: "train tagger", Seed: c.Seed, N: c.Texts}
	for _, row := range c.Rows {
		r.Rows = append(r.Rows, results.Row{Defence: "tagger", Slice: row.Slice, Metrics: row.Metrics})
	}
	r.Table(w)
}
