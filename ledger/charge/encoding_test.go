package charge_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// drawEntry draws any entry that Check admits; its place and sums are nonsense.
func drawEntry(r *rapid.T) *charge.Entry {
	name := rapid.StringMatching(`[a-zé-]{1,12}`)
	amount := rapid.Int64Range(0, int64(charge.MaxAmount))
	hash := rapid.Custom(func(r *rapid.T) (h charge.Hash) {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(r, "hash"))
		h[0] |= 1 // never zero
		return h
	})
	classes := func(label string) (out [charge.Classes]flow.Bits) {
		for k := 1; k < charge.Classes; k++ {
			out[k] = flow.Bits(amount.Draw(r, label))
		}
		return out
	}
	e := &charge.Entry{
		Seq: rapid.Uint64Min(1).Draw(r, "seq"), Family: flow.TrajectoryID(rapid.StringMatching(`[0-9A-Za-z_-]{1,64}`).Draw(r, "family")), Trajectory: "T",
		Prev: hash.Draw(r, "prev"), At: time.UnixMilli(rapid.Int64Range(0, 253_402_300_799_999).Draw(r, "at")).UTC(),
		Channel: flow.ChannelTool, Sink: name.Draw(r, "sink"), Class: flow.Class(rapid.IntRange(1, 3).Draw(r, "class")), Variant: hash.Draw(r, "variant"),
		Limits: limits, Charge: flow.Bits(amount.Draw(r, "charge")), Total: flow.Bits(amount.Draw(r, "total")), Caps: classes("caps"),
		Decision: rapid.SampledFrom([]string{"", "01K"}).Draw(r, "decision"), Outcome: rapid.SampledFrom([]flow.Outcome{flow.Allow, flow.Rewrite, flow.Confirm, flow.Deny}).Draw(r, "outcome"),
		Answer: rapid.SampledFrom([]string{"", "once"}).Draw(r, "answer"),
	}
	for i := range rapid.IntRange(1, 3).Draw(r, "rubrics") {
		e.Rubrics = append(e.Rubrics, charge.Hash{byte(i), 1})
	}
	for i := range rapid.IntRange(0, 3).Draw(r, "models") {
		e.Models = append(e.Models, charge.Model{Name: string(rune('a' + i)), Version: name.Draw(r, "version")})
	}
	for range rapid.IntRange(0, 4).Draw(r, "atoms") {
		a := charge.Atom{Field: name.Draw(r, "field"), Op: charge.Op(rapid.IntRange(0, 4).Draw(r, "op")), Value: hash.Draw(r, "value"), Cost: flow.Bits(amount.Draw(r, "cost")), After: classes("after")}
		switch a.Op {
		case charge.Generalize:
			a.Level = rapid.ByteMin(1).Draw(r, "level")
		case charge.Substitute:
			a.Template = "pseudonym"
		}
		e.Atoms = append(e.Atoms, a)
	}
	copy(e.Sig[:], rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(r, "signature"))
	return e
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		e := drawEntry(r)
		if err := e.Check(); err != nil {
			r.Fatal(err)
		}
		b := e.Append(nil)
		got, err := charge.Decode(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			r.Fatalf("%+v is read as %+v, %v", e, got, err)
		}
		if got.Hash() != e.Hash() || !bytes.Equal(got.Append(nil), b) {
			r.Fatal("the encoding changed")
		}
	})
}

// full is an entry in which every list and every text has something.
func full() *charge.Entry {
	e := release(2,
		charge.Atom{Field: "dob", Op: charge.Generalize, Level: 2, Value: charge.Hash{1}, Cost: bit, After: [4]flow.Bits{0, bit, bit, 0}},
		charge.Atom{Field: "legal-name", Op: charge.Substitute, Template: "pseudonym", Value: charge.Hash{2}},
	)
	e.Rubrics = append(e.Rubrics, charge.Hash{3})
	e.Models = append(e.Models, charge.Model{Name: "tagger", Version: "sha256:00"})
	e.Answer = "once"
	if err := charge.NewState("F").Next(e); err != nil {
		panic(err)
	}
	return e
}

// TestVersion1: the encoding is that of every ledger of version 1, byte for byte.
func TestVersion1(t *testing.T) {
	e := full()
	if h := e.Hash().String(); h != "a9353e53847806fedcb345eedbba45ed38bdc1710a8c33e71bb8b577a93d556e" {
		t.Errorf("the body is %x, with the hash %s", e.AppendBody(nil), h)
	}
}

