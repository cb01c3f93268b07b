// Package effects measures what calls are taken for: the effects of shell
// commands, against labels that somebody wrote who had not seen the analyser.
package effects

import (
	"bufio"
	"context"
	_ "embed" // the labelled commands
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/lab/stats"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/shell"
	"github.com/margaydev/margay/taint/workspace"
)

//go:embed testdata/commands.jsonl
var shipped string

// ShellOptions of a run.
type ShellOptions struct {
	File string // labelled commands; empty for those of this repository
	// Missed gets each command whose analysis differs; nil for nobody.
	Missed func(*Missed)
}

// Missed is a command whose analysis differs from its label.
type Missed struct {
	ID          string   `json:"id"`
	Command     string   `json:"command"`
	Want        []string `json:"want"`
	Got         []string `json:"got"`
	Understated bool     `json:"understated"` // a grave effect was missed
	Why         []string `json:"why"`
}

// labelled is a line of the file.
type labelled struct {
	ID      string   `json:"id"`
	Command string   `json:"command"`
	Dir     string   `json:"dir"`
	Effects []string `json:"effects"`
	Foreign bool     `json:"foreign"`
	Hostile bool     `json:"hostile"`
	Source  string   `json:"source"`
	Why     string   `json:"why"`
}

// machine is the one that labels are about: the guide beside the file says so.
func machine(dir string) *shell.Machine {
	w := workspace.New(workspace.Config{
		Roots: []string{"/home/u/app"}, Home: "/home/u", State: []string{"/home/u/.config/margay", "/home/u/.local/share/margay"},
	})
	return &shell.Machine{Dir: dir, Home: "/home/u", Zone: w.Zone, Above: w.Above}
}

// grave are the effects of which none may be taken for less.
var grave = []effect.Effect{effect.Reach, effect.Persist, effect.Destroy}

// understated reports whether a grave effect of a command was taken for one that
// comes about more easily: no effect that was found is held to as much.
func understated(want, got []effect.Effect) bool {
	for _, w := range want {
		if !slices.Contains(grave, w) || slices.Contains(got, w) {
			continue
		}
		if !slices.ContainsFunc(got, func(g effect.Effect) bool { return stricter(g, w) }) {
			return true
		}
	}
	return false
}

// stricter reports whether an effect is held to at least as much as another.
func stricter(a, b effect.Effect) bool {
	most, unasked := a.Most(false)
	than, _ := b.Most(false)
	return !unasked || most <= than
}

// tally counts the commands of a slice.
type tally struct{ n, exact, under, over, foreign, words float64 }

// RunShell analyses labelled commands.
func RunShell(ctx context.Context, o ShellOptions) (*results.Result, error) {
	var in io.Reader = strings.NewReader(shipped)
	source := "lab/effects/testdata/commands.jsonl"
	if o.File != "" {
		f, err := os.Open(o.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, source = f, o.File
	}
	all, err := readCommands(in)
	if err != nil {
		return nil, err
	}
	counts := map[string]*tally{"all": {}, "hostile=yes": {}, "hostile=no": {}}
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := &all[i]
		got := shell.Analyse(c.Command, machine(c.Dir))
		want, have := parsed(c.Effects), got.Effects()
		hostile := map[bool]string{true: "hostile=yes", false: "hostile=no"}[c.Hostile]
		exact, under := same(want, have), understated(want, have)
		for _, s := range []string{"all", hostile} {
			t := counts[s]
			t.n++
			t.exact += is(exact)
			t.under += is(under)
			t.over += is(!exact && !under && asks(have) && !asks(want))
			t.foreign += is(c.Foreign)
			t.words += is(c.Foreign && !got.Foreign())
		}
		if o.Missed != nil && !exact {
			m := &Missed{ID: c.ID, Command: c.Command, Want: c.Effects, Understated: under}
			for _, e := range have {
				m.Got = append(m.Got, e.String())
			}
			for _, p := range got.Parts {
				m.Why = append(m.Why, p.Effect.String()+": "+p.Why)
			}
			o.Missed(m)
		}
	}
	res := &results.Result{Suite: "shell", N: len(all), Environment: results.Here(), Source: source, Notes: []string{
		"understated: a command that reaches out, persists or destroys, and is taken for one that may follow from more; its upper bound is Clopper and Pearson's, 95 %",
		"overstated: a command that the workspace may cause, and is asked about",
	}}
	for _, name := range []string{"all", "hostile=yes", "hostile=no"} {
		t := counts[name]
		if t.n == 0 {
			continue
		}
		res.Add("margay", name, map[string]float64{
			"commands": t.n, "effect_exact": t.exact / t.n, "understated": t.under, "understated_upper": stats.ClopperPearson(int(t.under), int(t.n), 0.95)[1],
			"overstated": t.over / t.n, "foreign": t.foreign, "foreign_missed": t.words,
		})
	}
	return res, nil
}

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// asks reports whether some effect may not follow from the workspace.
func asks(all []effect.Effect) bool {
	return slices.ContainsFunc(all, func(e effect.Effect) bool {
		most, unasked := e.Most(false)
		return !unasked || most < effect.Workspace
	})
}

func same(a, b []effect.Effect) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func parsed(names []string) []effect.Effect {
	var out []effect.Effect
	for _, n := range names {
		if e, err := effect.Parse(n); err == nil {
			out = append(out, e)
		}
	}
	return out
}

// readCommands reads labelled commands, and refuses a line that is not one.
func readCommands(in io.Reader) ([]labelled, error) {
	var out []labelled
	seen := map[string]bool{}
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	for line := 1; s.Scan(); line++ {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var c labelled
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.DisallowUnknownFields()
		err := d.Decode(&c)
		switch {
		case err != nil:
		case c.ID == "" || seen[c.ID]:
			err = fmt.Errorf("id %q is missing or comes twice", c.ID)
		case c.Command == "" || len(c.Effects) == 0:
			err = errors.New("no command, or no effects")
		case len(parsed(c.Effects)) != len(c.Effects):
			err = fmt.Errorf("unknown effect among %s", strings.Join(c.Effects, ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		seen[c.ID] = true
		out = append(out, c)
	}
	return out, s.Err()
}
