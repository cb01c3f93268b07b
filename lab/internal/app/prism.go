package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/prism"
	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// prismTasks is the number of tasks by default: all.
const prismTasks = 2000

// prismOptions are those of the suite prism alone.
type prismOptions struct {
	defences             []string
	model, traces, peers string
	judge, judgeModel    string
	judged, judgeRecord  string              // files of the judge's recorded answers, to read and to write
	recorded             bool                // measure on records alone
	replay               []string            // records of a real model to train and measure on, too
	ablate               bool                // measure variants of the risk model
	given                func(string) bool   // whether a flag was; nil without flags
	export               string              // write traces here instead of measuring
	record               prism.RecordOptions // Out: record there instead of measuring
	instruct             bool                // tell the recorded model the defence prompt's instruction
}

func prismFlags(c *cobra.Command, o *options) {
	p := &o.prism
	c.Flags().IntVar(&o.n, "n", prismTasks, "tasks; 0 for all")
	c.Flags().StringSliceVar(&p.defences, "defence", nil, "only these `names`, separated by commas: "+strings.Join(method.Names(), " "))
	c.Flags().StringVar(&p.model, "model", "", "`file` of the monitor's risk model (default the built-in one)")
	c.Flags().StringVar(&p.traces, "traces", "", "`folder` of traces to train the learned baselines on (default 400 tasks of the training repository)")
	c.Flags().StringVar(&p.peers, "peers", filepath.Join(".cache", "peers"), "`folder` where scripts/peers installed external scanners")
	c.Flags().StringVar(&p.judge, "judge", os.Getenv("MARGAY_JUDGE_URL"), "base `URL` of an OpenAI-compatible API for the baseline judge (default $MARGAY_JUDGE_URL)")
	c.Flags().Lookup("judge").DefValue = ""
	c.Flags().StringVar(&p.judgeModel, "judge-model", "", "the judge's `model`; its key is $MARGAY_JUDGE_KEY")
	c.Flags().StringVar(&p.judged, "judged", "", "`file` of the judge's recorded answers (default that of lab/prism/testdata, if it is there)")
	c.Flags().StringVar(&p.judgeRecord, "record-judge", "", "measure nothing: ask --judge about the outputs of the records of --replay, and keep its answers in a `file`")
	c.Flags().StringSliceVar(&p.replay, "replay", nil, "`files` that --record made, separated by commas: also measure on those of the evaluation repository, and under a monitor trained on the one of the training repository (default those of lab/prism/testdata, if it is there)")
	c.Flags().BoolVar(&p.ablate, "ablate", false, "also measure the risk model without each feature and class of features (default for 2,000 tasks)")
	p.given = c.Flags().Changed
	c.Flags().BoolVar(&p.recorded, "recorded", false, "measure on recordings alone, not on the simulation")
	c.Flags().StringVar(&p.record.Out, "record", "", "measure nothing: a real model plays the agents, and its answers go to a `file`; a second run continues where it stopped")
	c.Flags().StringVar(&p.record.BaseURL, "endpoint", "", "base `URL` of the OpenAI-compatible API to record, which must return log-probabilities; its key is $MARGAY_ENDPOINT_KEY")
	c.Flags().StringVar(&p.record.Model, "endpoint-model", "", "`name` of the model to record")
	c.Flags().StringVar(&p.record.ModelHash, "endpoint-hash", "", "`digest` of its weights, for the record")
	c.Flags().StringVar(&p.record.Server, "endpoint-server", "", "`name` and version of what serves it, for the record")
	c.Flags().BoolVar(&p.record.Varied, "varied", false, "record tasks of four styles at temperatures 0, 0.7 and 1, with telemetry where the server gives it (scripts/local does)")
	c.Flags().IntVar(&p.record.Workers, "workers", 1, "tasks to record at once")
	c.Flags().BoolVar(&p.instruct, "instruct", false, "also give the recorded model the instruction of the baseline prompt; such a record has no alternatives")
	c.Flags().StringVar(&p.record.Repository, "repository", "payments", "repository to record: payments (evaluation) or healthcare (training)")
	c.Flags().IntVar(&p.record.Vocabulary, "vocabulary", 0, "`number` of tokens in the recorded model's vocabulary")
	c.Flags().StringVar(&p.export, "export-traces", "", "measure nothing: write traces of the training repository to a `folder`")
}

