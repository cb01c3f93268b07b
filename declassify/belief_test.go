package declassify_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// What a defender asks for widens no release, though the rubrics admit it and
// it would fit: the year serves.
func TestDefendersGetNoMore(t *testing.T) {
	w := travel()
	w.limits.B, w.limits.Cap[2] = 100*bit, 30*bit
	v := verifier(t, w, func(cfg *declassify.Config) { cfg.Defender = operated("generalize", 1) })
	r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "1990-05-17", "note", "born 1990-05-17"))
	if sent(&r) != "1990|born 1990" {
		t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
}

// twoFields is a world of the fields a and b, which a required service needs
// and may be shown as they are.
func twoFields(a, b string) *world {
	w := &world{
		name: "two", residual: true, fields: map[string]*secretField{},
		limits: rubric.Limits{B: 100 * bit, Cap: [4]flow.Bits{0, 100 * bit, 4 * bit, bit}, Lambda: [4]int64{0, 1000, 2000, 4000}},
	}
	for name, pattern := range map[string]string{"a": a, "b": b} {
		f := &secretField{bits: []float64{5}, nec: [4]rubric.Necessity{1: rubric.Required}, ops: [4][]rubric.Op{1: {identity}}}
		if pattern != "" {
			f.pattern, f.re = pattern, regexp.MustCompile(pattern)
		}
		w.fields[name] = f
	}
	w.fields["b"].bits[0] = 20
	return w
}

// A span that nobody but the defender knows may be of any field: it costs what
// the most telling one costs, whatever it is labelled.
func TestLabelsMakeNothingCheaper(t *testing.T) {
	d := defender(func(_ context.Context, r *declassify.Request) ([]byte, error) {
		ev := evidence.Statement{Version: 1, Context: r.Context, Atoms: []evidence.Label{{
			End: 3, Role: "text", Field: "a", Relation: "explicit", Necessity: "required", Provenance: "model",
		}}}
		var err error
		if ev.Operators, ev.Variant, err = r.Plan(ev.Atoms); err != nil {
			return nil, err
		}
		return ev.Marshal()
	})
	for pattern, want := range map[string]flow.Bits{"": 20 * bit, "tea": 20 * bit} {
		v := verifier(t, twoFields(pattern, ""), func(cfg *declassify.Config) { cfg.Defender = d })
		r := release(t, v, candidate("T1", airline(), "note", "tea please"))
		if sent(&r) != "tea please" || r.Entry.Atoms[0].Cost != want || r.Entry.Charge != want {
			t.Errorf("%q: %s %q %v, charged %v", pattern, r.Outcome, sent(&r), r.Reasons, r.Entry)
		}
	}
}

// A clause that is sure of another field holds a typed argument to what that
// field may be: a schema opens no way for it.
func TestClausesHoldTypedArguments(t *testing.T) {
	for _, only := range []bool{true, false} {
		w := twoFields(`x\d{4}`, `x9\d{3}`)
		w.fields["b"].only, w.fields["b"].ops[1] = only, nil
		tool := airline()
		tool.Args = []schema.Arg{{Path: "id", Field: "a"}}
		r := release(t, verifier(t, w, nil), candidate("T1", tool, "id", "x1234"))
		if sent(&r) != "x1234" || r.Entry.Charge != 5*bit {
			t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
		}
		r = release(t, verifier(t, w, nil), candidate("T1", tool, "id", "x9234"))
		switch {
		case only && r.Released():
			t.Errorf("what is of another field went out: %q", sent(&r))
		case !only && (sent(&r) != "x9234" || r.Entry.Charge != 20*bit):
			t.Errorf("what may be of another field: %s %q %v, charged %v", r.Outcome, sent(&r), r.Reasons, r.Entry)
		}
	}
}

