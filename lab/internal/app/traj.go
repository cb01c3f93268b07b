package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	trajworld "github.com/margaydev/margay/lab/traj/world"
)

// trajOptions are those of the suites traj and robust alone.
type trajOptions struct {
	defences []string
	seeds    int
	rubrics  string
	causes   string // file for what defences failed by
	respell  bool   // robust: known values spelled differently, instead of attacks
	url      string // of an adversary
	model    string
	world    string // folder
	names    string // of arguments: empty or redrawn
	folds    string // folder of networks

	setting *trajworld.Setting // that world's; nil: dev
	note    string             // about the list of runs
}

func (o *options) world() *trajworld.Setting {
	if o.traj.setting == nil {
		return trajworld.Dev()
	}
	return o.traj.setting
}

func trajFlags(c *cobra.Command, o *options) {
	c.Flags().StringVar(&o.traj.url, "guesser", "", "base `URL` of an OpenAI-compatible API that also guesses secrets; its key is $MARGAY_JUDGE_KEY")
	c.Flags().StringVar(&o.traj.model, "guesser-model", "", "the guesser's `model`")
	c.Flags().IntVar(&o.n, "n", 500, "trajectories of each seed")
	c.Flags().IntVar(&o.traj.seeds, "seeds", traj.Seeds, "seeds, from --seed on")
	c.Flags().StringVar(&o.traj.causes, "causes", "", "write to a `file` why steps failed and what disclosed the bits, and skip ablations; for seeds from 100 on")
	c.Flags().StringVar(&o.traj.names, "names", "", "redrawn adds rows on the same trajectories with the names of arguments drawn `anew`")
	c.Flags().StringVar(&o.traj.folds, "folds", "", "`folder` of networks that margay-lab train tagger --folds made: rows of rules+tagger with each category held out, in place of ablations")
	trajOwnFlags(c, o)
}

func robustFlags(c *cobra.Command, o *options) {
	c.Flags().IntVar(&o.n, "n", 120, "people of each seed; with --respell spellings for each recipient and argument (default twice the forms)")
	c.Flags().IntVar(&o.traj.seeds, "seeds", traj.Seeds, "seeds, from --seed on; --respell takes one")
	c.Flags().BoolVar(&o.traj.respell, "respell", false, "measure whether a released value is found again in other spellings, instead of the attacks")
	c.Flags().StringVar(&o.traj.causes, "causes", "", "with --respell: write to a `file` which spellings were missed; for seeds from 100 on")
	trajOwnFlags(c, o)
}

func trajOwnFlags(c *cobra.Command, o *options) {
	t := &o.traj
	c.Flags().StringSliceVar(&t.defences, "defence", nil, "only these `names`, separated by commas: "+strings.Join(trajNames(), " "))
	c.Flags().StringVar(&t.world, "world", "", "`folder` of a world, as docs/format/world.md has it (default worlds/dev, which is built in)")
	c.Flags().StringVar(&t.rubrics, "rubrics", "", "`folder` of rubrics, as YAML, for Margay's own rows (default the library's)")
}

func trajNames() []string { return append([]string{rulesName, taggerName}, defence.Names()...) }

func checkTraj(o *options) error {
	if o.traj.seeds < 1 {
		return usage("give 1 or more", "--seeds %d is none", o.traj.seeds)
	}
	if o.traj.causes != "" && o.seed < traj.DevelopmentSeed {
		return usage("give --seed 100 or above", "--causes shows what is evaluated on seed %d", o.seed)
	}
	if o.traj.names != "" && o.traj.names != "redrawn" {
		return usage("leave --names out, or give redrawn", "--names %q is unknown", o.traj.names)
	}
	if err := checkDefences(o.traj.defences, trajNames()); err != nil {
		return err
	}
	if o.traj.folds != "" && !wants(o, taggerName) {
		return usage("give --defence "+taggerName, "--folds is for %s", taggerName)
	}
	return openWorld(o)
}

func checkRobust(o *options) error {
	switch {
	case o.traj.causes != "" && !o.traj.respell:
		return usage("give --respell as well", "--causes is for respellings")
	case o.traj.respell && len(o.traj.defences) > 0:
		return usage("leave --defence out", "--respell measures %s alone", rulesName)
	}
	return checkTraj(o)
}

func wants(o *options, name string) bool {
	return len(o.traj.defences) == 0 || slices.Contains(o.traj.defences, name)
}

