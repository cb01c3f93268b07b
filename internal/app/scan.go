package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/scan"
	"github.com/margaydev/margay/internal/state"
)

type scanFlags struct{ redact, personal bool }

func (a *app) scanCommand() *cobra.Command {
	var f scanFlags
	c := &cobra.Command{
		Use:   "scan [FILE|FOLDER|-]...",
		Short: "Find secrets in files or standard input",
		Long: `Find secrets in files, in what folders hold, or in standard input, in plain and
in disguise. Of folders, .git and binary files are left out.

Prints FILE:LINE:COLUMN: KIND RULE ID for each, never a value; the column counts
bytes. The exit code is 3 where something is found. margay allow add ID lets a
false positive pass from then on.`,
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
	c.Flags().BoolVar(&f.personal, "personal", false, "find personal data, too")
	return c
}

// scanned is one finding for --json, with the command that lets it pass.
type scanned struct {
	scan.Finding
	Allow string `json:"allow"`
}

func (a *app) scan(ctx context.Context, f *scanFlags, files []string) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	files, walked, err := expand(files)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		a.note("there are no files")
		return nil
	}
	// All that can be wrong with the first input is known before the state
	// folder is made.
	first, err := scan.Open(files[0], a.in)
	if err != nil && len(files) == 1 && !walked[files[0]] {
		return err
	}
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := scan.New(ctx, c, st, f.personal)
	if err != nil {
		return err
	}
	redacted, w := io.Writer(nil), a.out
	if f.redact {
		redacted, w = a.out, a.err
	}
	found, failed, left := 0, 0, 0
	report := func(fs []scan.Finding) error {
		found += len(fs)
		for i := range fs {
			if err := a.printTo(w, scanned{fs[i], allowCommandOf(fs[i].ID)}, func(w io.Writer) { showFinding(w, &fs[i]) }); err != nil {
				return failure("is the reader gone?", "standard output: %w", err)
			}
		}
		return nil
	}
	for i, file := range files {
		in := first
		if i > 0 || in == nil {
			in, err = scan.Open(file, a.in)
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
			a.note("%s, so it was not scanned", err)
			failed++
		}
	}
	if left > 0 {
		a.note("left out: %s", count(left, "binary file"))
	}
	switch {
	case found > 0:
		a.code = exitFindings
		if !a.json {
			a.note("%d found; a false positive passes from now on with margay allow add ID", found)
		}
	case failed > 0:
		a.code = exitFailed
	}
	return nil
}

// expand puts the files of folders in their place, and says which those are.
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
	if v := disguise(f.View); v != "" {
		rule += " (" + v + ")"
	}
	fmt.Fprintf(w, "%s:%d:%d: %s %s %s\n", f.File, f.Line, f.Column, f.Kind, rule, f.ID)
}
