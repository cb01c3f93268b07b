package shown_test

import (
	"context"
	"errors"
	"testing"

	"github.com/margaydev/margay/declassify/shown"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// costs are of fields whose values disclose 16, 8, 4 bits by level; of several
// views of a value the finest counts.
type costs struct{ shape byte }

func (costs) Fields() []string { return []string{"dob", "name"} }
func (costs) Joint(views []rubric.View) (most flow.Bits) {
	for _, v := range views {
		most = max(most, flow.Bits(16>>v.Level))
	}
	return most
}
func (c costs) Shape(field string) rubric.Hash { return rubric.Hash{c.shape} }

var (
	value    = charge.Hash{1}
	by       = []charge.Hash{{7}}
	identity = rubric.Op{Kind: rubric.Identity}
)

func level(n int) rubric.Op { return rubric.Op{Kind: rubric.Generalize, Level: n} }

// after is what a view of the value comes to, after what was charged before.
func after(f *shown.Family, c costs, class flow.Class, before [charge.Classes]flow.Bits, atoms ...shown.Atom) [charge.Classes]flow.Bits {
	s := charge.NewState("F")
	e := &charge.Entry{
		Family: "F", Seq: 1, Trajectory: "F", Channel: "tool", Sink: "s", Class: flow.Adversarial, Rubrics: by, Variant: charge.Hash{2}, Outcome: flow.Allow,
		Limits: charge.Limits{B: flow.MaxBits, Cap: [4]flow.Bits{0, flow.MaxBits, flow.MaxBits, flow.MaxBits}, Lambda: [4]int64{0, 1000, 1000, 1000}},
		Atoms:  []charge.Atom{{Field: "dob", Op: charge.Redact, Value: value, After: before}},
	}
	if err := s.Next(e); err != nil {
		panic(err)
	}
	if err := s.Apply(e); err != nil {
		panic(err)
	}
	for i := range atoms {
		atoms[i].Value = value
	}
	return f.After(atoms, c, class, by, s)[value]
}

// take has a family remember a view of the value.
func take(f *shown.Family, seq uint64, op charge.Op, level uint8, field string, class flow.Class, after [charge.Classes]flow.Bits, shapes shown.Shapes) {
	f.Take(&charge.Entry{Seq: seq, Class: class, Channel: "tool", Outcome: flow.Allow, Rubrics: by, Atoms: []charge.Atom{{Field: field, Op: op, Level: level, Value: value, After: after}}}, shapes)
}

func TestAfter(t *testing.T) {
	view := func(op rubric.Op) shown.Atom {
		a := shown.Atom{Field: "dob", Op: op, Cost: 1}
		if op.Kind >= rubric.Generalize {
			a.Cost = flow.Bits(16 >> op.Level)
		}
		return a
	}
	eight := [4]flow.Bits{0, 8, 8}
	for name, c := range map[string]struct {
		before func(f *shown.Family)
		was    [4]flow.Bits
		class  flow.Class
		atom   shown.Atom
		want   [4]flow.Bits
	}{
		"first":                   {func(*shown.Family) {}, [4]flow.Bits{}, 2, view(level(1)), [4]flow.Bits{0, 8, 8}},
		"redacted":                {func(*shown.Family) {}, [4]flow.Bits{}, 3, view(rubric.Op{Kind: rubric.Redact}), [4]flow.Bits{0, 1, 1, 1}},
		"again":                   {func(f *shown.Family) { take(f, 1, charge.Generalize, 1, "dob", 2, eight, costs{}) }, eight, 2, view(level(1)), eight},
		"coarser":                 {func(f *shown.Family) { take(f, 1, charge.Generalize, 1, "dob", 2, eight, costs{}) }, eight, 2, view(level(2)), eight},
		"finer":                   {func(f *shown.Family) { take(f, 1, charge.Generalize, 1, "dob", 2, eight, costs{}) }, eight, 2, view(identity), [4]flow.Bits{0, 16, 16}},
		"to a better sink":        {func(f *shown.Family) { take(f, 1, charge.Generalize, 1, "dob", 2, eight, costs{}) }, eight, 1, view(identity), [4]flow.Bits{0, 16, 8}},
		"to a worse sink":         {func(f *shown.Family) { take(f, 1, charge.Generalize, 1, "dob", 1, [4]flow.Bits{0, 8}, costs{}) }, [4]flow.Bits{0, 8}, 2, view(level(1)), eight},
		"another shape":           {func(f *shown.Family) { take(f, 1, charge.Generalize, 2, "dob", 2, [4]flow.Bits{0, 4, 4}, costs{9}) }, [4]flow.Bits{0, 4, 4}, 2, view(level(2)), [4]flow.Bits{0, 16, 16}},
		"the same rubrics":        {func(f *shown.Family) { take(f, 1, charge.Generalize, 2, "dob", 2, [4]flow.Bits{0, 4, 4}, nil) }, [4]flow.Bits{0, 4, 4}, 2, view(level(2)), [4]flow.Bits{0, 4, 4}},
		"a field no longer there": {func(f *shown.Family) { take(f, 1, charge.Generalize, 1, "gone", 2, eight, costs{}) }, eight, 2, view(level(2)), [4]flow.Bits{0, 12, 12}},
		"mixed fields":            {func(*shown.Family) {}, eight, 2, shown.Atom{Field: "dob", Op: level(2), Cost: 4, Mixed: true}, [4]flow.Bits{0, 12, 12}},
		"what was not read":       {func(f *shown.Family) { _ = f.CatchUp(context.Background(), nil, &charge.State{Seq: 3}) }, eight, 2, view(level(2)), [4]flow.Bits{0, 12, 12}},
		"beyond what is counted":  {func(*shown.Family) {}, [4]flow.Bits{}, 1, shown.Atom{Field: "dob", Cost: flow.MaxBits}, [4]flow.Bits{0, charge.MaxAmount}},
	} {
		f := &shown.Family{}
		c.before(f)
		if got := after(f, costs{}, c.class, c.was, c.atom); got != c.want {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

// What is remembered for the audit: the finest levels, by class, and sums.
func TestFinest(t *testing.T) {
	f := &shown.Family{}
	take(f, 1, charge.Generalize, 2, "dob", 2, [4]flow.Bits{0, 4, 4}, costs{})
	take(f, 2, charge.Identity, 0, "dob", 1, [4]flow.Bits{0, 16, 4}, costs{})
	take(f, 3, charge.Redact, 0, "dob", 3, [4]flow.Bits{0, 16, 4, 1}, costs{})
	if got := f.Finest("dob"); got != [4]int{0, 1, 3, 0} {
		t.Errorf("the finest levels are %v", got)
	}
	if got := f.Charged("dob"); got != [4]flow.Bits{0, 16, 4, 1} {
		t.Errorf("charged: %v", got)
	}
	user := &charge.Entry{Seq: 4, Class: 3, Channel: flow.ChannelUser, Outcome: flow.Allow, Atoms: []charge.Atom{{Field: "dob", Op: charge.Identity, Value: value}}}
	f.Take(user, costs{})
	if got := f.Finest("dob"); got[3] != 0 {
		t.Error("what a user is shown counts")
	}
}

// history is entries that can be read.
type history []charge.Stored

var errBroken = errors.New("broken")

func (h history) Entries(_ context.Context, _ flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	if h == nil {
		return nil, errBroken
	}
	all := h[min(int(after), len(h)):]
	return all[:min(limit, len(all))], nil
}

// What others committed is read before a release; a gap is an error.
func TestCatchUp(t *testing.T) {
	var all history
	s := charge.NewState("F")
	for i := range 300 {
		e := &charge.Entry{
			Trajectory: "F", Channel: "tool", Sink: "s", Class: 1, Rubrics: by, Variant: charge.Hash{2}, Outcome: flow.Allow,
			Limits: charge.Limits{B: 1000, Cap: [4]flow.Bits{0, 1000}, Lambda: [4]int64{0, 1000, 1000, 1000}},
			Atoms:  []charge.Atom{{Field: "dob", Op: charge.Identity, Value: value, After: [4]flow.Bits{0, flow.Bits(i)}}},
		}
		if err := s.Next(e); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		all = append(all, charge.Stored{Bytes: append(e.AppendBody(nil), e.Sig[:]...)})
	}
	f := &shown.Family{}
	for range 2 {
		if err := f.CatchUp(context.Background(), all, s); err != nil || f.Charged("dob")[1] != 299 {
			t.Errorf("%v, %v", f.Charged("dob"), err)
		}
	}
	for name, h := range map[string]history{"broken": nil, "short": all[:200], "not from the first": all[1:], "no entries": {{Bytes: []byte("x")}}} {
		if err := (&shown.Family{}).CatchUp(context.Background(), h, s); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

func TestTogether(t *testing.T) {
	a, b := charge.Hash{1}, charge.Hash{2}
	seen := map[charge.Hash]bool{}
	for _, s := range [][]charge.Hash{nil, {a}, {b}, {a, b}, {b, a}, {a, a}} {
		seen[shown.Together(s)] = true
	}
	if len(seen) != 6 || shown.Together([]charge.Hash{a}) != shown.Together([]charge.Hash{{1}}) {
		t.Errorf("%d hashes of six sets", len(seen))
	}
}