// checkPrism finds mistakes in the flags before anything runs.
func checkPrism(o *options) error {
	for _, d := range o.prism.defences {
		if !slices.Contains(method.Names(), d) {
			return usage("defences are "+strings.Join(method.Names(), " "), "unknown defence %q", d)
		}
	}
	if p := &o.prism; p.judgeRecord != "" && (p.judge == "" || p.judgeModel == "" || len(p.replay) == 0) {
		return usage("scripts/local start prints an endpoint of a small model", "--record-judge needs --judge, --judge-model and --replay")
	}
	r := &o.prism.record
	if r.Out != "" && (r.BaseURL == "" || r.Model == "" || r.Vocabulary <= 0) {
		return usage("scripts/smollm2 starts a small model and says what they are", "--record needs --endpoint, --endpoint-model and --vocabulary")
	}
	return nil
}

// insteadOfPrism does what the suite's flags ask for instead of measuring.
func (a *app) insteadOfPrism(cmd *cobra.Command, o *options) (done bool, err error) {
	if err := checkPrism(o); err != nil {
		return true, err
	}
	switch {
	case o.prism.export != "":
		return true, a.exportTraces(cmd, o)
	case o.prism.record.Out != "":
		return true, a.recordModel(cmd, o)
	case o.prism.judgeRecord != "":
		return true, a.recordJudge(cmd, o)
	}
	return false, nil
}

// recordModel records a real model.
func (a *app) recordModel(cmd *cobra.Command, o *options) error {
	ctx, stop := cli.Interrupts(cmd.Context())
	defer stop()
	r := o.prism.record
	r.Seed, r.Key, r.Progress = o.seed, os.Getenv("MARGAY_ENDPOINT_KEY"), o.progress
	if cmd.Flags().Changed("n") {
		r.N = o.n
	}
	if o.prism.instruct {
		r.Instruction = method.Instruction
	}
	err := prism.Record(ctx, r)
	o.progress("")
	if err != nil {
		return failure("the same command goes on where it stopped", "%w", err)
	}
	return a.Print(map[string]string{"record": r.Out}, func(w io.Writer) { fmt.Fprintln(w, r.Out) })
}

// recordJudge records what a judge says of records.
func (a *app) recordJudge(cmd *cobra.Command, o *options) error {
	ctx, stop := cli.Interrupts(cmd.Context())
	defer stop()
	p := &o.prism
	err := prism.RecordJudge(ctx, prism.JudgeOptions{
		Records: p.replay, Judge: endpoint(p.judge, p.judgeModel), ModelHash: p.record.ModelHash, Out: p.judgeRecord, Workers: p.record.Workers, Progress: o.progress,
	})
	o.progress("")
	if err != nil {
		return failure("the same command goes on where it stopped", "%w", err)
	}
	return a.Print(map[string]string{"record": p.judgeRecord}, func(w io.Writer) { fmt.Fprintln(w, p.judgeRecord) })
}

// exportTraces writes what margay-lab train monitor reads.
func (a *app) exportTraces(cmd *cobra.Command, o *options) error {
	ctx, stop := cli.Interrupts(cmd.Context())
	defer stop()
	t := prism.TraceOptions{Dir: o.prism.export, Seed: o.seed, Progress: o.progress}
	if cmd.Flags().Changed("n") {
		t.N = o.n
	}
	path, err := prism.ExportTraces(ctx, t)
	o.progress("")
	if err != nil {
		return failure("is the folder yours?", "%w", err)
	}
	return a.Print(map[string]string{"traces": path}, func(w io.Writer) { fmt.Fprintln(w, path) })
}

