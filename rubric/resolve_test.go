package rubric_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/lint"
)

var classes = []flow.Class{flow.RequiredService, flow.SemiTrusted, flow.Adversarial}

// drawRubric draws a rubric over some of three fields, whose hierarchies come
// in two variants.
func drawRubric(t *rapid.T, name string, actions []string) *rubric.Rubric {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nrubric: %s\nrevision: 1\ntitle: drawn\nexpires: 2040-01-01\nsignature: {actions: [%s]}\nfields:\n", name, strings.Join(actions, ", "))
	var fields []string
	for _, f := range []string{"dob", "salary", "passport"} {
		if rapid.Bool().Draw(t, f) || f == "passport" && len(fields) == 0 {
			fields = append(fields, f)
		}
	}
	variant := rapid.Bool().Draw(t, "variant")
	levels := map[string][]string{}
	for _, f := range fields {
		switch {
		case f == "dob" && variant:
			b.WriteString("  dob: {population: {dates: [1950-01-01, 2009-12-31]}, levels: [{name: year, by: year, bits: 7}, {name: decade, by: decade, bits: 3}]}\n")
			levels[f] = []string{"year", "decade"}
		case f == "dob":
			b.WriteString("  dob: {population: {dates: [1970-01-01, 1999-12-31]}, levels: [{name: decade, by: decade, bits: 3}]}\n")
			levels[f] = []string{"decade"}
		case f == "salary":
			b.WriteString("  salary: {population: {numbers: [0, 99999, 1]}, levels: [{name: band, by: band 10000, bits: 4}]}\n")
			levels[f] = []string{"band"}
		default:
			b.WriteString("  passport: {population: {uniform: 10^9}}\n")
		}
	}
	b.WriteString("coverage:\n")
	for _, f := range fields {
		fmt.Fprintf(&b, "  - {id: %s, field: %s, path: '%s$'}\n", f, f, f)
	}
	if rapid.Bool().Draw(t, "residual") {
		b.WriteString("residual: {required-service: [notes], semi-trusted: [notes]}\n")
	}
	var need, ops strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&need, "  %s: {", f)
		fmt.Fprintf(&ops, "  %s: {", f)
		for i, c := range classes {
			word := rapid.SampledFrom([]string{"required", "useful", "unnecessary"}).Draw(t, "need")
			fmt.Fprintf(&need, "%s: %s, ", c, word)
			var list []string
			for _, o := range append(slices.Clone(levels[f]), "pseudonym", "identity", "stand-in") {
				if rapid.Bool().Draw(t, o) && (o != "identity" || word != "unnecessary") {
					list = append(list, o)
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(&ops, "%s: [%s], ", c, strings.Join(list, ", "))
			}
			_ = i
		}
		need.WriteString("}\n")
		ops.WriteString("redundant: 0}\n")
	}
	b.WriteString("necessity:\n" + need.String() + "operators:\n" + strings.ReplaceAll(strings.ReplaceAll(ops.String(), ", redundant: 0}", "}"), "redundant: 0}", "adversarial: [redact]}"))
	b.WriteString("templates: {stand-in: {text: somebody}}\n")
	fmt.Fprintf(&b, "limits: {budget: %d, margin: %d, caps: {required-service: 90, semi-trusted: %d, adversarial: 1}, weights: {adversarial: %d}}\n",
		rapid.IntRange(0, 50).Draw(t, "budget"), rapid.IntRange(0, 3).Draw(t, "margin"), rapid.IntRange(1, 9).Draw(t, "cap"), rapid.IntRange(2, 9).Draw(t, "weight"))
	b.WriteString("samples: [{text: a, find: {}}]\n")
	r, err := rubric.Parse(name, []byte(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return r
}

// narrower fails where b admits anything that a does not.
func narrower(t *rapid.T, a, b *rubric.Resolved) {
	for _, f := range []string{"dob", "salary", "passport", "unknown"} {
		for _, c := range classes {
			if b.Necessity(f, c) > a.Necessity(f, c) {
				t.Fatalf("%s is %v for %v, it was %v", f, b.Necessity(f, c), c, a.Necessity(f, c))
			}
			had := a.Operators(f, c)
			got := b.Operators(f, c)
			if !slices.Contains(got, rubric.Op{Kind: rubric.Drop}) || !slices.Contains(got, rubric.Op{Kind: rubric.Redact}) || !slices.IsSortedFunc(got, rubric.Op.Compare) {
				t.Fatalf("operators %v", got)
			}
			for _, o := range got {
				if !slices.Contains(had, o) {
					t.Fatalf("%v of %s for %v was not admitted, and is", o, f, c)
				}
			}
			if a.Residual("notes", c) != b.Residual("notes", c) && b.Residual("notes", c) {
				t.Fatal("residual text may pass")
			}
		}
		for _, o := range []rubric.Op{{Kind: rubric.Drop}, {Kind: rubric.Redact}, {Kind: rubric.Substitute, Template: rubric.Pseudonym}, {Kind: rubric.Generalize, Level: 1}, {Kind: rubric.Generalize, Level: 2}, {Kind: rubric.Generalize, Level: 9}, {Kind: rubric.Identity}} {
			// The cost of what has another meaning now can't be compared; it is
			// not admitted.
			if b.Cost(f, o) < a.Cost(f, o) && slices.ContainsFunc(classes, func(c flow.Class) bool { return slices.Contains(b.Operators(f, c), o) }) {
				t.Fatalf("%v of %s costs %v, it cost %v", o, f, b.Cost(f, o), a.Cost(f, o))
			}
			if b.Cost(f, o) > b.TopRisk() {
				t.Fatalf("%v of %s costs more than top risk", o, f)
			}
		}
		if v := []rubric.View{{Field: f}}; b.Joint(v) < a.Joint(v) && slices.Contains(a.Fields(), f) {
			t.Fatalf("%s as it is costs %v, it cost %v", f, b.Joint(v), a.Joint(v))
		}
		if got, had := len(b.Match("x."+f, "1")), len(a.Match("x."+f, "1")); got < had {
			t.Fatalf("%d clauses match, %d did", got, had)
		}
	}
	la, lb := a.Limits(), b.Limits()
	if lb.B > la.B || lb.Margin > la.Margin {
		t.Fatalf("limits %v, they were %v", lb, la)
	}
	for k := 1; k < 4; k++ {
		if lb.Cap[k] > la.Cap[k] || lb.Lambda[k] < la.Lambda[k] {
			t.Fatalf("limits %v, they were %v", lb, la)
		}
	}
	if b.TopRisk() < a.TopRisk() {
		t.Fatal("top risk falls")
	}
	for _, c := range classes {
		for _, n := range a.Utility(c) {
			if !slices.ContainsFunc(b.Utility(c), func(m rubric.Need) bool { return m.Field == n.Field && m.Level <= n.Level }) {
				t.Fatalf("%v need not survive any more", n)
			}
		}
	}
}

// TestMoreRubricsNarrow: neither more rubrics that match nor what a text names
// ever widens what may be done.
func TestMoreRubricsNarrow(t *testing.T) {
	pub, key := newKey(1)
	rapid.Check(t, func(t *rapid.T) {
		one, two := drawRubric(t, "one", []string{"pay"}), drawRubric(t, "two", []string{"pay"})
		three := drawRubric(t, "three", []string{"other"})
		narrower(t, rubric.Combine(one), rubric.Combine(one, two))
		narrower(t, rubric.Combine(one, two), rubric.Combine(one, two, three))
		reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return day }})
		for _, r := range []*rubric.Rubric{one, three} {
			if _, err := reg.Add(r.Name(), rubric.Sign(r, key)); err != nil {
				t.Fatal(err)
			}
		}
		for _, action := range []string{"pay", "nothing"} {
			for _, c := range classes {
				q := rubric.Query{Action: action, Class: c}
				a, err := reg.Resolve(q)
				if err != nil {
					t.Fatal(err)
				}
				if a.IsFallback() != (action == "nothing") {
					t.Fatalf("%s: fallback is %t", action, a.IsFallback())
				}
				q.Also = []rubric.Hash{three.Hash()}
				b, err := reg.Resolve(q)
				if errors.Is(err, rubric.ErrConflict) {
					if !strings.Contains(err.Error(), one.String()) || !strings.Contains(err.Error(), three.String()) {
						t.Fatalf("%v does not name both rubrics", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				narrower(t, a, b)
			}
		}
	})
}

// TestFallback: redact and drop alone, and one bit.
func TestFallback(t *testing.T) {
	r := rubric.Fallback()
	if got := r.Operators("dob", flow.RequiredService); len(got) != 2 || got[1].Kind != rubric.Redact {
		t.Error(got)
	}
	if l := r.Limits(); l.B != flow.Bit || l.Cap[1] > flow.Bit || l.Cap[3] > flow.Bit {
		t.Error(l)
	}
	if r.Cost("dob", rubric.Op{Kind: rubric.Identity}) <= r.Limits().B || r.Residual("notes", flow.RequiredService) || len(r.Hashes()) != 0 {
		t.Error("the fallback admits something")
	}
	if _, err := r.Generalize("dob", 0, "1985-03-02"); !errors.Is(err, rubric.ErrLevel) {
		t.Error(err)
	}
}

func TestConflictNamesBoth(t *testing.T) {
	a := parse(t, example(t))
	b := parse(t, edit(t, "rubric: example-booking", "rubric: other", "dob: {required-service: [identity, year], semi-trusted: [decade, traveller]}", "dob: {required-service: [identity, year], semi-trusted: [traveller]}",
		"  semi-trusted: {dob: decade}\n", ""))
	err := rubric.Combine(a, b).Conflict(flow.SemiTrusted)
	if !errors.Is(err, rubric.ErrConflict) || !strings.Contains(err.Error(), a.String()) || !strings.Contains(err.Error(), b.String()) {
		t.Errorf("%v does not name both rubrics", err)
	}
	found := lint.CheckPair(a, b)
	if len(found) != 1 || found[0].Code != "no-operator-left" {
		t.Errorf("%v", found)
	}
	if err := rubric.Combine(a, b).Conflict(flow.RequiredService); err != nil {
		t.Error(err)
	}
	// No release is made under the two where one's need is the other's secret.
	pub, key := newKey(1)
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{pub}, Now: func() time.Time { return day }})
	for _, r := range []*rubric.Rubric{a, b} {
		if _, err := reg.Add(r.Name(), rubric.Sign(r, key)); err != nil {
			t.Fatal(err)
		}
	}
	q := rubric.Query{Action: "book-seat", Class: flow.SemiTrusted}
	if _, err := reg.Resolve(q); !errors.Is(err, rubric.ErrConflict) {
		t.Errorf("resolved: %v", err)
	}
	q.Class = flow.RequiredService
	if _, err := reg.Resolve(q); err != nil {
		t.Error(err)
	}
	q.Also = slices.Repeat([]rubric.Hash{a.Hash()}, 65)
	if _, err := reg.Resolve(q); err == nil {
		t.Error("any number of rubrics may be named")
	}
}

