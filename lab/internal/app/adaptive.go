package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/adaptive"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

type adaptiveOptions struct {
	settings    []string
	rounds      int
	found, play string
}

const adaptiveLong = `Search for attacks: texts, commands and chains of calls by which a stranger causes
an effect that the user did not ask for, without a question. A scripted agent makes
the calls that the attacker chose, through the engine, on a simulated machine that
knows who wrote each file.

Each success is printed with the least chain of calls that has it. It is a defect.
With --play, the successes that an earlier run wrote to a file are played again, and
those that are still there are listed. The package comment of lab/adaptive has the
rules.`

func adaptiveFlags(c *cobra.Command, o *options) {
	a := &o.adaptive
	c.Long = adaptiveLong
	c.Flags().StringSliceVar(&a.settings, "setting", nil, "only these `settings`, separated by commas: "+strings.Join(adaptive.Settings(), " "))
	c.Flags().IntVar(&a.rounds, "rounds", 10_000, "episodes of each setting")
	c.Flags().StringVar(&a.found, "found", "", "write each class of success to a `file`, as a line of JSON")
	c.Flags().StringVar(&a.play, "play", "", "play the successes of a `file` again, in place of a search")
}

func checkAdaptive(o *options) error {
	for _, s := range o.adaptive.settings {
		if !slices.Contains(adaptive.Settings(), s) {
			return usage("settings are "+strings.Join(adaptive.Settings(), " "), "unknown setting %q", s)
		}
	}
	if o.adaptive.rounds < 1 {
		return usage("give a number of episodes", "--rounds %d is none", o.adaptive.rounds)
	}
	return nil
}

func runAdaptive(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.adaptive.play != "" {
		return playAgain(ctx, o)
	}
	a := adaptive.Options{Settings: o.adaptive.settings, Rounds: o.adaptive.rounds, Seed: o.seed, Progress: o.progress}
	if o.quick || a.Rounds == 0 {
		a.Rounds = 50
	}
	var lines []byte
	a.Found = func(s *adaptive.Success) {
		lines = append(lines, s.JSON()...)
		if o.out != nil && !o.quick {
			o.progress("")
			cli.Fprintf(o.out, "%s", s)
		}
	}
	r, err := adaptive.Run(ctx, a)
	if err == nil && o.adaptive.found != "" {
		err = os.WriteFile(filepath.Clean(o.adaptive.found), lines, 0o600)
	}
	return r, nil, err
}

// playAgain plays the successes of a file.
func playAgain(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	text, err := os.ReadFile(filepath.Clean(o.adaptive.play))
	if err != nil {
		return nil, nil, err
	}
	r := &results.Result{Suite: "adaptive", Seed: o.seed, Source: filepath.Base(o.adaptive.play), Environment: results.Here()}
	still := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s adaptive.Success
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return nil, nil, fmt.Errorf("%s, line %d: %w", o.adaptive.play, r.N+1, err)
		}
		r.N++
		ok, err := adaptive.Play(ctx, &s)
		if err != nil {
			return nil, nil, fmt.Errorf("%s, line %d: %w", o.adaptive.play, r.N, err)
		}
		what := "gone"
		if ok {
			still++
			what = "still"
		}
		cli.Fprintf(o.out, "%s\t%s\t%d\t%q\n", what, s.Setting, s.Round, s.Class)
	}
	r.Add("margay", "played", map[string]float64{"rounds": float64(r.N), "effects_unasked": float64(still)})
	return r, nil, lines.Err()
}
