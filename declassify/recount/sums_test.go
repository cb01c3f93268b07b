package recount_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// prices are rules of fields that are all of one value: what each level costs,
// the value itself first. Joint costs are the sums of the finest levels.
type prices map[string][]flow.Bits

func (p prices) Fields() (out []string) {
	for f := range p {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

func (p prices) Operators(field string, _ flow.Class) []rubric.Op {
	out := []rubric.Op{{Kind: rubric.Drop}, {Kind: rubric.Redact}, {Kind: rubric.Identity}}
	for level := 1; level < len(p[field]); level++ {
		out = append(out, rubric.Op{Kind: rubric.Generalize, Level: level})
	}
	return out
}

func (p prices) Cost(field string, op rubric.Op) flow.Bits {
	if op.Kind <= rubric.Redact {
		return 0
	}
	return p[field][op.Level]
}

func (p prices) Joint(views []rubric.View) (sum flow.Bits) {
	finest := map[string]flow.Bits{}
	for _, v := range views {
		finest[v.Field] = max(finest[v.Field], p[v.Field][v.Level])
	}
	for _, b := range finest {
		sum += b
	}
	return sum
}

func (prices) Group(string) string                  { return "all" }
func (prices) Shape(field string) rubric.Hash       { return rubric.Hash{field[0]} }
func (prices) TopRisk() flow.Bits                   { return rubric.MinTopRisk }
func (prices) Screens(flow.Class) (flow.Bits, bool) { return 0, false }
func (prices) Limits() (l rubric.Limits) {
	l.B = 1 << 40
	l.Cap = [4]flow.Bits{0, 1 << 40, 1 << 40, 1 << 40}
	return l
}

func shows(field string, level int) charge.Atom {
	a := charge.Atom{Field: field, Op: charge.Identity, Value: charge.Hash{9}}
	if level > 0 {
		a.Op, a.Level = charge.Generalize, uint8(level) //nolint:gosec // small
	}
	return a
}

// history is a family whose entries are counted.
type history struct {
	t *testing.T
	s *charge.State
	c *recount.Counter
	p map[charge.Hash]prices
}

func newHistory(t *testing.T, by map[charge.Hash]prices) *history {
	return &history{t, charge.NewState("F"), recount.New(func(h []charge.Hash) (recount.Rules, error) { return by[h[0]], nil }), by}
}

// entry is one under a rubric, to a required service, of atoms of one value;
// after is what is then known of it.
func (h *history) entry(under charge.Hash, after flow.Bits, atoms ...charge.Atom) error {
	h.t.Helper()
	e := &charge.Entry{
		Trajectory: "T", Channel: flow.ChannelTool, Sink: "s", Class: flow.RequiredService, Rubrics: []charge.Hash{under}, Variant: charge.Hash{1}, Outcome: flow.Allow,
		Limits: charge.Limits{B: 1 << 40, Cap: [4]flow.Bits{0, 1 << 40, 1 << 40, 1 << 40}, Lambda: [4]int64{0, 1000, 1000, 1000}}, Atoms: atoms,
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		if a.Op >= charge.Generalize {
			a.Cost, a.After[1] = h.p[under][a.Field][a.Level], after
		}
	}
	if err := h.s.Next(e); err != nil {
		h.t.Fatal(err)
	}
	err := h.c.Entry(h.s, e)
	if err := h.s.Apply(e); err != nil {
		h.t.Fatal(err)
	}
	return err
}

// Where rubrics lack the field of an earlier view, costs add up.
func TestForeignViewsAddUp(t *testing.T) {
	a, b := charge.Hash{1}, charge.Hash{2}
	by := map[charge.Hash]prices{a: {"f": {3, 1}}, b: {"g": {2}}}
	for _, c := range []struct {
		after flow.Bits
		sound bool
	}{{3, false}, {4, false}, {5, true}, {6, true}} {
		h := newHistory(t, by)
		if err := h.entry(a, 3, shows("f", 0)); err != nil {
			t.Fatal(err)
		}
		if err := h.entry(b, c.after, shows("g", 0)); (err == nil) != c.sound || err != nil && !errors.Is(err, recount.Price) {
			t.Errorf("%d: %v", c.after, err)
		}
	}
}

// A verifier that was started again takes a view under other rubrics for the
// value itself, so that the value is not new to it. That is no finding.
func TestStartedAgain(t *testing.T) {
	a, b := charge.Hash{1}, charge.Hash{2}
	h := newHistory(t, map[charge.Hash]prices{a: {"f": {3, 2, 1}, "h": {4}}, b: {"f": {3, 2, 1}}})
	if err := h.entry(a, 5, shows("f", 2), shows("h", 0)); err != nil {
		t.Fatal(err)
	}
	if err := h.entry(b, 5, shows("f", 0)); err != nil {
		t.Error(err)
	}
	if err := h.entry(b, 7, shows("f", 1)); err != nil { // which is new to both
		t.Error(err)
	}
}

// From where a verifier forgets views, it adds costs up.
func TestForgottenViewsAddUp(t *testing.T) {
	a := charge.Hash{1}
	for _, c := range []struct {
		entries int
		after   flow.Bits
		sound   bool
	}{{1, 3, true}, {15, 3, true}, {16, 3, false}, {16, 4, false}, {16, 5, true}} {
		h := newHistory(t, map[charge.Hash]prices{a: {"f": {3, 2}}})
		if err := h.entry(a, 2, shows("f", 1)); err != nil {
			t.Fatal(err)
		}
		for i := range c.entries {
			atoms := make([]charge.Atom, charge.MaxAtoms)
			for j := range atoms {
				atoms[j] = charge.Atom{Field: "f", Op: charge.Redact, Value: charge.Hash{1, byte(i), byte(j), byte(j >> 8)}}
			}
			if err := h.entry(a, 0, atoms...); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.entry(a, c.after, shows("f", 0)); (err == nil) != c.sound || err != nil && !errors.Is(err, recount.Price) {
			t.Errorf("%s: %v", fmt.Sprint(c), err)
		}
	}
}
