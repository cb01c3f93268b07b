package pack

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/workspace"
)

// Finding is what lint found.
type Finding struct {
	Pack   string `json:"pack"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Code   string `json:"code"` // stable, kebab-case
	Detail string `json:"detail"`
}

// String writes a finding in one line.
func (f *Finding) String() string {
	at := f.Pack
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Detail, f.Code)
}

// self is the user in samples of the sets lattice.
const self = "me@home.example"

// Lint runs a pack's samples and looks for what is wrong with it.
func Lint(p *Pack) []Finding {
	var out []Finding
	add := func(at []string, code, format string, args ...any) {
		f := Finding{Pack: p.Name, Code: code, Detail: fmt.Sprintf(format, args...)}
		f.File, f.Line, f.Column = p.doc.At(at...)
		out = append(out, f)
	}
	for i := range p.Tools {
		t := &p.Tools[i]
		at := []string{"tools", fmt.Sprint(i)}
		calls, results := 0, 0
		for j := range t.Samples {
			s := &t.Samples[j]
			if s.Result == nil {
				calls++
			} else {
				results++
			}
			of := *t
			if p.Kind == Server {
				of.Rules = served(t.Rules, !s.Elsewhere)
			}
			if err := runSample(&of, s); err != nil {
				add(s.at, "sample-fails", "%s, sample %d: %v", t.Name, j+1, err)
			}
		}
		if calls == 0 && len(t.Rules) > 0 {
			add(at, "call-without-sample", "%s has a policy and no sample of a call", t.Name)
		}
		if results == 0 && (len(t.Result.Fields) > 0 || len(t.Result.Formats) > 0 || len(t.Cases) > 0) {
			add(at, "result-without-sample", "%s has an annotation and no sample of a result", t.Name)
		}
		for _, a := range t.Args {
			for _, b := range t.Args {
				if a < b && strings.EqualFold(a, b) {
					add(at, "arguments-alike", "%s has the arguments %s and %s, which differ by case alone", t.Name, a, b)
				}
			}
		}
	}
	return out
}

// sampleMachine is the one that samples are run on: its user trusts /work, and
// works there.
var sampleMachine = &act.Machine{
	Dir: "/work", Home: "/home/me", Places: workspace.New(workspace.Config{Roots: []string{"/work"}, Home: "/home/me", State: []string{"/home/me/.config/margay"}}),
	Tainted: func(path string) bool { return strings.HasPrefix(path, "/work/tainted") },
	Holds:   func(string) bool { return false },
}

// runSample holds a sample's input to what is expected.
func runSample(t *Tool, s *Sample) error {
	policy := func(scheme observe.Scheme) (*taint.Policy, error) {
		p, err := taint.New(taint.Config{Scheme: scheme, Tools: []taint.Tool{t.Tool}, Lists: s.Lists})
		if err != nil {
			return nil, err
		}
		return p.On(sampleMachine), nil
	}
	machine := observe.Machine()
	p, err := policy(machine)
	if err != nil {
		return err
	}
	call := flow.ToolCall{Name: t.Name, Arguments: string(s.Args)}
	if s.Result == nil {
		return callSample(p, call, s)
	}
	r := p.Annotate(call, *s.Result)
	if s.Format != nil && *s.Format != formatName(r.Format) {
		return fmt.Errorf("the result is read as %s, not %s", formatName(r.Format), *s.Format)
	}
	for _, field := range slices.Sorted(maps.Keys(s.Labels)) {
		want, err := mark(s.Labels[field])
		if err != nil {
			return err
		}
		if err := holds(machine.Lattice, &r, field, machine.Label(want)); err != nil {
			return err
		}
	}
	if len(s.Sets) == 0 {
		return nil
	}
	scheme, err := observe.Sets(self)
	if err != nil {
		return err
	}
	if p, err = policy(scheme); err != nil {
		return err
	}
	r = p.Annotate(call, *s.Result)
	for _, field := range slices.Sorted(maps.Keys(s.Sets)) {
		want, err := label.Sets.Parse(s.Sets[field])
		if err != nil {
			return err
		}
		if err := holds(label.Sets, &r, field, want); err != nil {
			return err
		}
	}
	return nil
}

func formatName(f document.Format) string {
	if f == "" {
		return "none"
	}
	return string(f)
}

// holds checks the join of the labels of a field's regions; $ is all of them.
func holds(lat label.Lattice, r *observe.Result, field string, want label.Label) error {
	var got label.Label
	n := 0
	var there []string
	for _, g := range r.Regions {
		if field == "$" || g.From.Field == field && g.From.Field != "" {
			got = lat.Join(got, g.Label)
			n++
		}
		if g.From.Field != "" && !slices.Contains(there, g.From.Field) {
			there = append(there, g.From.Field)
		}
	}
	if n == 0 {
		return fmt.Errorf("unknown field %s; the result has %s", field, strings.Join(there, ", "))
	}
	if got != want {
		return fmt.Errorf("%s is %s, not %s", field, lat.Format(got), lat.Format(want))
	}
	return nil
}

func callSample(p *taint.Policy, call flow.ToolCall, s *Sample) error {
	c := p.Clear(call, s.User)
	switch {
	case c.Deny != s.Deny || !s.Deny && c.Confirm != s.Ask:
		return fmt.Errorf("the call %s: %s", outcome(&c), reasons(&c))
	case s.Effect != "" && (len(c.Acts) == 0 || c.Effect.String() != s.Effect):
		return fmt.Errorf("the call's effect is %s, not %s: %s", c.Effect, s.Effect, reasons(&c))
	case s.Admit == "":
		return nil
	}
	source, reader, err := reaches(s.Admit)
	if err != nil {
		return err
	}
	if want := p.Limit(source, reader); c.Limit != want {
		return fmt.Errorf("the call admits %s, not %s: %s", c.Limit.Format(label.Machine), want.Format(label.Machine), reasons(&c))
	}
	return nil
}

func outcome(c *taint.Clearance) string {
	switch {
	case c.Deny:
		return "is denied"
	case c.Confirm:
		return "asks"
	}
	return "does not ask"
}

func reasons(c *taint.Clearance) string {
	var out []string
	for _, r := range c.Reasons {
		out = append(out, r.Detail)
	}
	return strings.Join(out, "; ")
}

// FindingOf is the finding that an error of Load or Policy is.
func FindingOf(name string, err error) Finding {
	f := Finding{Pack: name, Code: "pack-invalid", Detail: err.Error()}
	var e *Error
	if errors.As(err, &e) {
		f.File, f.Line, f.Column, f.Detail = e.File, e.Line, e.Column, e.Detail
	}
	switch {
	case errors.Is(err, taint.ErrContradiction):
		f.Code = "contradiction"
	case errors.Is(err, label.ErrLabel):
		f.Code = "lattice"
	}
	return f
}
