package rubric

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/predicate"
)

// Finding is what lint found.
type Finding struct {
	Rubric string `json:"rubric"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Code   string `json:"code"` // stable, kebab-case
	Detail string `json:"detail"`
}

// String writes a finding in one line.
func (f *Finding) String() string {
	at := f.Rubric
	if f.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Detail, f.Code)
}

// FindingOf is the finding for a rubric that could not be read.
func FindingOf(name string, err error) Finding {
	f := Finding{Rubric: name, Code: "rubric-invalid", Detail: err.Error()}
	var e *Error
	if errors.As(err, &e) {
		f.File, f.Line, f.Column = e.File, e.Line, e.Column
		if e.Line > 0 {
			f.Detail = e.Detail
		}
	}
	return f
}

// Finding makes a finding about a place in the rubric's text.
func (r *Rubric) Finding(code, detail string, at ...string) Finding {
	f := Finding{Rubric: r.doc.Rubric, File: r.source.File, Code: code, Detail: detail}
	f.Line, f.Column = r.source.Position(at...)
	return f
}

// Lint runs a rubric's samples and looks for what is wrong with it beyond what
// Parse refuses: clauses that no sample shows to be alive, operators that
// nobody needs, levels that tell nothing of their own, a rubric that is about
// to expire.
func Lint(r *Rubric, now time.Time) []Finding {
	var out []Finding
	add := func(code string, at []string, format string, args ...any) {
		out = append(out, r.Finding(code, fmt.Sprintf(format, args...), at...))
	}
	if !now.Before(r.expires) {
		add("expired", []string{"expires"}, "it expired on %s", r.doc.Expires)
	}
	alive := map[int]bool{}
	negative := false
	applies := [2]bool{}
	valued := map[string]bool{}
	for i := range r.doc.Samples {
		s := &r.doc.Samples[i]
		at := []string{"samples", strconv.Itoa(i)}
		switch {
		case s.Release != nil:
			applies[b2i(s.Applies)] = true
		case s.Field != "":
			valued[s.Field] = true
		case len(s.Find) == 0:
			negative = true
		}
		hit, err := r.RunSample(i)
		if err != nil {
			add("sample-fails", at, "sample %d: %v", i+1, err)
		}
		for _, c := range hit {
			alive[c] = true
		}
	}
	for i := range r.doc.Coverage {
		if !alive[i] {
			add("dead-clause", []string{"coverage", strconv.Itoa(i)}, "no sample is found by the clause %s", r.doc.Coverage[i].ID)
		}
	}
	if !negative {
		add("no-negative-sample", []string{"samples"}, "no sample is a text in which nothing is found (find: {})")
	}
	if !applies[1] {
		add("no-release-sample", []string{"samples"}, "no sample is a release that the rubric is for (applies: true)")
	}
	for _, name := range r.names {
		f := r.fields[name]
		at := []string{"fields", name}
		if d := r.doc.Fields[name].Population; d != nil && d.Open() && r.shown(f) {
			add("no-pattern", append(slices.Clone(at), "population"), "%s may be shown as it is, and any text is in its population: give it a pattern", name)
		}
		if len(f.levels) > 0 && !valued[name] {
			add("levels-without-sample", at, "%s has levels and no sample of a value", name)
		}
		for l := 1; l <= len(f.levels); l++ {
			here := append(slices.Clone(at), "levels", strconv.Itoa(l-1))
			switch {
			case f.chain.Cells(l) < 2:
				add("level-empty", here, "the level %s has one cell: redact does that; let it tell more bits, or leave it out", f.levels[l-1])
			case l > 1 && f.chain.Cells(l) == f.chain.Cells(l-1):
				add("level-twice", here, "the level %s tells apart what %s does: after merging they are one", f.levels[l-1], f.levels[l-2])
			}
		}
		for _, class := range classOrder {
			if f.needs[class] == Required && !shows(f.ops[class]) {
				add("required-and-gone", []string{"necessity", name, class.String()}, "%s is required for %s sinks, and may only be redacted or dropped", name, class)
			}
		}
	}
	out = append(out, r.lintLimits()...)
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shown reports whether a field may be shown as it is.
func (r *Rubric) shown(f *field) bool {
	return slices.ContainsFunc(classOrder[:], func(c flow.Class) bool { return slices.Contains(f.ops[c], Op{Kind: Identity}) })
}

// lintLimits looks for needs that the limits do not let through.
func (r *Rubric) lintLimits() []Finding {
	var out []Finding
	for _, class := range classOrder {
		var sum, weighted flow.Bits
		for _, n := range r.utility[class] {
			c := r.fields[n.Field].chain.Cost(n.Level)
			sum = sum.Add(c)
		}
		if sum > flow.MaxBits/8 {
			weighted = flow.MaxBits
		} else {
			weighted = flow.Bits(int64(sum/1000)*r.limits.Lambda[class] + 1000)
		}
		if sum > r.limits.Cap[class] {
			out = append(out, r.Finding("cap-too-small", fmt.Sprintf("what %s sinks need tells %s, and the cap is %s", class, sum, r.limits.Cap[class]), "limits"))
		}
		if sum > 0 && weighted > r.limits.B.Add(1000) {
			out = append(out, r.Finding("budget-too-small", fmt.Sprintf("what %s sinks need costs %s, and the budget is %s", class, weighted, r.limits.B), "limits", "budget"))
		}
	}
	return out
}

// LintOverlap looks for two rubrics that may both hold for a release and leave
// no operator for what one of them requires, or that give a field levels that
// can't be compared.
func LintOverlap(a, b *Rubric) []Finding {
	if !Overlap(a, b) {
		return nil
	}
	var out []Finding
	both := Combine(a, b)
	for _, class := range classOrder {
		if !meets(a.doc.Signature.Classes, b.doc.Signature.Classes, class.String()) {
			continue
		}
		if err := both.conflict(class); err != nil {
			out = append(out, a.Finding("no-operator-left", err.Error(), "signature"))
		}
	}
	for _, name := range both.names {
		if !both.agree[name] {
			out = append(out, a.Finding("levels-differ", fmt.Sprintf("%s and %s may both hold, and %s has other levels in each: none can be used", a, b, name), "fields", name))
		}
	}
	return out
}

// Overlap reports whether two rubrics may both hold for a release. It errs by
// saying yes.
func Overlap(a, b *Rubric) bool {
	return a.doc.Rubric != b.doc.Rubric && overlap(&a.doc.Signature, &b.doc.Signature)
}

func meets(a, b []string, class string) bool {
	return (len(a) == 0 || slices.Contains(a, class)) && (len(b) == 0 || slices.Contains(b, class))
}

// overlap reports whether a release may match both signatures. It errs by
// saying yes.
func overlap(a, b *Signature) bool {
	disjoint := func(x, y []string) bool {
		return len(x) > 0 && len(y) > 0 && !slices.ContainsFunc(x, func(s string) bool { return slices.Contains(y, s) })
	}
	plainGlobs := func(x []string) bool {
		return !slices.ContainsFunc(x, func(s string) bool { return strings.Contains(s, "*") })
	}
	channels := func(s *Signature) []string {
		var out []string
		for _, c := range s.Channels {
			out = append(out, string(c))
		}
		return out
	}
	return !disjoint(a.Actions, b.Actions) && !disjoint(channels(a), channels(b)) && !disjoint(a.Classes, b.Classes) &&
		!(plainGlobs(a.Tools) && plainGlobs(b.Tools) && disjoint(a.Tools, b.Tools)) &&
		!(plainGlobs(a.Sinks) && plainGlobs(b.Sinks) && disjoint(a.Sinks, b.Sinks))
}

// Samples returns the number of samples.
func (r *Rubric) Samples() int { return len(r.doc.Samples) }

// RunSample runs a sample and returns the clauses that found something in it.
// An error says what was expected.
func (r *Rubric) RunSample(i int) (clauses []int, err error) {
	s := &r.doc.Samples[i]
	switch {
	case s.Release != nil:
		class, _ := ParseClass(s.Release.Class)
		q := Query{Action: s.Release.Action, Tool: s.Release.Tool, Sink: s.Release.Sink, Channel: s.Release.Channel, Class: class, Fields: s.Release.Fields}
		if r.Applies(q) != s.Applies {
			return nil, fmt.Errorf("applies is %t, not %t", !s.Applies, s.Applies)
		}
		return nil, nil
	case s.Field != "":
		return nil, r.runValue(s)
	default:
		return r.runText(s)
	}
}

func (r *Rubric) runValue(s *Sample) error {
	f := r.fields[s.Field]
	if f == nil {
		return fmt.Errorf("there is no field %q", s.Field)
	}
	_, err := f.generalize(0, s.Value)
	switch {
	case s.Outside && err == nil:
		return errors.New("the value is inside of the population")
	case s.Outside:
		return nil
	case err != nil:
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Levels)) {
		l := slices.Index(f.levels, name) + 1
		if l == 0 {
			return fmt.Errorf("%s has no level %q", s.Field, name)
		}
		got, err := f.generalize(l, s.Value)
		if err != nil {
			return err
		}
		if got != s.Levels[name] {
			return fmt.Errorf("at the level %s it is %q, not %q", name, got, s.Levels[name])
		}
	}
	return nil
}

// runText holds what is found in a text to what is expected: each field's
// texts must be found, as they are, and nothing of other fields.
func (r *Rubric) runText(s *Sample) ([]int, error) {
	spans, ok := r.covers.Find(s.Path, s.Text)
	if !ok {
		return nil, errors.New("the text is longer than what is looked at")
	}
	var hit []int
	got := map[string][]string{}
	for _, sp := range spans {
		name := r.doc.Coverage[sp.Clause].Field
		if t := s.Text[sp.Start:sp.End]; !slices.Contains(got[name], t) {
			got[name] = append(got[name], t)
		}
		if slices.Contains(s.Find[name], s.Text[sp.Start:sp.End]) {
			hit = append(hit, sp.Clause)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Find)) {
		if r.fields[name] == nil {
			return hit, fmt.Errorf("there is no field %q", name)
		}
		for _, want := range s.Find[name] {
			if !slices.Contains(got[name], want) {
				return hit, fmt.Errorf("%s %q is not found; what is: %q", name, want, got[name])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		for _, t := range got[name] {
			if !within(s, t) {
				return hit, fmt.Errorf("%s %q is found, and not expected", name, t)
			}
		}
	}
	return hit, nil
}

// within reports whether what was found shares characters with what was
// expected: a date looks like a number to call, and a street's name like a
// person's.
func within(s *Sample, t string) bool {
	for _, list := range s.Find {
		for _, want := range list {
			if strings.Contains(want, t) || strings.Contains(t, want) {
				return true
			}
			at := strings.Index(s.Text, want)
			from := strings.Index(s.Text, t)
			if at >= 0 && from >= 0 && from < at+len(want) && at < from+len(t) {
				return true
			}
		}
	}
	return false
}

// Entities returns the entity types that clauses may name.
func Entities() []string { return predicate.Entities() }
