package rubriclint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify/rubriclint"
	"github.com/margaydev/margay/declassify/smt/z3"
	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

func pool(t *testing.T) *z3.Pool {
	t.Helper()
	p, err := z3.Open(context.Background(), z3.Config{Size: 1, Timeout: time.Minute})
	if errors.Is(err, z3.ErrMissing) {
		testkit.Missing(t, "z3", "run scripts/deps, or apt-get install z3")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func example(t *testing.T, pairs ...string) *rubric.Rubric {
	t.Helper()
	b, err := os.ReadFile("../../rubric/testdata/booking.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := string(b)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("the example has no %q", pairs[i])
		}
		s = strings.Replace(s, pairs[i], pairs[i+1], 1)
	}
	r, err := rubric.Parse("booking.yaml", []byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestProofs: the example is in order, and what is wrong with a changed one is
// found, by name.
func TestProofs(t *testing.T) {
	s := pool(t)
	other := []string{"rubric: example-booking", "rubric: other"}
	for _, c := range []struct {
		name  string
		rs    []*rubric.Rubric
		code  string // of the only finding; empty for none
		wants []string
	}{
		{"the example", []*rubric.Rubric{example(t)}, "", nil},
		{"and one like it", []*rubric.Rubric{example(t), example(t, other...)}, "", nil},
		{"each need fits, both don't", []*rubric.Rubric{example(t, "budget: 60", "budget: 47", "identity, last-four", "last-four")}, "no-labelling", []string{"dob, legal-name", "required-service", "budget"}},
		{"the second cap holds for one", []*rubric.Rubric{example(t, "  margin: 0.5", "  caps: {semi-trusted: 3.1}", "address: {required-service: [country], semi-trusted: [country]}", "address: {required-service: [country]}", "[decade, traveller]", "[decade, year]")}, "dead-operator", []string{"generalize(2) of dob", "cap of semi-trusted"}},
		{"an operator that never fits", []*rubric.Rubric{example(t, "  margin: 0.5", "  caps: {required-service: 50}")}, "dead-operator", []string{"identity of payment-token", "50.828922 bits", "cap of required-service"}},
		{"together the budget is too small", []*rubric.Rubric{example(t), example(t, append(other, "budget: 60", "budget: 9\n  caps: {required-service: 9}", "  required-service: {legal-name: identity, dob: identity}\n", "", "legal-name: {required-service: required, semi-trusted: useful}", "legal-name: {required-service: useful, semi-trusted: useful}", "legal-name: {required-service: [identity]", "legal-name: {required-service: [pseudonym]",
			"payment-token: {required-service: [identity, last-four]}", "payment-token: {required-service: [redact]}", "dob: {required-service: [identity, year]", "dob: {required-service: [year]")...)}, "no-labelling", []string{"together with other", "dob"}},
	} {
		got, err := rubriclint.Check(context.Background(), s, c.rs...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text := ""
		for _, f := range got {
			if f.Code != c.code || f.Line == 0 {
				t.Errorf("%s: %s", c.name, f.String())
			}
			text += f.String() + "\n"
		}
		if c.code != "" && len(got) == 0 {
			t.Errorf("%s: nothing is found", c.name)
		}
		for _, w := range c.wants {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q does not name %q", c.name, text, w)
			}
		}
	}
}

// TestAudit: by an engine of its own, no views that the example and the library
// admit tell more than they are certified at.
func TestAudit(t *testing.T) {
	names := library.Names()
	if testing.Short() {
		names = names[:2]
	}
	var all []*rubric.Rubric
	for _, name := range names {
		r, err := library.Rubric(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	for _, r := range append(all, example(t), example(t, "address: {required-service: [country], semi-trusted: [country]}", "address: {required-service: [country, region, city], semi-trusted: [country]}\n  phone: {required-service: [country]}")) {
		found, err := rubriclint.Audit(rubric.Combine(r))
		if err != nil {
			t.Errorf("%s: %v", r, err)
		}
		for _, f := range found {
			t.Errorf("%s: %s", r, f)
		}
	}
}

// TestTreewidth: six fields that all depend on each other can't be audited,
// five can.
func TestTreewidth(t *testing.T) {
	for n, ok := range map[int]bool{5: true, 6: false} {
		var b strings.Builder
		b.WriteString("version: 1\nrubric: wide\nrevision: 1\ntitle: wide\nexpires: 2040-01-01\nsignature: {actions: [x]}\nfields:\n")
		for i := range n {
			fmt.Fprintf(&b, "  f%d: {population: {table: {columns: [v, side], rows: [[a, x], [b, y]]}}, levels: [{name: side, by: side, bits: 1}]}\n", i)
		}
		b.WriteString("coverage:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - {id: f%d, field: f%d, path: f%d}\n", i, i, i)
		}
		b.WriteString("necessity: {}\noperators: {}\nlimits: {budget: 9}\nsamples: [{text: a, find: {}}]\ndependencies:\n")
		for i := range n {
			for j := range i {
				fmt.Fprintf(&b, "  - {between: [f%d@side, f%d@side], kind: joint, why: so, table: [[x, x, 2], [y, y, 2], [x, y, 1], [y, x, 1]]}\n", i, j)
			}
		}
		r, err := rubric.Parse("wide.yaml", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rubriclint.Audit(rubric.Combine(r)); (err == nil) != ok {
			t.Errorf("%d fields: %v", n, err)
		}
	}
}
