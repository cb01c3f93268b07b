package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/declassify/rubriclint"
	"github.com/margaydev/margay/declassify/smt/z3"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/rubrics"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/rubric"
)

func (a *app) rubricCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rubric", Short: "Write, check, sign and publish rubrics, and explain what they come to",
		Long: "Write, check, sign and publish rubrics: what may be told of which secret field to whom, and how many bits that is. docs/rubrics.md says how to write one, docs/format/rubric.md has the format.",
	}
	c.AddCommand(a.rubricNew(), a.rubricLint(), a.rubricTest(), a.rubricSign(), a.rubricVerify(), a.rubricPublish(), a.rubricList(), a.rubricExplain())
	return c
}

// registry is the folder that has the rubrics.
func (a *app) registry() (rubrics.Folder, error) {
	c, err := a.load(nil)
	if err != nil {
		return rubrics.Folder{}, err
	}
	if err := state.Homeless(c); err != nil && (c.Declassify.Rubrics == "" || c.KeyDir == "") {
		return rubrics.Folder{}, err
	}
	return registryOf(c), nil
}

func registryOf(c *config.Config) rubrics.Folder {
	if c.Declassify.Rubrics != "" {
		return rubrics.At(c.Declassify.Rubrics, c.Keys())
	}
	return rubrics.In(c.State(), c.Keys())
}

// openRubric reads a rubric's YAML, or a signed one whose signature is not
// looked at.
func openRubric(name string) (*rubric.Rubric, error) {
	b, err := readRubric(name)
	if err != nil {
		return nil, err
	}
	if !rubrics.IsSigned(b) {
		if !utf8.Valid(b) { // a clause would look for something else than it says
			return nil, fmt.Errorf("%s: a rubric is UTF-8, and this is not", name)
		}
		return rubric.Parse(name, b)
	}
	_, canonical, _ := strings.Cut(string(b), "\n\n")
	return rubric.ParseCanonical(name, []byte(strings.TrimSuffix(canonical, "\n")))
}

func readRubric(name string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, usage("give the file of a rubric; margay rubric new writes one to begin with", "%s can't be read: %w", name, reason(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, rubric.MaxBytes+1024))
	if err != nil {
		return nil, usage("give the file of a rubric; margay rubric new writes one to begin with", "%s can't be read: %w", name, reason(err))
	}
	return b, nil
}

// goodRubric is openRubric for commands that need one in order.
func goodRubric(name string) (*rubric.Rubric, error) {
	r, err := openRubric(name)
	var p *problem.Error
	if err == nil || errors.As(err, &p) {
		return r, err
	}
	return nil, usage("margay rubric lint "+name+" lists every mistake; docs/format/rubric.md has the format", "%w", err)
}

