package values

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/scan"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
)

type scanFlags struct{ redact, personal, record bool }

func (a *app) scanCommand() *cobra.Command {
	var f scanFlags
	c := &cobra.Command{
		Use:   "scan [FILE|FOLDER|-]...",
		Short: "Find secrets in files or standard input",
		Long: `Find secrets in files, in folders, or in standard input, in plain and in
disguise. In folders, the scan skips .git and binary files.

The scan prints FILE:LINE:COLUMN: KIND RULE for each secret, not its value; the
column counts bytes. The exit code is 3 if it finds something. The scan is not an
agent's doing and is not in the log: --record writes the findings there and prints
their ids, and margay allow add ID allows a false positive from then on.`,
		Example: "  margay scan .\n  margay scan $(git ls-files)\n  git diff --cached | margay scan\n  margay scan --redact log.txt > clean.txt",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				files = []string{"-"}
			}
			return a.scan(cmd.Context(), &f, files)
		},
	}
	c.Flags().BoolVar(&f.redact, "redact", false, "write the text with its secrets replaced to standard output, the findings to standard error")
	c.Flags().BoolVar(&f.record, "record", false, "write the findings to the log, so that margay allow add knows them")
	c.Flags().BoolVar(&f.personal, "personal", false, "also find personal data")
	return c
}

// scanned is one finding for --json, with the command that allows it.
type scanned struct {
	scan.Finding
	Allow string `json:"allow,omitempty"`
}

func scannedOf(f *scan.Finding) scanned {
	out := scanned{Finding: *f}
	if f.ID != "" {
		out.Allow = invocation.AllowCommand(f.ID)
	}
	return out
}

func (a *app) scan(ctx context.Context, f *scanFlags, files []string) error {
	c, err := a.Load(nil)
	if err != nil {
		return err
	}
	files, walked, err := expand(files)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		a.Note("there are no files to scan")
		return nil
	}
	// Find mistakes about the first input before the state folder is made.
	first, err := scan.Open(files[0], a.In)
	if err != nil && len(files) == 1 && !walked[files[0]] {
		return err
	}
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := scan.New(ctx, c, st, f.personal, f.record)
	if err != nil {
		return err
	}
	redacted, w := io.Writer(nil), a.Out
	if f.redact {
		redacted, w = a.Out, a.Err
	}
	found, failed, left := 0, 0, 0
	report := func(fs []scan.Finding) error {
		found += len(fs)
		for i := range fs {
			if err := a.PrintTo(w, scannedOf(&fs[i]), func(w io.Writer) { showFinding(w, &fs[i]) }); err != nil {
				return problem.Failure("was the pipe closed?", "standard output can't be written: %w", err)
			}
		}
		return nil
	}
	for i, file := range files {
		in := first
		if i > 0 || in == nil {
			in, err = scan.Open(file, a.In)
		}
		if err == nil {
			err = s.Scan(ctx, in, redacted, report)
		}
		switch {
		case err == nil:
		case walked[file] && errors.Is(err, scan.ErrBinary):
			left++
		case len(files) == 1:
			return err
		default:
			a.Note("%s, so it was not scanned", err)
			failed++
		}
	}
	if left > 0 {
		a.Note("skipped %s", invocation.Count(left, "binary file"))
	}
	switch {
	case found > 0:
		a.Code = problem.Findings
		switch {
		case a.JSON:
		case f.record:
			a.Note("%d found; margay allow add ID allows a false positive from now on", found)
		default:
			a.Note("%d found; margay scan --record gives them ids, by which margay allow add allows a false positive", found)
		}
	case failed > 0:
		a.Code = problem.Failed
	}
	return nil
}

// expand replaces folders by their files, and returns which files those are.
func expand(args []string) (files []string, walked map[string]bool, err error) {
	walked = map[string]bool{}
	for _, arg := range args {
		if st, err := os.Stat(arg); arg == "-" || err != nil || !st.IsDir() {
			files = append(files, arg)
			continue
		}
		in, err := scan.Files(arg)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range in {
			walked[f] = true
		}
		files = append(files, in...)
	}
	return files, walked, nil
}

func showFinding(w io.Writer, f *scan.Finding) {
	rule := f.Rule
	if f.Name != "" {
		rule += " " + f.Name
	}
	if v := invocation.Disguise(f.View); v != "" {
		rule += " (" + v + ")"
	}
	cli.Fprintf(w, "%s:%d:%d: %s %s", f.File, f.Line, f.Column, f.Kind, rule)
	if f.ID != "" {
		cli.Fprintf(w, " %s", f.ID)
	}
	cli.Fprintf(w, "\n")
}
