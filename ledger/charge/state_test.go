package charge_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// at is any time.
var at = time.UnixMilli(1760000000123).UTC()

// limits are those of the specification's defaults, with room in class 1.
var limits = charge.Limits{
	B:      40 * flow.Bit,
	Cap:    [charge.Classes]flow.Bits{0, 20 * flow.Bit, 4 * flow.Bit, flow.Bit},
	Lambda: [charge.Classes]int64{0, 1000, 2000, 4000},
}

// release is an entry of one family as a verifier hands it to State.Next.
func release(class flow.Class, atoms ...charge.Atom) *charge.Entry {
	return &charge.Entry{
		Trajectory: "T1", At: at, Channel: flow.ChannelTool, Sink: "airline", Class: class,
		Rubrics: []charge.Hash{{1}}, Variant: charge.Hash{2}, Limits: limits, Atoms: atoms,
		Models: []charge.Model{{Name: "rules", Version: "1"}}, Decision: "D1", Outcome: flow.Rewrite,
	}
}

// atom is a view of a value that tells so much, and what all sinks know after.
func atom(value byte, cost flow.Bits, after ...flow.Bits) charge.Atom {
	a := charge.Atom{Field: "dob", Op: charge.Identity, Value: charge.Hash{value}, Cost: cost}
	copy(a.After[1:], after)
	return a
}

const bit = flow.Bit

func next(t *testing.T, s *charge.State, e *charge.Entry) *charge.Entry {
	t.Helper()
	if err := s.Next(e); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(e); err != nil {
		t.Fatal(err)
	}
	return e
}

// The worked example of the specification: repeating is free, refining costs
// the difference, and a curious sink pays for what it learns.
func TestCharges(t *testing.T) {
	s := charge.NewState("F")
	for i, c := range []struct {
		e      *charge.Entry
		charge flow.Bits
		total  flow.Bits
		caps   [4]flow.Bits
	}{
		{release(1, atom(1, 3*bit, 3*bit)), 3 * bit, 3 * bit, [4]flow.Bits{0, 3 * bit}},
		{release(1, atom(1, 3*bit, 3*bit)), 0, 3 * bit, [4]flow.Bits{0, 3 * bit}},
		{release(1, atom(1, 5*bit, 5*bit)), 2 * bit, 5 * bit, [4]flow.Bits{0, 5 * bit}},
		{release(2, atom(1, 2*bit, 5*bit, 2*bit)), 2 * bit, 7 * bit, [4]flow.Bits{0, 5 * bit, 2 * bit}},
		{release(3, atom(2, bit, bit, bit, bit)), 4 * bit, 11 * bit, [4]flow.Bits{0, 6 * bit, 3 * bit, bit}},
		{release(3, atom(3, 0), atom(4, 0)), 0, 11 * bit, [4]flow.Bits{0, 6 * bit, 3 * bit, bit}},
		{release(1), 0, 11 * bit, [4]flow.Bits{0, 6 * bit, 3 * bit, bit}},
	} {
		next(t, s, c.e)
		if c.e.Charge != c.charge || s.Total != c.total || s.Caps != c.caps {
			t.Errorf("release %d: charged %v, total %v, by class %v", i+1, c.e.Charge, s.Total, s.Caps)
		}
	}
	if s.Values() != 2 || s.After(charge.Hash{1}) != [4]flow.Bits{0, 5 * bit, 2 * bit} {
		t.Errorf("%d values, %v", s.Values(), s.After(charge.Hash{1}))
	}
}

// What is not a whole millionth is rounded up.
func TestWeighRoundsUp(t *testing.T) {
	l := charge.Limits{Lambda: [4]int64{0, 1001, 1001, 1500}}
	if got := l.Weigh([4]flow.Bits{0, 1, 1, 0}); got != 2 {
		t.Errorf("W is %d", got)
	}
	l.Lambda = [4]int64{0, charge.MaxLambda, charge.MaxLambda, charge.MaxLambda}
	if got := l.Weigh([4]flow.Bits{0, charge.MaxAmount, charge.MaxAmount, charge.MaxAmount}); got != 1000*charge.MaxAmount {
		t.Errorf("the greatest W is %d", got)
	}
}

