package app

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/lab/reference/differ"
	"github.com/margaydev/margay/lab/reference/verify"
	"github.com/margaydev/margay/lab/vectors"
)

const verifyLong = `Compare the detection engine with the reference, the engine as it was before it was
rewritten: what is found, what is edited, what goes out, and how much is held back.

Without a flag that names a kind of text, all kinds are read:

- --vectors: credential vectors in the encodings of the suite vectors, once for each
  place where they can be cut in two. What repeats a text is left out.
- --corpus: the files of a folder, at once, and in writes of 4 bytes and of another size.
- --ordinary: the kinds of text that the suite engine measures, at once and in writes of
  4 bytes and of drawn sizes.
- --drawn: texts made of what rules and vaults look for, in writes of drawn sizes.
- --fuzzed: vectors, ordinary and drawn texts with random changes (spliced, joined,
  cut, repeated, encoded, put apart), at once and in writes of drawn sizes.

All of it takes many hours. With --state a run that was stopped goes on where it was,
with the same flags.

A difference in a vector or a file is shown by offsets and rules alone. Other texts are
invented or public, so they are shown, shrunk. The exit code is 3 if there is a
difference, or if the product holds more than the reference does.`

// verifyOptions are those of margay-lab engine verify.
type verifyOptions struct {
	verify.Options
	n       int
	vectors bool
	corpus  string
	mb      float64
	data    string

	ordinary, drawn, fuzzed float64 // megabytes
}

func (a *app) engineVerifyCommand() *cobra.Command {
	var o verifyOptions
	c := &cobra.Command{
		Use: "verify", Short: "Compare the detection engine with the one before it", Long: verifyLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.n < 0 || min(o.mb, o.ordinary, o.drawn, o.fuzzed) < 0 || o.Workers < 1 {
				return usage("0 takes all vectors, or no text of a kind", "--n and megabytes are not less than 0, and --workers not less than 1")
			}
			if !slices.ContainsFunc([]string{"vectors", "corpus", "ordinary", "drawn", "fuzzed"}, cmd.Flags().Changed) {
				o.vectors, o.corpus, o.ordinary, o.drawn, o.fuzzed = true, "go", 100, 100, 100
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
	c.Flags().Float64Var(&o.ordinary, "ordinary", 0, "megabytes of ordinary text read")
	c.Flags().Float64Var(&o.drawn, "drawn", 0, "megabytes of drawn texts read")
	c.Flags().Float64Var(&o.fuzzed, "fuzzed", 0, "megabytes of texts with random changes read")
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
	return verdict(s)
}

// verdict is an error if the engines differ.
func verdict(s *verify.State) error {
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
	found := func(hint, format string, names []string) error {
		return &problem.Error{Code: problem.Findings, Err: fmt.Errorf(format, strings.Join(names, "; ")), Hint: hint}
	}
	if len(differ) > 0 {
		return found("each is listed with how to see it again", "the engines differ: %s", differ)
	}
	if len(holds) > 0 {
		return found("the table has the bytes held", "the product holds more than the reference: %s", holds)
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
	if o.ordinary > 0 {
		more, err := verify.Ordinary(rules, int64(o.ordinary*1e6), o.Seed)
		if err != nil {
			return nil, failure("install Go: some of the text is of its distribution", "ordinary text: %w", err)
		}
		parts = append(parts, more...)
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
	if !o.vectors && o.fuzzed == 0 {
		return parts, nil
	}
	pos, err := vectors.LoadPositives(o.data)
	if o.data == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, failure("set MARGAY_DATA, or name a folder with --data", "there are no credential vectors: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if o.fuzzed > 0 {
		if err := add(verify.Fuzzed(rules, pos, int64(o.fuzzed*1e6), o.Seed)); err != nil {
			return nil, err
		}
	}
	if o.vectors {
		return parts, add(verify.Vectors(rules, pos, o.n, o.Seed))
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
				cli.Fprintf(w, "  %s\n  cut at %v\n", d.Text, d.Cuts)
			}
		}
	}
	cli.Fprintf(w, "\n")
	for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
		p := s.Parts[name]
		cli.Fprintf(w, "%s: n=%d bytes=%d readings=%d differences=%d seed=%d done=%v, of %s\n", name, p.Result.Texts, p.Result.Bytes, p.Result.Readings, len(p.Result.Differences), s.Seed, p.Done, p.Of)
	}
}