// trajDefences are those that were asked for, or all: the others, then ours,
// where there are rubrics for them.
func trajDefences(o *options) (all []defence.Defence, mine *ours, notes []string, err error) {
	if all, err = defence.Baselines(); err != nil {
		return nil, nil, nil, err
	}
	all = slices.DeleteFunc(all, func(d defence.Defence) bool { return !wants(o, d.Name()) })
	if !wants(o, rulesName) && !wants(o, taggerName) {
		return all, nil, nil, nil
	}
	mine, err = newOurs(o)
	if note, none := noOurs(err); none {
		return all, nil, []string{note}, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if wants(o, rulesName) {
		d, err := mine.plain()
		if err != nil {
			return nil, nil, nil, err
		}
		all = append(all, d)
	}
	if wants(o, taggerName) {
		d, err := mine.tagged()
		if err != nil {
			return nil, nil, nil, err
		}
		all = append(all, d)
	}
	return all, mine, nil, nil
}

func runTraj(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	all, mine, notes, err := trajDefences(o)
	if err != nil {
		return nil, nil, err
	}
	if o.traj.note != "" {
		notes = append(notes, o.traj.note)
	}
	t := traj.Options{World: o.world(), Redrawn: o.traj.names == "redrawn", Seed: o.seed, Seeds: o.traj.seeds, N: o.n, Defences: all, Compare: rulesName, Progress: o.progress, Causes: o.traj.causes != ""}
	if o.n < 0 {
		t.N, t.Seeds = 500, traj.Seeds
	}
	if o.quick {
		t.N, t.Seeds = 24, 1
	}
	if o.traj.url != "" && !o.quick {
		guesser, err := adversary.NewLLM(endpoint(o.traj.url, o.traj.model))
		if err != nil {
			return nil, nil, usage("give --guesser and --guesser-model", "%w", err)
		}
		t.Guesser = guesser
	}
	if mine != nil && !t.Causes {
		note := ""
		if t.Ablations, note, err = mine.rows(o); err != nil {
			return nil, nil, err
		}
		notes = append(notes, note)
	}
	r, rep, err := traj.Run(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, notes...)
	if t.Causes {
		if err := writeCauses(o.traj.causes, rep); err != nil {
			return nil, nil, err
		}
	}
	return r, trajFigures(r, rep), nil
}

// rows are those in slices of their own, of the defences that were asked for, with a
// note on them.
func (o *ours) rows(opts *options) ([]traj.Ablation, string, error) {
	if opts.traj.folds != "" {
		rows, card, err := o.folds(opts.traj.folds, opts.world())
		if err != nil {
			return nil, "", err
		}
		return rows, fmt.Sprintf("loro=…: the network was trained and calibrated without the category's subject; loco=…: without its domain's; fold=none: without nothing. All of them: %d steps, seed %d. The category has its own rubric", card.Steps, card.Seed), nil
	}
	var out []traj.Ablation
	var failed error
	add := func(some []traj.Ablation, err error) { out, failed = append(out, some...), errors.Join(failed, err) }
	if wants(opts, rulesName) {
		add(o.ablations())
		add(o.held(opts.world()))
	}
	if wants(opts, taggerName) {
		add(o.taggerAblations())
	}
	return out, "loro=… of rules: the category's rubric is held out, and the fallback holds; loco=… of rules: the nearest category's replaces it. Nothing is trained or calibrated on trajectories", failed
}

func writeCauses(name string, rep *traj.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(rep.WriteCauses(f), f.Close())
}

// trajFigures are the growth of leakage with the steps, and what defences pay
// for it in success.
func trajFigures(r *results.Result, rep *traj.Report) []report.Figure {
	var curves report.Lines
	for _, c := range rep.Curves {
		l := report.Line{Name: c.Defence, Y: c.Bits}
		for i := range c.Bits {
			l.X = append(l.X, float64(i+1))
		}
		if len(l.X) > 0 {
			curves.Series = append(curves.Series, l)
		}
	}
	curves.Levels = []report.Level{{Name: fmt.Sprintf("%d bits", traj.BudgetBits), At: traj.BudgetBits}}
	var front report.Scatter
	for i := range r.Rows {
		row := &r.Rows[i]
		leak, ok := row.Metrics["leak_bits"]
		if row.Slice == "all" && ok {
			front.Points = append(front.Points, report.Point{Name: row.Defence, X: leak, Y: row.Metrics["task_success"]})
		}
	}
	return []report.Figure{
		{
			Title: "Leakage over fifty steps", X: "step", Y: "leak_bits so far", Plot: curves, Alt: "A line for each defence: what sinks other than required services have learnt after each step",
			Caption: "Mean over the trajectories of fifty steps (OCELOT, Figure 4). Who counts what is known already stops growing; who looks at one release at a time does not.",
		},
		{
			Title: "Leakage against success", X: "leak_bits", Y: "share of tasks that succeed", Plot: front, Alt: "Points, one for each defence: leakage to the right, success upwards",
			Caption: "To the left less is learnt, upwards more tasks succeed (OCELOT, Figure 3). The oracle is what nobody can beat whose tasks succeed.",
		},
	}
}
