package policies

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

// rubricExplained is the result of margay rubric explain.
type rubricExplained struct {
	Rubrics  []string         `json:"rubrics"` // empty for the fallback
	Class    string           `json:"class"`
	Budget   string           `json:"budget"`
	Caps     []string         `json:"caps"`    // by class, from required-service on
	Weights  []float64        `json:"weights"` // the same
	Margin   string           `json:"margin"`
	TopRisk  string           `json:"top_risk"`
	Fields   []fieldExplained `json:"fields"`
	Fallback bool             `json:"fallback"`
}

// classNames are the classes of sinks, and channels those of releases.
var (
	classNames = []string{flow.RequiredService.String(), flow.SemiTrusted.String(), flow.Adversarial.String()}
	channels   = []string{string(flow.ChannelModel), string(flow.ChannelTool), string(flow.ChannelMemory), string(flow.ChannelAgent), string(flow.ChannelUser)}
)

type fieldExplained struct {
	Field     string        `json:"field"`
	Group     string        `json:"group"`
	Necessity string        `json:"necessity"`
	Must      string        `json:"must_survive,omitempty"`
	Operators []opExplained `json:"operators"`
}

type opExplained struct {
	Operator string    `json:"operator"`
	Cost     flow.Bits `json:"cost_microbits"`
	Text     string    `json:"cost"`
	Admitted bool      `json:"admitted"`
}