// rubricName is what the schema of rubrics says.
var rubricName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,47}$`)

func (a *app) rubricNew() *cobra.Command {
	var fields []string
	var out string
	c := &cobra.Command{
		Use: "new NAME", Short: "Write a rubric to begin with", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Write a rubric to begin with, in order as it is: with populations, levels, predicates and samples for fields of the ontology, to be made your own. Fields are " + strings.Join(rubric.Ontology(), ", ") + ".",
		Example: "  margay rubric new seat-booking --field legal-name --field dob --out seat-booking.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(fields) == 0 {
				fields = []string{"legal-name", "email"}
			}
			if !rubricName.MatchString(args[0]) {
				return usage("such as margay rubric new seat-booking", "the name of a rubric is up to 48 lower-case letters, digits and dashes")
			}
			text, err := rubric.Starter(args[0], fields, time.Now())
			if err == nil {
				_, err = rubric.Parse("new", []byte(text))
			}
			if err != nil {
				return usage("margay rubric new seat-booking --field legal-name --field dob", "%w", err)
			}
			if out != "" && out != "-" {
				if _, err := os.Lstat(out); err == nil {
					return usage("give another name to --out", "%s is there already", out)
				}
				if err := writeFile(out, []byte(text)); err != nil {
					return err
				}
				a.note("wrote %s; margay rubric lint %s checks it", out, out)
				return nil
			}
			return a.print(map[string]string{"yaml": text}, func(w io.Writer) { fmt.Fprint(w, text) })
		},
	}
	c.Flags().StringSliceVar(&fields, "field", nil, "`name` of a field; repeatable (default legal-name and email)")
	complete(c, "field", rubric.Ontology)
	c.Flags().StringVar(&out, "out", "", "`file` to write; - for standard output (the default)")
	return c
}

func (a *app) rubricLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint [FILE...]", Short: "Check rubrics and run their samples",
		Long: "Check rubrics and run their samples: hierarchies, costs, dead clauses, limits, and what overlapping signatures leave. " +
			"Where Z3 is installed, prove that all that sinks need can be released within the limits, alone and where signatures overlap. Without a file, those that are published, together. Exit code 3 means findings.",
		Example: "  margay rubric lint booking.yaml\n  margay rubric lint *.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			rs, findings, err := a.lintInput(args)
			if err != nil {
				return err
			}
			now := time.Now()
			for _, r := range rs {
				findings = append(findings, rubric.Lint(r, now)...)
			}
			for i, r := range rs {
				for _, o := range rs[i+1:] {
					findings = append(findings, rubric.LintOverlap(r, o)...)
				}
			}
			proved, err := a.prove(cmd.Context(), rs, &findings)
			if err != nil {
				return err
			}
			samples := 0
			for _, r := range rs {
				samples += r.Samples()
			}
			if len(findings) > 0 {
				a.code = exitFindings
			}
			return a.print(map[string]any{"rubrics": len(rs), "samples": samples, "proved": proved, "findings": findings}, func(w io.Writer) {
				for i := range findings {
					fmt.Fprintln(w, findings[i].String())
				}
				fmt.Fprintf(w, "%s, %s, %s\n", count(len(rs), "rubric"), count(samples, "sample"), count(len(findings), "finding"))
			})
		},
	}
}

// prove adds what Z3 finds, and reports whether it was asked: without it, the
// rest is checked all the same.
func (a *app) prove(ctx context.Context, rs []*rubric.Rubric, findings *[]rubric.Finding) (bool, error) {
	for _, r := range rs {
		refused, err := rubriclint.Audit(rubric.Combine(r))
		if err != nil {
			*findings = append(*findings, r.Finding("graph-refused", err.Error(), "dependencies"))
		}
		for _, detail := range refused {
			*findings = append(*findings, r.Finding("audit-refuses", detail, "dependencies"))
		}
	}
	if len(rs) == 0 {
		return false, nil
	}
	pool, err := z3.Open(ctx, z3.Config{Size: 1, Timeout: time.Minute})
	if err != nil {
		a.note("nothing was proved: %v", err)
		return false, nil
	}
	defer pool.Close()
	more, err := rubriclint.Check(ctx, pool, rs...)
	if err != nil {
		return false, failure("z3 --version tells which one it is", "%w", err)
	}
	*findings = append(*findings, more...)
	return true, nil
}

// lintInput reads the files, or what is published and in force. What can't be
// read is a finding.
func (a *app) lintInput(args []string) (rs []*rubric.Rubric, findings []rubric.Finding, err error) {
	findings = []rubric.Finding{}
	for _, name := range args {
		r, err := openRubric(name)
		var p *problem.Error
		switch {
		case errors.As(err, &p):
			return nil, nil, err
		case err != nil:
			findings = append(findings, rubric.FindingOf(name, err))
		default:
			rs = append(rs, r)
		}
	}
	if len(args) > 0 {
		return rs, findings, nil
	}
	reg, refused, err := a.openRegistry()
	if err != nil {
		return nil, nil, err
	}
	for _, bad := range refused {
		findings = append(findings, rubric.Finding{Rubric: bad.What, Code: bad.Rule, Detail: bad.Err.Error()})
	}
	for _, r := range reg.All() {
		if reg.Active(r) {
			rs = append(rs, r)
		}
	}
	return rs, findings, nil
}

func (a *app) openRegistry() (*rubric.Registry, []*rubric.Refusal, error) {
	f, err := a.registry()
	if err != nil {
		return nil, nil, err
	}
	reg, refused, err := f.Look(nil)
	if err != nil {
		return nil, nil, failure(problem.Doctor, "%w", err)
	}
	return reg, refused, nil
}

// tested is what margay rubric test tells. It has no text of what was tested.
type tested struct {
	Rubric  string        `json:"rubric"`
	Samples int           `json:"samples,omitempty"`
	Failed  []failed      `json:"failed,omitempty"`
	Found   []found       `json:"found,omitempty"`
	Levels  []valueAtView `json:"levels,omitempty"`
}

type failed struct {
	Sample int    `json:"sample"`
	Detail string `json:"detail"`
}

type found struct {
	Field  string `json:"field"`
	Clause string `json:"clause"`
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Shape  string `json:"shape"`
}

type valueAtView struct {
	Level string `json:"level"`
	Cost  string `json:"cost"`
	Text  string `json:"text"`
}

func (a *app) rubricTest() *cobra.Command {
	var text, path, field string
	c := &cobra.Command{
		Use: "test FILE", Short: "Run a rubric's samples, or try it on a text or a value", Args: cobra.ExactArgs(1),
		Long: "Run a rubric's samples. With --text, tell what its clauses find in a text, as shapes: letters stand as a, digits as 0. " +
			"With --field, tell what a value that is read from standard input is at each level. Exit code 3 means that a sample fails.",
		Example: "  margay rubric test booking.yaml\n  margay rubric test booking.yaml --text mail.txt\n  echo 1985-03-02 | margay rubric test booking.yaml --field dob",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case text != "" && field != "":
				return usage("give one of them", "--text looks at a text, --field at a value")
			case path != "" && text == "":
				return usage("margay rubric test "+args[0]+" --text FILE --path "+path, "--path is of a text")
			}
			r, err := goodRubric(args[0])
			if err != nil {
				return err
			}
			t := &tested{Rubric: r.String()}
			switch {
			case text != "":
				b, err := readAll(a.in, text)
				if err != nil {
					return err
				}
				for _, m := range rubric.Combine(r).Match(path, string(b)) {
					t.Found = append(t.Found, found{m.Field, m.Clause, m.Start, m.End, shape(string(b[m.Start:m.End]))})
				}
				return a.print(t, t.writeFound)
			case field != "":
				b, err := readAll(a.in, "-")
				if err != nil {
					return err
				}
				if err := t.levels(r, field, strings.TrimRight(string(b), "\r\n")); err != nil {
					return err
				}
				return a.print(t, t.writeLevels)
			}
			t.Samples = r.Samples()
			for i := range t.Samples {
				if _, err := r.RunSample(i); err != nil {
					t.Failed = append(t.Failed, failed{i + 1, err.Error()})
					a.code = exitFindings
				}
			}
			return a.print(t, func(w io.Writer) {
				for _, f := range t.Failed {
					fmt.Fprintf(w, "sample %d: %s\n", f.Sample, f.Detail)
				}
				fmt.Fprintf(w, "%s: %s, %d failed\n", t.Rubric, count(t.Samples, "sample"), len(t.Failed))
			})
		},
	}
	f := c.Flags()
	f.StringVar(&text, "text", "", "`file` with a text to look at; - is standard input")
	f.StringVar(&path, "path", "", "structured `path` of the text, such as passenger.dob")
	f.StringVar(&field, "field", "", "`field` of a value that is read from standard input")
	completeBy(c, "field", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		r, err := openRubric(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return rubric.Combine(r).Fields(), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (t *tested) writeFound(w io.Writer) {
	tw := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "field\tclause\tbytes\tshape")
	for _, f := range t.Found {
		fmt.Fprintf(tw, "%s\t%s\t%d-%d\t%s\n", f.Field, f.Clause, f.Start, f.End, f.Shape)
	}
	_ = tw.Flush()
}

func (t *tested) levels(r *rubric.Rubric, field, value string) error {
	if !slices.Contains(rubric.Combine(r).Fields(), field) {
		return usage("its fields are "+strings.Join(rubric.Combine(r).Fields(), ", "), "the rubric has no field %q", field)
	}
	rs := rubric.Combine(r)
	for l, name := range append([]string{"identity"}, r.LevelNames(field)...) {
		s, err := rs.Generalize(field, l, value)
		if errors.Is(err, rubric.ErrOutside) {
			return failure("such a value can only be redacted or dropped; see the population of "+field, "%w", err)
		}
		if err != nil {
			return err
		}
		if l == 0 {
			s = shape(s)
		}
		t.Levels = append(t.Levels, valueAtView{name, rs.Cost(field, opAt(l)).String(), s})
	}
	return nil
}

func opAt(level int) rubric.Op {
	if level == 0 {
		return rubric.Op{Kind: rubric.Identity}
	}
	return rubric.Op{Kind: rubric.Generalize, Level: level}
}

func (t *tested) writeLevels(w io.Writer) {
	tw := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "level\tcost\ttext")
	for _, l := range t.Levels {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", l.Level, l.Cost, l.Text)
	}
	_ = tw.Flush()
}
