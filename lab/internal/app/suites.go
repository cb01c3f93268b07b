package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"text/tabwriter"

	"github.com/spf13/cobra"

	benchgateway "github.com/margaydev/margay/lab/gateway"
	benchledger "github.com/margaydev/margay/lab/ledger"
	benchmcp "github.com/margaydev/margay/lab/mcp"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/vectors"
)

// errNoData says that a suite needs outside data and no folder was named.
var errNoData = errors.New("no folder with outside data")

// options are what suites are asked for.
type options struct {
	n          int // the suite's own default where it is negative
	nGiven     bool
	seed       uint64
	seconds    float64
	throughput bool
	slices     string
	profiles   string
	pairs      bool // of disguises
	data       string
	quick      bool // small, to see that it works
	progress   func(string)
	prism      prismOptions
	dojo       dojoOptions
	leakage    leakageOptions
	saliency   saliencyOptions
	traj       trajOptions
	findings   findingsOptions
	replay     replayOptions
	effects    effectsOptions
	adaptive   adaptiveOptions
	privacy    privacyOptions
	calibrate  calibrateOptions
	engine     engineOptions
	missed     string    // file for the commands that are analysed wrongly
	files      []string  // arguments
	out        io.Writer // for lines besides the table
	command    string    // as it was typed, for lists of runs
}

// suite is one benchmark.
type suite struct {
	name, short string
	args        string                         // what its arguments are; empty if it takes none
	flags       func(*cobra.Command, *options) // of its own; may be nil
	check       func(*options) error           // finds mistakes in the flags; may be nil
	run         func(context.Context, *options) (*results.Result, []report.Figure, error)
	judge       func(*options) error      // after the result was shown; may be nil
	lint        func(*app) *cobra.Command // a command below it; may be nil
}

func suites() []suite {
	return []suite{
		{
			name: "vectors", short: "Recognisers and the safe cut, over credential vectors in plain and in disguise",
			flags: func(c *cobra.Command, o *options) {
				c.Flags().IntVar(&o.n, "n", 200, "vectors drawn, 0 for all; with --pairs values of each pair")
				c.Flags().BoolVar(&o.pairs, "pairs", false, "measure the ordered pairs of disguises, over registered values")
			},
			run: runVectors,
		},
		{
			name: "gateway", short: "The gateway against a plain reverse proxy",
			flags: func(c *cobra.Command, o *options) {
				c.Flags().Float64Var(&o.seconds, "seconds", 2, "length of each measurement")
				c.Flags().BoolVar(&o.throughput, "throughput", false, "measure the throughput alone")
				c.Flags().StringVar(&o.slices, "slices", "", "measure the slices that match this `pattern` alone")
				c.Flags().StringVar(&o.profiles, "profiles", "", "write profiles of Margay's processor time and allocations to this `folder`")
			},
			run: runGateway,
		},
		{
			name: "engine", short: "The processor time of scanning, by kind of text, size of writes and number of registered secrets",
			flags: engineFlags, check: checkEngine, run: runEngine, lint: (*app).engineVerifyCommand,
		},
		{
			name: "mcp", short: "What the stdio proxy adds to a call of an MCP tool",
			flags: func(c *cobra.Command, o *options) {
				c.Flags().IntVar(&o.n, "n", 2000, "calls of each size")
			},
			run: runMCP,
		},
		{
			name: "ledger", short: "Durable releases of many trajectories at once, and the checking of their ledger",
			flags: func(c *cobra.Command, o *options) {
				c.Flags().IntVar(&o.n, "n", 20_000, "releases of each measurement")
			},
			run: runLedger,
		},
		{
			name: "prism", short: "Leaks through four agents under the monitor and its baselines, in a simulated world",
			flags: prismFlags, run: runPrism,
		},
		{
			name: "dojo", short: "AgentDojo's episodes, with an agent that obeys the injections it sees, under defences",
			flags: dojoFlags, check: checkDojo, run: runDojo,
		},
		{
			name: "leakage", short: "Private data shown before: questions that a call needs, and others, under defences",
			flags: leakageFlags, check: checkLeakage, run: runLeakage, lint: (*app).leakageLintCommand,
		},
		{
			name: saliencyName, short: "The screener by attention on suites that its network was not trained on, from recorded features",
			flags: saliencySuiteFlags, check: checkSaliency, run: runSaliency,
		},
		{
			name: "traj", short: "500 trajectories of a world under defences: how many bits recipients learn, and which tasks succeed",
			flags: trajFlags, check: checkTraj, run: runTraj,
		},
		{
			name: "robust", short: "Injections, subverted advisers, colluding and patient recipients against the same defences",
			flags: robustFlags, check: checkRobust, run: runRobust,
		},
		{
			name: "calibrate", short: "What operators of rubrics disclose to two disjoint pools of adversaries, against what is charged for them",
			flags: calibrateFlags, check: checkCalibrate, run: runCalibrate, judge: judgeCalibrate,
		},
		{
			name: "leak", short: "AgentLeak's recorded traces, streamed through a gateway: forbidden values before and after",
			flags: leakFlags, run: runLeak,
		},
		{
			name: "findings", short: "Recorded sessions of agents through the default configuration: what is found that is no secret, and which calls that stops",
			flags: findingsFlags, run: runFindings,
		},
		{
			name: "shell", args: "[FILE]", short: "Labelled shell commands: which effects the analysis finds, and which it takes for less",
			flags: shellFlags, check: checkShell, run: runShell,
		},
		{
			name: "effects", args: "[FILE]", short: "Labelled tools of MCP servers: which effects the classifier proposes, and which it takes for observing",
			flags: effectsFlags, check: checkEffects, run: runEffects,
		},
		{
			name: "replay", args: "[FILE...]", short: "Recorded sessions of agents through the engine of labels: which calls a person would be asked about",
			flags: replayFlags, check: checkReplay, run: runReplay,
		},
		{
			name: "adaptive", short: "A search for attacks through the engine of labels: chains of calls with an effect that nobody was asked about",
			flags: adaptiveFlags, check: checkAdaptive, run: runAdaptive,
		},
		{
			name: "privacy", args: "[FILE]", short: "Recorded disclosures through a running gateway: what a recipient gets of private matters, and what ordinary work loses",
			flags: privacyFlags, check: checkPrivacy, run: runPrivacy,
		},
		{
			name: "confaide", short: "ConfAIde's stories as release decisions: what is secret, and what is needed",
			flags: confaideFlags, check: func(o *options) error { return checkDefences(o.traj.defences, trajNames()) }, run: runConfaide,
		},
	}
}

