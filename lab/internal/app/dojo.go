package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/lab/dojo"
	"github.com/margaydev/margay/lab/dojo/episode"
	"github.com/margaydev/margay/lab/firstuse"
	"github.com/margaydev/margay/lab/judging"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/screen/lexical"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/pack"
)

// dojoOptions are those of the suite dojo alone.
type dojoOptions struct {
	defences, suites []string
	typed, benign    bool
	judged           judgeOptions
	packs, labels    string
}

var dojoSuites = []string{"workspace", "travel", "banking", "slack"}

// dojoLabelled are the names of the rows that need packs.
var dojoLabelled = []string{"none", "all", "lexical", judgeName, saliencyName, "replay"}

func dojoNames() []string {
	return append([]string{"undefended", "toolfilter", "confirm"}, dojoLabelled...)
}

func dojoFlags(c *cobra.Command, o *options) {
	d := &o.dojo
	c.Flags().IntVar(&o.n, "n", 0, "episodes of each suite and kind; 0 for all")
	c.Flags().StringSliceVar(&d.defences, "defence", nil, "only these `names`, separated by commas: "+strings.Join(dojoNames(), " "))
	c.Flags().StringSliceVar(&d.suites, "suite", nil, "only these `names` of suites, separated by commas: "+strings.Join(dojoSuites, " "))
	c.Flags().BoolVar(&d.typed, "typed", true, "also with the injected texts in typed fields")
	c.Flags().BoolVar(&d.benign, "benign", false, "only the user tasks without injections")
	c.Flags().StringVar(&d.packs, "packs", packsDefault, "default, or none: no pack describes the tools, and the user has said what they do")
	c.Flags().StringVar(&d.labels, "labels", "agentdojo", "what the user says of tools that no pack describes: a `file`, or "+strings.Join(firstuse.Names(), ", "))
	judgeFlags(c, &d.judged)
	saliencyFlags(c, &o.saliency)
}

func checkDojo(o *options) error {
	for _, s := range o.dojo.suites {
		if !slices.Contains(dojoSuites, s) {
			return usage("suites are "+strings.Join(dojoSuites, " "), "unknown suite %q", s)
		}
	}
	if err := o.dojo.judged.check(); err != nil {
		return err
	}
	if p := o.dojo.packs; p != packsDefault && p != packsNone {
		return usage("packs are "+packsDefault+" or "+packsNone, "unknown packs %q", p)
	}
	return checkDefences(o.dojo.defences, dojoNames())
}

// Packs of the suite dojo.
const (
	packsDefault = "default"
	packsNone    = "none"
)

// rulesWithout are the policy where no pack describes a tool, and a user has said
// what each does.
func rulesWithout(labels string) (dojo.Rules, error) {
	said, err := firstuse.Open(labels)
	if err != nil {
		return nil, err
	}
	p, err := pack.Policy(observe.Machine(), nil)
	if err != nil {
		return nil, err
	}
	p = p.On(&act.Machine{Profile: said.Profile})
	return func(string) (*taint.Policy, error) { return p, nil }, nil
}

// dojoRules are the policies of AgentDojo's suites, from the packs that come
// with Margay.
func dojoRules(suites []string) (dojo.Rules, error) {
	all := map[string]*taint.Policy{}
	for _, s := range suites {
		p, err := pack.Builtin("agentdojo-" + s)
		if err != nil {
			return nil, err
		}
		if all[s], err = pack.Policy(observe.FourPoint(), nil, pack.Bind(p, "")); err != nil {
			return nil, err
		}
	}
	return func(suite string) (*taint.Policy, error) {
		p := all[suite]
		if p == nil {
			return nil, fmt.Errorf("%w: of the suite %s", pack.ErrNoPack, suite)
		}
		return p, nil
	}, nil
}

// dojoRows are the defences, the judges among them by their names, and notes.
func dojoRows(o *options, rules dojo.Rules) (rows []dojo.Defence, judges map[string]*judging.Judge, notes []string, err error) {
	rows = []dojo.Defence{dojo.Undefended(), dojo.ToolFilter(), dojo.Confirm()}
	if rules != nil {
		rows = append(
			rows,
			dojo.Gateway{Name: "none", Rules: rules, Screen: taint.ScreenNone{}}.Defence(),
			dojo.Gateway{Name: "all", Rules: rules, NoReplay: true}.Defence(),
			dojo.Tainted("lexical", rules, dojo.Step{Screen: lexical.Screener{}}),
			dojo.Gateway{Name: "replay", Rules: rules}.Defence(),
		)
		notes = append(notes, "none, all, replay and judge run through the gateway over loopback; lexical, which needs a preliminary answer, makes its steps in this process")
		var names, more []string
		judges, names, more, err = o.dojo.judged.open(o.quick, o.seed)
		if err != nil {
			return nil, nil, nil, err
		}
		notes = append(notes, more...)
		for _, name := range names {
			rows = append(rows, dojo.Gateway{Name: o.dojo.judged.row(name), Rules: rules, Judge: judges[name], NoReplay: !o.dojo.judged.replay}.Defence())
		}
	}
	if rules != nil && o.asksForSaliency(o.dojo.defences) {
		row, err := saliencyDojo(o, rules)
		if err != nil {
			return nil, nil, nil, err
		}
		rows, notes = append(rows, row), append(notes, "saliency makes its steps in this process, too; each suite with a network that was trained on the others")
	}
	rows = slices.DeleteFunc(rows, func(d dojo.Defence) bool { return !asksFor(o.dojo.defences, d.Name) })
	return rows, judges, notes, nil
}

func runDojo(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	if o.data == "" {
		return nil, nil, errNoData
	}
	set, err := episode.Load(o.data)
	if err != nil {
		return nil, nil, err
	}
	suites := o.dojo.suites
	if len(suites) == 0 {
		suites = dojoSuites
	}
	set.Episodes = slices.DeleteFunc(set.Episodes, func(e *episode.Episode) bool { return !slices.Contains(suites, e.Suite) })
	if o.dojo.benign {
		set.Episodes = slices.DeleteFunc(set.Episodes, func(e *episode.Episode) bool { return !e.Benign() })
	}
	rules, missing := dojoRules(suites)
	if o.dojo.packs == packsNone {
		rules, missing = rulesWithout(o.dojo.labels)
	}
	rows, judges, notes, err := dojoRows(o, rules)
	if err != nil {
		return nil, nil, err
	}
	defer closeAll(judges)
	if missing != nil {
		notes = append(notes, strings.Join(dojoLabelled, ", ")+" are left out: "+missing.Error())
	}
	d := dojo.Options{Set: set, Defences: rows, Rules: rules, Seed: o.seed, N: max(0, o.n), Typed: o.dojo.typed, Progress: o.progress}
	if o.quick {
		d.N, d.Typed = 2, true
	}
	r, err := dojo.Run(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	o.dojo.judged.priced(r)
	r.Notes = append(r.Notes, notes...)
	if s := o.saliency.source; s != nil {
		if note, ok := s.Note(); ok {
			r.Notes = append(r.Notes, note)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(judges)) {
		if note, ok := judges[name].Note(); ok {
			r.Notes = append(r.Notes, name+": "+note)
		}
	}
	return r, nil, nil
}
