package library_test

import (
	"errors"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

var update = flag.Bool("update", false, "write docs/rubric-library.md")

// day is one on which all rubrics of the library hold.
var day = time.Date(2027, 6, 1, 0, 0, 0, 0, time.UTC)

func rules(t *testing.T) []*rubric.Rubric {
	t.Helper()
	var out []*rubric.Rubric
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if r.Name() != f.Name {
			t.Errorf("%s is called %s", f.Name, r.Name())
		}
		out = append(out, r)
	}
	return out
}

func TestLint(t *testing.T) {
	all := rules(t)
	for i, r := range all {
		for _, f := range rubric.Lint(r, day) {
			t.Error(f.String())
		}
		for _, o := range all[:i] {
			for _, f := range rubric.LintOverlap(r, o) {
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
	for _, r := range rules(t) {
		all := rubric.Combine(r)
		for _, name := range rubric.Ontology() {
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
	for _, r := range rules(t) {
		all := rubric.Combine(r)
		for _, name := range all.Fields() {
			for _, class := range []flow.Class{flow.SemiTrusted, flow.Adversarial} {
				for _, op := range all.Operators(name, class) {
					cost := all.Cost(name, op)
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

func TestReasons(t *testing.T) {
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		why := library.Reasons(f.Text)
		for _, name := range rubric.Combine(r).Fields() {
			if why[name] == "" {
				t.Errorf("%s does not say why who needs %s", f.Name, name)
			}
		}
	}
}

// The page is written from the rubrics.
func TestPageIsUpToDate(t *testing.T) {
	const file = "../../docs/rubric-library.md"
	got, err := library.Page()
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
