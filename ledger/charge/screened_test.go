package charge_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// screened is an entry of a family that lets text pass by a model's judgement.
func screened(bits flow.Bits) *charge.Entry {
	e := release(flow.SemiTrusted)
	e.Limits.Screened, e.Screened = 10*flow.Bit, bits
	return e
}

// What passed by a model's judgement is summed apart, up to a cap of its own.
func TestScreenedEntries(t *testing.T) {
	s := charge.NewState("F")
	for i, bits := range []flow.Bits{3 * flow.Bit, 0, 7 * flow.Bit} {
		e := screened(bits)
		if err := s.Next(e); err != nil {
			t.Fatal(err)
		}
		if e.Doubt != s.Doubt.Add(bits) || e.Total != 0 || e.Charge != 0 {
			t.Errorf("entry %d: %v, total %v", i, e.Doubt, e.Total)
		}
		text := append(e.AppendBody(nil), e.Sig[:]...)
		if text[4] != 2 || binary.BigEndian.Uint64(text[len(text)-72:]) != uint64(e.Doubt) {
			t.Errorf("entry %d is encoded otherwise: %x", i, text)
		}
		back, err := charge.Decode(text)
		if err != nil || back.Screened != bits || back.Doubt != e.Doubt || back.Limits != e.Limits {
			t.Fatalf("%v, %v", back, err)
		}
		// Without a cap there is no such part, and without the part no such version.
		none := slices.Clone(text)
		copy(none[len(none)-88:], make([]byte, 24))
		old := slices.Clone(text)
		old[4] = 1
		short := append(slices.Clone(text[:len(text)-88]), text[len(text)-64:]...)
		for what, b := range map[string][]byte{"no cap": none, "version 1": old, "no part": short} {
			if _, err := charge.Decode(b); err == nil {
				t.Errorf("entry %d with %s is read", i, what)
			}
		}
		wrong := *e
		wrong.Doubt++
		if err := s.Apply(&wrong); !errors.Is(err, charge.Doubt) {
			t.Errorf("entry %d with another sum: %v", i, err)
		}
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Next(screened(1)); !errors.Is(err, charge.Doubt) {
		t.Errorf("over the cap: %v", err)
	}
	for _, change := range []func(*charge.Entry){func(e *charge.Entry) { e.Channel = flow.ChannelUser }, func(e *charge.Entry) { e.Outcome = flow.Deny }} {
		e := screened(1)
		change(e)
		if err := charge.NewState("F").Next(e); !errors.Is(err, charge.Free) {
			t.Errorf("nothing is charged, and %v", err)
		}
	}
	e := release(flow.SemiTrusted)
	if e.Screened = 1; charge.NewState("F").Next(e) == nil {
		t.Error("a charge without a cap")
	}
	if e.Screened = 0; bytes.HasPrefix(e.AppendBody(nil), []byte("mgle\x02")) {
		t.Error("version 2 without a cap")
	}
}
