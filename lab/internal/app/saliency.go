package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/lab/dojo"
	"github.com/margaydev/margay/lab/dojo/episode"
	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/lab/leakage"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/saliency"
	"github.com/margaydev/margay/screen"
	screensaliency "github.com/margaydev/margay/screen/saliency"
)

// saliencyOptions name the local model of the screener by attention, and the
// record of what it said.
type saliencyOptions struct {
	url, features, hash, server string
	source                      *saliency.Source // once it is open
}

// Rows of the screener by attention.
const (
	saliencyName    = "saliency"
	saliencyBlind   = "saliency-blind"
	saliencyShipped = "saliency-shipped"
)

// saliencyFlags are those that name the local model and its record.
func saliencyFlags(c *cobra.Command, s *saliencyOptions) {
	c.Flags().StringVar(&s.url, "saliency", os.Getenv("MARGAY_SALIENCY_URL"), "base `URL` of a local model (scripts/local start) for what is not recorded (default $MARGAY_SALIENCY_URL)")
	c.Flags().Lookup("saliency").DefValue = ""
	c.Flags().StringVar(&s.features, "features", "", "`file` of recorded features; with --saliency it is written (default the record that comes with the repository)")
	c.Flags().StringVar(&s.hash, "saliency-hash", "", "`digest` of the model's weights, for a new record")
	c.Flags().StringVar(&s.server, "saliency-server", "", "`name` and version of the server, for a new record")
}

// instructed is how many episodes under attack figure 3 is made from.
const instructed = 24

func saliencySuiteFlags(c *cobra.Command, o *options) {
	c.Flags().IntVar(&o.n, "n", 37, "generated tasks of lab/leakage that are recorded, with --saliency")
	saliencyFlags(c, &o.saliency)
}

func checkSaliency(o *options) error {
	if o.saliency.url != "" && o.saliency.features == "" {
		return usage("--features FILE", "--saliency needs a file for what it records")
	}
	return nil
}

// runSaliency measures the network on suites that it was not trained on, after
// recording what is not recorded where a local model is named.
func runSaliency(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	source, err := saliencySource(&o.saliency)
	if err != nil {
		return nil, nil, err
	}
	var notes []string
	if source.Client != nil && !o.quick {
		if notes, err = recordSaliency(ctx, o, source); err != nil {
			return nil, nil, err
		}
	}
	t := saliency.Options{Seed: o.seed, Progress: o.progress}
	if o.quick {
		t.Epochs = 1
	}
	r, figures, err := saliency.Measure(ctx, source.Record, t)
	if err != nil {
		return nil, nil, err
	}
	r.Notes = append(r.Notes, notes...)
	return r, figures, nil
}

// blind asks about the next action without the proposed one.
type blind struct{ screen.Adviser }

func (b blind) Relevant(ctx context.Context, q *screen.Question) ([]bool, error) {
	less := *q
	less.Calls, less.Answer = nil, ""
	return b.Adviser.Relevant(ctx, &less)
}

// bySuite asks the network that was trained without the suite of a question.
type bySuite struct {
	source *saliency.Source
	suites map[string]screen.Adviser
}

func (b *bySuite) Relevant(ctx context.Context, q *screen.Question) ([]bool, error) {
	l, err := b.source.Ask(ctx, q, nil)
	if err != nil {
		return nil, err
	}
	a := b.suites[l.Suite]
	if a == nil {
		return nil, saliency.ErrNotRecorded // as a labelled one, which says of what suite it is
	}
	return a.Relevant(ctx, q)
}

// networks are the networks that were trained without a suite each.
func networks(o *options, s *saliency.Source, suites []string) (map[string]screen.Adviser, error) {
	out := map[string]screen.Adviser{}
	for _, name := range suites {
		o.progress("training without " + name)
		m, err := s.Record.Without(name, saliency.Options{Seed: o.seed})
		if err != nil {
			return nil, failure("the record lacks suites: margay-lab saliency --help", "%s: %w", name, err)
		}
		out[name] = &screensaliency.Screener{Source: s, Model: m}
	}
	return out, nil
}

