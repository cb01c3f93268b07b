package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/lab/calibrate"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// calibrateOptions are those of the suite calibrate alone.
type calibrateOptions struct {
	gates                  bool
	annotations            string // file
	costs                  string // file
	defence                string
	stressURL, stressModel string
	scoresURL, scoresModel string

	annotated []calibrate.Annotation
	extra     calibrate.Extra
	found     []calibrate.Gate
}

func calibrateFlags(c *cobra.Command, o *options) {
	k := &o.calibrate
	c.Flags().IntVar(&o.n, "n", 500, "trajectories to calibrate on, and as many others to report on")
	c.Flags().BoolVar(&k.gates, "gates", false, "list the gates of the pre-registrations, and exit with 3 if one fails")
	c.Flags().StringVar(&k.annotations, "annotations", "", "`file` with JSON lines of {item, annotator, necessity}, for the gate of agreement")
	c.Flags().StringVar(&k.costs, "costs", "", "`file` to write what rubrics charge to, against calibrated costs: by field, operator and level")
	c.Flags().StringVar(&k.defence, "defence", taggerName, "the `defence` whose coverage and escapes are measured: "+rulesName+" or "+taggerName)
	c.Flags().StringVar(&o.traj.world, "world", "", "`folder` of a world, as docs/format/world.md has it (default worlds/dev, which is built in)")
	c.Flags().StringVar(&o.traj.rubrics, "rubrics", "", "`folder` of rubrics, as YAML (default the library's)")
	c.Flags().StringVar(&o.traj.url, "guesser", "", "base `URL` of an OpenAI-compatible API whose model joins the calibration pool; its key is $MARGAY_JUDGE_KEY")
	c.Flags().StringVar(&o.traj.model, "guesser-model", "", "that `model`")
	c.Flags().StringVar(&k.stressURL, "stress-guesser", "", "base `URL` of another, whose model joins the stress pool")
	c.Flags().StringVar(&k.stressModel, "stress-guesser-model", "", "that `model`, which must be another one")
	c.Flags().StringVar(&k.scoresURL, "scorer", "", "base `URL` of an OpenAI-compatible API that scores prompts (/completions with echo), as scripts/smollm2 does; its model's likelihoods join the stress pool")
	c.Flags().StringVar(&k.scoresModel, "scorer-model", "", "that `model`")
}

func checkCalibrate(o *options) (err error) {
	if o.nGiven && o.n < 1 {
		return usage("give 1 or more", "--n %d is too few", o.n)
	}
	if err := checkDefences([]string{o.calibrate.defence}, []string{rulesName, taggerName}); err != nil {
		return err
	}
	if o.calibrate.annotated, err = annotations(o.calibrate.annotations); err != nil {
		return err
	}
	if o.calibrate.extra, err = models(o); err != nil {
		return err
	}
	return openWorld(o)
}

func runCalibrate(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	mine, err := newOurs(o)
	if err != nil {
		return nil, nil, err
	}
	begin := mine.plain
	if o.calibrate.defence == taggerName {
		begin = mine.tagged
	}
	d, err := begin()
	if err != nil {
		return nil, nil, err
	}
	resolve, rubrics, signed, err := mine.rubrics.Registered()
	if err != nil {
		return nil, nil, err
	}
	c := calibrate.Options{
		World: o.world(), Seed: o.seed, N: o.n, Defence: d, Resolve: resolve, Rubrics: rubrics, Progress: o.progress, Annotations: o.calibrate.annotated, Extra: o.calibrate.extra,
		Signed: func(r *rubric.Rubric) bool { return slices.Contains(signed, r.Hash()) },
	}
	if o.n < 0 {
		c.N = 500
	}
	if o.quick {
		c.N = 24
	}
	r, err := calibrate.Run(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	if o.traj.note != "" {
		r.Notes = append(r.Notes, o.traj.note)
	}
	o.calibrate.found = r.Gates
	return r.Result, nil, writeCharges(o.calibrate.costs, r.Charges)
}

func writeCharges(file string, all []calibrate.Charge) error {
	if file == "" {
		return nil
	}
	var b bytes.Buffer
	err := calibrate.WriteCharges(&b, all)
	if err == nil {
		err = os.WriteFile(file, b.Bytes(), 0o644) //nolint:gosec // a list of figures, for all to read
	}
	if err != nil {
		return failure("give --costs a file that can be written", "%s can't be written: %w", file, cli.Reason(err))
	}
	return nil
}

func models(o *options) (calibrate.Extra, error) {
	var out calibrate.Extra
	for _, m := range []struct {
		url, model, flag string
		to               *calibrate.Model
		name             *string
	}{
		{o.traj.url, o.traj.model, "--guesser", &out.Model, &out.ModelName},
		{o.calibrate.stressURL, o.calibrate.stressModel, "--stress-guesser", &out.Stress, &out.StressName},
	} {
		if m.url == "" {
			continue
		}
		l, err := adversary.NewLLM(endpoint(m.url, m.model))
		if err != nil {
			return out, usage("give "+m.flag+" and "+m.flag+"-model", "%w", err)
		}
		*m.to, *m.name = l, m.model
	}
	if k := &o.calibrate; k.scoresURL != "" {
		l, err := adversary.NewLikelihoods(endpoint(k.scoresURL, k.scoresModel), world.Joint())
		if err != nil {
			return out, usage("give --scorer and --scorer-model", "%w", err)
		}
		out.Scores, out.ScoresName = l, k.scoresModel
	}
	return out, nil
}

func annotations(file string) ([]calibrate.Annotation, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, failure("give a file of JSON lines", "%s can't be read: %w", file, cli.Reason(err))
	}
	all, err := calibrate.ReadAnnotations(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, failure(`each line is {"item": …, "annotator": …, "necessity": …}`, "%s: %w", file, err)
	}
	return all, nil
}

// judgeCalibrate lists the gates, if they were asked for.
func judgeCalibrate(o *options) error {
	if !o.calibrate.gates {
		return nil
	}
	printGates(o.out, o.calibrate.found)
	if n := len(calibrate.Failed(o.calibrate.found)); n > 0 {
		return &problem.Error{Code: problem.Findings, Err: fmt.Errorf("%s failed", plural(n, "gate")), Hint: "the list says what was found"}
	}
	return nil
}

func printGates(w io.Writer, all []calibrate.Gate) {
	for i := range all {
		g := &all[i]
		verdict := "passes"
		switch {
		case g.Missing != "":
			verdict = "not measured: " + g.Missing
		case g.Bad != "":
			verdict = "FAILS: " + g.Bad
		}
		fmt.Fprintf(w, "%s  %s: %.4g (limit %.4g)  %s\n", g.Name, g.What, g.Value, g.Limit, verdict)
	}
}
