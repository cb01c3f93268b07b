package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/judging"
	"github.com/margaydev/margay/lab/leakage"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/screen/lexical"
)

// leakageOptions are those of the suite leakage alone.
type leakageOptions struct {
	defences []string
	judged   judgeOptions
	tasks    string
	set      *leakage.Set
}

const judgeName = "judge"

// judgeOptions name judges: one behind an endpoint, and scripted ones by their
// errors.
type judgeOptions struct {
	url, model string
	errors     []string
	replay     bool      // steps are made again, too
	price      []float64 // of a million tokens of prompts and of answers; empty for none
}

// priced adds prices to the rows that say how many tokens an adviser's answers took.
func (o *judgeOptions) priced(r *results.Result) {
	if len(o.price) == 0 {
		return
	}
	for i := range r.Rows {
		m := r.Rows[i].Metrics
		for _, who := range []string{judgeName, saliencyName} {
			if n, ok := m[who+"_prompt_tokens_per_task"]; ok {
				m[who+"_price_per_task"] = (n*o.price[0] + m[who+"_answer_tokens_per_task"]*o.price[1]) / 1e6
			}
		}
	}
}

// row is the name of a judge's row.
func (o *judgeOptions) row(judge string) string {
	if o.replay {
		return "replay+" + judge
	}
	return judge
}

func leakageNames() []string {
	var out []string
	for _, d := range leakage.Defences(lexical.Screener{}) {
		out = append(out, d.Name)
	}
	return append(out, judgeName, saliencyName, saliencyBlind, saliencyShipped)
}

func leakageFlags(c *cobra.Command, o *options) {
	l := &o.leakage
	c.Flags().IntVar(&o.n, "n", 222, "generated tasks, besides the 37; 0 for none")
	c.Flags().StringVar(&l.tasks, "tasks", "", "`folder` of tasks instead of those, as docs/format/leakage-task.md has it")
	c.Flags().StringSliceVar(&l.defences, "defence", nil, "only these `names`, separated by commas: "+strings.Join(leakageNames(), " "))
	judgeFlags(c, &l.judged)
	saliencyFlags(c, &o.saliency)
}

// judgeFlags are those that name the endpoint of a judge.
func judgeFlags(c *cobra.Command, o *judgeOptions) {
	c.Flags().StringVar(&o.url, "judge", os.Getenv("MARGAY_JUDGE_URL"), "base `URL` of an OpenAI-compatible API for the row judge (default $MARGAY_JUDGE_URL)")
	c.Flags().Lookup("judge").DefValue = ""
	c.Flags().StringVar(&o.model, "judge-model", "", "the judge's `model`; its key is $MARGAY_JUDGE_KEY")
	c.Flags().StringSliceVar(&o.errors, "judge-errors", nil, "rows of scripted judges that know what is needed and err at these `rates`: all pairs of 0,0.1, or single ones as EXTRA:MISSED")
	c.Flags().Float64SliceVar(&o.price, "judge-price", nil, "`prices` of a million tokens of prompts and of answers, for a price a task")
	c.Flags().BoolVar(&o.replay, "judge-replay", false, "with judges, make steps again too, as the gateway does with taint.screen: judge; the paper's judge asks")
}

// endpoint is one that flags name, wherever it is: benchmarks have no secrets
// but made-up ones. A small model on a busy processor takes minutes.
func endpoint(url, model string) completion.Config {
	return completion.Config{BaseURL: url, Model: model, Key: os.Getenv("MARGAY_JUDGE_KEY"), Remote: true, Timeout: 5 * time.Minute}
}

// check holds the rates to what there is.
func (o *judgeOptions) check() error {
	if o.url != "" && o.model == "" {
		return usage("give --judge-model, too", "--judge names no model")
	}
	if len(o.price) != 0 && (len(o.price) != 2 || !(o.price[0] >= 0 && o.price[1] >= 0)) {
		return usage("such as --judge-price 2.5,10", "--judge-price has a price for prompts and one for answers")
	}
	if _, err := judging.Pairs(o.errors); err != nil {
		return usage("such as --judge-errors 0,0.05 or --judge-errors 0.05:0.1", "--judge-errors: %w", err)
	}
	return nil
}