func runPrism(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	p := &o.prism
	n := max(0, o.n) // 0 are all
	set := method.Options{
		Seed: o.seed, Only: p.defences, Peers: p.peers,
		Judge: endpoint(p.judge, p.judgeModel),
	}
	if path := p.judgedFile(o.quick); path != "" {
		var err error
		if set.JudgedBy, set.Judged, err = prism.ReadJudged(path); err != nil {
			return nil, nil, failure("margay-lab prism --record-judge writes one; --judged= leaves the judge out", "%w", err)
		}
	}
	training := 400
	resamples := 0
	if o.quick {
		n, training, resamples, set.Peers, set.Judge = 12, 8, 100, "", completion.Config{}
	}
	records, err := p.records(o.quick)
	if err != nil {
		return nil, nil, err
	}
	if p.model != "" {
		f, err := os.Open(filepath.Clean(p.model))
		if err != nil {
			return nil, nil, err
		}
		defer f.Close()
		if set.Model, err = monitor.Load(f); err != nil {
			return nil, nil, err
		}
	} else {
		set.Model = monitor.Default()
	}
	if p.recorded && len(records.evaluation) == 0 {
		return nil, nil, usage("give --replay FILE, or run it where lab/prism/testdata is", "--recorded finds no recording to measure on")
	}
	if wanted(p.defences, "gbt", "tagger") && !(p.recorded && records.training != nil) {
		if set.Traces, err = trainingTraces(ctx, o, training); err != nil {
			return nil, nil, err
		}
	}
	var variants []prism.Defence
	if p.ablates(n, o.quick) {
		if variants, err = prism.Ablations(set.Model); err != nil {
			return nil, nil, err
		}
	}
	o.progress("making the defences")
	po := prism.Options{Seed: o.seed, N: n, Resamples: resamples, Progress: o.progress}
	r, figures := &results.Result{Suite: "prism", Seed: o.seed, Models: map[string]string{"monitor": set.Model.Hash()}}, []report.Figure(nil)
	if !p.recorded {
		if r, figures, err = against(ctx, set, po, variants, "", prism.Run); err != nil {
			return nil, nil, err
		}
	}
	r.Rows = append(r.Rows, prism.ModelRows(set.Model, "")...)
	figures = append(figures, calibration(set.Model, "the monitor's model"))
	if !p.recorded {
		figures = append(tables(r, ""), figures...)
	}
	for _, e := range records.evaluation {
		more, err := replay(ctx, o, set, po, variants, r, e, records.training)
		if err != nil {
			return nil, nil, err
		}
		figures = append(figures, more...)
	}
	return r, figures, nil
}

// against makes the defences and runs something under them and the variants.
// The slices of the result begin with prefix.
func against(ctx context.Context, set method.Options, po prism.Options, variants []prism.Defence, prefix string,
	run func(context.Context, prism.Options) (*results.Result, *prism.Report, error),
) (*results.Result, []report.Figure, error) {
	methods, err := method.New(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	po.Defences = append(prismDefences(methods.Methods, set.Model), variants...)
	r, rep, err := run(ctx, po)
	if err != nil {
		return nil, nil, errors.Join(err, methods.Close())
	}
	r.Notes = append(r.Notes, methods.Notes()...)
	r.Models = map[string]string{"monitor": set.Model.Hash()}
	return r, prismFigures(rep, r, prefix), methods.Close()
}

// wanted reports whether any of names is asked for.
func wanted(only []string, names ...string) bool {
	return len(only) == 0 || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(only, n) })
}

// trainingTraces reads the traces that learned baselines are trained on, or
// plays n tasks of the training repository.
func trainingTraces(ctx context.Context, o *options, n int) ([]train.Trace, error) {
	path := o.prism.traces
	if path == "" {
		dir, err := os.MkdirTemp("", "margay-traces-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		o.progress("playing the training repository")
		if path, err = prism.ExportTraces(ctx, prism.TraceOptions{Dir: dir, Seed: o.seed, N: n, Progress: o.progress}); err != nil {
			return nil, err
		}
	}
	var out []train.Trace
	_, err := train.ReadTraces(path, func(t *train.Trace) error {
		out = append(out, *t)
		return nil
	})
	return out, err
}

// prismDefences says what each method is given: registered secrets for the one
// with everything on, distributions for those that read them; and by which
// thresholds the model judges there.
func prismDefences(methods []method.Method, model *monitor.Model) []prism.Defence {
	tau := func(f monitor.Fit) [2]float64 { return [2]float64{f.Tau1, f.Tau2} }
	spec := model.Spec()
	var out []prism.Defence
	for _, m := range methods {
		d := prism.Defence{Method: m}
		switch m.Name() {
		case "monitor", "monitor-red":
			d.Registered, d.Distributions, d.Thresholds = true, true, tau(spec.White)
		case "monitor-novault", "monitor-risk":
			d.Distributions, d.Thresholds = true, tau(spec.White)
		case "monitor-blackbox":
			d.Thresholds = tau(spec.Black)
		}
		out = append(out, d)
	}
	return out
}
