package charge_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// What is exactly at a bound is an entry with an encoding; one more is none.
// TestNotCanonical has what is beyond.
func TestAtTheBounds(t *testing.T) {
	name := strings.Repeat("n", charge.MaxName)
	for what, change := range map[string]func(*charge.Entry){
		"ids":      func(e *charge.Entry) { e.Family, e.Trajectory = flow.TrajectoryID(name), "azAZ09-_" },
		"1970":     func(e *charge.Entry) { e.At = time.UnixMilli(0).UTC() },
		"9999":     func(e *charge.Entry) { e.At = time.UnixMilli(253_402_300_799_999).UTC() },
		"channel":  func(e *charge.Entry) { e.Channel = flow.Channel(name) },
		"sink":     func(e *charge.Entry) { e.Sink = strings.Repeat("s", charge.MaxSink) },
		"blank":    func(e *charge.Entry) { e.Sink = " ~\u0080é" },
		"class 1":  func(e *charge.Entry) { e.Class = flow.RequiredService },
		"class 3":  func(e *charge.Entry) { e.Class = flow.Adversarial },
		"decision": func(e *charge.Entry) { e.Decision, e.Answer = name, name },
		"no words": func(e *charge.Entry) { e.Decision, e.Answer = "", "" },
		"rubrics": func(e *charge.Entry) {
			e.Rubrics = nil
			for i := range charge.MaxHashes {
				e.Rubrics = append(e.Rubrics, charge.Hash{1, byte(i)})
			}
		},
		"models": func(e *charge.Entry) {
			e.Models = nil
			for i := range charge.MaxModels {
				e.Models = append(e.Models, charge.Model{Name: string(rune('A' + i)), Version: name})
			}
			e.Models[charge.MaxModels-1].Name = name
		},
		"no models": func(e *charge.Entry) { e.Models = nil },
		"atoms": func(e *charge.Entry) {
			e.Atoms = nil
			for i := range charge.MaxAtoms {
				e.Atoms = append(e.Atoms, charge.Atom{Field: "f", Value: charge.Hash{1, byte(i), byte(i >> 8)}})
			}
		},
		"an atom": func(e *charge.Entry) {
			a := &e.Atoms[0]
			a.Field, a.Level, a.Cost = name, 255, flow.MaxBits
			a.After = [charge.Classes]flow.Bits{0, charge.MaxAmount, charge.MaxAmount, charge.MaxAmount}
			e.Atoms[1].Template = name
		},
		"least level": func(e *charge.Entry) { e.Atoms[0].Level = 1 },
		"nothing": func(e *charge.Entry) {
			e.Limits = charge.Limits{Lambda: [charge.Classes]int64{0, 1000, 1000, 1000}}
			e.Charge, e.Total, e.Caps = 0, 0, [charge.Classes]flow.Bits{}
		},
		"all": func(e *charge.Entry) {
			all := [charge.Classes]flow.Bits{0, flow.MaxBits, flow.MaxBits, flow.MaxBits}
			e.Limits = charge.Limits{B: flow.MaxBits, Cap: all, Lambda: [charge.Classes]int64{0, charge.MaxLambda, charge.MaxLambda, charge.MaxLambda}}
			e.Charge, e.Total, e.Caps = flow.MaxBits, flow.MaxBits, all
		},
	} {
		e := full()
		change(e)
		if err := e.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		b := e.Append(nil)
		got, err := charge.Decode(b)
		if err != nil || string(got.Append(nil)) != string(b) {
			t.Errorf("%s: read as %+v, %v", what, got, err)
		}
	}
	for what, change := range map[string]func(*charge.Entry){
		"atoms": func(e *charge.Entry) {
			for range charge.MaxAtoms {
				e.Atoms = append(e.Atoms, e.Atoms[0])
			}
		},
		"models": func(e *charge.Entry) {
			e.Models = nil
			for i := range charge.MaxModels + 1 {
				e.Models = append(e.Models, charge.Model{Name: string(rune('A' + i))})
			}
		},
		"long field":             func(e *charge.Entry) { e.Atoms[0].Field = strings.Repeat("f", charge.MaxName+1) },
		"long template":          func(e *charge.Entry) { e.Atoms[1].Template = strings.Repeat("f", charge.MaxName+1) },
		"long channel":           func(e *charge.Entry) { e.Channel = flow.Channel(strings.Repeat("c", charge.MaxName+1)) },
		"long answer":            func(e *charge.Entry) { e.Answer = strings.Repeat("a", charge.MaxName+1) },
		"long name of a model":   func(e *charge.Entry) { e.Models[1].Name = strings.Repeat("z", charge.MaxName+1) },
		"long version":           func(e *charge.Entry) { e.Models[1].Version = strings.Repeat("z", charge.MaxName+1) },
		"half a millisecond":     func(e *charge.Entry) { e.At = e.At.Add(time.Microsecond) },
		"a limit of class 0":     func(e *charge.Entry) { e.Limits.Cap[0] = 1 },
		"a weight of class 0":    func(e *charge.Entry) { e.Limits.Lambda[0] = 1 },
		"a sum of class 0":       func(e *charge.Entry) { e.Caps[0] = 1 },
		"an amount of class 0":   func(e *charge.Entry) { e.Atoms[0].After[0] = 1 },
		"too much in class 3":    func(e *charge.Entry) { e.Atoms[0].After[3] = charge.MaxAmount + 1 },
		"too little in class 3":  func(e *charge.Entry) { e.Atoms[0].After[3] = -1 },
		"a sum below zero":       func(e *charge.Entry) { e.Caps[3] = -1 },
		"caps that grow at once": func(e *charge.Entry) { e.Limits.Cap[2] = e.Limits.Cap[1] + 1 },
		"delete":                 func(e *charge.Entry) { e.Sink = "a\x7fb" },
	} {
		e := full()
		change(e)
		if err := e.Check(); !errors.Is(err, charge.Shape) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for id, ok := range map[string]bool{"": false, "/": false, ":": false, "@": false, "[": false, "`": false, "{": false, "é": false, "a": true, "z": true, "A": true, "Z": true, "0": true, "9": true, "-": true, "_": true} {
		if charge.ValidID(flow.TrajectoryID(id)) != ok {
			t.Errorf("%q is an id: %v", id, !ok)
		}
	}
}

// Counts of what is not there are refused before room is made for it.
func TestCounts(t *testing.T) {
	e := full()
	e.Atoms, e.Models = nil, nil
	b := e.Append(nil)
	lambda := []byte{0, 0, 3, 0xe8, 0, 0, 7, 0xd0, 0, 0, 0xf, 0xa0} // the count of atoms is behind it
	b[bytes.Index(b, lambda)+len(lambda)] = 0x10
	if allocs := testing.AllocsPerRun(10, func() { _, _ = charge.Decode(b) }); allocs > 40 {
		t.Errorf("%v allocations", allocs)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := charge.Decode(b)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, charge.Encoding) {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
		t.Errorf("%d bytes for %d that claim %d atoms", n, len(b), charge.MaxAtoms)
	}
}

// The arithmetic of one value, at its edges: by thousandths, class for class.
func TestWeigh(t *testing.T) {
	l := charge.Limits{Lambda: [charge.Classes]int64{0, 1000, 2500, 4000}}
	for _, c := range []struct {
		after [charge.Classes]flow.Bits
		want  flow.Bits
	}{
		{[4]flow.Bits{}, 0},
		{[4]flow.Bits{0, 1}, 1},
		{[4]flow.Bits{0, 1, 1}, 3},
		{[4]flow.Bits{0, 2, 2}, 5},
		{[4]flow.Bits{0, 2, 2, 2}, 8},
		{[4]flow.Bits{0, 1, 1, 1}, 4},
		{[4]flow.Bits{0, 0, 0, 1}, 2},
		{[4]flow.Bits{9, 0, 0, 0}, 0},
		{[4]flow.Bits{0, 1000, 1, 0}, 1002},
	} {
		if got := l.Weigh(c.after); got != c.want {
			t.Errorf("%v weighs %d, not %d", c.after, got, c.want)
		}
	}
}

// A limit is what may be reached, in every class and in all.
func TestExceeds(t *testing.T) {
	l := charge.Limits{B: 10, Cap: [4]flow.Bits{0, 8, 6, 4}}
	for _, c := range []struct {
		sum  charge.Sum
		want error
	}{
		{charge.Sum{Total: 10, Caps: [4]flow.Bits{0, 8, 6, 4}}, nil},
		{charge.Sum{Total: 11}, charge.Budget},
		{charge.Sum{Caps: [4]flow.Bits{0, 9}}, charge.Cap},
		{charge.Sum{Caps: [4]flow.Bits{0, 0, 7}}, charge.Cap},
		{charge.Sum{Caps: [4]flow.Bits{0, 0, 0, 5}}, charge.Cap},
	} {
		if err := l.Exceeds(&c.sum); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%+v: %v", c.sum, err)
		}
	}
	none := charge.Limits{B: flow.MaxBits, Cap: [4]flow.Bits{0, flow.MaxBits, flow.MaxBits, flow.MaxBits}}
	if err := none.Exceeds(&charge.Sum{Total: flow.MaxBits - 1, Caps: [4]flow.Bits{0, flow.MaxBits - 1, flow.MaxBits - 1, flow.MaxBits - 1}}); err != nil {
		t.Error(err)
	}
	if err := none.Exceeds(&charge.Sum{Total: flow.MaxBits}); !errors.Is(err, charge.Budget) {
		t.Error("what can't be counted fits a budget")
	}
	for k := 1; k < charge.Classes; k++ {
		sum := charge.Sum{}
		sum.Caps[k] = flow.MaxBits
		if err := none.Exceeds(&sum); !errors.Is(err, charge.Cap) {
			t.Errorf("what can't be counted fits the cap of class %d", k)
		}
	}
}