func TestApplies(t *testing.T) {
	r := parse(t, edit(t, "  actions: [book-seat]", "  tools: [\"book_*\", exact, \"*mid*\"]\n  channels: [tool]\n  classes: [semi-trusted]\n  fields: [dob]"))
	good := rubric.Query{Tool: "book_seat", Channel: flow.ChannelTool, Class: flow.SemiTrusted, Fields: []string{"email", "dob"}}
	for i, c := range []struct {
		edit func(*rubric.Query)
		want bool
	}{
		{func(*rubric.Query) {}, true},
		{func(q *rubric.Query) { q.Tool = "exact" }, true},
		{func(q *rubric.Query) { q.Tool = "a-mid-b" }, true},
		{func(q *rubric.Query) { q.Tool = "exactly" }, false},
		{func(q *rubric.Query) { q.Tool = "xbook_" }, false},
		{func(q *rubric.Query) { q.Channel = flow.ChannelModel }, false},
		{func(q *rubric.Query) { q.Class = 0 }, false}, // nobody knows it, so adversarial
		{func(q *rubric.Query) { q.Fields = []string{"email"} }, false},
	} {
		q := good
		c.edit(&q)
		if r.Applies(q) != c.want {
			t.Errorf("case %d: applies is %t", i, !c.want)
		}
	}
	r = parse(t, edit(t, "  actions: [book-seat]", "  actions: [book-seat]\n  classes: [adversarial]"))
	for class, want := range map[flow.Class]bool{0: true, 1: false, 2: false, 3: true, 9: true} {
		if got := r.Applies(rubric.Query{Action: "book-seat", Class: class}); got != want {
			t.Errorf("a rubric for hostile sinks applies to class %d: %t", class, got)
		}
	}
}