func runMCP(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	calls := o.n
	if o.quick {
		calls = 20
	}
	r, err := benchmcp.Run(ctx, benchmcp.Options{Seed: o.seed, Calls: max(0, calls), Progress: o.progress})
	return r, nil, err
}

func runLedger(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	releases := o.n
	if o.quick {
		releases = 200
	}
	r, err := benchledger.Run(ctx, benchledger.Options{Seed: o.seed, Releases: max(0, releases), Progress: o.progress})
	return r, nil, err
}

func runVectors(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.pairs {
		n := o.n
		if o.quick || n < 1 {
			n = 2
		}
		r, err := vectors.Pairs(ctx, vectors.PairOptions{N: n, Seed: o.seed, Progress: o.progress})
		return r, nil, err
	}
	if o.data == "" {
		return nil, nil, errNoData
	}
	v := vectors.Options{Data: o.data, N: o.n, Seed: o.seed, Progress: o.progress}
	if o.n < 0 {
		v.N = 200
	}
	if o.quick {
		v.N, v.Million = 2, 10_000
	}
	r, err := vectors.Run(ctx, v)
	return r, nil, err
}

func runGateway(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	g := benchgateway.Options{Seed: o.seed, Seconds: o.seconds, ThroughputOnly: o.throughput, Profiles: o.profiles, Progress: o.progress}
	if o.slices != "" {
		var err error
		if g.Slices, err = regexp.Compile(o.slices); err != nil {
			return nil, nil, usage("such as wire= or ^request", "--slices: %w", err)
		}
	}
	if o.quick {
		g.Seconds, g.Rounds, g.Streams = 0.1, 3, 50
	}
	r, err := benchgateway.Run(ctx, g)
	return r, nil, err
}

// partyCommand is one of the processes that the suite gateway starts.
func (a *app) partyCommand() *cobra.Command {
	return &cobra.Command{Use: benchgateway.PartyCommand, Hidden: true, RunE: func(cmd *cobra.Command, _ []string) error {
		return benchgateway.Play(cmd.Context(), a.In, a.Out)
	}}
}

// change is a report.Delta for --json, which knows no NaN.
type change struct {
	Defence string      `json:"defence"`
	Slice   string      `json:"slice"`
	Metric  string      `json:"metric"`
	Before  float64     `json:"before"`
	After   float64     `json:"after"`
	Change  float64     `json:"change"`
	CI      *[2]float64 `json:"ci,omitempty"`
}

// showChanges prints what two results have in common and changed.
func (a *app) showChanges(before, after *results.Result) error {
	all := []change{}
	for _, d := range report.Deltas(before, after) {
		c := change{d.Defence, d.Slice, d.Metric, d.Before, d.After, d.Change, nil}
		if !math.IsNaN(d.CI[0]) {
			c.CI = &d.CI
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return failure("give two results of the same suite", "the results have no row in common")
	}
	return a.Print(all, func(w io.Writer) {
		tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(tw, "slice\tdefence\tmetric\tbefore\tafter\tchange\t95 %")
		for _, c := range all {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%.6g\t%.6g\t%+.4g\t", c.Slice, c.Defence, c.Metric, c.Before, c.After, c.Change)
			if c.CI != nil {
				fmt.Fprintf(tw, "[%+.4g, %+.4g]", c.CI[0], c.CI[1])
			}
			fmt.Fprintln(tw)
		}
		_ = tw.Flush()
	})
}