// saliencyLeakage are the rows of the suite leakage: each suite with a network that
// was trained without it, with a proposed answer and without; and the network that
// Margay ships, which was trained on tasks of the same patterns.
func saliencyLeakage(o *options) ([]leakage.Defence, error) {
	source, err := saliencySource(&o.saliency)
	if err != nil {
		return nil, err
	}
	suites, err := networks(o, source, []string{"payments", "flights", "shopping"})
	if err != nil {
		return nil, err
	}
	shipped, err := screensaliency.Default()
	if err != nil {
		return nil, err
	}
	ask := &bySuite{source, suites}
	return []leakage.Defence{
		{Name: saliencyName, Screen: ask},
		{Name: saliencyBlind, Screen: blind{ask}},
		{Name: saliencyShipped, Screen: &screensaliency.Screener{Source: source, Model: shipped}},
	}, nil
}

// saliencyDojo is the row of the suite dojo. Each suite is played with the network
// of the fold without it.
func saliencyDojo(o *options, rules dojo.Rules) (dojo.Defence, error) {
	source, err := saliencySource(&o.saliency)
	if err != nil {
		return dojo.Defence{}, err
	}
	o.saliency.source = source
	suites, err := networks(o, source, dojoSuites)
	if err != nil {
		return dojo.Defence{}, err
	}
	return dojo.Defence{Name: saliencyName, Guard: func(t *dojo.Task, m harness.Model) (harness.Model, error) {
		return dojo.Tainted(saliencyName, rules, dojo.Step{Screen: suites[t.Suite]}).Guard(t, m)
	}}, nil
}

// asksForSaliency reports whether rows of the screener by attention are asked for:
// by name, or by a local model.
func (o *options) asksForSaliency(defences []string) bool {
	return !o.quick && (o.saliency.url != "" || slices.ContainsFunc(defences, func(d string) bool { return strings.HasPrefix(d, saliencyName) }))
}

// saliencySource answers from the record, and asks the local model where one is
// named.
func saliencySource(s *saliencyOptions) (*saliency.Source, error) {
	if s.features == "" && s.url != "" {
		return nil, usage("--features FILE", "--saliency needs a file for what it records")
	}
	if s.features == "" {
		r, err := saliency.Shipped()
		return &saliency.Source{Record: r}, err
	}
	r, err := saliency.Read(s.features)
	if err != nil {
		return nil, failure("give a file that margay-lab saliency wrote", "%w", err)
	}
	if s.url == "" {
		return &saliency.Source{Record: r}, nil
	}
	if r.Head.Version == 0 {
		r.Head = saliency.Head{Version: 1, Model: s.hash, Server: s.server}
	}
	client, err := screensaliency.NewClient(endpoint(s.url, "local"))
	if err != nil {
		return nil, usage("--saliency http://127.0.0.1:8080/v1", "%w", err)
	}
	return &saliency.Source{Record: r, Client: client}, nil
}

// recordSaliency asks about all labelled questions that are not recorded, n
// generated tasks of lab/leakage among them, and writes the record.
func recordSaliency(ctx context.Context, o *options, s *saliency.Source) ([]string, error) {
	if o.data == "" {
		return nil, errNoData
	}
	set, err := episode.Load(o.data)
	if err != nil {
		return nil, err
	}
	rules, err := dojoRules(dojoSuites)
	if err != nil {
		return nil, err
	}
	tasks, err := leakage.Tasks()
	if err != nil {
		return nil, err
	}
	generated, err := leakage.Generate(o.n, saliency.GeneratedSeed)
	if err != nil {
		return nil, err
	}
	written, err := saliency.Leakage(tasks)
	if err != nil {
		return nil, err
	}
	more, err := saliency.Leakage(generated)
	if err != nil {
		return nil, err
	}
	traces, err := saliency.Dojo(ctx, set, rules)
	if err != nil {
		return nil, err
	}
	// What is short first.
	if err := saliency.Instructions(ctx, s, set, instructed, o.progress); err != nil {
		return nil, err
	}
	failed, err := saliency.Ask(ctx, s, slices.Concat(written, saliency.Blind(written), more, traces), o.progress)
	if err != nil {
		return nil, err
	}
	return failedNote(failed), s.Record.Write(o.saliency.features)
}

func failedNote(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d questions had no answer: their regions do not fit the model", n)}
}