func TestEveryRule(t *testing.T) {
	for rule, spoil := range map[charge.Rule]func(e *charge.Entry){
		charge.Shape:    func(e *charge.Entry) { e.Atoms[0].Value = charge.Hash{} },
		charge.Family:   func(e *charge.Entry) { e.Family = "G" },
		charge.Sequence: func(e *charge.Entry) { e.Seq++ },
		charge.Previous: func(e *charge.Entry) { e.Prev[31] ^= 1 },
		charge.Time:     func(e *charge.Entry) { e.At = at.Add(-time.Millisecond) },
		charge.Fixed:    func(e *charge.Entry) { e.Limits.B++ },
		charge.Value:    func(e *charge.Entry) { e.Atoms = append(e.Atoms, atom(1, 0, 6*bit, 3*bit)) },
		charge.Falling:  func(e *charge.Entry) { e.Atoms[0] = atom(1, 0, 4*bit, bit) },
		charge.Order:    func(e *charge.Entry) { e.Atoms[0] = atom(1, 0, 5*bit, 6*bit) },
		charge.Unseen:   func(e *charge.Entry) { e.Atoms[0] = atom(1, 0, 5*bit, 2*bit, bit) },
		charge.Cost:     func(e *charge.Entry) { e.Atoms[0].Cost = 2*bit + 1 },
		charge.Free:     func(e *charge.Entry) { e.Outcome = flow.Deny },
		charge.Charge:   func(e *charge.Entry) { e.Charge-- },
		charge.Total:    func(e *charge.Entry) { e.Total-- },
		charge.Caps:     func(e *charge.Entry) { e.Caps[2]-- },
	} {
		s := charge.NewState("F")
		next(t, s, release(1, atom(1, 5*bit, 5*bit)))
		next(t, s, release(2, atom(1, bit, 5*bit, bit)))
		e := release(2, atom(1, 2*bit, 5*bit, 2*bit))
		if err := s.Next(e); err != nil {
			t.Fatal(err)
		}
		spoil(e)
		before := *s
		if err := s.Apply(e); !errors.Is(err, rule) {
			t.Errorf("%s: %v", rule, err)
		}
		if s.Seq != before.Seq || s.Head != before.Head || s.Total != before.Total || s.After(charge.Hash{1}) != [4]flow.Bits{0, 5 * bit, bit} {
			t.Errorf("%s: a refused entry changed the state", rule)
		}
	}
}

func TestLimits(t *testing.T) {
	s := charge.NewState("F")
	next(t, s, release(1, atom(1, 19*bit, 19*bit)))
	for _, c := range []struct {
		rule charge.Rule
		e    *charge.Entry
	}{
		{charge.Cap, release(1, atom(2, bit+1, bit+1))},
		{charge.Cap, release(2, atom(1, 4*bit+1, 19*bit, 4*bit+1))},
		{charge.Cap, release(3, atom(1, bit+1, 19*bit, bit+1, bit+1))},
	} {
		if err := s.Next(c.e); !errors.Is(err, c.rule) {
			t.Errorf("%v, want %s", err, c.rule)
		}
		if err := s.Apply(c.e); !errors.Is(err, c.rule) {
			t.Errorf("%v, want %s", err, c.rule)
		}
	}
	next(t, s, release(3, atom(1, bit, 19*bit, bit, bit)))

	// A budget below the caps.
	s = charge.NewState("F")
	e := release(1, atom(1, 2*bit, 2*bit))
	e.Limits.B = 2*bit - 1
	if err := s.Next(e); !errors.Is(err, charge.Budget) {
		t.Error(err)
	}
	// No budget is so large that a sum may not be counted.
	e.Limits.B, e.Limits.Cap = flow.MaxBits, [4]flow.Bits{0, flow.MaxBits, flow.MaxBits, flow.MaxBits}
	for i := range 3 {
		s.Total = []flow.Bits{0, math.MaxInt64 - bit, math.MaxInt64}[i]
		if err := s.Next(e); errors.Is(err, charge.Budget) != (i > 0) {
			t.Errorf("with a total of %v: %v", s.Total, err)
		}
	}
}

// What only the user reads, and what is refused, is charged to nobody.
func TestFree(t *testing.T) {
	s := charge.NewState("F")
	next(t, s, release(2, atom(1, bit, bit, bit)))
	told := release(1, atom(1, 9*bit, bit, bit), atom(2, 9*bit))
	told.Channel = flow.ChannelUser
	next(t, s, told)
	denied := release(3, atom(2, flow.MaxBits))
	denied.Outcome, denied.Answer = flow.Deny, "deny"
	next(t, s, denied)
	if s.Total != 2*bit || s.Seq != 3 {
		t.Errorf("total %v after %d entries", s.Total, s.Seq)
	}
}

// A clock that goes back moves no entry before another.
func TestClockGoesBack(t *testing.T) {
	s := charge.NewState("F")
	next(t, s, release(1))
	e := release(1)
	e.At = at.Add(-time.Hour)
	if next(t, s, e); !e.At.Equal(at) {
		t.Errorf("the entry's time is %v", e.At)
	}
}
