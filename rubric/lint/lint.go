// Package lint finds mistakes in rubrics that rubric.Parse accepts: samples
// that fail, clauses that no sample exercises, levels that add nothing,
// limits that are too small for the needs of sinks, and pairs of rubrics that
// leave no operator. It does no input or output.
package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/document"
)

// All looks for mistakes in rubrics that hold together: in each alone, and in pairs.
func All(rs []*rubric.Rubric, now time.Time) (out []Finding) {
	for _, r := range rs {
		out = append(out, Check(r, now)...)
	}
	for i, r := range rs {
		for _, o := range rs[i+1:] {
			out = append(out, CheckPair(r, o)...)
		}
	}
	return out
}

// Check runs a rubric's samples and looks for mistakes in it alone.
func Check(r *rubric.Rubric, now time.Time) []Finding {
	l := &linter{Rubric: r, doc: r.Document(), all: rubric.Combine(r)}
	if !now.Before(r.Expires()) {
		l.add("expired", []string{"expires"}, "it expired on %s", l.doc.Expires)
	}
	valued := l.samples()
	for _, name := range l.all.Fields() {
		l.field(name, valued[name])
	}
	l.limits()
	l.residual()
	return l.found
}

// linter collects findings about a rubric.
type linter struct {
	*rubric.Rubric

	doc   *document.Document
	all   *rubric.Resolved // the rubric alone
	found []Finding
}

func (l *linter) add(code string, at []string, format string, args ...any) {
	l.found = append(l.found, At(l.Rubric, code, fmt.Sprintf(format, args...), at...))
}

// samples runs the samples, and returns the fields of which there are values.
func (l *linter) samples() map[string]bool {
	valued, alive := map[string]bool{}, map[string]bool{}
	negative, applies := false, false
	for i := range l.doc.Samples {
		s := &l.doc.Samples[i]
		switch {
		case s.Release != nil:
			applies = applies || s.Applies
		case s.Field != "":
			valued[s.Field] = true
		case len(s.Find) == 0:
			negative = true
		}
		hit, err := sample(l.Rubric, l.all, i)
		if err != nil {
			l.add("sample-fails", []string{"samples", strconv.Itoa(i)}, "sample %d: %v", i+1, err)
		}
		for _, c := range hit {
			alive[c] = true
		}
	}
	for i := range l.doc.Coverage {
		if id := l.doc.Coverage[i].ID; !alive[id] {
			l.add("dead-clause", []string{"coverage", strconv.Itoa(i)}, "no sample is found by the clause %s", id)
		}
	}
	if !negative {
		l.add("no-negative-sample", []string{"samples"}, "no sample is a text in which nothing is found (find: {})")
	}
	if !applies {
		l.add("no-release-sample", []string{"samples"}, "no sample is a release that the rubric is for (applies: true)")
	}
	return valued
}

func (l *linter) field(name string, valued bool) {
	at := []string{"fields", name}
	levels := l.LevelNames(name)
	if d := l.doc.Fields[name].Population; d != nil && d.Open() && l.shown(name) {
		l.add("no-pattern", append(slices.Clone(at), "population"), "%s may be shown as it is, and any text is in its population: give it a pattern", name)
	}
	if len(levels) > 0 && !valued {
		l.add("levels-without-sample", at, "%s has levels and no sample of a value", name)
	}
	for i, level := range levels {
		here := append(slices.Clone(at), "levels", strconv.Itoa(i))
		switch cells := l.CellCount(name, i+1); {
		case cells < 2:
			l.add("level-empty", here, "the level %s has one cell: redact does that; raise its bits, or leave it out", level)
		case i > 0 && cells == l.CellCount(name, i):
			l.add("level-twice", here, "after merging, the level %s is the same as %s", level, levels[i-1])
		}
	}
	for _, class := range classes {
		if ops := l.all.Operators(name, class); l.all.Necessity(name, class) == rubric.Required && ops[len(ops)-1].Kind < rubric.Substitute {
			l.add("required-and-gone", []string{"necessity", name, class.String()}, "%s is required for %s sinks, and may only be redacted or dropped", name, class)
		}
	}
}

var classes = [...]flow.Class{flow.RequiredService, flow.SemiTrusted, flow.Adversarial}

// shown reports whether a field may be shown as it is.
func (l *linter) shown(name string) bool {
	return slices.ContainsFunc(classes[:], func(c flow.Class) bool {
		return slices.Contains(l.all.Operators(name, c), rubric.Op{Kind: rubric.Identity})
	})
}

// limits looks for needs that the limits do not let through.
func (l *linter) limits() {
	limits := l.Limits()
	for _, class := range classes {
		var sum, weighted flow.Bits
		for _, n := range l.all.Utility(class) {
			op := rubric.Op{Kind: rubric.Identity}
			if n.Level > 0 {
				op = rubric.Op{Kind: rubric.Generalize, Level: n.Level}
			}
			sum = sum.Add(l.all.Cost(n.Field, op))
		}
		if sum > flow.MaxBits/8 {
			weighted = flow.MaxBits
		} else {
			weighted = flow.Bits(int64(sum/1000)*limits.Lambda[class] + 1000)
		}
		if sum > limits.Cap[class] {
			l.add("cap-too-small", []string{"limits"}, "what %s sinks need discloses %s, and the cap is %s", class, sum, limits.Cap[class])
		}
		if sum > 0 && weighted > limits.B.Add(1000) {
			l.add("budget-too-small", []string{"limits", "budget"}, "what %s sinks need costs %s, and the budget is %s", class, weighted, limits.B)
		}
	}
}

