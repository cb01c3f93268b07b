package app

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// rubricExplained is what margay rubric explain tells.
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

// classNames are the classes of sinks.
func classNames() []string {
	var out []string
	for k := flow.RequiredService; k <= flow.Adversarial; k++ {
		out = append(out, k.String())
	}
	return out
}

// channels are those that a release may have.
func channels() []string {
	var out []string
	for _, c := range []flow.Channel{flow.ChannelModel, flow.ChannelTool, flow.ChannelMemory, flow.ChannelAgent, flow.ChannelUser} {
		out = append(out, string(c))
	}
	return out
}

type fieldExplained struct {
	Field     string       `json:"field"`
	Group     string       `json:"group"`
	Necessity string       `json:"necessity"`
	Must      string       `json:"must_survive,omitempty"`
	Operators []opExplaned `json:"operators"`
}

type opExplaned struct {
	Operator string    `json:"operator"`
	Cost     flow.Bits `json:"cost_microbits"`
	Text     string    `json:"cost"`
	Admitted bool      `json:"admitted"`
}

func (a *app) rubricExplain() *cobra.Command {
	var q rubric.Query
	var class, channel, file string
	c := &cobra.Command{
		Use: "explain", Short: "Tell which rubrics hold for a release, and what each operator costs", Args: cobra.NoArgs,
		Long: "Tell which rubrics hold for a release, by its trusted metadata, and what each operator on each field costs. With --file, as if that rubric alone held.",
		Example: "  margay rubric explain --action book-seat --class required-service\n" +
			"  margay rubric explain --file booking.yaml --class semi-trusted",
		RunE: func(*cobra.Command, []string) error {
			k, ok := rubric.ParseClass(class)
			if !ok {
				return usage("classes are required-service, semi-trusted and adversarial", "%q is no class of sinks", class)
			}
			if !slices.Contains(channels(), channel) {
				return usage("channels are "+strings.Join(channels(), ", "), "%s is no channel", printable(channel))
			}
			q.Class, q.Channel = k, flow.Channel(channel)
			var res *rubric.Resolved
			var rules []*rubric.Rubric
			if file != "" {
				r, err := goodRubric(file)
				if err != nil {
					return err
				}
				rules = []*rubric.Rubric{r}
				res = rubric.Combine(r)
			} else {
				reg, refused, err := a.openRegistry()
				if err != nil {
					return err
				}
				for _, bad := range refused {
					a.note("%s", bad)
				}
				if res, err = reg.Resolve(q); err != nil {
					return failure("such a release is refused; margay rubric list shows what is in force", "%w", err)
				}
				rules = res.Rubrics()
			}
			e := explainRules(res, rules, k)
			return a.print(e, e.write)
		},
	}
	f := c.Flags()
	f.StringVar(&q.Action, "action", "", "`category` of what the tool does")
	f.StringVar(&q.Tool, "tool", "", "`name` of the tool")
	f.StringVar(&q.Sink, "sink", "", "`name` of the sink")
	f.StringVar(&channel, "channel", "tool", "`channel`: model, tool, memory, agent or user")
	f.StringVar(&class, "class", "adversarial", "`class` of the sink: required-service, semi-trusted or adversarial")
	f.StringSliceVar(&q.Fields, "field", nil, "`type` of a field of the tool's arguments; repeatable")
	f.StringVar(&file, "file", "", "`file` of a rubric to explain alone")
	complete(c, "action", a.actions)
	complete(c, "channel", channels)
	complete(c, "class", classNames)
	return c
}

func explainRules(res *rubric.Resolved, rules []*rubric.Rubric, class flow.Class) *rubricExplained {
	l := res.Limits()
	e := &rubricExplained{
		Rubrics: []string{}, Class: class.String(), Budget: l.B.String(), Margin: l.Margin.String(), TopRisk: res.TopRisk().String(), Fields: []fieldExplained{},
		Fallback: res.IsFallback(),
	}
	for k := 1; k < len(l.Cap); k++ {
		e.Caps, e.Weights = append(e.Caps, l.Cap[k].String()), append(e.Weights, float64(l.Lambda[k])/1000)
	}
	for _, r := range rules {
		e.Rubrics = append(e.Rubrics, r.String())
	}
	for _, name := range res.Fields() {
		f := fieldExplained{Field: name, Group: res.Group(name), Necessity: res.Necessity(name, class).String()}
		var names []string
		for _, r := range rules {
			if got := r.LevelNames(name); len(got) > len(names) {
				names = got
			}
		}
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
		ops := res.Operators(name, class)
		for _, o := range ops {
			admitted[o] = true
			if o.Kind <= rubric.Substitute {
				f.Operators = append(f.Operators, opExplaned{strings.TrimSuffix(strings.TrimPrefix(o.String(), "substitute("), ")"), res.Cost(name, o), res.Cost(name, o).String(), true})
			}
		}
		for level := len(names); level >= 0; level-- {
			o := opAt(level)
			f.Operators = append(f.Operators, opExplaned{word(level), res.Cost(name, o), res.Cost(name, o).String(), admitted[o]})
		}
		e.Fields = append(e.Fields, f)
	}
	return e
}

func (e *rubricExplained) write(w io.Writer) {
	if e.Fallback {
		fmt.Fprintln(w, "No rubric is for such a release: redact and drop alone.")
	}
	for _, r := range e.Rubrics {
		fmt.Fprintln(w, r)
	}
	fmt.Fprintf(w, "budget %s; caps %s; weights %s; margin %s; sinks here are %s\n", e.Budget, strings.Join(e.Caps, ", "), strings.Trim(fmt.Sprint(e.Weights), "[]"), e.Margin, e.Class)
	if len(e.Fields) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 2, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\nfield\tneed\toperator\tcost\t")
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
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", name, need, o.Operator, o.Text, not)
			name, need = "", ""
		}
	}
	_ = t.Flush()
}
