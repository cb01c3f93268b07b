package policies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/declassify/rubriclint"
	"github.com/margaydev/margay/declassify/smt/z3"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/drafts"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/rehearse"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/lint"
	"github.com/margaydev/margay/rubric/signed"
)

func (a *app) rubricCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "rubric", Short: "Write, check, sign and publish rubrics, and explain their costs",
		Long: "Write, check, sign and publish rubrics: who may learn which form of a secret field, and at how many bits. docs/rubrics.md says how to write one; docs/format/rubric.md has the format.",
	}
	c.AddCommand(a.rubricNew(), drafts.RubricCommand(a.App), a.rubricLint(), a.rubricTest(), a.rubricSign(), a.rubricVerify(), a.rubricPublish(), a.rubricList(), a.rubricShow(), a.rubricExplain())
	return c
}

// registry is the folder of rubrics.
func (a *app) registry() (rubrics.Folder, error) {
	c, err := a.Load(nil)
	if err != nil {
		return rubrics.Folder{}, err
	}
	if err := state.CheckFolder(c); err != nil && (c.Declassify.Rubrics == "" || c.KeyDir == "") {
		return rubrics.Folder{}, err
	}
	return rubrics.Of(c), nil
}

// openRubric reads a rubric's YAML, or a signed rubric without checking its
// signature.
func openRubric(name string) (*rubric.Rubric, error) {
	b, err := readRubric(name)
	if err != nil {
		return nil, err
	}
	if !signed.IsEnvelope(b) {
		if !utf8.Valid(b) { // a clause would search for other text than it shows
			return nil, fmt.Errorf("%s: a rubric is UTF-8 text, and this file is not", name)
		}
		return rubric.ParseWith(name, b, rubrics.Beside(name))
	}
	_, canonical, _ := strings.Cut(string(b), "\n\n")
	return rubric.ParseCanonical(name, []byte(strings.TrimSuffix(canonical, "\n")))
}

func readRubric(name string) ([]byte, error) {
	b, err := cli.ReadFile(name, rubric.MaxBytes+1024)
	if err != nil {
		return nil, problem.Usage("give the file of a rubric; margay rubric new writes one to start from", "%w", err)
	}
	return b, nil
}

// goodRubric is openRubric for commands that need a rubric without mistakes.
func goodRubric(name string) (*rubric.Rubric, error) {
	r, err := openRubric(name)
	if err == nil || errors.As(err, new(*problem.Error)) {
		return r, err
	}
	return nil, problem.Usage("margay rubric lint "+name+" lists every mistake; docs/format/rubric.md has the format", "%w", err)
}