func (a *app) rubricExplain() *cobra.Command {
	var q rubric.Query
	var class, channel, file string
	c := &cobra.Command{
		Use: "explain", Short: "Explain which rubrics hold for a release, and what each operator costs", Args: cobra.NoArgs,
		Long: "Explain which rubrics hold for a release, by its trusted metadata, and what each operator on each field costs. With --file, only that rubric holds.",
		Example: "  margay rubric explain --action book-seat --class required-service\n" +
			"  margay rubric explain --file booking.yaml --class semi-trusted",
		RunE: func(*cobra.Command, []string) error {
			k, ok := rubric.ParseClass(class)
			if !ok {
				return problem.Usage("classes are "+strings.Join(classNames, ", "), "unknown class of recipients %q", class)
			}
			if !slices.Contains(channels, channel) {
				return problem.Usage("channels are "+strings.Join(channels, ", "), "unknown channel %s", invocation.Printable(channel))
			}
			q.Class, q.Channel = k, flow.Channel(channel)
			var res *rubric.Resolved
			if file != "" {
				r, err := goodRubric(file)
				if err != nil {
					return err
				}
				res = rubric.Combine(r)
			} else {
				reg, refused, err := a.openRegistry()
				if err != nil {
					return err
				}
				for _, bad := range refused {
					a.Note("%s", bad)
				}
				if res, err = reg.Resolve(q); err != nil {
					return problem.Failure("such a release is refused; margay rubric list shows what is in force", "%w", err)
				}
			}
			e := explainRules(res, k)
			return a.PrintTable(e, e.write)
		},
	}
	f := c.Flags()
	f.StringVar(&q.Action, "action", "", "`category` of what the tool does")
	f.StringVar(&q.Tool, "tool", "", "`name` of the tool")
	f.StringVar(&q.Sink, "sink", "", "`name` of the recipient (sink)")
	f.StringVar(&channel, "channel", "tool", "`channel`: model, tool, memory, agent or user")
	f.StringVar(&class, "class", "adversarial", "`class` of the recipient: required-service, semi-trusted or adversarial")
	f.StringSliceVar(&q.Fields, "field", nil, "`type` of a field of the tool's arguments; repeatable")
	f.StringVar(&file, "file", "", "`file` of a rubric to explain alone")
	cli.Complete(c, "action", a.actions)
	cli.CompleteBy(c, "channel", cobra.FixedCompletions(channels, cobra.ShellCompDirectiveNoFileComp))
	cli.CompleteBy(c, "class", cobra.FixedCompletions(classNames, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func explainRules(res *rubric.Resolved, class flow.Class) *rubricExplained {
	l := res.Limits()
	e := &rubricExplained{
		Rubrics: []string{}, Class: class.String(), Budget: l.B.String(), Margin: l.Margin.String(), TopRisk: res.TopRisk().String(), Fields: []fieldExplained{},
		Fallback: res.IsFallback(),
	}
	for k := 1; k < len(l.Cap); k++ {
		e.Caps, e.Weights = append(e.Caps, l.Cap[k].String()), append(e.Weights, float64(l.Lambda[k])/1000)
	}
	for _, r := range res.Rubrics() {
		e.Rubrics = append(e.Rubrics, r.String())
	}
	for _, name := range res.Fields() {
		f := fieldExplained{Field: name, Group: res.Group(name), Necessity: res.Necessity(name, class).String()}
		names := res.LevelNames(name)
		word := func(level int) string {
			if level == 0 {
				return "identity"
			}
			if level <= len(names) {
				return names[level-1]
			}
			return fmt.Sprint("level ", level)
		}
		for _, n := range res.Utility(class) {
			if n.Field == name {
				f.Must = word(n.Level)
			}
		}
		admitted := map[rubric.Op]bool{}
		add := func(word string, o rubric.Op) {
			cost := res.Cost(name, o)
			f.Operators = append(f.Operators, opExplained{word, cost, cost.String(), admitted[o]})
		}
		for _, o := range res.Operators(name, class) {
			admitted[o] = true
			if o.Kind <= rubric.Substitute {
				add(strings.TrimSuffix(strings.TrimPrefix(o.String(), "substitute("), ")"), o)
			}
		}
		for level := len(names); level >= 0; level-- {
			add(word(level), opAt(level))
		}
		e.Fields = append(e.Fields, f)
	}
	return e
}

func (e *rubricExplained) write(w io.Writer) {
	if e.Fallback {
		fmt.Fprintln(w, "No rubric is in force for such a release: values can only be redacted or dropped.")
	}
	for _, r := range e.Rubrics {
		fmt.Fprintln(w, r)
	}
	cli.Fprintf(w, "budget %s; caps %s; weights %s; margin %s; sinks here are %s\n", e.Budget, strings.Join(e.Caps, ", "), strings.Trim(fmt.Sprint(e.Weights), "[]"), e.Margin, e.Class)
	if len(e.Fields) == 0 {
		return
	}
	fmt.Fprintln(w, "\nfield\tneed\toperator\tcost\t")
	for _, f := range e.Fields {
		name, need := f.Field, f.Necessity
		if f.Must != "" {
			need += ", as " + f.Must
		}
		if f.Group != f.Field {
			need += ", with " + f.Group
		}
		for _, o := range f.Operators {
			not := ""
			if !o.Admitted {
				not = "not admitted"
			}
			cli.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", name, need, o.Operator, o.Text, not)
			name, need = "", ""
		}
	}
}

// shownFile is a file of the library.
type shownFile struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "rubric" or "vocabulary"
	SHA256 string `json:"sha256,omitempty"`
}

func (a *app) rubricShow() *cobra.Command {
	canonical := false
	c := &cobra.Command{
		Use: "show [NAME]", Short: "Show the rubrics of the library, and what a rubric can include", Args: cobra.MaximumNArgs(1),
		Long: "Show the rubrics that come with Margay and the vocabularies that a rubric can include, with the hashes that pin them. With a name, show the text. " +
			"With --canonical, show the bytes of a rubric that are hashed and signed, with what it includes; NAME may then be a file.",
		Example: "  margay rubric show\n  margay rubric show travel-booking > mine.yaml\n  margay rubric show margay/names.yaml\n  margay rubric show --canonical booking.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return a.showLibrary()
			case canonical:
				r, err := library.Rubric(args[0])
				if errors.Is(err, library.ErrUnknown) {
					r, err = goodRubric(args[0])
				}
				if err != nil {
					return err
				}
				return a.printText("canonical", string(r.Canonical())+"\n")
			}
			for _, f := range library.All() {
				if f.Name == args[0] {
					return a.printText("yaml", f.Text)
				}
			}
			b, err := library.Open(args[0])
			if err != nil {
				return problem.Usage("margay rubric show lists all; --canonical accepts a file", "unknown name %s in the library", invocation.Printable(args[0]))
			}
			return a.printText("yaml", string(b))
		},
	}
	c.Flags().BoolVar(&canonical, "canonical", false, "print the bytes that are hashed and signed")
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := library.Names()
		for _, v := range library.Vocabularies() {
			names = append(names, library.Prefix+v.Name+".yaml")
		}
		return names, cobra.ShellCompDirectiveDefault
	}
	return c
}

func (a *app) printText(key, text string) error {
	return a.Print(map[string]string{key: text}, func(w io.Writer) { fmt.Fprint(w, text) })
}

func (a *app) showLibrary() error {
	var out []shownFile
	for _, name := range library.Names() {
		out = append(out, shownFile{Name: name, Kind: "rubric"})
	}
	for _, v := range library.Vocabularies() {
		out = append(out, shownFile{library.Prefix + v.Name + ".yaml", "vocabulary", fmt.Sprintf("%x", sha256.Sum256([]byte(v.Text)))})
	}
	return a.PrintTable(out, func(w io.Writer) {
		for _, f := range out {
			if f.SHA256 == "" {
				cli.Fprintf(w, "%s\t%s\n", f.Kind, f.Name)
			}
		}
		fmt.Fprintln(w, "\n# to write below include: in a rubric")
		for _, f := range out {
			if f.SHA256 != "" {
				cli.Fprintf(w, "  - {file: %s, sha256: %s}\n", f.Name, f.SHA256)
			}
		}
	})
}