// What is not the one encoding of an entry is refused, whatever it would mean.
func TestNotCanonical(t *testing.T) {
	e := full()
	if err := e.Check(); err != nil {
		t.Fatal(err)
	}
	sound := e.Append(nil)
	for name, spoil := range map[string]func(*charge.Entry){
		"no number":               func(e *charge.Entry) { e.Seq = 0 },
		"no family":               func(e *charge.Entry) { e.Family = "" },
		"family with a slash":     func(e *charge.Entry) { e.Family = "a/b" },
		"long family":             func(e *charge.Entry) { e.Family = flow.TrajectoryID(strings.Repeat("a", 65)) },
		"no trajectory":           func(e *charge.Entry) { e.Trajectory = "" },
		"before 1970":             func(e *charge.Entry) { e.At = time.UnixMilli(-1) },
		"year 10000":              func(e *charge.Entry) { e.At = time.UnixMilli(253_402_300_800_000) },
		"no channel":              func(e *charge.Entry) { e.Channel = "" },
		"no sink":                 func(e *charge.Entry) { e.Sink = "" },
		"long sink":               func(e *charge.Entry) { e.Sink = strings.Repeat("a", 513) },
		"sink of two lines":       func(e *charge.Entry) { e.Sink = "a\nb" },
		"sink that is no UTF-8":   func(e *charge.Entry) { e.Sink = "\xff" },
		"class 0":                 func(e *charge.Entry) { e.Class = 0 },
		"class 4":                 func(e *charge.Entry) { e.Class = 4 },
		"no rubric":               func(e *charge.Entry) { e.Rubrics = nil },
		"rubric twice":            func(e *charge.Entry) { e.Rubrics[1] = e.Rubrics[0] },
		"rubrics out of order":    func(e *charge.Entry) { e.Rubrics[0] = charge.Hash{4} },
		"too many rubrics":        func(e *charge.Entry) { e.Rubrics = make([]charge.Hash, 65) },
		"no variant":              func(e *charge.Entry) { e.Variant = charge.Hash{} },
		"budget below zero":       func(e *charge.Entry) { e.Limits.B = -1 },
		"caps that grow":          func(e *charge.Entry) { e.Limits.Cap[3] = e.Limits.Cap[2] + 1 },
		"cap below zero":          func(e *charge.Entry) { e.Limits.Cap[3] = -1 },
		"weight below one":        func(e *charge.Entry) { e.Limits.Lambda[1] = 999 },
		"weights that fall":       func(e *charge.Entry) { e.Limits.Lambda[3] = 1999 },
		"weight too large":        func(e *charge.Entry) { e.Limits.Lambda[3] = charge.MaxLambda + 1 },
		"no field":                func(e *charge.Entry) { e.Atoms[0].Field = "" },
		"no operator":             func(e *charge.Entry) { e.Atoms[0].Op = 5 },
		"generalised to no level": func(e *charge.Entry) { e.Atoms[0].Level = 0 },
		"level of another":        func(e *charge.Entry) { e.Atoms[1].Level = 1 },
		"no template":             func(e *charge.Entry) { e.Atoms[1].Template = "" },
		"template of another":     func(e *charge.Entry) { e.Atoms[0].Template = "x" },
		"no value":                func(e *charge.Entry) { e.Atoms[0].Value = charge.Hash{} },
		"cost below zero":         func(e *charge.Entry) { e.Atoms[0].Cost = -1 },
		"amount below zero":       func(e *charge.Entry) { e.Atoms[0].After[1] = -1 },
		"amount too large":        func(e *charge.Entry) { e.Atoms[0].After[1] = charge.MaxAmount + 1 },
		"charge below zero":       func(e *charge.Entry) { e.Charge = -1 },
		"total below zero":        func(e *charge.Entry) { e.Total = -1 },
		"sum below zero":          func(e *charge.Entry) { e.Caps[2] = -1 },
		"models out of order":     func(e *charge.Entry) { e.Models[0], e.Models[1] = e.Models[1], e.Models[0] },
		"model twice":             func(e *charge.Entry) { e.Models[1].Name = e.Models[0].Name },
		"no model":                func(e *charge.Entry) { e.Models[0].Name = "" },
		"long decision":           func(e *charge.Entry) { e.Decision = strings.Repeat("a", 65) },
		"no outcome":              func(e *charge.Entry) { e.Outcome = "" },
		"unknown outcome":         func(e *charge.Entry) { e.Outcome = "allowed" },
		"answer with a zero byte": func(e *charge.Entry) { e.Answer = "\x00" },
	} {
		e := full()
		spoil(e)
		if err := e.Check(); !errors.Is(err, charge.Shape) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := charge.Decode(e.Append(nil)); !errors.Is(err, charge.Shape) && !errors.Is(err, charge.Encoding) {
			t.Errorf("%s: decoded, %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "more": append(bytes.Clone(sound), 0), "twice": append(bytes.Clone(sound), sound...),
		"large": make([]byte, charge.MaxEntry+1), "other version": append([]byte("mgle\x02"), sound[5:]...),
	} {
		if _, err := charge.Decode(b); !errors.Is(err, charge.Encoding) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range sound {
		if _, err := charge.Decode(sound[:i]); err == nil {
			t.Errorf("cut at %d: decoded", i)
		}
	}
}

func TestSignatures(t *testing.T) {
	e := full()
	e.Sign(key)
	if err := e.Verify(public()); err != nil {
		t.Error(err)
	}
	other := *e
	other.Sink = "broker"
	for name, err := range map[string]error{"another entry": other.Verify(public()), "no key": e.Verify(nil), "another key": e.Verify(make([]byte, 32))} {
		if !errors.Is(err, charge.Signature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	e := full()
	f.Add(e.Append(nil))
	f.Add(release(1).Append(nil))
	b := e.Append(nil)
	for i := 0; i < len(b); i += 7 {
		c := bytes.Clone(b)
		c[i] ^= 0xff
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := charge.Decode(b)
		if err != nil {
			return
		}
		if err := e.Check(); err != nil {
			t.Errorf("decoded what Check refuses: %v", err)
		}
		if !bytes.Equal(e.Append(nil), b) {
			t.Error("an entry has two encodings")
		}
		_ = charge.NewState(e.Family).Apply(e)
	})
}