// rubricName is as in the schema of rubrics.
var rubricName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,47}$`)

func (a *app) rubricNew() *cobra.Command {
	var fields []string
	var out string
	c := &cobra.Command{
		Use: "new NAME", Short: "Write a rubric to start from", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long:    "Write a rubric to start from. It passes lint, and has populations, levels, predicates and samples for fields of the ontology. Edit it for your task. Fields are " + strings.Join(library.StarterFields(), ", ") + ".",
		Example: "  margay rubric new seat-booking --field legal-name --field dob --out seat-booking.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(fields) == 0 {
				fields = []string{"legal-name", "email"}
			}
			if !rubricName.MatchString(args[0]) {
				return problem.Usage("such as margay rubric new seat-booking", "the name of a rubric is up to 48 lower-case letters, digits and dashes")
			}
			text, err := library.Starter(args[0], fields, time.Now())
			if err == nil {
				_, err = rubric.Parse("new", []byte(text))
			}
			if err != nil {
				return problem.Usage("margay rubric new seat-booking --field legal-name --field dob", "%w", err)
			}
			if out != "" && out != "-" {
				if _, err := os.Lstat(out); err == nil {
					return problem.Usage("give another name to --out", "%s exists already", out)
				}
				if err := cli.WriteFile(out, []byte(text)); err != nil {
					return err
				}
				a.Note("wrote %s; margay rubric lint %s checks it", out, out)
				return nil
			}
			return a.printText("yaml", text)
		},
	}
	c.Flags().StringSliceVar(&fields, "field", nil, "`name` of a field; repeatable (default legal-name and email)")
	cli.Complete(c, "field", library.StarterFields)
	c.Flags().StringVar(&out, "out", "", "`file` to write; - for standard output (the default)")
	return c
}

func (a *app) rubricLint() *cobra.Command {
	return &cobra.Command{
		Use: "lint [FILE...]", Short: "Check rubrics and run their samples",
		Long: "Check rubrics and run their samples: hierarchies, costs, dead clauses, limits, and what overlapping signatures leave. " +
			"If Z3 is installed, prove that what recipients need can be released within the limits, alone and where signatures overlap. Without a file, check the published rubrics, together. Exit code 3 means findings.",
		Example: "  margay rubric lint booking.yaml\n  margay rubric lint *.yaml",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			rs, findings, err := a.lintInput(args)
			if err != nil {
				return err
			}
			findings = append(findings, lint.All(rs, time.Now())...)
			proved, err := a.prove(cmd.Context(), rs, &findings)
			if err != nil {
				return err
			}
			samples := 0
			for _, r := range rs {
				samples += len(r.Document().Samples)
			}
			if len(findings) > 0 {
				a.Code = problem.Findings
			}
			return a.Print(map[string]any{"rubrics": len(rs), "samples": samples, "proved": proved, "findings": findings}, func(w io.Writer) {
				for i := range findings {
					cli.Fprintf(w, "%s\n", findings[i].String())
				}
				cli.Fprintf(w, "%s, %s, %s\n", invocation.Count(len(rs), "rubric"), invocation.Count(samples, "sample"), invocation.Count(len(findings), "finding"))
			})
		},
	}
}

// prove adds Z3's findings, and reports whether there is a Z3: everything else is
// checked without it, too.
func (a *app) prove(ctx context.Context, rs []*rubric.Rubric, findings *[]lint.Finding) (bool, error) {
	for _, r := range rs {
		refused, err := rubriclint.Audit(rubric.Combine(r))
		if err != nil {
			*findings = append(*findings, lint.At(r, "graph-refused", err.Error(), "dependencies"))
		}
		for _, detail := range refused {
			*findings = append(*findings, lint.At(r, "audit-refuses", detail, "dependencies"))
		}
	}
	if len(rs) == 0 {
		return false, nil
	}
	pool, err := z3.Open(ctx, z3.Config{Size: 1, Timeout: time.Minute})
	if err != nil {
		a.Note("nothing was proved: %v", err)
		return false, nil
	}
	defer pool.Close()
	more, err := rubriclint.Check(ctx, pool, rs...)
	if err != nil {
		return false, problem.Failure("z3 --version shows which version it is", "%w", err)
	}
	*findings = append(*findings, more...)
	return true, nil
}

// lintInput reads the files, or the published rubrics in force. A rubric that
// can't be read is a finding.
func (a *app) lintInput(args []string) (rs []*rubric.Rubric, findings []lint.Finding, err error) {
	findings = []lint.Finding{}
	for _, name := range args {
		r, err := openRubric(name)
		switch {
		case errors.As(err, new(*problem.Error)):
			return nil, nil, err
		case err != nil:
			findings = append(findings, lint.Invalid(name, err))
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
		findings = append(findings, lint.Finding{Rubric: bad.What, Code: bad.Rule, Detail: bad.Err.Error()})
	}
	return rubrics.InForce(reg), findings, nil
}

func (a *app) openRegistry() (*rubric.Registry, []*rubric.Refusal, error) {
	f, err := a.registry()
	if err != nil {
		return nil, nil, err
	}
	reg, refused, err := f.Read(nil)
	return reg, refused, problem.Unexpected(err)
}

// tested is the result of margay rubric test. It holds no part of the tested text.
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
	var text, path, field, conversation, class string
	c := &cobra.Command{
		Use: "test FILE", Short: "Run a rubric's samples, or try it on a text, a value or a conversation", Args: cobra.ExactArgs(1),
		Long: "Run a rubric's samples. With --text, show what its clauses find in a text, as shapes: letters become a, digits 0. " +
			"With --field, read a value from standard input and show its cell at each level. Exit code 3 means that a sample fails.\n\n" +
			"With --conversation, take a conversation through the rubric as one task: a file with a JSON object on each line, {\"role\": …, \"text\": …} " +
			"(system, developer, user, assistant or tool) or {\"tool\": …, \"arguments\": {…}}. The model and the tools are those below declassify in the configuration; " +
			"--class is the model's class where that does not say it. Exit code 3 means that a turn is denied, or that text of the user or the system is redacted; the clause at fault is named. Nothing is sent or charged.",
		Example: "  margay rubric test booking.yaml\n  margay rubric test booking.yaml --text mail.txt\n  echo 1985-03-02 | margay rubric test booking.yaml --field dob\n  margay rubric test booking.yaml --conversation sample.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case text != "" && field != "" || conversation != "" && text+field != "":
				return problem.Usage("give one of them", "--text searches a text, --field generalises a value, --conversation takes one through the rubric: they exclude each other")
			case path != "" && text == "":
				return problem.Usage("margay rubric test "+args[0]+" --text FILE --path "+path, "--path needs --text")
			}
			r, err := goodRubric(args[0])
			if err != nil {
				return err
			}
			t := &tested{Rubric: r.String()}
			switch {
			case conversation != "":
				return a.rehearse(cmd.Context(), r, conversation, class)
			case text != "":
				b, err := a.readText(text)
				if err != nil {
					return err
				}
				for _, m := range rubric.Combine(r).Match(path, string(b)) {
					t.Found = append(t.Found, found{m.Field, m.Clause, m.Start, m.End, shape(string(b[m.Start:m.End]))})
				}
				return a.PrintTable(t, t.writeFound)
			case field != "":
				b, err := a.readText("-")
				if err != nil {
					return err
				}
				if err := t.levels(rubric.Combine(r), field, strings.TrimRight(string(b), "\r\n")); err != nil {
					return err
				}
				return a.PrintTable(t, t.writeLevels)
			}
			t.Samples = len(r.Document().Samples)
			for i := range t.Samples {
				if _, err := lint.Sample(r, i); err != nil {
					t.Failed = append(t.Failed, failed{i + 1, err.Error()})
					a.Code = problem.Findings
				}
			}
			return a.Print(t, func(w io.Writer) {
				for _, f := range t.Failed {
					cli.Fprintf(w, "sample %d: %s\n", f.Sample, f.Detail)
				}
				cli.Fprintf(w, "%s: %s, %d failed\n", t.Rubric, invocation.Count(t.Samples, "sample"), len(t.Failed))
			})
		},
	}
	f := c.Flags()
	f.StringVar(&text, "text", "", "`file` with a text to search; - is standard input")
	f.StringVar(&path, "path", "", "structured `path` of the text, such as passenger.dob")
	f.StringVar(&field, "field", "", "`field` of a value that is read from standard input")
	f.StringVar(&conversation, "conversation", "", "`file` with a sample conversation, as JSON lines; - is standard input")
	f.StringVar(&class, "class", flow.SemiTrusted.String(), "`class` of the model, with --conversation")
	cli.CompleteBy(c, "class", cobra.FixedCompletions(classNames, cobra.ShellCompDirectiveNoFileComp))
	cli.CompleteBy(c, "field", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var fields []string
		if len(args) > 0 {
			if r, err := openRubric(args[0]); err == nil {
				fields = rubric.Combine(r).Fields()
			}
		}
		return fields, cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

// rehearse takes a conversation through a rubric.
func (a *app) rehearse(ctx context.Context, r *rubric.Rubric, file, class string) error {
	k, ok := rubric.ParseClass(class)
	if !ok {
		return problem.Usage("classes are "+strings.Join(classNames, ", "), "unknown class of recipients %q", class)
	}
	c, err := a.Load(nil)
	if err != nil {
		return err
	}
	b, err := a.readText(file)
	if err != nil {
		return err
	}
	turns, err := rehearse.Parse(b)
	if err != nil {
		return problem.Usage(`each line is {"role": "user", "text": "…"} or {"tool": "…", "arguments": {…}}`, "%s: %w", file, err)
	}
	all, err := rehearse.Run(ctx, &c.Declassify, r, k, turns)
	if err != nil {
		return problem.Unexpected(err)
	}
	broken := 0
	for i := range all {
		if len(all[i].Faults) > 0 {
			broken++
			a.Code = problem.Findings
		}
	}
	return a.Print(map[string]any{"rubric": r.String(), "turns": all, "broken": broken}, func(w io.Writer) {
		for i := range all {
			t := &all[i]
			if t.Outcome == "" {
				cli.Fprintf(w, "turn %d, %s: not checked, declassify.tools does not have it\n", t.Turn, t.What)
				continue
			}
			cli.Fprintf(w, "turn %d, %s: %s, %v\n", t.Turn, t.What, t.Outcome, t.Charge)
			for _, f := range t.Faults {
				cli.Fprintf(w, "  %s: %s\n  hint: %s\n", f.Clause, f.Detail, f.Next)
			}
		}
		cli.Fprintf(w, "%s: %s, %d broken\n", r, invocation.Count(len(all), "turn"), broken)
	})
}

func (t *tested) writeFound(w io.Writer) {
	fmt.Fprintln(w, "field\tclause\tbytes\tshape")
	for _, f := range t.Found {
		cli.Fprintf(w, "%s\t%s\t%d-%d\t%s\n", f.Field, f.Clause, f.Start, f.End, f.Shape)
	}
}

func (t *tested) levels(rs *rubric.Resolved, field, value string) error {
	if !slices.Contains(rs.Fields(), field) {
		return problem.Usage("its fields are "+strings.Join(rs.Fields(), ", "), "the rubric has no field %q", field)
	}
	for l, name := range append([]string{"identity"}, rs.LevelNames(field)...) {
		s, err := rs.Generalize(field, l, value)
		if errors.Is(err, rubric.ErrOutside) {
			return problem.Failure("such a value can only be redacted or dropped; see the population of "+field, "%w", err)
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
	fmt.Fprintln(w, "level\tcost\ttext")
	for _, l := range t.Levels {
		cli.Fprintf(w, "%s\t%s\t%s\n", l.Level, l.Cost, l.Text)
	}
}

// actions are those of the rubrics in force.
func (a *app) actions() []string {
	reg, _, err := a.openRegistry()
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, r := range rubrics.InForce(reg) {
		for _, s := range r.Signature().Actions {
			out[s] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}
