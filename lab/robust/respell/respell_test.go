package respell

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// stub is a verifier that treats all text to other sinks in one way.
type stub func(c *declassify.Candidate) Outcome

func (s stub) Release(_ context.Context, c *declassify.Candidate) (Outcome, error) {
	if c.Tool.Class == flow.RequiredService {
		return Outcome{Parts: []string{c.Parts[0].Text}}, nil
	}
	return s(c), nil
}

func (stub) Price(*schema.Tool, world.Field) (flow.Bits, error) { return 10 * flow.Bit, nil }

func released(c *declassify.Candidate) Outcome { return Outcome{Parts: []string{c.Parts[0].Text}} }

func withheld(c *declassify.Candidate) Outcome {
	return Outcome{
		Parts: []string{declassify.Redacted},
		Atoms: []declassify.Atom{{End: len(c.Parts[0].Text), Field: declassify.Unknown, Op: rubric.Op{Kind: rubric.Redact}}},
	}
}

func metrics(t *testing.T, v Verifier) (all map[string]float64, causes map[string]float64) {
	t.Helper()
	res, rep, err := Run(t.Context(), Options{Seed: 131, N: Least, Name: "stub", Verifier: v})
	if err != nil {
		t.Fatal(err)
	}
	causes = map[string]float64{}
	for _, k := range Causes {
		causes[string(k)] = res.Row("stub", "cause="+string(k)).Metrics["respellings"]
	}
	for _, s := range Sinks {
		for _, a := range Args {
			if n := res.Row("stub", "sink="+s.Name+",arg="+string(a)).Metrics["cases"]; n < Least {
				t.Errorf("%s, %s: %v cases", s.Name, a, n)
			}
		}
	}
	var b bytes.Buffer
	if err := rep.WriteCauses(&b); err != nil {
		t.Fatal(err)
	}
	all = res.Row("stub", "all").Metrics
	if missed := strings.Count(b.String(), "\nmissed\t"); (missed > 0) != (all["respellings_found"] < 1) {
		t.Errorf("%d spellings are listed as missed, and %v were found", missed, all["respellings_found"])
	}
	return all, causes
}

// A verifier that releases everything finds nothing.
func TestReleasesAll(t *testing.T) {
	all, causes := metrics(t, stub(released))
	if all["respellings_found"] != 0 || all["respellings_named"] != 0 || all["respellings_found_open"] != 0 || causes["arrived"] != 1 {
		t.Errorf("%v, %v", all, causes)
	}
}

// One that withholds everything finds all of it, and nothing by its field.
func TestWithholdsAll(t *testing.T) {
	all, causes := metrics(t, stub(withheld))
	if all["respellings_found"] != 1 || all["respellings_named"] != 0 || causes["whole"] < .6 || causes["whole"]+causes["typed"] != 1 {
		t.Errorf("%v, %v", all, causes)
	}
	if _, ok := all["respellings_found_open"]; ok {
		t.Error("something was found by itself")
	}
	if _, ok := all["false_alarms"]; ok {
		t.Error("what is withheld from all families is a false alarm")
	}
}