// What a clause knows for one field is not shown as a cell of another, nor a
// typed argument as what a defender calls it.
func TestMislabelledIsNotShown(t *testing.T) {
	w := twoFields(`x\d{3}-\d{3}`, `x\d{3}-\d{3}`)
	w.fields["a"].only, w.fields["a"].ops[1] = true, nil
	b := w.fields["b"]
	b.bits, b.nec[1], b.ops[1] = []float64{20, 3}, rubric.Useful, []rubric.Op{gen(1), identity}
	label := func(role string, end int, op string, level int) defender {
		return func(_ context.Context, r *declassify.Request) ([]byte, error) {
			ev := evidence.Statement{Version: 1, Context: r.Context, Atoms: []evidence.Label{{
				End: end, Role: role, Field: "b", Relation: "explicit", Necessity: "useful", Provenance: "model",
			}}, Operators: []evidence.Proposal{{Op: op, Level: level}}}
			var err error
			if ev.Variant, err = r.Variant(ev.Atoms, ev.Operators); err != nil {
				return nil, err
			}
			return ev.Marshal()
		}
	}
	tool := airline()
	tool.Args = append(tool.Args, schema.Arg{Path: "id", Field: "a"})
	w.fields["a"].nec[1] = rubric.Unnecessary
	for _, c := range []struct {
		path string
		d    defender
	}{
		{"note", label("text", 8, "generalize", 1)},
		{"id", label("argument", 8, "identity", 0)},
		{"id", label("argument", 8, "generalize", 1)},
	} {
		v := verifier(t, w, func(cfg *declassify.Config) { cfg.Defender = c.d })
		r := release(t, v, candidate("T1", tool, c.path, "x123-456"))
		if sent(&r) != "[REDACTED]" || !hasRule(&r, rule.Mislabelled) {
			t.Errorf("%s: %s %q %v", c.path, r.Outcome, sent(&r), r.Reasons)
		}
	}
}

// Fingerprints are under the verifier's key: who has the ledger can't test a
// guess of a value, nor compare with another installation's.
func TestFingerprintsAreKeyed(t *testing.T) {
	entry := func(key [32]byte) *charge.Entry {
		v := verifier(t, travel(), func(cfg *declassify.Config) { cfg.Key = key })
		r := release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace"))
		if !r.Released() {
			t.Fatal(r.Reasons)
		}
		return r.Entry
	}
	a, again, other := entry([32]byte{1}), entry([32]byte{1}), entry([32]byte{2})
	if a.Atoms[0].Value != again.Atoms[0].Value || a.Variant != again.Variant {
		t.Error("one value has two fingerprints under one key")
	}
	if a.Atoms[0].Value == other.Atoms[0].Value || a.Variant == other.Variant {
		t.Error("a fingerprint is the same under another key")
	}
	if _, err := declassify.New(declassify.Config{Resolve: func(rubric.Query) (declassify.Rules, error) { return travel(), nil }, Ledger: &brokenLedger{}}); err == nil {
		t.Error("a verifier was made without a key")
	}
}

// Evidence has the members of its format, each of its type, and no other: what
// a later format means by one is not guessed.
func TestEvidenceIsReadStrictly(t *testing.T) {
	const good = `{"version":1,"context":{"action":"a","channel":"tool","sink":"s","class":"semi-trusted","rubrics":["r"],"prev":"p"},` +
		`"atoms":[{"part":0,"start":0,"end":3,"role":"text","field":"dob","relation":"explicit","necessity":"useful","clause":"","provenance":"rubric"}],` +
		`"operators":[{"atom":0,"op":"redact"}],"variant":"v"}`
	if _, err := evidence.Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"another version", `"version":1`, `"version":2`},
		{"no version", `"version":1,`, ``},
		{"a version in words", `"version":1`, `"version":"1"`},
		{"a fraction", `"start":0`, `"start":0.5`},
		{"an unknown member", `"variant":"v"`, `"variant":"v","trusted":true`},
		{"one of a label", `"part":0,`, `"part":0,"cost":0,`},
		{"one of an operator", `"atom":0,`, `"atom":0,"cost":0,`},
		{"one of the context", `"sink":"s"`, `"sink":"s","task":"t"`},
		{"another case", `"variant"`, `"Variant"`},
		{"a member twice", `"variant":"v"`, `"variant":"v","variant":"w"`},
		{"an unknown role", `"role":"text"`, `"role":"system"`},
		{"an unknown operator", `"op":"redact"`, `"op":"show"`},
		{"null", `"atoms":[{`, `"atoms":null,"a":[{`},
		{"a tail", `"variant":"v"}`, `"variant":"v"}{}`},
	} {
		bad := strings.Replace(good, c[1], c[2], 1)
		if ev, err := evidence.Parse([]byte(bad)); bad == good || err == nil || ev != nil {
			t.Errorf("%s was read", c[0])
		}
	}
}
