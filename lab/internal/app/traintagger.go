package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	defender "github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/tagger"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

func (a *app) trainTaggerCommand() *cobra.Command {
	var out, sweep, folds, worldDir string
	var attack, tasks int
	o := tagger.Options{}
	c := &cobra.Command{
		Use: "tagger", Short: "Train the defender that reads",
		Long: "Train the network of defend/tagger on texts made from a seed, calibrate it on templates that the training has not seen, and measure it " +
			"on templates, words and a category that neither has. The same seed, steps and Go release give the same weights on one architecture. " +
			"FILE gets the weights; the card goes beside it, as .json. With --fold, the subject of a category is left out of training and calibration, as lab/tagger/folds.txt says. " +
			"With --folds, FOLDER gets the weights and cards of a fold for each category, for each domain, and of none: those that it has from the same corpus and options are kept.\n\n" +
			"With --grpo, a second stage follows. It labels and screens each of many steps of worlds/dev in several ways, and learns from what the verifier says each is worth (margay-lab reward). " +
			"The paper's reward charges nothing for what the network leaves out and no clause finds, so it teaches the network to release more. By default this stage departs from it: " +
			"the share of mentions that escape, which a simulated world knows, is taken off, times --escapes. With --escapes 0 the reward is the paper's.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if attack > 0 {
				return a.attackTagger(cmd.Context(), o.Seed, attack)
			}
			if folds != "" {
				return a.trainFolds(cmd.Context(), folds, worldDir, &o)
			}
			if out == "" && o.Fold == "" && sweep == "" {
				return usage("margay-lab train tagger --out FILE", "--out is needed, unless a --fold is only measured")
			}
			if o.Steps < 1 || o.Texts < 1 || o.Policy.Steps < 0 || tasks < 1 {
				return usage("margay-lab train tagger --steps 100 --texts 50", "--steps, --texts and --tasks are at least 1, --grpo at least 0")
			}
			if o.Policy.Steps == 0 && sweep != "" {
				return usage("margay-lab train tagger --sweep FILE --grpo 100", "--sweep needs --grpo")
			}
			kept := o.Checkpoint != ""
			if out != "" && !kept {
				o.Checkpoint = out + ".checkpoint"
			}
			if o.Policy.Steps > 0 {
				mine, err := newOurs(&options{})
				if err != nil {
					return err
				}
				if o.Margay, err = mine.rubrics.Config(defence.MargayConfig{Deadline: time.Minute}); err != nil {
					return err
				}
				if err := o.Policy.Check(o.Margay); err != nil {
					return usage("--beta 0.5 --lambda 1 --escapes 2 --tasks-seed 300", "%w", err)
				}
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			o.Progress = func(s string) { a.Note("%s", s) }
			if sweep != "" {
				return a.sweepTagger(ctx, sweep, &tagger.SweepOptions{Options: o, Tasks: tasks})
			}
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
				if !kept {
					_ = os.Remove(o.Checkpoint)
				}
				_ = os.Remove(o.Checkpoint + ".grpo")
			}
			return a.Print(card, func(w io.Writer) { taggerTable(w, card) })
		},
	}
	c.Flags().StringVar(&out, "out", "", "`file` for the weights")
	c.Flags().StringVar(&o.Fold, "fold", "", "`category` to leave out and measure on")
	c.Flags().StringVar(&folds, "folds", "", "train all folds, into a `folder`")
	c.Flags().StringVar(&worldDir, "world", "", "with --folds: only the categories of the world in a `folder`")
	c.Flags().IntVar(&attack, "attack", 0, "train nothing: play this `number` of texts of authors who work against the network that is shipped")
	c.Flags().StringVar(&o.Checkpoint, "checkpoint", "", "`file` of the checkpoint, which is then kept (default FILE.checkpoint)")
	c.Flags().BoolVar(&o.Resume, "resume", false, "go on from the checkpoint")
	c.Flags().IntVar(&o.Policy.Steps, "grpo", 0, "batches of the second stage; 0 for none")
	c.Flags().Float64Var(&o.Policy.Beta, "beta", .5, "weight of fallback in the reward")
	c.Flags().Float64Var(&o.Policy.Lambda, "lambda", 1, "factor of the rubrics' weights of what recipients other than required services learn, 1 or more")
	c.Flags().Float64Var(&o.Policy.Escapes, "escapes", 2, "weight of mentions that escape; 0 is the paper's reward")
	c.Flags().Uint64Var(&o.Policy.Seed, "tasks-seed", tagger.TaskSeed, "seed of the second stage's tasks, 100 or above")
	c.Flags().StringVar(&sweep, "sweep", "", "train the second stage once for each β and λ, and write to a `file` what each gives on categories that it has not seen")
	c.Flags().IntVar(&tasks, "tasks", 240, "tasks of worlds/dev that a sweep measures; a third of them is of such categories")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of texts and weights")
	c.Flags().IntVar(&o.Steps, "steps", 6000, "batches of 32 texts to train on")
	c.Flags().IntVar(&o.Texts, "texts", 1000, "texts of each slice to measure on")
	return c
}