// A verifier that withholds every word of what a family released takes some near
// values for known ones, and not all.
func TestFalseAlarms(t *testing.T) {
	known := map[flow.TrajectoryID][]string{}
	cases := Generate(131, 0, 300)
	p := &player{seed: 131, v: recorder{&sync.Mutex{}, known}}
	played, err := p.all(t.Context(), cases, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	alarms := 0
	for i := range played {
		if played[i].Control == Arrived && played[i].Seen != Arrived {
			alarms++
		}
	}
	if alarms == 0 || alarms == len(played) {
		t.Errorf("%d of %d near values are taken for the known one", alarms, len(played))
	}
}

// recorder withholds the words of what a family has released.
type recorder struct {
	mu    *sync.Mutex
	known map[flow.TrajectoryID][]string
}

func (r recorder) Release(_ context.Context, c *declassify.Candidate) (Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := c.Parts[0].Text
	if c.Tool.Class == flow.RequiredService {
		for _, w := range pieces(text, true) {
			r.known[c.Trajectory] = append(r.known[c.Trajectory], text[w[0]:w[1]])
		}
		return released(c), nil
	}
	o := Outcome{Parts: []string{"?"}}
	for _, w := range pieces(text, false) {
		if slices.Contains(r.known[c.Trajectory], text[w[0]:w[1]]) {
			o.Atoms = append(o.Atoms, declassify.Atom{Start: w[0], End: w[1], Field: c.Tool.Args[0].Field, Op: rubric.Op{Kind: rubric.Redact}})
		}
	}
	return o, nil
}

func (recorder) Price(*schema.Tool, world.Field) (flow.Bits, error) { return 0, nil }

func TestJudge(t *testing.T) {
	c := &Case{Field: world.DOB, Spelled: "17th of March, 1984"}
	text := "born " + c.Spelled + " there"
	at := strings.Index(text, c.Spelled)
	redact, identity := rubric.Op{Kind: rubric.Redact}, rubric.Op{Kind: rubric.Identity}
	place := func(s string) (int, int) { i := strings.Index(text, s); return i, i + len(s) }
	atom := func(s, field string, op rubric.Op, cost flow.Bits) declassify.Atom {
		a, b := place(s)
		return declassify.Atom{Start: a, End: b, Field: field, Op: op, Cost: cost}
	}
	for _, x := range []struct {
		name  string
		out   string
		atoms []declassify.Atom
		typed bool
		want  Cause
	}{
		{"nothing done", text, nil, false, Arrived},
		{"all of it withheld", "born [REDACTED] there", []declassify.Atom{atom(c.Spelled, "dob", redact, 0)}, false, ByField},
		{"words that tell nothing stay", "born [REDACTED]th of [REDACTED], [REDACTED]", []declassify.Atom{atom("17", "dob", redact, 0), atom("March", "dob", redact, 0), atom("1984", "dob", redact, 0)}, false, ByField},
		{"the year stays", "born [REDACTED], 1984 there", []declassify.Atom{atom("17th of March", "dob", redact, 0)}, false, Partial},
		{"the year is another's", "born [REDACTED], [REDACTED] there", []declassify.Atom{atom("17th of March", "dob", redact, 0), atom("1984", "salary", redact, 0)}, false, ByOther},
		{"as a whole", "[REDACTED]", []declassify.Atom{atom(text, declassify.Unknown, redact, 0)}, false, ByWhole},
		{"in an argument of another field", "[REDACTED]", []declassify.Atom{atom(text, "location", redact, 0)}, true, ByTyped},
		{"charged as itself", text, []declassify.Atom{atom(c.Spelled, "dob", identity, 1)}, false, ByCharge},
		{"charged as much", text, []declassify.Atom{atom(c.Spelled, "salary", identity, 10)}, false, ByCharge},
		{"charged less", text, []declassify.Atom{atom(c.Spelled, "salary", identity, 9)}, false, Arrived},
		{"atoms that say what is not so", text, []declassify.Atom{atom(c.Spelled, "dob", redact, 0)}, false, Arrived},
	} {
		if got := c.judge(&Outcome{Parts: []string{x.out}, Atoms: x.atoms}, 0, at, x.typed, 10); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
	if got := c.judge(&Outcome{}, 0, at, false, 10); got != ByDenial {
		t.Errorf("a denial: %s", got)
	}
}

func TestGenerate(t *testing.T) {
	eval, dev := Generate(1, 1200, 300), Generate(DevelopmentSeed+1, 1200, 300)
	if len(eval) != 1500 || len(dev) != 1500 {
		t.Fatalf("%d and %d cases", len(eval), len(dev))
	}
	again := Generate(1, 1200, 300)
	fields, heldOut := map[world.Field]map[string]bool{}, 0
	for i := range eval {
		c := &eval[i]
		if *c != again[i] {
			t.Fatalf("case %d differs: %v, %v", i, *c, again[i])
		}
		if fields[c.Field] == nil {
			fields[c.Field] = map[string]bool{}
		}
		fields[c.Field][c.Form] = true
		if c.Held {
			heldOut++
		}
		if c.Negative && c.Spelled == c.Value {
			t.Errorf("%s, %s: the near value is the value", c.Field, c.Form)
		}
		if !c.Negative && c.Form != "same" && c.Spelled == c.Value {
			t.Errorf("%s, %s: the spelling is the value's", c.Field, c.Form)
		}
		if len(c.core(0)) == 0 {
			t.Errorf("%s, %s: no word of %q tells", c.Field, c.Form, c.Spelled)
		}
		if c.Decoy == c.Value {
			t.Errorf("%s, %s: the decoy is the value", c.Field, c.Form)
		}
	}
	for _, f := range world.Fields {
		if len(fields[f]) < 12 {
			t.Errorf("%s has %d forms", f, len(fields[f]))
		}
		if actions[f] == "" {
			t.Errorf("%s goes nowhere", f)
		}
	}
	if heldOut < 300 {
		t.Errorf("%d spellings are held out", heldOut)
	}
	for i := range dev {
		if !dev[i].Negative && held(dev[i].Field, dev[i].Form) {
			t.Errorf("%s, %s is shown to developers", dev[i].Field, dev[i].Form)
		}
	}
}