func TestFill(t *testing.T) {
	r := rubric.Combine(parse(t, example(t)))
	got, err := r.Fill("traveller", map[string]string{"destination": "Lisbon"})
	if err != nil || got != "a traveller to Lisbon" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []map[string]string{
		nil,
		{"destination": ""},
		{"destination": "a\nb"},
		{"destination": strings.Repeat("a", 300)},
		{"destination": "see Maria Silva"},
		{"destination": "\xff"},
		{"destination": "4111 1111 1111 1111"},
	} {
		if got, err := r.Fill("traveller", bad); !errors.Is(err, rubric.ErrTemplate) {
			t.Errorf("%q was filled to %q", bad, got)
		}
	}
	if _, err := r.Fill("nobody", nil); !errors.Is(err, rubric.ErrTemplate) {
		t.Error(err)
	}
}

// TestOnlyAndNormal: what the verifier asks besides.
func TestOnlyAndNormal(t *testing.T) {
	r := rubric.Combine(parse(t, example(t)))
	for _, m := range r.Match("", "born 1985-03-02, card 4111 1111 1111 1111, call +33 6 12 34 56 78") {
		if want := m.Field == "dob" || m.Field == "payment-token"; r.Only(m) != want {
			t.Errorf("%+v: only is %t", m, !want)
		}
	}
	for _, c := range [][3]string{
		{"dob", "1985-03-02", "2 March 1985"},
		{"phone", "+33 6 12 34 56 78", "0033612345678"},
		{"payment-token", "4111 1111 1111 1111", "4111-1111-1111-1111"},
		{"diagnosis", "bronchial asthma", "Asthma"},
		{"legal-name", "Maria  Silva", "SILVA, Maria"},
		{"address", "3 Rue X, 69002 Lyon", "3 rue x, 69002 LYON"},
		{"card-brand", "VISA", "visa"},
	} {
		a, b := r.Normal(c[0], c[1]), r.Normal(c[0], c[2])
		if a != b {
			t.Errorf("%s: %q and %q", c[0], a, b)
		}
	}
	if r.Normal("dob", "1985-03-02") == r.Normal("dob", "1985-03-03") {
		t.Error("two days are one")
	}
}

