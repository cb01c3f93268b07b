package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/lab/docs"
	"github.com/margaydev/margay/lab/effects"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

// suiteFlags are those of every suite.
func (a *app) suiteFlags(c *cobra.Command, o *options) {
	c.Flags().Uint64Var(&o.seed, "seed", 1, "seed of all random draws")
	c.Flags().StringVar(&o.data, "data", os.Getenv("MARGAY_DATA"), "`folder` with outside data (default $MARGAY_DATA)")
	c.Flags().Lookup("data").DefValue = ""
	o.progress = func(s string) {
		if cli.IsTerminal(a.Err) {
			fmt.Fprintf(a.Err, "\r\x1b[K%s", s)
		}
	}
}

func (a *app) suiteCommand(s *suite) *cobra.Command {
	o := &options{}
	var file, page string
	c := &cobra.Command{Use: strings.TrimSpace(s.name + " " + s.args), Short: s.short, RunE: func(cmd *cobra.Command, args []string) error {
		o.files, o.out, o.command = args, a.Out, typed(a.Name, a.Args)
		if file == "-" {
			o.out = a.Err
		}
		o.nGiven = cmd.Flags().Changed("n")
		if o.nGiven && o.n < 0 {
			return usage("0 takes all", "--n %d is less than none", o.n)
		}
		if s.check != nil {
			if err := s.check(o); err != nil {
				return err
			}
		}
		if done, err := a.insteadOfPrism(cmd, o); done {
			return err
		}
		r, figures, err := measure(cmd.Context(), s, o)
		var known *problem.Error
		switch {
		case errors.As(err, &known):
			return err // it says what to do
		case errors.Is(err, context.Canceled):
			return failure("", "interrupted")
		case errors.Is(err, effects.ErrNoDefinitions):
			return failure("scripts/mcp-tools fetch gets them, --definitions says where they are", "%w", err)
		case err != nil && (errors.Is(err, errNoData) || errors.Is(err, fs.ErrNotExist)):
			return failure("set MARGAY_DATA, or name a folder with --data", "%w", err)
		case err != nil:
			return failure("run it again; if it fails again, please report it", "%w", err)
		}
		// The table first: a full disk must not lose what took an hour.
		if file == "-" {
			err = r.WriteJSON(a.Out)
		} else {
			r.Table(a.Out)
			if file != "" {
				err = saveResult(file, r)
			}
		}
		if page != "" {
			err = errors.Join(err, writePage(page, r, figures))
		}
		if err == nil && s.judge != nil {
			err = s.judge(o)
		}
		return err
	}}
	if s.args != "" {
		c.Args = cobra.ArbitraryArgs
	}
	if s.flags != nil {
		s.flags(c, o)
	}
	a.suiteFlags(c, o)
	c.Flags().StringVar(&file, "json", "", "write the result to a `file`, besides the table; - prints it instead of the table")
	c.Flags().StringVar(&page, "html", "", "write the result to a `file`, as a page with tables and plots")
	return c
}

func measure(ctx context.Context, s *suite, o *options) (*results.Result, []report.Figure, error) {
	ctx, stop := cli.Interrupts(ctx)
	defer stop()
	defer o.progress("")
	r, figures, err := s.run(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	r.Revision = cli.Version()["revision"]
	return r, figures, nil
}

func saveResult(path string, r *results.Result) error {
	var b bytes.Buffer
	if err := r.WriteJSON(&b); err != nil {
		return err
	}
	return cli.WriteFile(path, b.Bytes())
}

func writePage(path string, r *results.Result, figures []report.Figure) error {
	var b bytes.Buffer
	if err := report.Write(&b, r, figures); err != nil {
		return err
	}
	return cli.WriteFile(path, b.Bytes())
}

func readResult(path string) (*results.Result, error) {
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, failure("give a file that margay-lab SUITE --json wrote", "%s can't be read: %w", path, cli.Reason(err))
	}
	var r results.Result
	if err := json.Unmarshal(b, &r); err != nil || r.Suite == "" {
		return nil, failure("give a file that margay-lab SUITE --json wrote", "%s holds no result", path)
	}
	return &r, nil
}

