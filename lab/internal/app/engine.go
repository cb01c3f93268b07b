package app

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	benchengine "github.com/margaydev/margay/lab/engine"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

type engineOptions struct {
	corpora, writes []string
	secrets         []int
	mb              float64
	reps            int
	peers, margay   string
}

const engineLong = `Measure the processor time that scanning takes, by kind of text, by the size of
writes and by the number of registered secrets, and that of hostile texts. All
figures are of one run with one processor, measured in turn. Beside the engine stand the
one before it, gitleaks and Hyperscan, and what checking a release takes (mode=).`

func engineFlags(c *cobra.Command, o *options) {
	c.Long = engineLong
	e := &o.engine
	c.Flags().StringSliceVar(&e.corpora, "corpus", nil, "only these kinds of `text`, separated by commas: "+strings.Join(benchengine.Corpora(), " "))
	c.Flags().StringSliceVar(&e.writes, "write", nil, "only these `sizes` of writes, in bytes or as the text itself (default 4, 64, 4096 and the text at once)")
	c.Flags().IntSliceVar(&e.secrets, "secrets", nil, "only these `numbers` of registered secrets (default 0,10,1000,100000,1000000)")
	c.Flags().Float64Var(&e.mb, "mb", 1, "`MiB` of each text")
	c.Flags().IntVar(&e.reps, "reps", 5, "measurements of each figure, in turn")
	c.Flags().StringVar(&e.peers, "peers", filepath.Join(".cache", "peers"), "`folder` where scripts/peers installed Hyperscan")
	c.Flags().StringVar(&e.margay, "margay", "", "the `program` whose scan is measured (default: margay beside this program, in bin, or on the path)")
	c.Flags().BoolVar(&o.quick, "quick", false, "measure little, to see that it works; the figures mean nothing")
}

func checkEngine(o *options) error {
	e := &o.engine
	for _, c := range e.corpora {
		if !slices.Contains(benchengine.Corpora(), c) {
			return usage("texts are "+strings.Join(benchengine.Corpora(), " "), "unknown text %q", c)
		}
	}
	if _, err := sizes(e.writes); err != nil {
		return err
	}
	if slices.ContainsFunc(e.secrets, func(n int) bool { return n < 0 }) {
		return usage("0 registers none", "--secrets takes no number below 0")
	}
	if e.mb <= 0 || e.mb > 64 || e.reps < 1 {
		return usage("--mb 1 and --reps 5 are the defaults", "--mb is above 0 and at most 64, --reps at least 1")
	}
	return nil
}

// sizes reads the sizes of writes; whole is 0.
func sizes(names []string) ([]int, error) {
	var out []int
	for _, n := range names {
		if n == "whole" {
			out = append(out, 0)
			continue
		}
		w, err := strconv.Atoi(n)
		if err != nil || w < 1 {
			return nil, usage("give bytes, or whole", "--write %q is no size", n)
		}
		out = append(out, w)
	}
	return out, nil
}

func runEngine(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	writes, err := sizes(o.engine.writes)
	if err != nil {
		return nil, nil, err
	}
	e := benchengine.Options{Corpora: o.engine.corpora, Writes: writes, Secrets: o.engine.secrets, MB: o.engine.mb, Reps: o.engine.reps, Seed: o.seed, Peers: o.engine.peers, Margay: program(o.engine.margay), Progress: o.progress}
	if o.quick {
		e.MB, e.Reps, e.Rules = 0.02, 1, 5
		if len(e.Secrets) == 0 {
			e.Secrets = []int{0, 10, 1000}
		}
	}
	r, err := benchengine.Run(ctx, e)
	return r, nil, err
}

// program finds the margay that was built with this program. It is empty where
// there is none.
func program(named string) string {
	candidates := []string{named}
	if named == "" {
		if self, err := os.Executable(); err == nil {
			candidates = append(candidates, filepath.Join(filepath.Dir(self), "margay"))
		}
		candidates = append(candidates, filepath.Join("bin", "margay"), filepath.Join("..", "bin", "margay"), "margay")
	}
	for _, c := range candidates {
		if c == "" {
			continue
		}
		if p, err := exec.LookPath(c); err == nil {
			return p
		}
	}
	return named
}