// sweepTagger writes the result after each row, so that --resume goes on from it.
func (a *app) sweepTagger(ctx context.Context, file string, o *tagger.SweepOptions) error {
	o.Keep = func(r *results.Result) error {
		r.Revision = cli.Version()["revision"]
		return saveResult(file, r)
	}
	if o.Resume {
		if r, err := readResult(file); err == nil {
			o.Done = r
		}
	}
	r, err := tagger.Sweep(ctx, o)
	switch {
	case errors.Is(err, tagger.ErrCheckpoint):
		return failure("remove it, or train with the options that it was made with", "%w: %s", err, o.Checkpoint)
	case err != nil:
		return failure("--resume goes on from the last row", "%w", err)
	}
	return a.Print(r, r.Table)
}

// trainFolds trains the folds of all categories, or of a world's, one after another.
func (a *app) trainFolds(ctx context.Context, dir, worldDir string, o *tagger.Options) error {
	var of []string
	if worldDir != "" {
		s, err := world.Open(os.DirFS(worldDir))
		if err != nil {
			return failure("margay-lab world lint "+worldDir+" lists every mistake", "%s: %w", worldDir, err)
		}
		of = s.Categories()
	}
	names, err := foldNames(of)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return failure("give another folder", "%w", err)
	}
	ctx, stop := cli.Interrupts(ctx)
	defer stop()
	cards := map[string]*tagger.Card{}
	for i, fold := range names {
		cards[fold], err = tagger.TrainFold(ctx, dir, fold, tagger.FoldOptions{
			Seed: o.Seed, Steps: o.Steps, Texts: o.Texts,
			Progress: func(s string) { a.Note("%s, %d of %d: %s", fold, i+1, len(names), s) },
		})
		if err != nil {
			return failure("the same command goes on where it stopped", "%s: %w", fold, err)
		}
	}
	return a.Print(cards, func(w io.Writer) {
		r := results.Result{Suite: "train tagger", Seed: o.Seed, N: o.Texts}
		for _, fold := range names {
			for _, row := range cards[fold].Rows {
				r.Rows = append(r.Rows, results.Row{Defence: fold, Slice: row.Slice, Metrics: row.Metrics})
			}
		}
		r.Table(w)
	})
}

// foldNames are the folds that categories need: all where none are named. The one
// that leaves nothing out is the first.
func foldNames(of []string) ([]string, error) {
	all, domain := tagger.FoldCategories()
	if len(of) == 0 {
		of = all
	}
	names := []string{tagger.FoldNone}
	var domains []string
	for _, c := range of {
		if domain[c] == "" {
			return nil, failure("lab/tagger/folds.txt lists the subject of each category", "there is no fold of the category %s", c)
		}
		names = append(names, c)
		if !slices.Contains(domains, domain[c]) {
			domains = append(domains, domain[c])
		}
	}
	return append(names, domains...), nil
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