func TestLongTextIsAnyField(t *testing.T) {
	r := rubric.Combine(parse(t, example(t)))
	text := strings.Repeat("a", 1<<20+1)
	if got := r.Match("", text); len(got) != 1 || got[0].Field != rubric.AnyField || got[0].End != len(text) {
		t.Errorf("%v", got)
	}
	if got := r.Match(strings.Repeat("p", 2000), "x"); len(got) != 1 || got[0].Field != rubric.AnyField {
		t.Errorf("%v", got)
	}
}

// TestTablesThatDiffer: where rubrics differ in what an address tells of a
// number, neither is shown, and the graph does not have them.
func TestTablesThatDiffer(t *testing.T) {
	a := parse(t, example(t))
	b := parse(t, edit(t, "rubric: example-booking", "rubric: other"))
	c := parse(t, edit(t, "rubric: example-booking", "rubric: another", "[France, France, 0.95]", "[France, France, 0.94]", "[France, Germany, 0.03]", "[France, Germany, 0.04]"))
	if r := rubric.Combine(a, b); len(r.Graph().Variables) != 2 || len(r.Operators("address", flow.SemiTrusted)) != 3 {
		t.Errorf("%v, %v", r.Graph(), r.Operators("address", flow.SemiTrusted))
	}
	r := rubric.Combine(a, c)
	if len(r.Graph().Variables) != 0 || len(r.Operators("address", flow.SemiTrusted)) != 2 {
		t.Errorf("%v, %v", r.Graph(), r.Operators("address", flow.SemiTrusted))
	}
	if got := r.Joint([]rubric.View{{Field: "address", Level: 3}, {Field: "phone", Level: 1}}); got != r.TopRisk() {
		t.Error(got)
	}
}