// open opens the judges, by the names of their rows, and says what is left out.
func (o *judgeOptions) open(quick bool, seed uint64) (all map[string]*judging.Judge, names, notes []string, err error) {
	all = map[string]*judging.Judge{}
	switch {
	case o.url == "":
		notes = append(notes, "judge skipped: no endpoint configured")
	case quick:
		notes = append(notes, "judge skipped: a quick run asks none")
	default:
		j, err := judging.New(endpoint(o.url, o.model))
		if err != nil {
			return nil, nil, nil, usage("give --judge and --judge-model", "%w", err)
		}
		all[judgeName], names = j, append(names, judgeName)
		notes = append(notes, "judge: "+o.model)
	}
	pairs, err := judging.Pairs(o.errors)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, e := range pairs {
		j, err := judging.Script(e, seed)
		if err != nil {
			return nil, nil, nil, err
		}
		all[e.Name()], names = j, append(names, e.Name())
	}
	if len(pairs) > 0 {
		notes = append(notes, "judge:EXTRA,MISSED: a scripted judge that knows what is needed, and errs in each region at these rates, in percent")
	}
	return all, names, notes, nil
}

// closeAll ends scripted judges.
func closeAll(all map[string]*judging.Judge) {
	for _, j := range all {
		_ = j.Close()
	}
}

// asksFor reports whether a row is asked for. Scripted judges always are.
func asksFor(only []string, name string) bool {
	judge := strings.TrimPrefix(name, "replay+")
	return len(only) == 0 || slices.Contains(only, name) || judge == judgeName && slices.Contains(only, judge) || strings.HasPrefix(judge, judgeName+":")
}

func checkLeakage(o *options) error {
	l := &o.leakage
	if err := l.judged.check(); err != nil {
		return err
	}
	if err := checkDefences(l.defences, leakageNames()); err != nil || l.tasks == "" {
		return err
	}
	if o.nGiven && o.n > 0 {
		return usage("leave out --n, or --tasks", "no tasks are generated from those of --tasks")
	}
	set, err := leakage.Open(os.DirFS(l.tasks))
	if err != nil {
		return failure("margay-lab leakage lint "+l.tasks+" lists every mistake", "%s: %w", l.tasks, err)
	}
	l.set = set
	return nil
}

func (a *app) leakageLintCommand() *cobra.Command {
	return &cobra.Command{
		Use: "lint FOLDER", Short: "Find the mistakes of leakage tasks", Args: cobra.ExactArgs(1),
		Long: "Find the mistakes in a folder of leakage tasks, with file and line, and count the tasks that disclose something and those that repeat a word of it. " +
			"docs/format/leakage-task.md has the format.",
		RunE: func(_ *cobra.Command, args []string) error {
			check := leakage.Lint(os.DirFS(args[0]))
			if err := a.Print(check, func(w io.Writer) { printLeakageCheck(w, check) }); err != nil {
				return err
			}
			if n := len(check.Mistakes); n > 0 {
				return failure("docs/format/leakage-task.md has the format", "%s: %s", args[0], plural(n, "mistake"))
			}
			return nil
		},
	}
}

func printLeakageCheck(w io.Writer, c *leakage.Check) {
	for _, m := range c.Mistakes {
		fmt.Fprintln(w, m)
	}
	for _, n := range c.Notes {
		fmt.Fprintln(w, "note: "+n)
	}
	if c.Tasks > 0 {
		fmt.Fprintf(w, "SHA-256 %s\n%d tasks: %d disclose something, %d of them repeat a word of it; %d make calls and disclose nothing, %d of them with words of private regions\n",
			c.Hash, c.Tasks, c.Disclosing, c.Repeating, c.Plain, c.Near)
	}
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
	l := leakage.Options{Seed: o.seed, Generated: o.n, Progress: o.progress, Set: o.leakage.set}
	if l.Set != nil {
		l.Name = filepath.Base(filepath.Clean(o.leakage.tasks))
	}
	if o.n < 0 {
		l.Generated = 222
	}
	if o.quick {
		l.Generated = 37
	}
	all := leakage.Defences(lexical.Screener{})
	judges, names, notes, err := o.leakage.judged.open(o.quick, o.seed)
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(judges)
	for _, name := range names {
		all = append(all, leakage.Defence{Name: o.leakage.judged.row(name), Judge: judges[name], Replay: o.leakage.judged.replay})
	}
	if o.asksForSaliency(o.leakage.defences) {
		more, err := saliencyLeakage(o)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, more...)
	}
	for _, d := range all {
		if asksFor(o.leakage.defences, d.Name) {
			l.Defences = append(l.Defences, d)
		}
	}
	r, err := leakage.Run(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	o.leakage.judged.priced(r)
	r.Notes = append(r.Notes, notes...)
	return r, nil, nil
}
