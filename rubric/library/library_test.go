package library_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify/credal"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/lint"
)

var update = flag.Bool("update", false, "write docs/rubric-library.md")

// day is one on which all rubrics of the library hold.
var day = time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)

var compiled = sync.OnceValues(func() (out []*rubric.Rubric, err error) {
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			return nil, err
		}
		if r.Name() != f.Name {
			return nil, fmt.Errorf("%s is called %s", f.Name, r.Name())
		}
		out = append(out, r)
	}
	return out, nil
})

func compiledRules(t *testing.T) []*rubric.Rubric {
	t.Helper()
	out, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) != 12 {
		t.Fatalf("there are %d rubrics", len(out))
	}
	return out
}

func TestLint(t *testing.T) {
	all := compiledRules(t)
	for i, r := range all {
		for _, f := range lint.Check(r, day) {
			t.Error(f.String())
		}
		for _, o := range all[:i] {
			for _, f := range lint.CheckPair(r, o) {
				t.Error(f.String())
			}
		}
	}
}

func TestUnknown(t *testing.T) {
	if _, err := library.Rubric("../library"); !errors.Is(err, library.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// All rubrics know all fields of the ontology, and mean the same by them:
// what was shown under one is set off under another.
func TestFieldsAreAlike(t *testing.T) {
	shapes := map[string]rubric.Hash{}
	for _, r := range compiledRules(t) {
		all := rubric.Combine(r)
		for _, name := range library.StarterFields() {
			if !slices.Contains(all.Fields(), name) {
				t.Errorf("%s does not know %s", r.Name(), name)
			}
		}
		for _, name := range all.Fields() {
			s, seen := shapes[name]
			if seen && s != all.Shape(name) {
				t.Errorf("%s of %s is declared as nowhere else", name, r.Name())
			}
			shapes[name] = all.Shape(name)
		}
	}
}

// Sinks that are not trusted get neither credentials nor anything as it is,
// and all that they may be shown of a value fits into their cap.
func TestCuriousSinks(t *testing.T) {
	for _, r := range compiledRules(t) {
		all := rubric.Combine(r)
		for _, name := range all.Fields() {
			for _, class := range []flow.Class{flow.SemiTrusted, flow.Adversarial} {
				for _, op := range all.Operators(name, class) {
					cost := all.Cost(name, op)
					if op.Kind == rubric.Generalize {
						cost = max(cost, all.Joint([]rubric.View{{Field: name, Level: op.Level}}))
					}
					switch {
					case op.Kind == rubric.Identity && name != "card-brand":
						t.Errorf("%s shows %s to %s sinks as it is", r.Name(), name, class)
					case cost > all.Limits().Cap[class]:
						t.Errorf("%s admits %s on %s for %s sinks, which costs %s and never fits", r.Name(), op, name, class, cost)
					}
				}
			}
		}
	}
}

// What the page says of all of them at its head.
func TestHeadOfPage(t *testing.T) {
	for _, r := range compiledRules(t) {
		all := rubric.Combine(r)
		for field, values := range map[string][]string{"salary": {"350000"}, "dob": {"1919-12-31", "2030-01-01"}, "legal-name": {"Maria"}} {
			for _, v := range values {
				if _, err := all.Generalize(field, 0, v); !errors.Is(err, rubric.ErrOutside) {
					t.Errorf("%s: %s is in the population of %s", r.Name(), v, field)
				}
			}
		}
		most := 4 * flow.Bit
		if r.Name() == "medical-records" || r.Name() == "healthcare-intake" {
			most += flow.Bit / 4
		}
		if got := all.Limits().Cap[flow.SemiTrusted]; got > most {
			t.Errorf("%s: curious sinks may learn %s", r.Name(), got)
		}
		if all.Residual("notes", flow.Adversarial) || all.Residual("query", flow.Adversarial) {
			t.Errorf("%s: text passes to hostile sinks", r.Name())
		}
		for _, path := range []string{"notes", "note", "comments", "text", "body", "message", "description", "special_requests", "memo", "letter"} {
			if all.Residual(path, flow.SemiTrusted) {
				t.Errorf("%s: %s passes to curious sinks", r.Name(), path)
			}
		}
	}
}

func TestReasons(t *testing.T) {
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		why := Reasons(f.Text)
		for _, name := range rubric.Combine(r).Fields() {
			if why[name] == "" {
				t.Errorf("%s does not say why who needs %s", f.Name, name)
			}
		}
	}
}

// What the audit bounds for any two views of a component is charged already, or
// in the margin: dependencies don't refuse what the rubric admits.
func TestAudit(t *testing.T) {
	done := map[string]bool{} // most rubrics have the same
	for _, r := range compiledRules(t) {
		all := rubric.Combine(r)
		g := all.Graph()
		key := fmt.Sprint(g, all.Limits().Margin)
		if done[key] {
			continue
		}
		done[key] = true
		for _, f := range g.Factors {
			n := 1
			for _, v := range f.Vars {
				n *= states(t, &g, v)
			}
			if n > 250 {
				t.Errorf("%s: a table over %v has %d states", r.Name(), f.Vars, n)
			}
		}
		tree, err := credal.Compile(g)
		if err != nil {
			t.Fatalf("%s: %v", r.Name(), err)
		}
		var views []rubric.View
		for _, v := range g.Variables {
			for l := range len(r.LevelNames(v.Name)) + 1 {
				views = append(views, rubric.View{Field: v.Name, Level: l})
			}
		}
		for i, v := range views {
			for _, w := range views[:i+1] {
				pair, charged := []rubric.View{v}, all.Joint([]rubric.View{v})
				if w.Field != v.Field {
					pair, charged = append(pair, w), charged.Add(all.Joint([]rubric.View{w}))
				}
				if b := bound(t, all, tree, pair); b > charged.Add(all.Limits().Margin) {
					t.Errorf("%s: %v tell %s and cost %s", r.Name(), pair, b, charged)
				}
			}
		}
	}
}

func states(t *testing.T, g *dependency.Graph, name string) int {
	t.Helper()
	i := slices.IndexFunc(g.Variables, func(v dependency.Variable) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("there is no variable %s", name)
	}
	return g.Variables[i].States
}

// bound is the worst over all cells that views may be.
func bound(t *testing.T, all *rubric.Resolved, tree *credal.Tree, views []rubric.View) flow.Bits {
	t.Helper()
	scratch, worst := tree.NewScratch(), flow.Bits(0)
	seen := make([]credal.Observation, len(views))
	var from func(i int)
	from = func(i int) {
		if i == len(views) {
			bounds, err := scratch.Bound(seen)
			if errors.Is(err, credal.ErrInconsistent) {
				return // nobody has such values
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range bounds {
				worst = max(worst, flow.BitsOf(b))
			}
			return
		}
		v, ok := tree.Index(views[i].Field)
		if !ok {
			t.Fatalf("there is no variable %s", views[i].Field)
		}
		for _, cells := range all.Cells(views[i].Field, views[i].Level) {
			var err error
			if seen[i], err = tree.Left(v, cells); err != nil {
				t.Fatal(err)
			}
			from(i + 1)
		}
	}
	from(0)
	return worst
}

// The page is written from the rubrics.
func TestPageIsUpToDate(t *testing.T) {
	const file = "../../docs/rubric-library.md"
	got, err := page()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/rubric-library.md is out of date: go generate ./rubric/library")
	}
}