// Next fills in all that follows from the state, and changes nothing else.
func TestNext(t *testing.T) {
	s := charge.NewState("F")
	first := release(1, atom(1, 1, 1))
	first.At = time.Time{}
	if err := s.Next(first); err != nil || !first.At.Equal(time.UnixMilli(0)) || first.Seq != 1 || first.Family != "F" {
		t.Fatalf("%+v, %v", first, err)
	}
	if s.Seq != 0 || s.Values() != 0 || s.Total != 0 {
		t.Fatal("a proposal changed the state")
	}
	first.At = at
	next(t, s, first)
	second := release(1, atom(2, 1, 1))
	second.At = at.Add(1999 * time.Microsecond).In(time.FixedZone("", 3600))
	second.Limits.B = 1 // the family's count
	if err := s.Next(second); err != nil {
		t.Fatal(err)
	}
	if second.Limits != limits || !second.At.Equal(at.Add(time.Millisecond)) || second.At.Location() != time.UTC || second.Prev != first.Hash() || second.Seq != 2 {
		t.Errorf("%+v", second)
	}
	over := release(1, atom(2, 21*bit, 21*bit))
	if err := s.Next(over); !errors.Is(err, charge.Cap) || over.Charge != 21*bit || over.Total != 21*bit+1 {
		t.Errorf("%+v, %v", over, err)
	}
	bad := release(1, atom(1, 0, 0)) // less than is known
	if err := s.Next(bad); !errors.Is(err, charge.Falling) {
		t.Error(err)
	}
	bad = release(1)
	bad.Sink = ""
	if err := s.Next(bad); !errors.Is(err, charge.Shape) {
		t.Error(err)
	}
}