func (a *app) allCommand() *cobra.Command {
	o := &options{n: -1}
	var out string
	c := &cobra.Command{
		Use: "all", Short: "All suites, one after another",
		Long: `Run all suites, one after another. A suite without its outside data is
skipped, with a line that says so; if MARGAY_REQUIRE names the data, it fails.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range suites() {
				r, figures, err := measure(cmd.Context(), &s, o)
				if errors.Is(err, effects.ErrNoDefinitions) {
					if slices.Contains(strings.Split(os.Getenv("MARGAY_REQUIRE"), ","), "mcp-tools") {
						return failure("set MCP_TOOLS_CACHE", "%s: %w", s.name, err)
					}
					a.Note("%s is left out: %v", s.name, err)
					continue
				}
				if errors.Is(err, errNoData) || errors.Is(err, fs.ErrNotExist) {
					if slices.Contains(strings.Split(os.Getenv("MARGAY_REQUIRE"), ","), "data") {
						return failure("set MARGAY_DATA, or give --data", "%s: %w", s.name, err)
					}
					a.Note("%s is left out: %v; set MARGAY_DATA, or give --data", s.name, err)
					continue
				}
				if err != nil {
					return failure("margay-lab "+s.name+" runs it alone", "%s: %w", s.name, err)
				}
				if err := a.Print(r, r.Table); err != nil {
					return err
				}
				if out != "" {
					if err := saveResult(filepath.Join(out, s.name+".json"), r); err != nil {
						return err
					}
					if err := writePage(filepath.Join(out, s.name+".html"), r, figures); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	a.suiteFlags(c, o)
	c.Flags().BoolVar(&o.quick, "quick", false, "run small suites, to see that they work; the figures mean nothing")
	c.Flags().StringVar(&out, "out", "", "`folder` to write SUITE.json and SUITE.html to")
	return c
}

func (a *app) compareCommand() *cobra.Command {
	var page string
	c := &cobra.Command{
		Use: "compare BEFORE AFTER", Short: "The changes between two results, with intervals where both have them", Args: cobra.ExactArgs(2),
		Long: "Show the changes between two results that margay-lab SUITE --json wrote.",
		RunE: func(_ *cobra.Command, args []string) error {
			before, err := readResult(args[0])
			if err != nil {
				return err
			}
			after, err := readResult(args[1])
			if err != nil {
				return err
			}
			if page != "" {
				var b bytes.Buffer
				if err := report.Compare(&b, before, after); err != nil {
					return err
				}
				if err := cli.WriteFile(page, b.Bytes()); err != nil {
					return err
				}
			}
			return a.showChanges(before, after)
		},
	}
	c.Flags().StringVar(&page, "html", "", "write the changes to a `file`, as a page")
	return c
}

// figuresCommand writes figures into documents. It is for those who work on
// Margay.
func (a *app) figuresCommand() *cobra.Command {
	var results string
	c := &cobra.Command{
		Use: "figures FILE...", Short: "Write the figures of results into Markdown", Hidden: true, Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			all, err := readResults(results)
			if err != nil {
				return err
			}
			for _, f := range files {
				b, err := os.ReadFile(filepath.Clean(f))
				if err != nil {
					return failure("give a Markdown file", "%s can't be read: %w", f, cli.Reason(err))
				}
				text, err := docs.Fill(string(b), all)
				if err != nil {
					return failure("see the package comment of lab/docs", "%s: %w", f, err)
				}
				if text == string(b) {
					continue
				}
				if err := cli.WriteFile(f, []byte(text)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&results, "results", filepath.Join("docs", "bench"), "`folder` of the results")
	return c
}

// readResults reads all results of a folder, by the names of their files.
func readResults(dir string) (map[string]*results.Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	all := map[string]*results.Result{}
	for _, f := range files {
		r, err := readResult(f)
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(filepath.Base(f), ".json")] = r
	}
	return all, nil
}
