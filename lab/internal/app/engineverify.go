package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/reference/differ"
	"github.com/margaydev/margay/lab/reference/verify"
)

const verifyLong = `Compare the detection engine with the reference, the engine as it was before it was
rewritten: what is found, what is edited, what goes out, and how much is held back.

Without one of --vectors, --corpus and --drawn, all three kinds of text are read:
credential vectors in the encodings of the suite vectors, once for each place where
they can be cut in two; the files of a folder, by default the source of Go's standard
library, in writes of several sizes; and drawn texts. All of it takes hours. With
--state a run that was stopped goes on where it was, with the same flags.

A difference in a vector or a file is shown by offsets and rules alone. Drawn texts
are invented, so they are shown, shrunk. The command fails if there is a difference,
or if the product holds more than the reference does.`

// verifyOptions are those of margay-lab engine verify.
type verifyOptions struct {
	verify.Options
	n       int
	vectors bool
	corpus  string
	mb      float64
	drawn   float64
	data    string
}

func (a *app) engineVerifyCommand() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use: "verify", Short: "Compare the detection engine with the one before it", Long: verifyLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.n < 0 || o.mb < 0 || o.drawn < 0 || o.Workers < 1 {
				return usage("0 takes all vectors, or no text of a kind", "--n, --mb and --drawn are not less than 0, and --workers not less than 1")
			}
			if f := cmd.Flags(); !f.Changed("vectors") && !f.Changed("corpus") && !f.Changed("drawn") {
				o.vectors, o.drawn, o.corpus = true, 100, "go"
			}
			ctx, stop := cli.Interrupts(cmd.Context())
			defer stop()
			return a.engineVerify(ctx, &o)
		},
	}
	c.Flags().BoolVar(&o.vectors, "vectors", false, "read credential vectors")
	c.Flags().IntVar(&o.n, "n", 0, "vectors in an encoding drawn, 0 for all")
	c.Flags().StringVar(&o.corpus, "corpus", "", "read the files below a `folder`; go stands for Go's standard library")
	c.Flags().Float64Var(&o.mb, "mb", 100, "megabytes of files read at most")
	c.Flags().Float64Var(&o.drawn, "drawn", 0, "megabytes of drawn texts read")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of all random draws")
	c.Flags().StringVar(&o.State, "state", "", "`file` that keeps how far the run is")
	c.Flags().IntVar(&o.Workers, "workers", runtime.NumCPU(), "texts compared at once")
	c.Flags().StringVar(&o.data, "data", os.Getenv("MARGAY_DATA"), "`folder` with outside data (default $MARGAY_DATA)")
	c.Flags().Lookup("data").DefValue = ""
	return c
}

func (a *app) engineVerify(ctx context.Context, o *verifyOptions) error {
	parts, err := o.parts(ctx)
	if err != nil {
		return err
	}
	o.Progress = a.verifyProgress()
	s, err := verify.Run(ctx, o.Options, parts)
	switch {
	case errors.Is(err, context.Canceled) && o.State == "":
		return failure("--state FILE keeps how far a run is", "interrupted")
	case errors.Is(err, context.Canceled):
		return failure("run it again; it goes on from there", "interrupted")
	case errors.Is(err, verify.ErrState):
		return usage("give its flags again, or another --state", "%s: %w", o.State, err)
	case err != nil:
		return failure("run it again; if it fails again, please report it", "%w", err)
	}
	if err := a.PrintTable(s, func(w io.Writer) { verifyTable(w, s) }); err != nil {
		return err
	}
	var differ, holds []string
	for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
		r := &s.Parts[name].Result
		if len(r.Differences) > 0 {
			differ = append(differ, name)
		}
		for mode, h := range r.Holds {
			if h.Check() != nil {
				holds = append(holds, mode)
			}
		}
	}
	slices.Sort(holds)
	if len(differ) > 0 {
		return failure("each is listed with how to see it again", "the engines differ: %s", strings.Join(differ, ", "))
	}
	if len(holds) > 0 {
		return failure("the table has the bytes held", "the product holds more than the reference: %s", strings.Join(holds, "; "))
	}
	return nil
}

// parts are what the flags ask for.
func (o *verifyOptions) parts(ctx context.Context) (parts []verify.Part, err error) {
	rules, err := differ.Default()
	if err != nil {
		return nil, err
	}
	add := func(p verify.Part, err error) error {
		parts = append(parts, p)
		return err
	}
	if o.drawn > 0 {
		if err := add(verify.Drawn(rules, int64(o.drawn*1e6), o.Seed)); err != nil {
			return nil, err
		}
	}
	if o.corpus != "" && o.mb > 0 {
		dir := o.corpus
		if dir == "go" {
			out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
			if err != nil {
				return nil, failure("install Go, or name a folder", "the standard library is not found: %w", err)
			}
			dir = filepath.Join(strings.TrimSpace(string(out)), "src")
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, failure("name a folder with text", "%s can't be read: %w", dir, cli.Reason(err))
		}
		if err := add(verify.Corpus(rules, dir, int64(o.mb*1e6), o.Seed)); err != nil {
			return nil, err
		}
	}
	if o.vectors {
		err := add(verify.Vectors(rules, o.data, o.n, o.Seed))
		if o.data == "" || errors.Is(err, fs.ErrNotExist) {
			return nil, failure("outside data is looked for in $MARGAY_DATA, or --data", "there are no credential vectors: %w", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// verifyProgress shows how far a run is: at once on a terminal, and else now and then.
func (a *app) verifyProgress() func(string) {
	const between = 30 * time.Second
	next := time.Now().Add(between)
	return func(s string) {
		switch {
		case cli.IsTerminal(a.Err):
			cli.Fprintf(a.Err, "\r\x1b[K%s", s)
		case time.Now().After(next):
			next = time.Now().Add(between)
			a.Note("%s", s)
		}
	}
}

func verifyTable(w io.Writer, s *verify.State) {
	cli.Fprintf(w, "part\ttexts\tMB\treadings\tfindings\tdifferences\n")
	for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
		r := &s.Parts[name].Result
		cli.Fprintf(w, "%s\t%d\t%.1f\t%d\t%d\t%d\n", name, r.Texts, float64(r.Bytes)/1e6, r.Readings, r.Findings, len(r.Differences))
	}
	cli.Fprintf(w, "\nbytes held after a write\twrites\treference p50\tp99\tmost\tproduct p50\tp99\tmost\n")
	for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
		holds := s.Parts[name].Result.Holds
		for _, mode := range slices.Sorted(maps.Keys(holds)) {
			x, y := &holds[mode].Reference, &holds[mode].Product
			cli.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", mode, x.N(), x.Quantile(0.5), x.Quantile(0.99), x.Quantile(1), y.Quantile(0.5), y.Quantile(0.99), y.Quantile(1))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
		for i := range s.Parts[name].Result.Differences {
			d := &s.Parts[name].Result.Differences[i]
			cli.Fprintf(w, "\n%s, %s: %s\n", d.Where, d.Mode, d.What)
			if d.Text != "" {
				cli.Fprintf(w, "  %s\n", d.Text)
			}
		}
	}
}