// A state is cheap to clone: what it holds of its own is about the root of
// what it knows.
func TestYoung(t *testing.T) {
	s := charge.NewState("F")
	for i := range 4000 {
		next(t, s, release(1, charge.Atom{Field: "dob", Value: charge.Hash{1, byte(i), byte(i >> 8)}, After: [4]flow.Bits{0, 1}}))
		if n := s.Young(); n > 64 || s.Values() != i+1 {
			t.Fatalf("%d of %d values are the state's own", n, s.Values())
		}
	}
	for i := range 4000 {
		if v := (charge.Hash{1, byte(i), byte(i >> 8)}); s.After(v)[1] != 1 {
			t.Fatalf("value %d is forgotten", i)
		}
	}
}

// Names that people read.
func TestNames(t *testing.T) {
	for op, want := range map[charge.Op]string{charge.Drop: "drop", charge.Redact: "redact", charge.Substitute: "substitute", charge.Generalize: "generalize", charge.Identity: "identity", 9: "unknown"} {
		if op.String() != want {
			t.Errorf("%d is %s", op, op)
		}
	}
	if h := (charge.Hash{0xab}); h.String() != "ab"+strings.Repeat("00", 31) || h.IsZero() || !(charge.Hash{}).IsZero() {
		t.Error(h)
	}
	if err := charge.Budget.Errorf("%d of %d", 3, 2); err.Error() != "ledger rule budget: 3 of 2" || !errors.Is(err, charge.Budget) {
		t.Error(err)
	}
}

// The bounds are those of the specification, docs/format/ledger.md.
func TestSpecifiedBounds(t *testing.T) {
	got := []int64{charge.MaxLambda, int64(charge.MaxAmount), charge.MaxAtoms, charge.MaxHashes, charge.MaxModels, charge.MaxName, charge.MaxSink, charge.MaxEntry, charge.Classes}
	if want := []int64{1_000_000, 1 << 42, 4096, 64, 32, 64, 512, 1 << 20, 4}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	e := full()
	e.Rubrics = nil
	for i := range 65 {
		e.Rubrics = append(e.Rubrics, charge.Hash{1, byte(i)})
	}
	if err := e.Check(); !errors.Is(err, charge.Shape) {
		t.Errorf("65 rubrics: %v", err)
	}
}