// CheckPair looks for two rubrics that may both hold for a release and leave
// no operator for what one of them requires, or that give a field levels that
// can't be compared.
func CheckPair(a, b *rubric.Rubric) []Finding {
	if !Overlap(a, b) {
		return nil
	}
	var out []Finding
	both := rubric.Combine(a, b)
	for _, class := range classes {
		if !meets(a.Signature().Classes, b.Signature().Classes, class.String()) {
			continue
		}
		if err := both.Conflict(class); err != nil {
			out = append(out, At(a, "no-operator-left", err.Error(), "signature"))
		}
	}
	for _, name := range both.Fields() {
		if both.Shape(name) == (rubric.Hash{}) {
			out = append(out, At(a, "levels-differ", fmt.Sprintf("%s and %s may both hold, and %s has other levels in each: none can be used", a, b, name), "fields", name))
		}
	}
	return out
}

// Overlap reports whether two rubrics may both hold for a release. It errs by
// saying yes.
func Overlap(a, b *rubric.Rubric) bool {
	return a.Name() != b.Name() && a.Document().Signature.Overlaps(&b.Document().Signature)
}

func meets(a, b []string, class string) bool {
	return (len(a) == 0 || slices.Contains(a, class)) && (len(b) == 0 || slices.Contains(b, class))
}

// Sample runs one of a rubric's samples and returns the clauses that found
// something in it. An error says what was expected.
func Sample(r *rubric.Rubric, i int) (clauses []string, err error) {
	return sample(r, rubric.Combine(r), i)
}

func sample(r *rubric.Rubric, all *rubric.Resolved, i int) (clauses []string, err error) {
	s := &r.Document().Samples[i]
	switch {
	case s.Release != nil:
		class, _ := rubric.ParseClass(s.Release.Class)
		q := rubric.Query{Action: s.Release.Action, Tool: s.Release.Tool, Sink: s.Release.Sink, Channel: s.Release.Channel, Class: class, Fields: s.Release.Fields}
		if r.Applies(q) != s.Applies {
			return nil, fmt.Errorf("applies is %t, not %t", !s.Applies, s.Applies)
		}
		return nil, nil
	case s.Field != "":
		return nil, runValue(r, all, s)
	default:
		return runText(all, s)
	}
}

func runValue(r *rubric.Rubric, all *rubric.Resolved, s *document.Sample) error {
	if !slices.Contains(all.Fields(), s.Field) {
		return fmt.Errorf("unknown field %q", s.Field)
	}
	_, err := all.Generalize(s.Field, 0, s.Value)
	switch {
	case s.Outside && err == nil:
		return errors.New("the value is inside of the population")
	case s.Outside:
		return nil
	case err != nil:
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Levels)) {
		l := slices.Index(r.LevelNames(s.Field), name) + 1
		if l == 0 {
			return fmt.Errorf("%s has no level %q", s.Field, name)
		}
		got, err := all.Generalize(s.Field, l, s.Value)
		if err != nil {
			return err
		}
		if got != s.Levels[name] {
			return fmt.Errorf("at the level %s it is %q, not %q", name, got, s.Levels[name])
		}
	}
	return nil
}

// runText compares what is found in a text with what is expected: each field's
// texts as they are, and nothing of other fields.
func runText(all *rubric.Resolved, s *document.Sample) ([]string, error) {
	var hit []string
	got := map[string][]string{}
	for _, m := range all.Match(s.Path, s.Text) {
		if m.Field == rubric.AnyField && m.Clause == rubric.TooLong {
			return nil, errors.New("the text is longer than what is searched")
		}
		t := s.Text[m.Start:m.End]
		if !slices.Contains(got[m.Field], t) {
			got[m.Field] = append(got[m.Field], t)
		}
		if slices.Contains(s.Find[m.Field], t) {
			hit = append(hit, m.Clause)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Find)) {
		if !slices.Contains(all.Fields(), name) {
			return hit, fmt.Errorf("unknown field %q", name)
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

// within reports whether a text that was found shares characters with one that
// was expected: a date looks like a phone number, and a street's name like a
// person's.
func within(s *document.Sample, t string) bool {
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

// Invalid is the finding for a rubric that could not be read.
func Invalid(name string, err error) Finding {
	f := Finding{Rubric: name, Code: "rubric-invalid", Detail: err.Error()}
	var e *rubric.Error
	if errors.As(err, &e) {
		f.File, f.Line, f.Column = e.File, e.Line, e.Column
		if e.Line > 0 {
			f.Detail = e.Detail
		}
	}
	return f
}

// At is a finding about a place in a rubric's text.
func At(r *rubric.Rubric, code, detail string, at ...string) Finding {
	f := Finding{Rubric: r.Name(), Code: code, Detail: detail}
	f.File, f.Line, f.Column = r.Document().At(at...)
	return f
}
